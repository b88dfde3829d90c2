// Arrows on a canvas, in pixels.

export function drawArrow(context, x, y, dx, dy, colour, width = 2) {
  const length = Math.hypot(dx, dy);
  if (length < 3) return;
  const [ux, uy] = [dx / length, dy / length], head = Math.min(9, 0.6 * length);
  const [ex, ey] = [x + dx, y + dy];
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(ex - 0.8 * head * ux, ey - 0.8 * head * uy);
  context.stroke();
  context.beginPath();
  context.moveTo(ex, ey);
  context.lineTo(ex - head * ux - 0.5 * head * uy, ey - head * uy + 0.5 * head * ux);
  context.lineTo(ex - head * ux + 0.5 * head * uy, ey - head * uy - 0.5 * head * ux);
  context.closePath();
  context.fill();
}
