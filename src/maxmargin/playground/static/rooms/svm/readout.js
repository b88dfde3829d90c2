// What is said about the machine and about a point: the certificate, the gap as it falls, the legend of the marks.

import { cssColour } from "../../lib/colours.js";
import { card, make, short } from "../../lib/controls.js";
import { STATUS_MARKS, drawMark, shapePath } from "../../lib/shapes.js";
import { partsOf, pointCount } from "./picture.js";

const SVG = "http://www.w3.org/2000/svg";

function shape(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

// -- the certificate ------------------------------------------------------------------------------------------------

export class Certificate {
  constructor() {
    this.verdict = make("p", { class: "verdict" });
    this.facts = make("dl", { class: "facts" });
    this.chart = new GapChart();
    this.root = card("Certificate", this.verdict, this.facts, this.chart.root);
  }

  show(values) {
    const { certificate, accuracy, vectors, width, milliseconds, mistakes, constant } = values;
    this.verdict.className = "verdict";
    if (!certificate) {
      this.verdict.textContent = accuracy === 1
        ? `Separated, after ${mistakes} mistakes. A perceptron stops at any separation: there is no optimum to prove.`
        : `Not separated, after ${mistakes} mistakes. Where no line separates, a perceptron never ends.`;
    } else if (constant && certificate.holds && certificate.gap < 1e-9) {
      this.verdict.classList.add("good");
      this.verdict.textContent = "Proven optimal: the best w is 0, so that there is no boundary.";
    } else if (!certificate.holds) {
      this.verdict.classList.add("warn");
      this.verdict.textContent = `No proof: ${certificate.reason}.`;
    } else if (certificate.relative_gap !== null && certificate.relative_gap <= 1e-3) {
      this.verdict.classList.add("good");
      this.verdict.textContent = certificate.relative_gap <= 1e-9 ? "Proven optimal." : `Proven within ${short(100 * certificate.relative_gap)} % of the optimum.`;
    } else {
      this.verdict.classList.add("warn");
      this.verdict.textContent = certificate.relative_gap === null
        ? "Not there yet: slack is left, and a hard margin allows none."
        : `Not there yet: within ${short(100 * certificate.relative_gap)} % of the optimum.`;
    }
    const facts = [];
    if (certificate) {
      facts.push(["Primal", short5(certificate.primal)], ["Dual", short5(certificate.dual)], constant ? ["Gap", short(certificate.gap)] : ["Relative gap", short(certificate.relative_gap)]);
      if (certificate.machines > 1) facts.push(["Sums over machines", certificate.machines]);
    }
    if (vectors !== null) facts.push(["Support vectors", vectors]);
    if (accuracy !== undefined && accuracy !== null) facts.push(["Right", `${(100 * accuracy).toFixed(1)} %`]);
    if (typeof width === "number") facts.push(["Width of strip", short(width)]);
    facts.push(["Fit", `${milliseconds.fit.toFixed(1)} ms`]);
    this.facts.replaceChildren(...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(value)))));
  }

  fail(text) {
    this.verdict.className = "verdict bad";
    this.verdict.textContent = text;
    this.facts.replaceChildren();
    this.chart.show(null);
  }
}

const short5 = (value) => (value === null ? "–" : Math.abs(value) >= 1e6 ? value.toExponential(3) : String(Number(value.toPrecision(6))));

// -- the gap --------------------------------------------------------------------------------------------------------

const [WIDE, HIGH, LEFT, BOTTOM] = [320, 130, 36, 20];

class GapChart {
  constructor() {
    this.root = shape("svg", { class: "chart", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": "The relative gap" });
  }

  // trace: { steps, unit, gap }; at: the step an animation shows, or null
  show(trace, at = null) {
    this.root.replaceChildren();
    this.root.classList.toggle("empty", !trace?.steps.length);
    if (!trace?.steps.length) return;
    const { steps, gap, unit } = trace;
    const last = steps[steps.length - 1], lowest = Math.max(-16, Math.floor(Math.log10(Math.min(...gap))) - 1);
    const x = (step) => LEFT + (last > 1 ? (Math.log(step) / Math.log(last)) : 0.5) * (WIDE - LEFT - 10);
    const y = (value) => 8 + (Math.min(0, Math.log10(value)) / lowest) * (HIGH - BOTTOM - 12);
    const every = lowest < -8 ? 4 : lowest < -3 ? 2 : 1;
    for (let power = 0; power >= lowest; power -= every) {
      this.root.append(shape("line", { x1: LEFT, x2: WIDE - 10, y1: y(10 ** power), y2: y(10 ** power), class: "rule" }));
      this.root.append(shape("text", { x: LEFT - 5, y: y(10 ** power) + 4, class: "tick end" }, power === 0 ? "1" : `1e${power}`));
    }
    const points = steps.map((step, i) => `${x(step).toFixed(1)},${y(gap[i]).toFixed(1)}`);
    this.root.append(shape("polyline", { points: points.join(" "), class: "curve" }));
    const where = at === null ? steps.length - 1 : Math.max(0, steps.findLastIndex((step) => step <= at));
    this.root.append(shape("circle", { cx: x(steps[where]), cy: y(gap[where]), r: 4.5, class: "here" }));
    this.root.append(shape("text", { x: LEFT, y: HIGH - 4, class: "tick" }, "1"));
    this.root.append(shape("text", { x: WIDE - 10, y: HIGH - 4, class: "tick end" }, `${last.toLocaleString("en")} ${unit}`));
    this.root.setAttribute("aria-label", `Relative gap: ${short(gap[0])} after one step, ${short(gap[gap.length - 1])} after ${last} ${unit}`);
  }
}

// -- the legend -----------------------------------------------------------------------------------------------------

function sample(draw) {
  const canvas = make("canvas", { width: 52, height: 52, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  context.scale(2, 2);
  draw(context);
  return canvas;
}

export class Legend {
  constructor() { this.root = make("ul", { class: "legend", "aria-label": "What the marks mean" }); }

  show(answer, words) {
    const names = answer.arrays.part ? words?.parts : words?.names;
    const { wrong, support } = answer.arrays, parts = partsOf(answer);
    const items = [];
    const entry = (mark, name, count) => items.push(make("li", {}, sample((context) => {
      shapePath(context, "circle", 13, 13, 5);
      context.fillStyle = cssColour("--soft");
      context.fill();
      drawMark(context, mark, 13, 13, 5, cssColour("--ink"), cssColour("--odd"));
    }), `${name} `, make("b", {}, String(count))));
    if (parts && names) {
      const counts = names.map((_, code) => parts.reduce((sum, one) => sum + (one === code), 0));
      names.forEach((name, code) => { if (name && counts[code]) entry(STATUS_MARKS[code], name, counts[code]); });
    } else if (support) {
      const total = (values) => values.reduce((sum, one) => sum + one, 0);
      entry("thin ring", "support vector", total(support));
      if (wrong) entry("cross", "misclassified", total(wrong));
    }
    this.root.replaceChildren(...items);
  }

  clear() { this.root.replaceChildren(); }
}

// -- one point ------------------------------------------------------------------------------------------------------

// Lines of text about a point.
export function pointText(point, index, answer, words) {
  const lines = [`Point ${index + 1}${words?.task === "classify" ? `, class ${point.c}` : ""} at (${point.x.toFixed(2)}, ${point.y.toFixed(2)})`];
  const { status, zone, alpha, slack, support, wrong } = answer?.arrays ?? {};
  if (!words?.names || index >= pointCount(answer)) return lines;
  const facts = (at) => `α = ${short(alpha[at])}, ξ = ${short(slack[at])}`;
  if (status?.shape.length === 1) {
    lines.push(`${words.names[status[index]] ?? ""}: ${facts(index)}`);
    if (zone) lines.push(`zone: ${words.zones[zone[index]]}`);
  } else if (status) {
    const tasks = status.shape[1];
    const parts = Array.from({ length: tasks }, (_, k) => index * tasks + k).filter((at) => status[at] !== 255);
    parts.sort((a, b) => alpha[b] - alpha[a]);
    for (const at of parts.slice(0, 4)) lines.push(`${words.tasks[at % tasks]}: ${words.names[status[at]]}, ${facts(at)}`);
  } else {
    if (alpha) lines.push(facts(index));
    if (zone?.shape.length === 1 && answer.values.certificate) lines.push(`zone: ${words.zones[zone[index]]}`);
    if (support?.[index]) lines.push("part of the machine");
    if (wrong?.[index]) lines.push("misclassified");
  }
  return lines;
}
