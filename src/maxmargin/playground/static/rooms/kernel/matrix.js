// The Gram matrix as an image: a row and a column for every point, sorted by class.

import { classColour, cssColour, rgb } from "../../lib/colours.js";
import { make, short } from "../../lib/controls.js";

const EDGE = 10;  // pixels of the stripes that say which class a row is of

export class MatrixImage {
  // point(index): the pointer is over the row of this point, or -1
  constructor(point) {
    this.point = point;
    this.canvas = make("canvas", { role: "img", "aria-label": "Gram matrix" });
    this.root = make("div", { class: "matrix" }, this.canvas);
    this.note = make("p", { class: "caption" });
    this.image = document.createElement("canvas");
    this.root.addEventListener("pointermove", (event) => this.over(event));
    this.root.addEventListener("pointerleave", () => this.out());
    this.observer = new ResizeObserver(() => this.redraw());
    this.observer.observe(this.root);
  }

  leave() { this.observer.disconnect(); }

  show(answer) {
    this.answer = answer;
    const { rows, of, classes } = answer.values;
    this.canvas.setAttribute("aria-label", `Gram matrix of ${rows} points, sorted by ${new Set(classes).size} classes, values from `
      + `${short(this.range()[0])} to ${short(this.range()[1])}`);
    this.plain = rows < of ? `${rows} of ${of} points, sorted by class.` : "Sorted by class; point at a cell for its value.";
    this.note.textContent = this.plain;
    this.redraw();
  }

  clear() {
    this.answer = null;
    this.canvas.width = this.canvas.width;
    this.note.textContent = "";
  }

  range() {
    let [low, high] = [Infinity, -Infinity];
    for (const value of this.answer.arrays.gram) { if (value < low) low = value; if (value > high) high = value; }
    return [low, high];
  }

  redraw() {
    const side = this.root.clientWidth, ratio = Math.min(2, devicePixelRatio || 1);
    if (!this.answer || !side) return;
    const { gram } = this.answer.arrays, n = gram.shape[0], { classes } = this.answer.values;
    this.paint(gram, n);
    this.canvas.width = this.canvas.height = Math.round(side * ratio);
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.imageSmoothingEnabled = n > side;
    const inner = side - EDGE;
    context.drawImage(this.image, 0, 0, n, n, EDGE, EDGE, inner, inner);
    for (let i = 0; i < n; i++) {
      context.fillStyle = classColour(classes[i]);
      const at = EDGE + (i * inner) / n, size = inner / n + 0.5;
      context.fillRect(at, 0, size, EDGE - 3);
      context.fillRect(0, at, EDGE - 3, size);
    }
  }

  // 0 in the colour of the plane, positive values towards the accent, negative ones towards red.
  paint(gram, n) {
    const [low, high] = this.range(), most = Math.max(Math.abs(low), Math.abs(high)) || 1;
    const base = rgb(cssColour("--plane")), positive = rgb(cssColour("--accent")), negative = rgb(cssColour("--bad"));
    this.image.width = this.image.height = n;
    const context = this.image.getContext("2d"), image = context.createImageData(n, n);
    for (let k = 0; k < n * n; k++) {
      const share = Math.abs(gram[k]) / most, colour = gram[k] < 0 ? negative : positive;
      for (let j = 0; j < 3; j++) image.data[4 * k + j] = base[j] + share * (colour[j] - base[j]);
      image.data[4 * k + 3] = 255;
    }
    context.putImageData(image, 0, 0);
  }

  over(event) {
    if (!this.answer) return;
    const box = this.root.getBoundingClientRect(), n = this.answer.arrays.gram.shape[0], inner = box.width - EDGE;
    const [i, j] = [event.clientY - box.top, event.clientX - box.left].map((one) => Math.floor(((one - EDGE) / inner) * n));
    if (i < 0 || j < 0 || i >= n || j >= n) return this.out();
    const { order, gram } = this.answer.arrays;
    this.note.textContent = `k(point ${order[i] + 1}, point ${order[j] + 1}) = ${short(gram[i * n + j])}`;
    this.point(order[i]);
  }

  out() {
    if (this.plain) this.note.textContent = this.plain;
    this.point(-1);
  }
}
