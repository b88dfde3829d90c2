// The SVM room (M28).

import { classColour, cssColour } from "../lib/colours.js";
import { guide, make, select, slider, card, logarithmic, short } from "../lib/controls.js";
import { packPoints, unpackPoints } from "../lib/link.js";
import { Plane } from "../lib/plane.js";
import { CLASSIFICATION, preset } from "../lib/presets.js";
import { drawMargins, paintClasses, paintScores } from "../lib/regions.js";
import { STATUS_MARKS, drawMark } from "../lib/shapes.js";

const GUIDE = "Click to add points, drag them, and watch the boundary follow. Move C. Notice the ringed points.";

export function mount(root, context, saved) {
  const state = { C: 1, gamma: 1, ...saved };
  const stage = make("div", { class: "stage" }), panel = make("div", { class: "panel" });
  root.append(guide(GUIDE), stage, panel);
  const plane = new Plane(stage, { label: "Points of two or more classes." });
  plane.points = unpackPoints(saved?.points) ?? preset(CLASSIFICATION, "moons");
  let answer = null;

  const body = (dragging) => ({
    task: "classify", x: plane.points.map((p) => p.x), y: plane.points.map((p) => p.y), c: plane.points.map((p) => p.c),
    kernel: { name: "gaussian", gamma: state.gamma }, C: state.C, view: plane.view,
    columns: dragging ? 100 : 200, rows: dragging ? 75 : 150, detail: dragging ? "coarse" : "fine",
  });
  const ask = (dragging) => context.ask("fit", body(dragging), (got) => {
    if (got.error) return context.toast(got.error.message);
    answer = got;
    plane.redraw();
  });
  const commit = () => { ask(false); context.commit({ ...state, points: packPoints(plane.points) }); };

  plane.onChange = (dragging) => (dragging ? ask(true) : commit());
  plane.behind = (canvas) => {
    if (!answer) return;
    const { scores, regions } = answer.arrays;
    if (regions) paintClasses(canvas, plane, regions, classColour);
    if (scores) {
      paintScores(canvas, plane, scores, classColour(answer.values.classes[0]), classColour(answer.values.classes[1]));
      drawMargins(canvas, plane, scores);
    }
  };
  plane.around = (canvas, _, index, x, y, r) => {
    const status = answer?.arrays.status;
    if (status && status.shape.length === 1) drawMark(canvas, STATUS_MARKS[status[index]], x, y, r, cssColour("--ink"), cssColour("--odd"));
  };
  const presets = select("Data", Object.keys(CLASSIFICATION).map((name) => [name, name]), (name) => {
    plane.points = preset(CLASSIFICATION, name);
    plane.changed();
  });
  const live = (name) => ({ onInput: (value) => { state[name] = value; ask(true); }, onChange: (value) => { state[name] = value; commit(); } });
  const cost = slider("C", { ...logarithmic(0.01, 1000, 100), text: short, ...live("C") });
  const width = slider("γ", { ...logarithmic(0.01, 100, 100), text: short, ...live("gamma") });
  cost.value = state.C;
  width.value = state.gamma;
  panel.append(card("Machine", presets.root, cost.root, width.root));
  commit();
  return {
    refresh: () => ask(false),
    redraw: () => plane.redraw(),
    restore: (value) => {
      Object.assign(state, value);
      [cost.value, width.value] = [state.C, state.gamma];
      plane.points = unpackPoints(value.points) ?? [];
      plane.redraw();
      ask(false);
    },
    leave: () => plane.leave(),
  };
}
