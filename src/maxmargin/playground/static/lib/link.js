// What is on the screen as text in an address, and back.

export function packed(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export function unpacked(text) {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
    const state = JSON.parse(new TextDecoder().decode(bytes));
    return state !== null && typeof state === "object" ? state : null;
  } catch {
    return null;
  }
}

// Points as three short lists of numbers: thousandths, and classes.
export const packPoints = (points) => ({
  x: points.map((point) => Math.round(1000 * point.x)),
  y: points.map((point) => Math.round(1000 * point.y)),
  c: points.map((point) => point.c).join(""),
});

export function unpackPoints(value, most = 2000) {
  const { x, y, c } = value ?? {};
  if (!Array.isArray(x) || !Array.isArray(y) || typeof c !== "string") return null;
  if (x.length !== y.length || x.length !== c.length || x.length > most) return null;
  const points = x.map((one, i) => ({ x: one / 1000, y: y[i] / 1000, c: Number(c[i]) }));
  return points.every((p) => Number.isFinite(p.x) && Number.isFinite(p.y) && p.c >= 1) ? points : null;
}
