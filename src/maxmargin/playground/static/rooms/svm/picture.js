// What an answer of the server looks like on the plane.

import { classColour, cssColour } from "../../lib/colours.js";
import { drawMargins, paintClasses, paintScores } from "../../lib/regions.js";
import { STATUS_MARKS, drawMark } from "../../lib/shapes.js";

export function drawBehind(context, plane, answer) {
  if (!answer?.values?.separable) return;
  const { scores, regions, curve } = answer.arrays;
  if (curve) drawCurve(context, plane, curve, answer.values.tube);
  else if (regions) paintClasses(context, plane, regions, classColour);
  else if (answer.values.task === "one-class") {
    paintScores(context, plane, scores, cssColour("--outside"), classColour(1), 0);
    drawMargins(context, plane, scores, [0]);
  } else {
    const [negative, positive] = answer.values.classes.map(classColour);
    const levels = answer.values.certificate ? undefined : [0];  // the scale of a perceptron means nothing
    paintScores(context, plane, scores, negative, positive, levels && 0);
    drawMargins(context, plane, scores, levels);
  }
}

function drawCurve(context, plane, curve, tube) {
  const x = (i) => (i / (curve.length - 1)) * plane.width;
  const line = (shift, from = 0, step = 1) => {
    for (let n = 0, i = from; n < curve.length; n++, i += step) context.lineTo(x(i), plane.py(curve[i] + shift));
  };
  context.beginPath();
  line(tube);
  line(-tube, curve.length - 1, -1);
  context.closePath();
  context.globalAlpha = Number(cssColour("--region"));
  context.fillStyle = classColour(1);
  context.fill();
  context.globalAlpha = 1;
  for (const [shift, width, dash] of [[tube, 1.3, [5, 4]], [-tube, 1.3, [5, 4]], [0, 2.2, []]]) {
    context.beginPath();
    line(shift);
    context.lineWidth = width;
    context.setLineDash(dash);
    context.strokeStyle = cssColour(shift ? "--soft" : "--ink");
    context.stroke();
  }
  context.setLineDash([]);
}

// What points are: to their machine, or (with many classes) to all machines together; null where no status is known.
export function partsOf(answer) {
  const { part, status } = answer?.arrays ?? {};
  return part ?? status ?? null;
}

// The mark of a point: by status where there is one, else whether it supports or is misclassified.
export function markOf(answer, index) {
  const { support, wrong } = answer?.arrays ?? {}, parts = partsOf(answer);
  if (parts) return parts[index] === 255 ? null : STATUS_MARKS[parts[index]];
  if (wrong?.[index]) return "cross";
  return support?.[index] ? "thin ring" : null;
}

export function drawAround(context, answer, index, x, y, r) {
  if (index < pointCount(answer)) drawMark(context, markOf(answer, index), x, y, r, cssColour("--ink"), cssColour("--odd"));
}

export const pointCount = (answer) => {
  const { support, wrong, positive } = answer?.arrays ?? {};
  return (support ?? wrong ?? positive)?.shape[0] ?? 0;
};

// No hyperplane: one point of feature space is a mean of the rows of each class. Weights are halos around the rows; with
// the linear kernel the point lies in this plane, and lines lead to it.
export function drawWitness(context, plane, answer, linear) {
  const { positive, negative } = answer.arrays;
  const middle = [0, 0];
  plane.points.forEach((point, index) => {
    const weight = (positive[index] ?? 0) + (negative[index] ?? 0);
    if (!(weight > 1e-4)) return;
    const [x, y] = [plane.px(point.x), plane.py(point.y)];
    context.beginPath();
    context.arc(x, y, plane.radius + 26 * Math.sqrt(weight), 0, 2 * Math.PI);
    context.globalAlpha = 0.35;
    context.fillStyle = classColour(point.c);
    context.fill();
    context.globalAlpha = 1;
    middle[0] += (positive[index] ?? 0) * point.x;
    middle[1] += (positive[index] ?? 0) * point.y;
  });
  if (linear) drawMeeting(context, plane, answer, middle);
}

function drawMeeting(context, plane, answer, middle) {
  const { positive, negative } = answer.arrays;
  const [mx, my] = [plane.px(middle[0]), plane.py(middle[1])];
  context.lineWidth = 1.6;
  plane.points.forEach((point, index) => {
    if (!((positive[index] ?? 0) + (negative[index] ?? 0) > 1e-4)) return;
    context.strokeStyle = classColour(point.c);
    context.beginPath();
    context.moveTo(plane.px(point.x), plane.py(point.y));
    context.lineTo(mx, my);
    context.stroke();
  });
  context.fillStyle = cssColour("--bad");
  context.beginPath();
  context.arc(mx, my, 5, 0, 2 * Math.PI);
  context.fill();
}
