// The solver at work: machines after 1, 2, 3, ... steps arrive one by one and are kept; they can be played and searched.

import { button, make } from "../../lib/controls.js";

const PAUSE = 130;  // milliseconds between two frames

export class Player {
  // show(frame or null): null means that the animation is over and the room shows the fitted machine again
  constructor(context, show) {
    Object.assign(this, { context, show });
    this.frames = [];
    this.at = -1;
    this.playing = this.complete = false;
    this.start = button("Watch it work", () => this.begin?.(), { class: "main" });
    this.play = button("Pause", () => this.toggle());
    this.back = button("◀", () => this.step(-1), { "aria-label": "One step back" });
    this.forward = button("▶", () => this.step(1), { "aria-label": "One step forward" });
    this.stop = button("Done", () => { this.end(); this.start.focus(); });
    this.search = make("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Moment of the animation" });
    this.search.addEventListener("input", () => {
      const wanted = Number(this.search.value);  // before halting shows where we are
      this.halt();
      if (wanted < this.frames.length) this.display(wanted);
    });
    this.caption = make("p", { class: "caption" });
    this.controls = make("div", { class: "player", hidden: true },
      make("div", { class: "row" }, this.back, this.play, this.forward, this.stop), this.search, this.caption);
    this.root = make("div", {}, this.start, this.controls);
  }

  get active() { return this.at >= 0 || this.playing; }

  // body: the request
  run(body) {
    this.frames = [];
    [this.at, this.playing, this.complete] = [-1, true, false];
    this.start.hidden = true;
    this.controls.hidden = false;
    this.play.focus();
    this.update();
    this.context.ask("animate", body, (answer) => this.receive(answer));
    this.schedule();
  }

  receive(answer) {
    if (!this.active) return;
    if (answer.error) {
      this.context.toast(answer.error.message);
      this.end();
      return;
    }
    if (answer.values && "steps" in answer.values) this.frames.push(answer);
    this.complete ||= answer.last;
    if (this.complete && !this.frames.length) {
      this.context.toast("No hyperplane separates these classes: there is nothing to watch.");
      this.end();
      return;
    }
    this.update();
  }

  schedule() {
    clearTimeout(this.timer);
    if (this.playing) this.timer = setTimeout(() => this.tick(), PAUSE);
  }

  tick() {
    if (this.at + 1 < this.frames.length) this.display(this.at + 1);
    else if (this.complete) this.playing = false;
    this.update();
    this.schedule();
  }

  toggle() {
    if (!this.playing && this.complete && this.at === this.frames.length - 1) this.at = -1;
    this.playing = !this.playing;
    this.update();
    this.schedule();
  }

  halt() {
    this.playing = false;
    clearTimeout(this.timer);
    this.update();
  }

  step(by) {
    this.halt();
    const next = Math.max(0, Math.min(this.frames.length - 1, this.at + by));
    if (this.frames.length) this.display(next);
  }

  display(index) {
    this.at = index;
    this.show(this.frames[index]);
    this.update();
  }

  update() {
    const frame = this.frames[this.at];
    this.play.textContent = this.playing ? "Pause" : "Play";
    this.search.max = Math.max(0, this.frames.length - 1);
    this.search.value = Math.max(0, this.at);
    const capital = (text) => text[0].toUpperCase() + text.slice(1);
    this.caption.textContent = frame ? `${capital(frame.values.unit)}: ${frame.values.steps.toLocaleString("en")}` : "Computing …";
    if (frame) this.search.setAttribute("aria-valuetext", this.caption.textContent);
  }

  // Stop without telling the room: it is about to show something else.
  cancel() {
    if (!this.active) return;
    this.context.cancel("animate");
    clearTimeout(this.timer);
    [this.at, this.playing, this.frames] = [-1, false, []];
    this.start.hidden = false;
    this.controls.hidden = true;
  }

  end() {
    this.cancel();
    this.show(null);
  }
}
