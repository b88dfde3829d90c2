// The controls of the SVM room. They change the state; the room does the rest.

import { card, choice, linear, logarithmic, make, select, short, slider } from "../../lib/controls.js";
import { KERNELS, KernelForm } from "../../lib/kernelform.js";
import { COMPOSED, EXACT, SCHEMES, SOLVERS } from "./state.js";

const SINGLE = ["crammer-singer", "weston-watkins"];  // one problem for all classes: soft margins, by decomposition
const NU = { classify: "ν, the share of margin errors", regress: "ν, the share outside the tube", "one-class": "ν, the share outside" };

export class Panel {
  // change(dragging): the state is another one now
  constructor(state, change) {
    this.state = state;
    this.many = false;  // whether there are more than two classes
    this.change = change;
    this.kernel = new KernelForm("Kernel", [...KERNELS, ...COMPOSED], () => state.kernel, (live) => this.moved(live));
    this.left = new KernelForm("First", KERNELS, () => state.kernel.left, change);
    this.right = new KernelForm("Second", KERNELS, () => state.kernel.right, change);
    this.pair = make("div", { class: "pair" }, this.left.root, this.right.root);
    const live = (name) => ({
      onInput: (value) => { state[name] = value; change(true); },
      onChange: (value) => { state[name] = value; change(false); },
    });
    this.formulation = choice("Formulation", [["C", "C"], ["nu", "ν"]], (value) => { state.formulation = value; this.moved(false); });
    this.cost = slider("C, the price of slack", {
      ...logarithmic(0.01, 10000, 121, { infinity: true }), ...live("C"),
      text: (value) => (value === "inf" ? "∞, hard margin" : short(value)),
    });
    this.nu = slider("ν, the share of margin errors", { ...linear(0.01, 1, 99), text: short, ...live("nu") });
    this.epsilon = slider("ε, half the width of the tube", { ...linear(0, 2, 100), text: short, ...live("epsilon") });
    this.solver = select("Solver", SOLVERS, (value) => { state.solver = value; this.moved(false); });
    this.season = slider("Steps of a season", { ...linear(1, 100, 99), text: short, ...live("season") });
    this.scheme = select("Scheme", SCHEMES, (value) => { state.multiclass = value; this.moved(false); });
    this.machine = card("Machine", this.kernel.root, this.pair, this.formulation.root, this.cost.root, this.nu.root, this.epsilon.root);
    this.solvers = card("Solver, step by step", this.solver.root, this.season.root);
    this.classes = card("More than two classes", this.scheme.root);
  }

  moved(live) {
    this.arrange();
    this.change(live);
  }

  // Show what the state says.
  update() {
    const { state } = this;
    for (const controls of [this.kernel, this.left, this.right]) controls.update();
    for (const name of ["formulation", "nu", "epsilon", "solver", "season"]) this[name].value = state[name];
    this.cost.value = state.C;
    this.scheme.value = state.multiclass;
    this.arrange();
  }

  // Only what has an effect is there.
  arrange() {
    const { state } = this, single = this.many && SINGLE.includes(state.multiclass);
    const solvers = this.solversFor(single);
    if (!solvers.includes(state.solver)) this.solver.value = state.solver = "decomposition";
    if (single) this.formulation.value = state.formulation = "C";
    const exact = EXACT.includes(state.solver), nu = exact && state.formulation === "nu";
    const finite = single || state.task === "regress" || ["pegasos", "sgd"].includes(state.solver);
    if (finite && state.C === "inf") this.cost.value = state.C = 10000;
    this.kernel.arrange();
    this.pair.hidden = !COMPOSED.some(([name]) => name === state.kernel.name);
    this.formulation.show(state.task !== "one-class" && exact && !single);
    this.cost.show(state.task === "regress" || (state.task === "classify" && !nu && state.solver !== "perceptron"));
    this.nu.show(state.task === "one-class" || nu);
    this.nu.root.querySelector("label").textContent = NU[state.task];
    this.epsilon.show(state.task === "regress" && !nu);
    this.solver.allow(solvers);
    this.season.show(state.solver === "sgd");
  }

  solversFor(single) {
    if (single) return ["decomposition"];
    if (this.state.task !== "classify") return EXACT;
    return SOLVERS.map(([name]) => name).filter((name) => name !== "sgd" || this.state.kernel.name === "linear");
  }
}
