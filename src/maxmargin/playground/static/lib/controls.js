// Small pieces of a page, each with its label.

let count = 0;

export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

export function card(title, ...children) {
  return make("section", { class: "card", "aria-label": title }, make("h2", {}, title), ...children);
}

// The room's guide: what to try and what to notice, in three sentences.
export const guide = (text) =>
  make("details", { class: "guide", open: innerWidth > 900 }, make("summary", {}, "What to try"), make("p", {}, text));

export function select(label, options, onChange) {
  const id = `control-${++count}`;
  const input = make("select", { id, onchange: () => onChange(input.value) });
  for (const [value, text] of options) input.append(make("option", { value }, text));
  const root = make("div", { class: "field" }, make("label", { for: id }, label), input);
  return {
    root, input,
    get value() { return input.value; },
    set value(value) { input.value = value; },
    allow(values) { for (const option of input.options) option.disabled = !values.includes(option.value); },
    show(visible) { root.hidden = !visible; },
  };
}

// A choice of few, side by side.
export function choice(label, options, onChange) {
  const name = `control-${++count}`;
  const group = make("div", { class: "choice", role: "radiogroup", "aria-label": label });
  const inputs = new Map();
  for (const [value, text] of options) {
    const input = make("input", { type: "radio", name, value, id: `${name}-${value}`, onchange: () => onChange(value) });
    inputs.set(value, input);
    group.append(input, make("label", { for: input.id }, text));
  }
  return {
    root: group, inputs,
    get value() { return [...inputs].find(([, input]) => input.checked)?.[0]; },
    set value(value) { inputs.get(value).checked = true; },
    show(visible) { group.hidden = !visible; },
  };
}

// A slider whose positions stand for values: value(position) and position(value), text(value) beside it.
export function slider(label, { steps = 100, value, position, text, onInput, onChange }) {
  const id = `control-${++count}`;
  const output = make("output", { for: id });
  const input = make("input", { type: "range", id, min: 0, max: steps, step: 1 });
  const show = (shown) => {
    output.textContent = text(shown);
    input.setAttribute("aria-valuetext", output.textContent);
  };
  input.addEventListener("input", () => { show(value(Number(input.value))); onInput(value(Number(input.value))); });
  input.addEventListener("change", () => onChange(value(Number(input.value))));
  const root = make("div", { class: "field slider" }, make("label", { for: id }, label), output, input);
  return {
    root, input,
    get value() { return value(Number(input.value)); },
    set value(wanted) { input.value = position(wanted); show(wanted); },  // which may lie between two positions
    show(visible) { root.hidden = !visible; },
  };
}

export const short = (number) => {
  if (number === null || number === undefined || Number.isNaN(number)) return "–";
  if (!Number.isFinite(number)) return "∞";
  if (number === 0) return "0";
  const size = Math.abs(number);
  if (size >= 1e5 || size < 1e-3) return number.toExponential(1).replace("e+", "e");
  return String(Number(number.toPrecision(3)));
};

// Positions 0..steps as powers of ten from low to high; with infinity, one position beyond stands for "inf".
export function logarithmic(low, high, steps, { infinity = false } = {}) {
  const last = infinity ? steps - 1 : steps;
  const span = Math.log10(high / low);
  return {
    steps,
    value: (at) => (at > last ? "inf" : Number((low * 10 ** ((span * at) / last)).toPrecision(3))),
    position: (wanted) => (wanted === "inf" ? steps : Math.round((last * Math.log10(wanted / low)) / span)),
  };
}

export function linear(low, high, steps) {
  return {
    steps,
    value: (at) => Number((low + ((high - low) * at) / steps).toPrecision(6)),
    position: (wanted) => Math.round((steps * (wanted - low)) / (high - low)),
  };
}

export const button = (text, onClick, attributes = {}) => make("button", { type: "button", onclick: onClick, ...attributes }, text);
