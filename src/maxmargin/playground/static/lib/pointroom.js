// What rooms about points have in common: the toolbar over the plane, messages on it, Python beside it, undo and links.
//
//   class MyRoom extends PointRoom { build() { ... }  state() { ... }  use(state) { ... }  ask(dragging) { ... } }

import { classShape, classColour } from "./colours.js";
import { button, card, choice, guide, make, select } from "./controls.js";
import { packPoints, unpackPoints } from "./link.js";
import { Plane } from "./plane.js";
import { CLASSIFICATION, preset } from "./presets.js";
import { shapePath } from "./shapes.js";

export const KEYS = "Arrow keys move the cursor, Enter adds a point, N and P go from point to point, arrows then move that "
  + "point, Delete removes it, 1 to 9 choose the class.";

// Buttons for the class of new points: { root, show(c) }.
export function classPicker(choose) {
  const buttons = Array.from({ length: 9 }, (_, k) => button("", () => choose(k + 1), {
    class: "class", "aria-label": `Class ${k + 1}`, title: `New points are of class ${k + 1} (key ${k + 1})`, "aria-pressed": "false",
  }));
  return {
    root: make("div", { class: "classes", role: "group", "aria-label": "Class of new points" }, ...buttons),
    show(c) {
      buttons.forEach((one, k) => {
        one.setAttribute("aria-pressed", String(k + 1 === c));
        one.replaceChildren(classSample(k + 1), String(k + 1));
      });
    },
  };
}

function classSample(c) {
  const canvas = make("canvas", { width: 52, height: 52, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  context.scale(2, 2);
  shapePath(context, classShape(c), 13, 13, 6.5);
  context.fillStyle = classColour(c);
  context.fill();
  return canvas;
}

export class PointRoom {
  // presets: names of lib/presets.js; first: the one to begin with
  constructor(root, context, saved, { text, presets, first, titles }) {
    Object.assign(this, { context, presets });
    this.stage = make("div", { class: "stage" });
    this.side = make("div", { class: "panel" });
    this.programs = new Programs(context, titles);
    root.append(guide(text), this.stage, this.side);
    this.points = unpackPoints(saved?.points) ?? unpackPoints(context.shared.points) ?? preset(CLASSIFICATION, first);
    this.planes = [];
    this.stage.append(this.toolbar());
    this.build(saved);
    this.side.append(this.programs.root);
    for (const plane of this.planes) plane.points = this.points;
    this.use(saved);
    this.showClass(1);
    this.changed(false);
  }

  toolbar() {
    this.examples = select("Data", [["", "Examples …"], ...this.presets.map((name) => [name, name])], (name) => {
      if (name) this.replacePoints(preset(CLASSIFICATION, name));
      this.examples.value = "";
    });
    this.picker = classPicker((c) => this.chooseClass(c));
    this.tools = make("div", { class: "row toolbar" }, this.examples.root,
      button("Clear", () => this.replacePoints([]), { title: "Remove all points" }), this.picker.root);
    return this.tools;
  }

  // A plane of the room's points; several may show the same ones.
  plane(host, label) {
    const plane = new Plane(host, { label: `${label} ${KEYS}` });
    plane.hint = make("p", { class: "hint", role: "status", hidden: true });
    plane.surface.append(plane.hint);
    plane.onChange = (dragging) => {
      for (const other of this.planes) if (other !== plane) other.select(-1);
      this.changed(dragging);
    };
    plane.onClass = (c) => this.showClass(c);
    this.planes.push(plane);
    return plane;
  }

  say(plane, text) {
    plane.hint.hidden = !text;
    if (plane.hint.textContent !== (text ?? "")) plane.hint.textContent = text ?? "";
  }

  chooseClass(c) { (this.planes.find((one) => one.selected >= 0) ?? this.planes[0]).chooseClass(c); }

  showClass(c) {
    for (const plane of this.planes) plane.classOfNew = c;
    this.picker.show(c);
  }

  replacePoints(points) {
    this.points = points;
    for (const plane of this.planes) {
      plane.select(-1);
      plane.points = points;
      plane.redrawFront();
    }
    this.changed(false);
  }

  changed(dragging) {
    for (const plane of this.planes) plane.surface.dataset.points = this.points.length;
    this.ask(dragging);
    if (!dragging) this.commit();
  }

  commit() {
    this.context.shared.points = packPoints(this.points);
    this.context.commit({ ...this.state(), points: packPoints(this.points) });
  }

  // What every request holds.
  data() {
    return {
      x: this.points.map((p) => p.x), y: this.points.map((p) => p.y), c: this.points.map((p) => p.c), view: this.planes[0].view,
    };
  }

  get classes() { return [...new Set(this.points.map((point) => point.c))].sort(); }

  redraw() {
    this.showClass(this.planes[0].classOfNew);
    for (const plane of this.planes) plane.redraw();
  }

  restore(state) {
    this.use(state);
    this.points = unpackPoints(state.points) ?? [];
    for (const plane of this.planes) {
      plane.select(-1);
      plane.points = this.points;
      plane.surface.dataset.points = this.points.length;
      plane.redrawFront();
    }
    this.context.shared.points = packPoints(this.points);
    this.ask(false);
  }

  refresh() { this.ask(false); }

  leave() { for (const plane of this.planes) plane.leave(); }
}

// The same in Python: one program, or a choice of several.
class Programs {
  constructor(context, titles) {
    this.texts = {};
    this.shown = titles[0][0];
    this.code = make("pre", { tabindex: 0, "aria-label": "Python code" });
    this.picker = choice("Program", titles, (name) => { this.shown = name; this.show(); });
    this.picker.value = this.shown;
    this.picker.show(titles.length > 1);
    const copy = button("Copy", async () => { await context.copy(this.code.textContent); context.toast("Code copied."); });
    this.root = card("The same in Python", this.picker.root, this.code, copy);
    this.root.classList.add("python");
  }

  put(name, text) {
    this.texts[name] = text;
    this.show();
  }

  show() { this.code.textContent = this.texts[this.shown] ?? ""; }
}

// A number from a link, if it is one between two others.
export const kept = (value, low, high, otherwise) => (typeof value === "number" && value >= low && value <= high ? value : otherwise);
export const oneOf = (value, known, otherwise) => (known.includes(value) ? value : otherwise);
