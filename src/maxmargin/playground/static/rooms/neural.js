// The neural room: a network and a support vector machine on the same points, side by side.

import { Chart } from "../lib/chart.js";
import { classColour, cssColour } from "../lib/colours.js";
import { button, card, choice, linear, logarithmic, make, select, short, slider } from "../lib/controls.js";
import { KERNELS, KernelForm, checkedKernel, sentKernel } from "../lib/kernelform.js";
import { PointRoom, kept, oneOf } from "../lib/pointroom.js";
import { drawMargins, paintClasses, paintScores } from "../lib/regions.js";
import { drawMark } from "../lib/shapes.js";

const GUIDE = "Press Another start a few times: the network ends elsewhere every time, while the SVM has one optimum, and the proof of it. "
  + "Take the spirals, and look for layers, neurons and epochs that follow them; then compare the time of both, and the accuracy on a third of "
  + "the points held out. "
  + "With no hidden layer the network draws a straight line, as the linear SVM does, and with few neurons you can count the corners of its boundary.";
const ACTIVATIONS = [["relu", "ReLU"], ["tanh", "tanh"], ["logistic", "logistic"], ["identity", "none (linear)"]];

const EPOCHS = [10, 20, 50, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000, 3000];

class Room extends PointRoom {
  build() {
    this.answers = { train: null, machine: null };
    this.figures = {};
    const twin = make("div", { class: "twin" });
    for (const [kind, title, label] of [["train", "Network", "Plane of points with the regions of a network."],
      ["machine", "Support vector machine", "The same points with the regions of a support vector machine."]]) {
      const host = make("div"), facts = make("dl", { class: "facts" }), status = make("p", { class: "verdict" });
      const plane = this.plane(host, label);
      plane.behind = (canvas) => this.drawBehind(canvas, plane, this.answers[kind], kind);
      plane.around = (canvas, _, index, x, y, r) => this.drawAround(canvas, this.answers[kind], index, x, y, r);
      plane.surface.dataset.machine = kind;
      this.figures[kind] = { plane, facts, status };
      twin.append(card(title, host, status, facts));
    }
    this.chart = new Chart("Training loss of the network", { across: "epochs", up: "training loss" });
    this.stage.append(twin, card("Training loss of the network", this.chart.root));
    this.own = this.checked(null);
    this.side.append(this.buildNetwork(), this.buildMachine(), this.buildData());
  }

  live(name, ask) {
    return {
      onInput: (value) => { this.own[name] = value; ask?.(true); },
      onChange: (value) => { this.own[name] = value; this.changed(false); },
    };
  }

  buildNetwork() {
    this.layers = choice("Hidden layers", [0, 1, 2, 3].map((n) => [String(n), String(n)]), (value) => { this.own.layers = Number(value); this.arrange(); this.changed(false); });
    this.neurons = slider("Neurons of a layer", { ...linear(1, 50, 49), text: short, ...this.live("neurons") });
    this.activation = select("Activation", ACTIVATIONS, (value) => { this.own.activation = value; this.changed(false); });
    this.alpha = slider("α, the price of large weights", { ...logarithmic(0.00001, 10, 60), text: short, ...this.live("alpha") });
    this.rate = slider("Learning rate (Adam)", { ...logarithmic(0.0001, 1, 40), text: short, ...this.live("rate") });
    this.epochs = slider("Epochs", {
      steps: EPOCHS.length - 1, value: (at) => EPOCHS[at], position: (wanted) => EPOCHS.findLastIndex((one) => one <= wanted), text: String, ...this.live("epochs"),
    });
    this.again = button("Another start", () => { this.own.seed = (this.own.seed + 1) % 1000; this.changed(false); }, { class: "main" });
    this.halt = button("Stop", () => this.stop(), { disabled: true });
    const head = make("p", { class: "caption" }, "Hidden layers");
    return card("Network (MLPClassifier)", head, this.layers.root, this.neurons.root, this.activation.root, this.alpha.root, this.rate.root,
      this.epochs.root, make("div", { class: "row steps" }, this.again, this.halt));
  }

  buildMachine() {
    this.kernel = new KernelForm("Kernel", KERNELS, () => this.own.kernel, (dragging) => (dragging ? this.askMachine(true) : this.changed(false, ["machine"])));
    this.cost = slider("C, the price of slack", { ...logarithmic(0.01, 10000, 120), text: short,
      onInput: (value) => { this.own.C = value; this.askMachine(true); }, onChange: (value) => { this.own.C = value; this.changed(false, ["machine"]); } });
    return card("Support vector machine (SVC)", this.kernel.root, this.cost.root);
  }

  buildData() {
    this.held = choice("Held out", [["0", "Train on all"], ["3", "Hold out a third"]], (value) => { this.own.held = Number(value); this.changed(false); });
    return card("Points", this.held.root, make("p", { class: "caption" }, "Held-out points have a hole; no machine sees them while it is fitted."));
  }

  // -- state ----------------------------------------------------------------------------------------------------

  checked(saved) {
    return {
      layers: oneOf(saved?.layers, [0, 1, 2, 3], 2), neurons: Math.round(kept(saved?.neurons, 1, 50, 10)),
      activation: oneOf(saved?.activation, ACTIVATIONS.map(([name]) => name), "relu"), alpha: kept(saved?.alpha, 1e-5, 10, 1e-4),
      rate: kept(saved?.rate, 1e-4, 1, 0.01), epochs: oneOf(saved?.epochs, EPOCHS, 300), seed: Math.round(kept(saved?.seed, 0, 1000, 0)),
      kernel: checkedKernel(saved?.kernel, "gaussian"), C: kept(saved?.C, 0.01, 1e4, 1), held: oneOf(saved?.held, [0, 3], 0),
    };
  }

  state() { return { ...this.own }; }

  use(saved) {
    this.own = this.checked(saved);
    [this.layers.value, this.held.value] = [String(this.own.layers), String(this.own.held)];
    for (const name of ["neurons", "activation", "alpha", "rate", "epochs"]) this[name].value = this.own[name];
    this.cost.value = this.own.C;
    this.kernel.update();
    this.arrange();
  }

  arrange() {
    this.neurons.show(this.own.layers > 0);
    this.activation.show(this.own.layers > 0);
  }

  // -- the server -----------------------------------------------------------------------------------------------

  changed(dragging, kinds = ["machine", "train"]) {
    this.wanted = kinds;
    super.changed(dragging);
    this.wanted = null;
  }

  // While something is dragged, the machine follows; the network is trained when it is let go.
  ask(dragging) {
    const kinds = this.wanted ?? ["machine", "train"];
    if (kinds.includes("machine")) this.askMachine(dragging);
    if (kinds.includes("train") && !dragging) this.askNetwork();
  }

  askMachine(dragging) {
    const { kernel, C, held } = this.own, scale = dragging ? 25 : 40;
    const body = { ...this.data(), kernel: sentKernel(kernel), C, held, columns: 4 * scale, rows: 3 * scale };
    this.context.ask("machine", body, (answer) => this.receive("machine", answer));
  }

  askNetwork() {
    const { layers, neurons, activation, alpha, rate, epochs, seed, held } = this.own;
    const body = { ...this.data(), layers: Array(layers).fill(neurons), activation, alpha, rate, epochs, seed, held, columns: 120, rows: 90 };
    this.halt.disabled = false;
    this.context.ask("train", body, (answer) => { if (answer.error || answer.values.classes) this.receive("train", answer); });
  }

  stop() {
    this.context.cancel("train");
    this.halt.disabled = true;
    const { status } = this.figures.train;
    status.className = "verdict warn";
    status.textContent = "Stopped.";
    this.context.announce("stopped");
  }

  receive(kind, answer) {
    const { plane, facts, status } = this.figures[kind];
    const failed = answer.error?.message ?? (answer.values.separable === false ? answer.values.message : null);
    this.answers[kind] = failed ? null : answer;
    if (kind === "train") this.halt.disabled = Boolean(failed || answer.values.ended);
    this.say(plane, failed);
    if (failed) {
      facts.replaceChildren();
      status.textContent = "";
      this.programs.put(kind, answer.values?.code ?? "");
    } else {
      this.describe(kind, answer.values, facts, status);
      if (answer.values.code) this.programs.put(kind, answer.values.code);
      if (kind === "train") this.showLosses(answer.arrays.losses);
    }
    plane.surface.dataset.shown = failed ? "error" : answer.values.ended === false ? "training" : "machine";
    plane.surface.dataset.answer = answer.id;
    plane.redraw();
  }

  // -- what is shown --------------------------------------------------------------------------------------------

  describe(kind, values, facts, status) {
    const percent = (share) => `${(100 * share).toFixed(1)} %`;
    const rows = [["Right", percent(values.accuracy)], ["Right, held out", values.held === null ? "–" : percent(values.held)], ["Time to fit", time(values.milliseconds)]];
    status.className = "verdict";
    if (kind === "train") {
      rows.push(["Parameters", values.parameters]);
      const early = values.ended && values.epochs < values.wanted;
      status.classList.toggle("warn", early);
      status.textContent = early ? `Out of time after ${values.epochs} of ${values.wanted} epochs.`
        : values.ended ? `${values.epochs} epochs; no proof that this is the best.` : `Training: epoch ${values.epochs} of ${values.wanted} …`;
    } else {
      rows.push(["Support vectors", `${values.vectors} of ${values.rows}`]);
      const { holds, relative_gap: gap, reason } = values.certificate ?? {};
      status.classList.add(holds ? "good" : "warn");
      status.textContent = holds ? (gap <= 1e-9 ? "Proven optimal." : `Proven within ${short(100 * gap)} % of the optimum.`) : `No proof: ${reason}.`;
    }
    facts.replaceChildren(...rows.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(value)))));
  }

  showLosses(losses) {
    const n = losses.length, most = Math.max(...losses.slice(0, 3000), 0.1);
    const every = Math.max(1, Math.floor(n / 400)), xs = [];
    for (let i = 0; i < n; i += every) xs.push(i);
    this.chart.show({
      x: [0, Math.max(10, n)], y: [0, 1.08 * most], series: [{ xs: xs.map((i) => i + 1), ys: xs.map((i) => losses[i]) }],
      said: `Training loss ${short(losses[0])} after one epoch, ${short(losses[n - 1])} after ${n}`,
    });
  }

  drawBehind(canvas, plane, answer, kind) {
    if (!answer) return;
    const { scores, regions } = answer.arrays, { classes } = answer.values;
    if (regions) paintClasses(canvas, plane, regions, classColour);
    if (!scores) return;
    const network = kind === "train";
    paintScores(canvas, plane, scores, classColour(classes[0]), classColour(classes[1]), network ? 0 : 1);
    drawMargins(canvas, plane, scores, network ? [0] : [-1, 0, 1]);
  }

  drawAround(canvas, answer, index, x, y, r) {
    if (!answer || index >= answer.arrays.wrong.length) return;
    if (answer.arrays.held[index]) {
      canvas.beginPath();
      canvas.arc(x, y, 0.5 * r, 0, 2 * Math.PI);
      canvas.fillStyle = cssColour("--plane");
      canvas.fill();
    }
    if (answer.arrays.wrong[index]) drawMark(canvas, "cross", x, y, r, cssColour("--ink"), cssColour("--odd"));
  }

  leave() {
    for (const kind of ["train", "machine"]) this.context.cancel(kind);
    super.leave();
  }
}

const time = (ms) => (ms < 1000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1000).toFixed(1)} s`);

export const mount = (root, context, saved) => new Room(root, context, saved, {
  text: GUIDE, presets: ["moons", "circles", "spirals", "xor", "linear", "outliers", "three classes", "five classes"], first: "moons",
  titles: [["train", "Network"], ["machine", "SVM"]],
});
