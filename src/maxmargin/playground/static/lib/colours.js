// Colours and marks, those of maxmargin.plotting: told apart with every common kind of colour blindness, and shapes
// repeat what colours say.

const LIGHT = ["#2b6cb0", "#dd6b20", "#1b9e77", "#d47fb4", "#ecc94b", "#7cc7ee", "#2d3748", "#8c4a2f", "#7c3aed"];
const DARK = ["#5aa2e8", "#f08c45", "#35c497", "#e59cca", "#f0d264", "#9bd7f5", "#c3cedd", "#c98563", "#a678f5"];
export const SHAPES = ["circle", "up", "square", "diamond", "down", "plus", "cross", "left", "right"];

const media = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();

try {
  if (localStorage.getItem("theme")) document.documentElement.dataset.theme = localStorage.getItem("theme");
} catch { /* storage is switched off: the system's choice holds */ }

export const isDark = () => (document.documentElement.dataset.theme ?? (media.matches ? "dark" : "light")) === "dark";
export const classColour = (c) => (isDark() ? DARK : LIGHT)[(c - 1) % 9];
export const classShape = (c) => SHAPES[(c - 1) % 9];

// A variable of the style sheet; looked up once for light and once for dark, since points ask often.
const variables = new Map();

export function cssColour(name) {
  const key = `${name} ${isDark()}`;
  if (!variables.has(key)) variables.set(key, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return variables.get(key);
}

export function rgb(colour) {
  return [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
}

export function onThemeChange(listener) { listeners.add(listener); }

function tell() { for (const listener of listeners) listener(); }

export function switchTheme() {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("theme", theme); } catch { /* not kept then */ }
  tell();
}

media.addEventListener("change", tell);
