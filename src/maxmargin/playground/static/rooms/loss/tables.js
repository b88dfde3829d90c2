// The numbers of the loss room: weights with their gradients, and the loss of every point.

import { classColour } from "../../lib/colours.js";
import { choice, make, short } from "../../lib/controls.js";

const MOST_ROWS = 100;
const fixed = (value) => (Math.abs(value) >= 1000 ? value.toExponential(1) : value.toFixed(Math.abs(value) >= 100 ? 0 : 2));
const bare = (value) => { const text = fixed(value); return /^-0\.0*$/.test(text) ? text.slice(1) : text.replace("-", "−"); };

function swatch(c) {
  const canvas = make("canvas", { width: 20, height: 20, class: "swatch", "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  context.fillStyle = classColour(c);
  context.beginPath();
  context.roundRect(2, 2, 16, 16, 4);
  context.fill();
  return canvas;
}

const classCell = (c) => make("th", { scope: "row" }, swatch(c), ` ${c}`);

// Where a step moves a number: against its gradient.
function trend(slope) {
  if (Math.abs(slope) < 5e-4) return make("span", { class: "slope" }, "· 0");
  const up = slope < 0;
  return make("span", { class: "slope" }, `${up ? "↑" : "↓"} ${short(Number(Math.abs(slope).toPrecision(2)))}`);
}

export class WeightTable {
  constructor() {
    this.body = make("tbody");
    const head = make("tr", {}, ...["class", "w₁", "w₂", "b"].map((name) => make("th", { scope: "col" }, name)));
    this.root = make("div", { class: "scroll" }, make("table", { class: "numbers" },
      make("caption", { class: "hidden" }, "Weights and biases, and which way a step moves them"), make("thead", {}, head), this.body));
  }

  show({ values, arrays }) {
    this.body.replaceChildren(...values.classes.map((c, k) => make("tr", {}, classCell(c), ...[0, 1, 2].map((j) =>
      make("td", {}, make("b", {}, bare(arrays.weights[3 * k + j])), trend(arrays.gradient[3 * k + j]))))));
  }

  clear() { this.body.replaceChildren(); }
}

export class LossTable {
  // point(index): a row is under the pointer, or in focus
  constructor(point) {
    this.point = point;
    this.head = make("tr");
    this.body = make("tbody");
    this.note = make("p", { class: "caption" });
    this.order = choice("Order", [["given", "In order"], ["largest", "Largest loss first"]], () => this.show(this.answer, this.points));
    this.order.value = "given";
    this.root = make("div", {}, this.order.root, make("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Table of the points" },
      make("table", { class: "numbers points" }, make("caption", { class: "hidden" }, "Scores and loss of every point"), make("thead", {}, this.head), this.body)), this.note);
  }

  show(answer, points) {
    if (!answer) return;
    Object.assign(this, { answer, points });
    const { losses, scores } = answer.arrays, { classes } = answer.values;
    const order = Array.from(losses.keys());
    if (this.order.value === "largest") order.sort((a, b) => losses[b] - losses[a]);
    const names = ["point", "class", ...classes.map((c) => `f${String.fromCharCode(8320 + c)}`), "loss"];
    this.head.replaceChildren(...names.map((name) => make("th", { scope: "col" }, name)));
    const worst = Math.max(1e-9, ...losses);
    this.body.replaceChildren(...order.slice(0, MOST_ROWS).map((i) => {
      const bar = make("meter", { min: 0, max: worst, value: losses[i], "aria-hidden": "true" });
      const row = make("tr", { onmouseenter: () => this.point(i), onmouseleave: () => this.point(-1) },
        make("td", {}, String(i + 1)), classCell(points[i]?.c ?? 1),
        ...classes.map((_, k) => make("td", {}, bare(scores[i * classes.length + k]))), make("td", { class: "loss" }, bar, make("b", {}, fixed(losses[i]))));
      return row;
    }));
    this.note.textContent = losses.length > MOST_ROWS ? `${MOST_ROWS} of ${losses.length} points are listed.` : "";
  }

  clear() {
    this.answer = null;
    this.body.replaceChildren();
  }
}
