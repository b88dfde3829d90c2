// Points and the marks of their status, on a canvas: the shapes of maxmargin.plotting.

export function shapePath(context, shape, x, y, r) {
  context.beginPath();
  if (shape === "circle") context.arc(x, y, r, 0, 2 * Math.PI);
  else if (shape === "square") context.rect(x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r);
  else if (shape === "diamond") polygon(context, x, y, 1.25 * r, 4, 0);
  else if (shape === "up") polygon(context, x, y + 0.15 * r, 1.3 * r, 3, -Math.PI / 2);
  else if (shape === "down") polygon(context, x, y - 0.15 * r, 1.3 * r, 3, Math.PI / 2);
  else if (shape === "left") polygon(context, x + 0.15 * r, y, 1.3 * r, 3, Math.PI);
  else if (shape === "right") polygon(context, x - 0.15 * r, y, 1.3 * r, 3, 0);
  else if (shape === "plus") star(context, x, y, r, 0);
  else star(context, x, y, r, Math.PI / 4);
}

function polygon(context, x, y, r, corners, turn) {
  for (let k = 0; k < corners; k++) {
    const angle = turn + (2 * Math.PI * k) / corners;
    context.lineTo(x + r * Math.cos(angle), y + r * Math.sin(angle));
  }
  context.closePath();
}

function star(context, x, y, r, turn) {  // a filled plus, or a filled cross
  const a = 1.1 * r, b = 0.42 * r;
  const corners = [[a, -b], [a, b], [b, b], [b, a], [-b, a], [-b, b], [-a, b], [-a, -b], [-b, -b], [-b, -a], [b, -a], [b, -b]];
  for (const [u, v] of corners) {
    context.lineTo(x + u * Math.cos(turn) - v * Math.sin(turn), y + u * Math.sin(turn) + v * Math.cos(turn));
  }
  context.closePath();
}

// By the numbers of maxmargin.inspection.STATUSES.
export const STATUS_MARKS = [null, "thick ring", "square", "thin ring", "plus", "cross", "diamond"];

export function drawMark(context, mark, x, y, r, ink, odd) {
  if (!mark) return;
  context.strokeStyle = mark === "diamond" ? odd : ink;
  context.lineWidth = { "thick ring": 2.2, square: 1.6, "thin ring": 1.1, plus: 1.7, cross: 1.7, diamond: 1.5 }[mark];
  context.beginPath();
  if (mark === "thick ring") context.arc(x, y, 1.75 * r, 0, 2 * Math.PI);
  else if (mark === "thin ring") context.arc(x, y, 1.5 * r, 0, 2 * Math.PI);
  else if (mark === "square") context.rect(x - 1.6 * r, y - 1.6 * r, 3.2 * r, 3.2 * r);
  else if (mark === "diamond") polygon(context, x, y, 2.1 * r, 4, 0);
  else {
    const turn = mark === "cross" ? Math.PI / 4 : 0;
    for (const angle of [turn, turn + Math.PI / 2]) {
      for (const sign of [1, -1]) {
        const u = sign * Math.cos(angle), v = sign * Math.sin(angle);
        context.moveTo(x + 1.15 * r * u, y + 1.15 * r * v);
        context.lineTo(x + 2 * r * u, y + 2 * r * v);
      }
    }
  }
  context.stroke();
}
