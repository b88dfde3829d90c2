// The kernel room: Gram matrix, spectrum, Mercer's condition and its witness, and a map in space.

import { Chart } from "../lib/chart.js";
import { classColour, cssColour } from "../lib/colours.js";
import { card, choice, linear, make, select, short, slider } from "../lib/controls.js";
import { KernelForm, MORE_KERNELS, checkedKernel, sentKernel } from "../lib/kernelform.js";
import { PointRoom, kept, oneOf } from "../lib/pointroom.js";
import { drawMargins, paintScores, traceLevel } from "../lib/regions.js";
import { MatrixImage } from "./kernel/matrix.js";
import { Space } from "./kernel/space.js";

const GUIDE = "Move γ of the Gaussian kernel from end to end: the Gram matrix goes from all alike to a bare diagonal, and its spectrum "
  + "from one large eigenvalue to none. "
  + "Choose the sigmoid kernel to see what is no kernel: the witness v, weights of the points with v'Kv < 0, would be a vector whose "
  + "squared length is negative. "
  + "Take the circles and turn the space of x², √2xy and y²: what is a curve in the plane is a flat cut there.";
const OPERATIONS = [
  ["none", "A alone"], ["sum", "A + B"], ["product", "A × B"], ["difference", "A − B"], ["square", "A²"], ["exp", "exp(A)"], ["over", "Gaussian over A"],
];
const WITH_TWO = ["sum", "product", "difference"];
const VIEWS = [["like", "Likeness"], ["witness", "Witness"], ["cut", "Flat cut"]];
const WRITTEN = { "1": "c", x: "√(2c) x", y: "√(2c) y", "x^2": "x²", "x y": "√2 xy", "y^2": "y²" };
const LOWEST = -18;  // powers of ten of the spectrum

class Room extends PointRoom {
  build() {
    const plane = this.plane(make("div"), "Plane of points.");
    this.behindPicker = choice("Behind the points", VIEWS, (value) => { this.own.view = value; this.lookAgain(); this.commit(); });
    this.remark = make("p", { class: "caption remark" });
    plane.behind = (canvas) => this.drawBehind(canvas, plane);
    plane.inFront = (canvas) => this.drawWitness(canvas, plane);
    plane.onFocus = () => { if (this.own.view === "like") this.askLike(); };
    this.matrix = new MatrixImage((index) => { if (plane.hovered !== index) plane.hover(index); });
    this.spectrum = new Chart("Spectrum of the Gram matrix", { across: "eigenvalue, largest first", up: "size, of the largest", upText: (power) => (power ? `1e${power}` : "1") });
    this.spectrumNote = make("p", { class: "caption" });
    this.space = new Space("The points after the degree-2 map.");
    this.spaceNote = make("p", { class: "caption" });
    this.stage.append(make("div", { class: "twin" },
      card("Points", this.behindPicker.root, plane.surface, this.remark),
      card("Gram matrix", this.matrix.root, this.matrix.note),
      card("The degree-2 map in space", this.space.root, this.spaceNote),
      card("Spectrum", this.spectrum.root, this.spectrumNote)));
    this.side.append(this.buildKernel(), this.buildMercer(), this.buildMap());
  }

  buildKernel() {
    this.own = this.checked(null);
    const change = (dragging) => this.changed(dragging);
    this.left = new KernelForm("Kernel A", MORE_KERNELS, () => this.own.left, change);
    this.operation = select("Made of it", OPERATIONS, (value) => { this.own.operation = value; this.arrange(); change(false); });
    this.right = new KernelForm("Kernel B", MORE_KERNELS, () => this.own.right, change);
    this.weight = slider("Factor of B", {
      ...linear(0.1, 3, 29), text: short,
      onInput: (value) => { this.own.weight = value; change(true); }, onChange: (value) => { this.own.weight = value; change(false); },
    });
    this.second = make("div", { class: "pair" }, this.right.root, this.weight.root);
    return card("Kernel", this.left.root, this.operation.root, this.second);
  }

  buildMercer() {
    this.verdict = make("p", { class: "verdict", role: "status" });
    this.facts = make("dl", { class: "facts single" });
    return card("Is it a kernel?", this.verdict, this.facts);
  }

  buildMap() {
    this.constant = slider("Constant c of (x·z + c)²", {
      ...linear(0, 2, 20), text: short,
      onInput: (value) => { this.own.constant = value; this.askMap(true); }, onChange: (value) => { this.own.constant = value; this.changed(false); },
    });
    this.axes = [0, 1, 2].map((j) => select(["First axis", "Second axis", "Third axis"][j], Object.entries(WRITTEN), (value) => {
      this.own.axes[j] = value;
      this.showMap();
      this.commit();
    }));
    this.mapFacts = make("dl", { class: "facts single" });
    return card("Map", this.constant.root, ...this.axes.map((axis) => axis.root), this.mapFacts);
  }

  // -- state ----------------------------------------------------------------------------------------------------

  checked(saved) {
    const axes = Array.isArray(saved?.axes) ? saved.axes : [];
    return {
      left: checkedKernel(saved?.left, "gaussian", MORE_KERNELS), right: checkedKernel(saved?.right, "linear", MORE_KERNELS),
      operation: oneOf(saved?.operation, OPERATIONS.map(([name]) => name), "none"), weight: kept(saved?.weight, 0.1, 3, 1),
      view: oneOf(saved?.view, VIEWS.map(([name]) => name), "like"), constant: kept(saved?.constant, 0, 2, 0),
      axes: ["x^2", "x y", "y^2"].map((name, j) => oneOf(axes[j], Object.keys(WRITTEN), name)),
    };
  }

  state() { return { ...this.own }; }

  use(saved) {
    this.own = this.checked(saved);
    this.left.update();
    this.right.update();
    [this.operation.value, this.weight.value, this.behindPicker.value, this.constant.value] = [this.own.operation, this.own.weight, this.own.view, this.own.constant];
    this.axes.forEach((axis, j) => { axis.value = this.own.axes[j]; });
    this.arrange();
  }

  arrange() {
    this.second.hidden = !WITH_TWO.includes(this.own.operation);
  }

  // -- the server -----------------------------------------------------------------------------------------------

  kernel() {
    const { operation, weight } = this.own;
    return { operation, weight, left: sentKernel(this.own.left), right: sentKernel(this.own.right) };
  }

  ask(dragging) {
    const detail = dragging ? "coarse" : "fine";
    this.context.ask("gram", { ...this.data(), ...this.kernel(), detail }, (answer) => this.receive(answer));
    this.askMap(dragging);
    this.askLike();
  }

  askMap(dragging) {
    const body = { ...this.data(), coef0: this.own.constant, columns: 120, rows: 90, detail: dragging ? "coarse" : "fine" };
    this.context.ask("features", body, (answer) => {
      this.map = answer.error ? null : answer;
      if (answer.values?.code) this.programs.put("map", answer.values.code);
      this.showMap();
      this.planes[0].redraw();
    });
  }

  askLike() {
    const [plane] = this.planes, point = this.points[plane.focused] ?? this.points[0];
    if (!point || this.own.view !== "like") { this.like = null; return; }
    this.likeTo = this.points.indexOf(point);
    this.context.ask("likeness", { ...this.kernel(), zx: point.x, zy: point.y, view: plane.view, columns: 120, rows: 90 }, (answer) => {
      this.like = answer.error ? null : answer;
      this.describe();
      plane.redraw();
    });
  }

  lookAgain() {
    this.askLike();
    this.describe();
    this.planes[0].redraw();
  }

  receive(answer) {
    const [plane] = this.planes;
    plane.surface.dataset.shown = answer.error ? "error" : answer.values.psd ? "kernel" : "witness";
    plane.surface.dataset.answer = answer.id;
    this.gram = answer.error ? null : answer;
    if (answer.error) {
      this.verdict.className = "verdict bad";
      this.verdict.textContent = answer.error.message;
      this.facts.replaceChildren();
      this.matrix.clear();
      this.programs.put("gram", "");
    } else {
      this.matrix.show(answer);
      this.showVerdict(answer.values);
      this.showSpectrum(answer);
      if (answer.values.code) this.programs.put("gram", answer.values.code);
    }
    this.describe();
    plane.redraw();
  }

  // -- what is shown --------------------------------------------------------------------------------------------

  showVerdict({ psd, promised, smallest, tolerance, form, rows }) {
    this.verdict.className = `verdict ${psd ? (promised ? "good" : "warn") : "bad"}`;
    this.verdict.textContent = psd
      ? promised ? "Positive semi-definite, here and on all data." : "Positive semi-definite on these points; on others it may not be."
      : "No kernel: the matrix is not positive semi-definite.";
    const facts = [["Points", rows], ["Smallest eigenvalue", short(smallest)], ["Counts as 0 down to", short(-tolerance)]];
    if (form !== undefined) facts.push(["Witness: v'Kv", short(form)]);
    this.facts.replaceChildren(...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(value)))));
  }

  showSpectrum({ arrays: { spectrum }, values: { leading, share } }) {
    const n = spectrum.length, largest = Math.max(Math.abs(spectrum[0]), Math.abs(spectrum[n - 1])) || 1;
    const height = (value) => Math.max(LOWEST, Math.log10(Math.max(1e-30, Math.abs(value)) / largest));
    const dots = Array.from(spectrum, (value, i) => ({ at: i + 1, height: height(value), class: value < 0 ? "dot negative" : "dot" }));
    const lowest = Math.max(LOWEST, Math.floor(Math.min(...dots.map((dot) => dot.height))) - 0.5);
    const negative = spectrum.filter((value) => value < 0).length;
    this.spectrum.show({ x: [0, n + 1], y: [lowest, 0.8], dots, said: `${n} eigenvalues, ${negative} of them below 0` });
    this.spectrumNote.textContent = `${leading} of ${n} eigenvalues hold ${100 * share} % of the positive part.`
      + (negative ? " Those below 0 are red; the smallest may be rounding." : "");
  }

  showMap() {
    const { names } = this.map?.values ?? { names: [] };
    const three = names.length === 3;
    for (const axis of this.axes) { axis.show(!three); axis.allow(names); }
    if (!this.map || !names.length) { this.mapFacts.replaceChildren(); return; }
    const { features, normal } = this.map.arrays, { values } = this.map;
    const chosen = three ? names : this.own.axes.map((name, j) => (names.includes(name) ? name : names[j]));
    const at = chosen.map((name) => names.indexOf(name)), wide = names.length, n = features.shape[0];
    const points = Array.from({ length: n }, (_, i) => at.map((k) => features[i * wide + k]));
    const flat = three && normal ? { normal: Array.from(normal), offset: values.offset } : null;
    this.space.show(points, this.points.slice(0, n).map((p) => p.c), chosen.map((name) => WRITTEN[name]), flat);
    this.space.root.dataset.cut = this.space.scene.cut ? "yes" : "no";
    this.spaceNote.textContent = three
      ? flat ? "The sheet is the plane that an SVM puts between the two classes. Drag to turn." : "With two classes, an SVM's plane would be drawn. Drag to turn."
      : `Three of ${wide} features: with c > 0 the cut is flat in all ${wide}, and not seen in three. Drag to turn.`;
    const facts = [["Features", wide], ["Largest |φ(x)·φ(z) − k(x, z)|", short(values.difference)]];
    if (values.accuracy !== undefined) facts.push(["On the right side of the cut", `${(100 * values.accuracy).toFixed(1)} %`]);
    this.mapFacts.replaceChildren(...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(value)))));
  }

  describe() {
    const witness = this.gram?.arrays.witness;
    this.remark.textContent = {
      like: this.like ? `k(x, point ${this.likeTo + 1}) for every x of the plane; point at another one.` : "",
      witness: witness ? "Discs are the weights v of the points: blue above 0, red below. With them v'Kv < 0."
        : "No witness: on these points it is a kernel.",
      cut: this.map?.arrays.scores ? "The flat cut of the space, seen in the plane: an SVM with the kernel (x·z + c)²." : "A cut needs points of two classes.",
    }[this.own.view];
  }

  drawBehind(canvas, plane) {
    if (this.own.view === "like" && this.like) {
      const { scores } = this.like.arrays;
      let most = 0;
      for (const value of scores) most = Math.max(most, Math.abs(value));
      paintLikeness(canvas, plane, scores, most || 1);
    }
    if (this.own.view === "cut" && this.map?.arrays.scores) {
      const { classes } = this.map.values;
      paintScores(canvas, plane, this.map.arrays.scores, classColour(classes[0]), classColour(classes[1]));
      drawMargins(canvas, plane, this.map.arrays.scores);
    }
  }

  drawWitness(canvas, plane) {
    const witness = this.gram?.arrays.witness;
    if (this.own.view !== "witness" || !witness) return;
    const { order } = this.gram.arrays, most = Math.max(...witness.map(Math.abs));
    canvas.globalAlpha = 0.45;
    order.forEach((index, i) => {
      const point = this.points[index];
      if (!point) return;
      canvas.beginPath();
      canvas.arc(plane.px(point.x), plane.py(point.y), plane.radius + 20 * Math.sqrt(Math.abs(witness[i]) / most), 0, 2 * Math.PI);
      canvas.fillStyle = cssColour(witness[i] < 0 ? "--bad" : "--accent");
      canvas.fill();
    });
    canvas.globalAlpha = 1;
  }

  redraw() {
    super.redraw();
    this.matrix.redraw();
    this.space.redraw();
  }

  leave() {
    this.matrix.leave();
    this.space.leave();
    for (const kind of ["gram", "features", "likeness"]) this.context.cancel(kind);
    super.leave();
  }
}

// Level lines of the likeness, from its largest value down to 0 and below.
function paintLikeness(canvas, plane, scores, most) {
  paintScores(canvas, plane, scores, cssColour("--bad"), cssColour("--accent"), 0.5 * most);
  canvas.lineWidth = 1;
  for (const share of [-0.9, -0.7, -0.5, -0.3, -0.1, 0.1, 0.3, 0.5, 0.7, 0.9]) {
    canvas.strokeStyle = cssColour(share < 0 ? "--bad" : "--accent");
    traceLevel(canvas, plane, scores, share * most);
  }
}

export const mount = (root, context, saved) => new Room(root, context, saved, {
  text: GUIDE, presets: ["circles", "linear", "moons", "xor", "spirals", "three classes"], first: "circles",
  titles: [["gram", "Gram matrix"], ["map", "Map"]],
});
