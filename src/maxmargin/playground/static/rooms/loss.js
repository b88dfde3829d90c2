// The loss room: a linear classifier of three or more classes, its loss, and gradient steps.

import { Chart, key } from "../lib/chart.js";
import { classColour } from "../lib/colours.js";
import { button, card, logarithmic, make, select, short, slider } from "../lib/controls.js";
import { PointRoom, kept, oneOf } from "../lib/pointroom.js";
import { paintClasses } from "../lib/regions.js";
import { drawHalos, drawLines, drawWrong } from "./loss/picture.js";
import { LossTable, WeightTable } from "./loss/tables.js";

const GUIDE = "Press Run and watch every step turn the lines; then randomise, change the loss, and run again. "
  + "The arrow at the tip of a class's own is the way a step moves its weights, and grey halos are the points that cause it: points "
  + "with enough margin have no halo and no say, except with softmax, which is never content. "
  + "Make the steps long and see the loss jump instead of fall; raise λ and see the weights shrink while more points pay.";
const LOSSES = [
  ["crammer-singer", "Crammer–Singer (structured)"], ["weston-watkins", "Weston–Watkins"], ["one-vs-all", "One against all"], ["softmax", "Softmax"],
];
const BINARY = [
  ["hinge", "hinge"], ["squared_hinge", "squared hinge"], ["logistic", "logistic"], ["perceptron", "perceptron"], ["squared", "squared"],
];
const CURVES = {
  zero_one: "0/1", sigmoid: "sigmoid", hinge: "hinge", squared_hinge: "squared hinge", perceptron: "perceptron", logistic: "logistic",
  exponential: "exponential", squared: "squared",
};
const MARGINS = {
  "one-vs-all": "t·f of every class", "weston-watkins": "f of its class − f of every rival", "crammer-singer": "f of its class − f of the best rival",
  softmax: "f of its class − f of the best rival",
};
const TABLE_PAUSE = 200;  // milliseconds between two tables while it runs
const LONGEST = 600;      // steps of the curve of the total loss

const begin = (c) => [0.5 * Math.cos(2.4 * c), 0.5 * Math.sin(2.4 * c), 0.1 * (c - 2)];
const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());

class Room extends PointRoom {
  build() {
    this.weights = new Map();
    this.forget();
    this.running = false;
    this.hidden = new Set(["sigmoid", "perceptron", "exponential", "squared"]);
    const plane = this.plane(this.stage, "Plane of points with the lines of a linear classifier.");
    plane.behind = (canvas) => { if (this.answer) paintClasses(canvas, plane, this.answer.arrays.regions, classColour); };
    plane.inFront = (canvas) => {
      if (!this.answer) return;
      drawHalos(canvas, plane, this.answer);
      drawLines(canvas, plane, this.answer);
    };
    plane.around = (canvas, _, index, x, y, r) => { if (this.answer) drawWrong(canvas, plane, this.answer, index, x, y, r); };
    this.total = new Chart("Total loss after every step", { across: "steps", up: "total loss" });
    this.curves = new Chart("Losses over the margin", { across: "margin", up: "loss" });
    this.curveKey = make("div");
    this.rugNote = make("p", { class: "caption" });
    this.table = new LossTable((index) => plane.hover(index));
    this.stage.append(
      make("div", { class: "twin" }, card("Total loss", this.total.root, this.buildFacts()),
        card("Losses of one margin", this.curves.root, this.rugNote, this.curveKey)),
      card("Loss of every point", this.table.root));
    this.numbers = new WeightTable();
    this.side.append(this.buildControls(), card("Weights and biases", this.numbers.root,
      make("p", { class: "caption" }, "Arrows: which way a step moves the number, and how steep the loss is there.")));
    this.context.ask("curves", { low: -3, high: 3, columns: 241 }, (answer) => {
      this.curveData = answer;
      this.showCurves();
    });
  }

  buildFacts() {
    this.facts = make("dl", { class: "facts" });
    return this.facts;
  }

  buildControls() {
    const set = (name) => (value) => { this.own[name] = value; this.arrange(); this.forget(); this.changed(false); };
    const live = (name) => ({
      onInput: (value) => { this.own[name] = value; this.ask(true); },
      onChange: (value) => { this.own[name] = value; this.changed(false); },
    });
    this.loss = select("Loss of a point", LOSSES, set("loss"));
    this.binary = select("of every class, the loss", BINARY, set("binary"));
    this.lam = slider("λ, the price of large weights", { ...logarithmic(0.0001, 1, 80), text: short, ...live("lam") });
    this.rate = slider("η, the length of a step", { ...logarithmic(0.001, 10, 80), text: short, ...live("rate") });
    this.step = button("One step", () => { this.stop(); this.ask(false, 1); }, { class: "main" });
    this.run = button("Run", () => (this.running ? this.stop() : this.start()), { "aria-pressed": "false" });
    this.random = button("Randomise", () => this.randomise());
    return card("Classifier", this.loss.root, this.binary.root, this.lam.root, this.rate.root,
      make("div", { class: "row steps" }, this.step, this.run, this.random));
  }

  // -- state ----------------------------------------------------------------------------------------------------

  state() { return { ...this.own, weights: Object.fromEntries(this.weights) }; }

  use(saved) {
    this.stop(false);
    this.own = {
      loss: oneOf(saved?.loss, LOSSES.map(([name]) => name), "crammer-singer"),
      binary: oneOf(saved?.binary, BINARY.map(([name]) => name), "hinge"),
      lam: kept(saved?.lam, 1e-4, 1, 0.01), rate: kept(saved?.rate, 1e-3, 10, 0.1),
    };
    this.weights = new Map();
    for (let c = 1; c <= 9; c++) {
      const row = saved?.weights?.[c];
      if (Array.isArray(row) && row.length === 3 && row.every((one) => Math.abs(one) <= 1e3)) this.weights.set(c, row);
    }
    this.forget();
    for (const name of ["loss", "binary", "lam", "rate"]) this[name].value = this.own[name];
    this.arrange();
  }

  forget() { [this.history, this.dropped, this.runaway] = [[], 0, false]; }

  arrange() { this.binary.show(this.own.loss === "one-vs-all"); }

  randomise() {
    for (const c of this.classes) this.weights.set(c, [0.8 * normal(), 0.8 * normal(), 0.5 * normal()].map((one) => Number(one.toFixed(4))));
    this.forget();
    this.changed(false);
  }

  // -- steps ----------------------------------------------------------------------------------------------------

  start() {
    this.running = true;
    this.run.textContent = "Stop";
    this.run.setAttribute("aria-pressed", "true");
    this.ask(true, 1);
  }

  stop(commit = true) {
    if (!this.running) return;
    this.running = false;
    this.run.textContent = "Run";
    this.run.setAttribute("aria-pressed", "false");
    this.context.cancel("descend");
    if (commit) this.changed(false);
  }

  ask(dragging, steps = 0) {
    if (this.running && !steps) return;  // the next step sees what has changed
    for (const c of this.classes) if (!this.weights.has(c)) this.weights.set(c, begin(c));
    const body = {
      ...this.data(), ...this.own, weights: this.classes.flatMap((c) => this.weights.get(c)), steps,
      columns: dragging ? 160 : 320, rows: dragging ? 120 : 240, detail: dragging ? "coarse" : "fine",
    };
    this.context.ask("descend", body, (answer) => this.receive(answer, steps, dragging));
  }

  receive(answer, steps, dragging) {
    const [plane] = this.planes;
    plane.surface.dataset.shown = answer.error ? "error" : "machine";
    plane.surface.dataset.answer = answer.id;
    if (answer.error) {
      this.answer = null;
      this.forget();
      this.facts.replaceChildren();
      for (const one of [this.total, this.numbers, this.table]) one.clear();
      this.stop(false);
      this.say(plane, answer.error.message);
      plane.redraw();
      return;
    }
    const { values, arrays } = answer;
    values.classes.forEach((c, k) => this.weights.set(c, Array.from(arrays.weights.subarray(3 * k, 3 * k + 3))));
    this.answer = answer;
    if (steps && this.history.length) this.history.push(...arrays.history.slice(1));
    else if (steps || !this.history.length) this.history = Array.from(arrays.history);
    else this.history[this.history.length - 1] = values.total;
    if (this.history.length > LONGEST) this.dropped += this.history.splice(0, this.history.length - LONGEST).length;
    if (steps) this.runaway = values.diverged;
    this.say(plane, this.runaway ? "The steps are too long: the weights run away. Make η smaller, or randomise." : null);
    if (values.code) this.programs.put("loss", values.code);
    this.show(dragging);
    if (values.diverged) this.stop();
    else if (this.running) requestAnimationFrame(() => { if (this.running) this.ask(true, 1); });
    else if (steps) this.commit();
  }

  // -- what is shown --------------------------------------------------------------------------------------------

  show(dragging) {
    const { values } = this.answer;
    this.planes[0].redraw();
    const facts = [["Total", values.total], ["Mean loss", values.mean], ["Penalty", values.penalty]].map(([name, value]) => [name, value.toFixed(4)]);
    facts.push(["Right", `${(100 * values.accuracy).toFixed(1)} %`]);
    this.facts.replaceChildren(...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
    this.showTotal();
    this.numbers.show(this.answer);
    if (!dragging || !(performance.now() - this.tableAt < TABLE_PAUSE)) {
      this.tableAt = performance.now();
      this.showCurves();
      this.table.show(this.answer, this.points);
    }
  }

  showTotal() {
    const first = this.dropped, last = Math.max(first + 10, first + this.history.length - 1);
    const most = Math.max(...this.history, 0.1);
    this.total.show({
      x: [first, last], y: [0, 1.08 * most], series: [{ xs: this.history.map((_, i) => first + i), ys: this.history }],
      dots: [{ at: first + this.history.length - 1, height: this.history[this.history.length - 1], r: 4.5, class: "here" }],
      said: `Total loss ${short(this.history[0])} at first, ${short(this.history[this.history.length - 1])} now`,
    });
    this.total.root.dataset.steps = first + this.history.length - 1;
  }

  showCurves() {
    if (!this.curveData?.arrays) return;
    const { arrays, values } = this.curveData;
    const rugs = [];
    if (this.answer) {
      const { margins } = this.answer.arrays, wide = margins.shape[1];
      for (const c of this.classes) {
        rugs.push({ class: `class-${c}`, colour: classColour(c), xs: this.points.flatMap((p, i) => (p.c === c ? Array.from(margins.subarray(i * wide, (i + 1) * wide)) : [])) });
      }
      this.rugNote.textContent = `Ticks, in the colour of the point's class: ${MARGINS[this.own.loss]}.`;
    }
    const names = Object.keys(CURVES).filter((name) => !this.hidden.has(name));
    this.curves.show({
      x: [-3, 3], y: [0, 4], rugs, series: names.map((name) => ({ xs: arrays.margin, ys: arrays[name], class: `curve curve-${name}` })),
      said: `Losses over the margin: ${names.map((name) => CURVES[name]).join(", ")}`,
    });
    if (this.curveKey.childElementCount) return;
    this.curveKey.append(key(Object.entries(CURVES).map(([name, title]) => {
      const { convex, smooth, bounds } = values.curves[name];
      const note = `${convex ? "convex" : "not convex"}, ${smooth ? "smooth" : "with kinks"}, ${bounds ? "bounds the 0/1 loss" : "does not bound the 0/1 loss"}`;
      return { name, title, note, class: `curve curve-${name}`, on: !this.hidden.has(name) };
    }), (name, on) => { (on ? this.hidden.delete(name) : this.hidden.add(name)); this.showCurves(); }));
  }

  redraw() {
    super.redraw();
    if (this.answer) this.show(false);
  }

  refresh() { this.running ? this.ask(true, 1) : this.ask(false); }

  leave() {
    this.stop(false);
    this.context.cancel("descend");
    super.leave();
  }
}

export const mount = (root, context, saved) => new Room(root, context, saved, {
  text: GUIDE, presets: ["three classes", "five classes", "linear", "xor", "imbalanced"], first: "three classes", titles: [["loss", "Loss"]],
});
