// The SVM room: points, machine, solver, and what the library says about the solution.

import { card, button, choice, guide, make, select } from "../lib/controls.js";
import { Plane } from "../lib/plane.js";
import { classPicker } from "../lib/pointroom.js";
import { preset } from "../lib/presets.js";
import { Player } from "./svm/animation.js";
import { Comparison, hasManyClasses } from "./svm/compare.js";
import { Panel } from "./svm/panel.js";
import { drawAround, drawBehind, drawWitness } from "./svm/picture.js";
import { Certificate, Legend, pointText } from "./svm/readout.js";
import { TASKS, checked, request, saved } from "./svm/state.js";
import { TableDialog } from "./svm/table.js";

const GUIDE = "Click to add a point, drag one across the boundary, and move C from one end to the other. "
  + "Only ringed points hold the boundary: drag any other about beyond its margin, and nothing changes. "
  + "At C = ∞ no slack is allowed; where the classes overlap, the page then draws the proof that no boundary exists.";
const LATE = 350;  // milliseconds after which the page says that it is waiting

class Room {
  constructor(root, context, state) {
    this.context = context;
    const { state: found, points } = checked(state ?? this.fromOtherRooms());
    this.state = found;
    this.answer = this.words = this.trace = null;
    this.pointsOf = { [found.task]: points };
    this.build(root);
    this.plane.points = points;
    this.update();
    this.commit();
  }

  fromOtherRooms() { return this.context.shared.points ? { points: this.context.shared.points } : null; }

  // -- the page -------------------------------------------------------------------------------------------------

  build(root) {
    const stage = make("div", { class: "stage" }), side = make("div", { class: "panel" });
    root.append(guide(GUIDE), stage, side);
    this.panel = new Panel(this.state, (dragging) => this.changed(dragging));
    this.player = new Player(this.context, (frame) => this.showFrame(frame));
    this.player.begin = () => this.player.run(request(this.state, this.plane.points, this.plane.view, true));
    this.panel.solvers.append(this.player.root);
    this.certificate = new Certificate();
    this.comparison = new Comparison(this.context, () => { this.comparison.root.hidden = true; this.compare.focus(); });
    this.compare = button("Compare all five", () => this.runComparison());
    this.panel.classes.append(this.compare);
    this.table = new TableDialog(this.context, (points, { classes }) => {
      this.usePoints(points);
      if (classes.length > 1) this.context.toast(`Classes: ${classes.map((name, k) => `${k + 1} = ${name}`).join(", ")}`);
    });
    this.code = make("pre", { tabindex: 0, role: "group", "aria-label": "Python code" });
    const python = card("The same in Python", this.code, button("Copy", () => this.copyCode()));
    python.classList.add("python");
    stage.append(this.toolbar());
    this.buildPlane(stage);
    this.legend = new Legend();
    stage.append(this.legend.root, this.pointCard(), this.comparison.root, this.table.root);
    side.append(this.panel.machine, this.certificate.root, this.panel.solvers, this.panel.classes, python);
  }

  toolbar() {
    this.task = choice("Task", Object.entries(TASKS).map(([name, { title }]) => [name, title]), (task) => this.changeTask(task));
    this.presets = select("Data", [], (name) => { if (name) this.usePoints(preset(TASKS[this.state.task].presets, name), name); });
    this.classes = classPicker((c) => this.plane.chooseClass(c));
    return make("div", { class: "row toolbar" }, this.task.root, this.presets.root,
      button("Paste …", () => this.table.open(), { title: "Paste a table of your own" }),
      button("Clear", () => this.usePoints([]), { title: "Remove all points" }), this.classes.root);
  }

  buildPlane(stage) {
    this.plane = new Plane(stage, {
      label: "Plane of points. Arrow keys move the cursor, Enter adds a point, N and P go from point to point, "
        + "arrows then move that point, Delete removes it, 1 to 9 choose the class.",
    });
    this.hint = make("p", { class: "said", role: "status", hidden: true });
    this.waiting = make("p", { class: "waiting", hidden: true }, "computing …");
    this.tip = make("div", { class: "tip", "aria-hidden": "true", hidden: true });
    this.plane.surface.append(this.waiting, this.tip);
    stage.append(this.hint);  // beside the plane: the points that it speaks of are in sight
    this.plane.onFull = () => this.context.toast(`${this.plane.most.toLocaleString("en")} points are the most.`);
    this.plane.onChange = (dragging) => this.changed(dragging);
    this.plane.onFocus = () => this.showPoint();
    this.plane.onClass = (c) => this.classes.show(c);
    this.plane.behind = (canvas) => drawBehind(canvas, this.plane, this.answer);
    this.plane.around = (canvas, _, index, x, y, r) => drawAround(canvas, this.answer, index, x, y, r);
    this.plane.inFront = (canvas) => {
      if (this.answer?.values.separable === false) drawWitness(canvas, this.plane, this.answer, this.state.kernel.name === "linear");
    };
  }

  pointCard() {
    this.pointLines = make("div", { class: "lines" });
    this.pointDelete = button("Delete point", () => { this.plane.remove(this.plane.selected); this.plane.surface.focus(); });
    this.point = make("div", { class: "point" }, this.pointLines, this.pointDelete);
    return this.point;
  }

  // -- changes --------------------------------------------------------------------------------------------------

  changed(dragging) {
    this.player.cancel();
    if (dragging) this.ask(true);
    else this.commit();
  }

  commit() {
    this.arrange();
    this.ask(false);
    this.share();
    this.context.commit(saved(this.state, this.plane.points));
  }

  // Other rooms are about classes.
  share() {
    if (this.state.task === "classify") this.context.shared.points = saved(this.state, this.plane.points).points;
  }

  usePoints(points) {
    this.plane.select(-1);
    this.plane.points = points;
    this.plane.changed();
  }

  changeTask(task) {
    this.pointsOf[this.state.task] = this.plane.points;
    this.state.task = task;
    this.answer = null;
    const { presets, first } = TASKS[task];
    this.pointsOf[task] ??= preset(presets, first);
    this.plane.select(-1);
    this.plane.points = this.pointsOf[task];
    if (task !== "classify") this.plane.classOfNew = 1;
    this.update();
    this.changed(false);
  }

  // Controls as the state says.
  update() {
    this.task.value = this.state.task;
    const names = Object.keys(TASKS[this.state.task].presets);
    this.presets.input.replaceChildren(make("option", { value: "" }, "Examples …"), ...names.map((name) => make("option", { value: name }, name)));
    this.classes.root.hidden = this.state.task !== "classify";
    this.panel.update();
    this.classes.show(this.plane.classOfNew);
    this.arrange();
  }

  arrange() {
    const many = this.state.task === "classify" && hasManyClasses(this.plane.points);
    if (this.panel.many !== many) this.panel.arrange(this.panel.many = many);
    this.panel.classes.hidden = !many;
    if (!many) this.comparison.root.hidden = true;
    this.plane.surface.dataset.points = this.plane.points.length;
    this.presets.value = "";
  }

  // -- the server -----------------------------------------------------------------------------------------------

  ask(dragging) {
    clearTimeout(this.lateTimer);
    this.lateTimer = setTimeout(() => { this.waiting.hidden = false; }, LATE);
    const body = request(this.state, this.plane.points, this.plane.view, dragging);
    this.context.ask("fit", body, (answer) => this.receive(answer));
    if (dragging) this.context.cancel("trace");
    else this.followGap(body);
    if (!dragging && !this.comparison.root.hidden) this.runComparison();
  }

  receive(answer) {
    clearTimeout(this.lateTimer);
    this.waiting.hidden = true;
    if (this.player.active) return;
    if (answer.error) {
      this.answer = this.words = null;
      this.say(answer.error.message);
      this.legend.clear();
      this.certificate.fail("No machine to judge.");
      this.code.textContent = "";
    } else if (answer.values.separable) {
      this.say(null);
      this.show(answer);
    } else {
      this.answer = answer;
      this.words = null;
      this.say("Not separable: the halos are weights that write one point as a mean of each class.");
      this.legend.clear();
      this.certificate.fail("No hyperplane separates the classes, so there is no hard margin. The witness is drawn.");
      this.code.textContent = answer.values.code ?? "";
    }
    this.plane.surface.dataset.shown = answer.error ? "error" : answer.values.separable ? "machine" : "witness";
    this.plane.surface.dataset.answer = answer.id;
    this.plane.redraw();
    this.showPoint();
  }

  show(answer) {
    this.answer = answer;
    if (answer.values.names) this.words = answer.values;
    this.certificate.show(answer.values);
    this.legend.show(answer, this.words?.task === answer.values.task ? this.words : null);
    if (answer.values.code !== undefined) this.code.textContent = answer.values.code;
  }

  // The gap of this machine, falling: a point for every moment that the server has looked at.
  followGap(body) {
    const trace = { steps: [], gap: [], unit: "" };
    this.context.ask("trace", body, ({ values }) => {
      if (values && "steps" in values) {
        trace.steps.push(values.steps);
        trace.gap.push(values.relative_gap);
        trace.unit = values.unit;
      }
      this.trace = trace;
      if (!this.player.active) this.certificate.chart.show(trace);
    });
  }

  showFrame(frame) {
    if (frame === null) {
      this.ask(false);
      return;
    }
    this.say(null);
    this.show(frame);
    this.certificate.chart.show(this.trace, frame.values.steps);
    this.plane.redraw();
    this.showPoint();
  }

  runComparison() {
    this.comparison.run(request(this.state, this.plane.points, this.plane.view, true), this.plane.points);
  }

  // -- words ----------------------------------------------------------------------------------------------------

  say(text) {
    this.hint.hidden = !text;
    if (this.hint.textContent !== (text ?? "")) this.hint.textContent = text ?? "";
  }

  showPoint() {
    const index = this.plane.focused, point = this.plane.points[index];
    this.tip.hidden = !point || this.plane.drag !== null;
    this.pointDelete.hidden = this.plane.selected < 0;
    if (!point) {
      this.pointLines.textContent = "Point at a point, or tap it, to see its zone, α and ξ. Right-click deletes it.";
      return;
    }
    const lines = pointText(point, index, this.answer, this.words);
    this.pointLines.replaceChildren(...lines.map((line) => make("div", {}, line)));
    this.tip.replaceChildren(...lines.slice(1, 4).map((line) => make("div", {}, line)));
    this.tip.hidden ||= lines.length < 2;
    const [x, y] = [this.plane.px(point.x), this.plane.py(point.y)];
    this.tip.style.left = `${Math.min(x + 16, this.plane.width - 240)}px`;
    this.tip.style.top = `${y > this.plane.height / 2 ? y - 20 - 20 * Math.max(1, lines.length - 1) : y + 18}px`;
    if (document.activeElement === this.plane.surface) this.context.announce(lines.join(". "));
  }

  async copyCode() {
    await this.context.copy(this.code.textContent);
    this.context.toast("Code copied: it runs as it is.");
  }

  // -- for the shell --------------------------------------------------------------------------------------------

  refresh() { this.ask(false); }

  redraw() {
    this.update();
    this.plane.redraw();
    this.comparison.redraw();
    if (this.answer?.values.separable) this.legend.show(this.answer, this.words);
  }

  restore(value) {
    const { state, points } = checked(value);
    Object.assign(this.state, state);
    this.player.cancel();
    this.plane.selected = this.plane.hovered = -1;
    this.plane.points = points;
    this.update();
    this.share();
    this.plane.redraw();
    this.ask(false);
  }

  leave() {
    this.player.cancel();
    this.plane.leave();
    this.comparison.leave();
  }
}

export const ownPoints = (state) => state.task !== "classify";
export const mount = (root, context, state) => new Room(root, context, state);
