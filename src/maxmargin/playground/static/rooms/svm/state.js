// What the SVM room remembers: everything that decides what is on the screen. Links are not trusted.

import { KERNELS, sentKernel } from "../../lib/kernelform.js";
import { packPoints, unpackPoints } from "../../lib/link.js";
import { CLASSIFICATION, ONE_CLASS, REGRESSION, preset } from "../../lib/presets.js";

export const TASKS = {
  classify: { title: "Classification", presets: CLASSIFICATION, first: "moons" },
  regress: { title: "Regression", presets: REGRESSION, first: "sine" },
  "one-class": { title: "One class", presets: ONE_CLASS, first: "cloud" },
};
export const COMPOSED = [["sum", "Sum of two"], ["product", "Product of two"]];
export const SOLVERS = [
  ["decomposition", "Decomposition (SMO)"], ["dual-gradient", "Dual gradient"], ["pegasos", "Pegasos"],
  ["sgd", "SGD with seasons"], ["perceptron", "Perceptron"],
];
export const EXACT = ["decomposition", "dual-gradient"];
export const SCHEMES = [
  ["ovo", "All-vs-all"], ["ovr", "One-vs-all"], ["code", "Code words"],
  ["crammer-singer", "Crammer–Singer"], ["weston-watkins", "Weston–Watkins"],
];

const leaf = (name) => ({ name, gamma: 1, degree: 3, coef0: name === "sigmoid" ? 0 : 1 });

const DEFAULTS = {
  task: "classify", C: 1, formulation: "C", nu: 0.2, epsilon: 0.3, solver: "decomposition", season: 20, multiclass: "ovo",
};

const words = {
  task: Object.keys(TASKS), formulation: ["C", "nu"], solver: SOLVERS.map(([name]) => name), multiclass: SCHEMES.map(([name]) => name),
};
const ranges = { nu: [0.01, 1], epsilon: [0, 2], season: [1, 1000] };
const between = (value, [low, high]) => typeof value === "number" && value >= low && value <= high;

function checkedLeaf(value, name) {
  const found = leaf(KERNELS.some(([known]) => known === value?.name) ? value.name : name);
  if (between(value?.gamma, [1e-6, 1e6])) found.gamma = value.gamma;
  if (between(value?.degree, [1, 12])) found.degree = Math.round(value.degree);
  if (between(value?.coef0, [-1000, 1000])) found.coef0 = value.coef0;
  return found;
}

// A state that makes sense, whatever was saved.
export function checked(saved) {
  const state = { ...DEFAULTS };
  for (const [name, known] of Object.entries(words)) if (known.includes(saved?.[name])) state[name] = saved[name];
  for (const [name, range] of Object.entries(ranges)) if (between(saved?.[name], range)) state[name] = saved[name];
  if (saved?.C === "inf" || between(saved?.C, [1e-6, 1e9])) state.C = saved.C;
  state.kernel = checkedLeaf(saved?.kernel, "gaussian");
  const composed = COMPOSED.some(([name]) => name === saved?.kernel?.name);
  if (composed) state.kernel.name = saved.kernel.name;
  state.kernel.left = checkedLeaf(saved?.kernel?.left, "linear");
  state.kernel.right = checkedLeaf(saved?.kernel?.right, "gaussian");
  const { presets, first } = TASKS[state.task];
  const points = unpackPoints(saved?.points) ?? preset(presets, first);
  return { state, points };
}

export const saved = (state, points) => ({ ...state, points: packPoints(points) });

// The request for what is on the screen.
export function request(state, points, view, dragging) {
  const { kernel } = state;
  const composed = kernel.name === "sum" || kernel.name === "product";
  const classes = new Set(points.map((point) => point.c)).size;
  const many = state.task === "classify" && classes > 2;
  const scale = dragging ? (many ? 30 : 25) : (many ? 80 : 60);
  return {
    task: state.task, C: state.C, formulation: state.formulation, nu: state.nu, epsilon: state.epsilon, solver: state.solver,
    season: state.season, multiclass: state.multiclass,
    x: points.map((point) => point.x), y: points.map((point) => point.y), c: points.map((point) => point.c),
    kernel: composed ? { name: kernel.name, left: sentKernel(kernel.left), right: sentKernel(kernel.right) } : sentKernel(kernel),
    view, columns: state.task === "regress" ? 300 : 4 * scale, rows: 3 * scale, detail: dragging ? "coarse" : "fine",
  };
}
