// Three features of every point, seen in space: dragging, or the arrow keys, turn it.

import { classColour, classShape, cssColour } from "../../lib/colours.js";
import { make } from "../../lib/controls.js";
import { shapePath } from "../../lib/shapes.js";

const CORNERS = [0, 1, 2, 3, 4, 5, 6, 7].map((k) => [k & 1 ? 1 : -1, k & 2 ? 1 : -1, k & 4 ? 1 : -1]);
const EDGES = CORNERS.flatMap((_, k) => [1, 2, 4].filter((bit) => !(k & bit)).map((bit) => [k, k | bit]));
const FAR = 6;  // distance of the eye, in half edges of the box

export class Space {
  constructor(label) {
    this.canvas = make("canvas", { "aria-hidden": "true" });
    this.root = make("div", { class: "space", tabindex: 0, role: "application", "aria-roledescription": "points in space",
      "aria-label": `${label} Arrow keys turn it.` }, this.canvas);
    [this.turn, this.tilt] = [0.65, 0.4];
    this.scene = null;
    this.listen();
    this.observer = new ResizeObserver(() => this.redraw());
    this.observer.observe(this.root);
  }

  leave() { this.observer.disconnect(); }

  listen() {
    let from = null;
    const on = (name, listener) => this.root.addEventListener(name, listener);
    on("pointerdown", (event) => { from = [event.clientX, event.clientY]; this.root.setPointerCapture(event.pointerId); });
    on("pointermove", (event) => {
      if (!from) return;
      this.rotate(0.01 * (event.clientX - from[0]), 0.01 * (event.clientY - from[1]));
      from = [event.clientX, event.clientY];
    });
    for (const name of ["pointerup", "pointercancel"]) on(name, () => { from = null; });
    on("keydown", (event) => {
      const way = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
      if (!way || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.rotate(...way);
    });
  }

  rotate(turn, tilt) {
    this.turn += turn;
    this.tilt = Math.max(-1.5, Math.min(1.5, this.tilt + tilt));
    this.redraw();
  }

  // points: [[a, b, c], ...] of the classes; names of the axes; plane: { normal, offset } in those coordinates, or null
  show(points, classes, names, plane) {
    const low = [0, 1, 2].map((j) => Math.min(0, ...points.map((p) => p[j])));
    const high = [0, 1, 2].map((j) => Math.max(...points.map((p) => p[j])));
    const half = high.map((one, j) => Math.max(1e-6, (one - low[j]) / 2)), middle = high.map((one, j) => (one + low[j]) / 2);
    const boxed = points.map((p) => p.map((one, j) => (one - middle[j]) / half[j]));
    let cut = null;
    if (plane) {
      const normal = plane.normal.map((one, j) => one * half[j]);
      const offset = plane.offset + plane.normal.reduce((sum, one, j) => sum + one * middle[j], 0);
      cut = polygon(normal, offset);
    }
    this.scene = { boxed, classes, names, cut };
    this.redraw();
  }

  projected([a, b, c]) {  // the third feature points up
    const [ct, st, cl, sl] = [Math.cos(this.turn), Math.sin(this.turn), Math.cos(this.tilt), Math.sin(this.tilt)];
    const [x, y] = [ct * a - st * b, st * a + ct * b];
    const depth = cl * y - sl * c, scale = (FAR / (FAR + depth)) * 0.215 * Math.min(this.width, 1.25 * this.height);
    return [this.width / 2 + scale * x, this.height / 2 - scale * (cl * c + sl * y), depth];
  }

  redraw() {
    const { clientWidth, clientHeight } = this.root, ratio = Math.min(2, devicePixelRatio || 1);
    if (!clientWidth || !this.scene) return;
    [this.width, this.height] = [clientWidth, clientHeight];
    [this.canvas.width, this.canvas.height] = [Math.round(clientWidth * ratio), Math.round(clientHeight * ratio)];
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawBox(context);
    if (this.scene.cut) this.drawCut(context);
    this.drawPoints(context);
    this.root.dataset.turn = this.turn.toFixed(2);
  }

  line(context, from, to) {
    const [a, b] = [this.projected(from), this.projected(to)];
    context.beginPath();
    context.moveTo(a[0], a[1]);
    context.lineTo(b[0], b[1]);
    context.stroke();
  }

  drawBox(context) {
    context.strokeStyle = cssColour("--line");
    context.lineWidth = 1;
    for (const [one, other] of EDGES) this.line(context, CORNERS[one], CORNERS[other]);
    context.fillStyle = cssColour("--ink");
    context.strokeStyle = cssColour("--soft");
    context.lineWidth = 1.6;
    context.font = "600 13px system-ui, sans-serif";
    context.textAlign = "center";
    this.scene.names.forEach((name, j) => {
      const end = [-1, -1, -1], label = [-1, -1, -1];
      [end[j], label[j]] = [1, 1.22];
      this.line(context, [-1, -1, -1], end);
      const [x, y] = this.projected(label);
      context.fillText(name, x, y + 4);
    });
  }

  drawCut(context) {
    context.beginPath();
    for (const corner of this.scene.cut) context.lineTo(...this.projected(corner).slice(0, 2));
    context.closePath();
    context.globalAlpha = 0.2;
    context.fillStyle = cssColour("--accent");
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = cssColour("--accent");
    context.lineWidth = 1.5;
    context.stroke();
  }

  drawPoints(context) {
    const { boxed, classes } = this.scene;
    const placed = boxed.map((p, i) => [...this.projected(p), classes[i]]).sort((p, q) => q[2] - p[2]);
    for (const [x, y, depth, c] of placed) {
      shapePath(context, classShape(c), x, y, 5 * (FAR / (FAR + depth)));
      context.fillStyle = classColour(c);
      context.fill();
      context.lineWidth = 1;
      context.strokeStyle = cssColour("--surface");
      context.stroke();
    }
  }
}

// Where n . x + b = 0 meets the box from -1 to 1: corners in order, or null.
export function polygon(normal, offset) {
  const value = (p) => p.reduce((sum, one, j) => sum + one * normal[j], offset);
  const found = [];
  for (const [one, other] of EDGES) {
    const [a, b] = [value(CORNERS[one]), value(CORNERS[other])];
    if (a < 0 === b < 0) continue;
    found.push(CORNERS[one].map((from, j) => from + (a / (a - b)) * (CORNERS[other][j] - from)));
  }
  if (found.length < 3) return null;
  const centre = [0, 1, 2].map((j) => found.reduce((sum, p) => sum + p[j], 0) / found.length);
  const minus = (p, q) => p.map((one, j) => one - q[j]);
  const dot = (p, q) => p.reduce((sum, one, j) => sum + one * q[j], 0);
  const cross = (p, q) => [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
  const first = minus(found[0], centre), second = cross(normal, first), size = Math.sqrt(dot(normal, normal));
  const angle = (p) => Math.atan2(dot(minus(p, centre), second) / size, dot(minus(p, centre), first));
  return found.sort((p, q) => angle(p) - angle(q));
}
