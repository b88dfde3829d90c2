// A small chart: lines, dots and marks over two axes, as SVG, so that it scales and follows light and dark by itself.
//
//   const chart = new Chart("What it shows", { across: "step", up: "loss" });
//   chart.show({ x: [low, high], y: [low, high], series: [{ xs, ys, class, title }], dots: [...], rugs: [{ xs, class, colour }] });

import { make, short } from "./controls.js";

const SVG = "http://www.w3.org/2000/svg";
const [WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM] = [420, 240, 42, 18, 24, 34];

function shape(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

// Round numbers between two others, about as many as asked for.
export function rounds(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((one) => one >= rough * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

export class Chart {
  constructor(label, { across, up, upText = short }) {
    Object.assign(this, { label, across, up, upText });
    this.root = shape("svg", { class: "chart plot", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": label });
  }

  show({ x, y, series = [], dots = [], rugs = [], said = this.label }) {
    const px = (value) => LEFT + ((value - x[0]) / (x[1] - x[0])) * (WIDE - LEFT - RIGHT);
    const py = (value) => HIGH - BOTTOM - ((value - y[0]) / (y[1] - y[0])) * (HIGH - TOP - BOTTOM);
    const within = (value) => Math.max(-HIGH, Math.min(2 * HIGH, py(value)));
    const nodes = [];
    for (const value of rounds(...y, 5)) {
      nodes.push(shape("line", { x1: LEFT, x2: WIDE - RIGHT, y1: py(value), y2: py(value), class: "rule" }));
      nodes.push(shape("text", { x: LEFT - 5, y: py(value) + 4, class: "tick end" }, this.upText(value)));
    }
    for (const value of rounds(...x, 6)) {
      nodes.push(shape("text", { x: px(value), y: HIGH - BOTTOM + 15, class: "tick middle" }, short(value)));
    }
    nodes.push(shape("text", { x: WIDE - RIGHT, y: HIGH - 2, class: "tick end" }, this.across));
    nodes.push(shape("text", { x: 4, y: 12, class: "tick" }, this.up));
    for (const { xs, class: name, colour } of rugs) {
      const path = Array.from(xs, (one) => (one >= x[0] && one <= x[1] ? `M${px(one).toFixed(1)} ${HIGH - BOTTOM}v-9` : "")).join("");
      nodes.push(shape("path", { d: path, class: `rug ${name}`, stroke: colour }));
    }
    const inner = shape("svg", { x: LEFT, y: TOP, width: WIDE - LEFT - RIGHT, height: HIGH - TOP - BOTTOM,
      viewBox: `${LEFT} ${TOP} ${WIDE - LEFT - RIGHT} ${HIGH - TOP - BOTTOM}` });
    for (const { xs, ys, class: name = "curve" } of series) {
      const points = Array.from(xs, (one, i) => `${px(one).toFixed(1)},${within(ys[i]).toFixed(1)}`);
      inner.append(shape("polyline", { points: points.join(" "), class: name }));
    }
    nodes.push(inner);
    for (const { at, height, r = 2.6, class: name } of dots) nodes.push(shape("circle", { cx: px(at), cy: within(height), r, class: name }));
    this.root.replaceChildren(...nodes);
    this.root.setAttribute("aria-label", said);
  }

  clear() {
    this.root.replaceChildren();
    this.root.setAttribute("aria-label", this.label);
  }
}

// What the colours of a chart stand for; with onToggle, each can be switched off.
export function key(entries, onToggle) {
  return make("ul", { class: "key" }, ...entries.map(({ class: name, title, note = "", name: id, on }) => {
    const line = shape("svg", { viewBox: "0 0 24 10", width: 24, height: 10, "aria-hidden": "true", class: "chart-sample" });
    line.append(shape("line", { x1: 1, x2: 23, y1: 5, y2: 5, class: name }));
    if (!onToggle) return make("li", {}, line, title);
    const box = make("input", { type: "checkbox", checked: on, onchange: () => onToggle(id, box.checked) });
    return make("li", { title: note }, make("label", {}, box, line, title));
  }));
}
