// Controls of one kernel: its name, and of its options those that it has.

import { linear, logarithmic, make, select, short, slider } from "./controls.js";
import { kept, oneOf } from "./pointroom.js";

export const KERNELS = [["linear", "Linear"], ["polynomial", "Polynomial"], ["gaussian", "Gaussian"], ["sigmoid", "Sigmoid"]];
export const MORE_KERNELS = [...KERNELS, ["exponential", "Exponential"], ["laplacian", "Laplacian"], ["cosine", "Cosine"]];
const WITH_GAMMA = ["gaussian", "polynomial", "sigmoid", "exponential", "laplacian"];
const WITH_CONSTANT = ["polynomial", "sigmoid"];

export function checkedKernel(value, name, kernels = KERNELS) {
  return {
    name: oneOf(value?.name, kernels.map(([one]) => one), name),
    gamma: kept(value?.gamma, 0.01, 100, 1),
    degree: Math.round(kept(value?.degree, 1, 8, 2)),
    coef0: kept(value?.coef0, -3, 3, 1),
  };
}

// What a request says of it; a polynomial's constant is not negative.
export const sentKernel = ({ name, gamma, degree, coef0 }) => ({
  name, gamma, degree, coef0: name === "polynomial" ? Math.max(0, coef0) : coef0,
});

export class KernelForm {
  // target() is the kernel's state, change(dragging) says that it is another one now
  constructor(label, kernels, target, change) {
    this.target = target;
    const live = (name) => ({
      onInput: (value) => { target()[name] = value; change(true); },
      onChange: (value) => { target()[name] = value; change(false); },
    });
    this.name = select(label, kernels, (value) => { target().name = value; this.arrange(); change(false); });
    this.gamma = slider("γ", {
      ...logarithmic(0.01, 100, 100), ...live("gamma"),
      text: (value) => (target().name === "gaussian" ? `${short(value)} (σ = ${short(Math.sqrt(0.5 / value))})` : short(value)),
    });
    this.degree = slider("Degree", { ...linear(1, 8, 7), text: short, ...live("degree") });
    this.constant = slider("Constant", {
      ...linear(-3, 3, 60), ...live("coef0"), text: (value) => short(sentKernel({ ...target(), coef0: value }).coef0),
    });
    this.root = make("div", { class: "kernel" }, this.name.root, this.gamma.root, this.degree.root, this.constant.root);
  }

  update() {
    const { name, degree } = this.target();
    [this.name.value, this.degree.value] = [name, degree];
    this.arrange();
  }

  arrange() {
    const { name, gamma, coef0 } = this.target();
    [this.gamma.value, this.constant.value] = [gamma, coef0];  // their texts depend on the kernel
    this.gamma.show(WITH_GAMMA.includes(name));
    this.degree.show(name === "polynomial");
    this.constant.show(WITH_CONSTANT.includes(name));
  }
}
