// The linear classifier on the plane: the line f = 0 of every class, its weights and gradient as arrows, losses as halos.

import { drawArrow } from "../../lib/arrows.js";
import { classColour, cssColour } from "../../lib/colours.js";
import { drawMark } from "../../lib/shapes.js";

const LONGEST = 1.7;  // of an arrow, in units of the plane

// The part of w . x + b = 0 that is on the screen: [x1, y1, x2, y2] or null.
export function segment([w1, w2, b], [left, right, bottom, top]) {
  const found = [];
  const take = (x, y) => { if (x >= left - 1e-9 && x <= right + 1e-9 && y >= bottom - 1e-9 && y <= top + 1e-9) found.push([x, y]); };
  if (w2 !== 0) for (const x of [left, right]) take(x, -(w1 * x + b) / w2);
  if (w1 !== 0) for (const y of [bottom, top]) take(-(w2 * y + b) / w1, y);
  const ends = found.sort((p, q) => p[0] - q[0] || p[1] - q[1]);
  return ends.length < 2 ? null : [...ends[0], ...ends[ends.length - 1]];
}

export function drawLines(context, plane, answer) {
  const { weights, gradient } = answer.arrays;
  const unit = plane.width / (plane.view[1] - plane.view[0]);
  answer.values.classes.forEach((c, k) => {
    const w = weights.subarray(3 * k, 3 * k + 3), g = gradient.subarray(3 * k, 3 * k + 3);
    const ends = segment(w, plane.view);
    if (!ends) return;
    context.strokeStyle = classColour(c);
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(plane.px(ends[0]), plane.py(ends[1]));
    context.lineTo(plane.px(ends[2]), plane.py(ends[3]));
    context.stroke();
    const [x, y] = [plane.px((ends[0] + ends[2]) / 2), plane.py((ends[1] + ends[3]) / 2)];
    const cut = ([a, b]) => { const size = Math.hypot(a, b), share = size > LONGEST ? LONGEST / size : 1; return [a * share * unit, -b * share * unit]; };
    const [dx, dy] = cut(w);
    drawArrow(context, x, y, dx, dy, classColour(c), 3);
    drawArrow(context, x + dx, y + dy, ...cut([-g[0], -g[1]]), cssColour("--ink"), 2);
  });
}

export function drawHalos(context, plane, answer) {
  const { losses } = answer.arrays;
  context.fillStyle = cssColour("--ink");
  context.globalAlpha = 0.14;
  plane.points.forEach((point, index) => {
    if (!(losses[index] > 0.01)) return;
    context.beginPath();
    context.arc(plane.px(point.x), plane.py(point.y), plane.radius + Math.min(26, 8 * Math.sqrt(losses[index])), 0, 2 * Math.PI);
    context.fill();
  });
  context.globalAlpha = 1;
}

// A cross around points that the largest score gets wrong.
export function drawWrong(context, plane, answer, index, x, y, r) {
  const { scores } = answer.arrays, { classes } = answer.values;
  if (index >= scores.shape[0]) return;
  const row = scores.subarray(index * classes.length, (index + 1) * classes.length);
  const best = row.indexOf(Math.max(...row));
  if (classes[best] !== plane.points[index].c) drawMark(context, "cross", x, y, r, cssColour("--ink"), cssColour("--odd"));
}
