// Ways to decide between many classes, side by side.

import { button, card, make, short } from "../../lib/controls.js";
import { Plane } from "../../lib/plane.js";
import { drawAround, drawBehind } from "./picture.js";
import { SCHEMES } from "./state.js";

export class Comparison {
  constructor(context, close) {
    this.context = context;
    this.grid = make("div", { class: "schemes" });
    this.root = card("Schemes side by side", this.grid, button("Close", close));
    this.root.hidden = true;
    this.planes = new Map();
    for (const [name, title] of SCHEMES) {
      const about = make("figcaption", {}, make("b", {}, title), make("span", {}, "…"));
      const figure = make("figure", {});
      const plane = new Plane(figure, { label: `Regions of ${title}`, editable: false });
      plane.surface.removeAttribute("tabindex");
      plane.surface.setAttribute("role", "img");
      plane.surface.removeAttribute("aria-roledescription");
      plane.surface.classList.add("small");
      figure.append(about);
      this.grid.append(figure);
      this.planes.set(name, { plane, about: about.lastChild, answer: null });
    }
  }

  run(body, points) {
    const opened = this.root.hidden;
    this.root.hidden = false;
    if (opened) this.root.scrollIntoView({ block: "nearest" });
    for (const one of this.planes.values()) {
      one.answer = null;
      one.about.textContent = "…";
      one.plane.points = points.map((point) => ({ ...point }));
      one.plane.behind = (canvas) => drawBehind(canvas, one.plane, one.answer);
      one.plane.around = (canvas, _, index, x, y, r) => drawAround(canvas, one.answer, index, x, y, r);
      one.plane.redraw();
    }
    this.context.ask("schemes", body, (answer) => {
      if (answer.error) return this.context.toast(answer.error.message);
      const one = this.planes.get(answer.values?.scheme);
      if (one) this.show(one, answer);
    });
  }

  show(one, answer) {
    one.answer = answer;
    const { separable, message, accuracy, milliseconds, machines, vectors, certificate } = answer.values;
    one.about.textContent = separable
      ? `${(100 * accuracy).toFixed(1)} % right, ${machines} machines, ${vectors} support vectors, gap ${short(certificate?.relative_gap)}, ${short(milliseconds.fit)} ms`
      : message;
    one.plane.redraw();
  }

  redraw() { for (const { plane } of this.planes.values()) plane.redraw(); }
  leave() { for (const { plane } of this.planes.values()) plane.leave(); }
}

export const hasManyClasses = (points) => new Set(points.map((point) => point.c)).size > 2;
