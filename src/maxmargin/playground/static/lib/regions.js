// Scores on a grid as coloured regions and level lines. Grids run from the top left, line by line; a value belongs to
// the centre of its cell.

import { cssColour, rgb } from "./colours.js";

const scratch = document.createElement("canvas");

// Colour every pixel of a picture of width x height: colour(value) -> [r, g, b] for values interpolated between centres.
function paint(context, plane, width, height, colourAt) {
  scratch.width = width;
  scratch.height = height;
  const small = scratch.getContext("2d", { willReadFrequently: true });
  const image = small.createImageData(width, height);
  colourAt(image.data);
  small.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = true;
  context.drawImage(scratch, 0, 0, width, height, 0, 0, plane.width, plane.height);
}

// f < 0 in one colour and f > 0 in the other, paler between the margins.
export function paintScores(context, plane, scores, negative, positive, margin = 1) {
  const [rows, columns] = scores.shape;
  const base = rgb(cssColour("--plane"));
  const [full, pale] = [Number(cssColour("--region")), Number(cssColour("--strip"))];
  const mixed = (colour, share) => rgb(colour).map((part, k) => base[k] + share * (part - base[k]));
  const table = [mixed(negative, full), mixed(negative, pale), mixed(positive, pale), mixed(positive, full)];
  const width = Math.max(columns, Math.round(Math.min(plane.width, 480)));
  const height = Math.max(rows, Math.round((width * plane.height) / plane.width));
  paint(context, plane, width, height, (data) => {
    const across = weights(width, columns);
    for (let j = 0, at = 0; j < height; j++) {
      const v = Math.max(0, Math.min(rows - 1, ((j + 0.5) * rows) / height - 0.5));
      const top = Math.min(rows - 2, Math.floor(v)), down = v - top, line = top * columns;
      for (let i = 0; i < width; i++, at += 4) {
        const left = line + across.at[i], right = across.share[i];
        const above = scores[left] + right * (scores[left + 1] - scores[left]);
        const below = scores[left + columns] + right * (scores[left + columns + 1] - scores[left + columns]);
        const f = above + down * (below - above);
        const colour = table[f < 0 ? (f < -margin ? 0 : 1) : f <= margin ? 2 : 3];
        data[at] = colour[0];
        data[at + 1] = colour[1];
        data[at + 2] = colour[2];
        data[at + 3] = 255;
      }
    }
  });
}

function weights(width, columns) {
  const at = new Int32Array(width), share = new Float32Array(width);
  for (let i = 0; i < width; i++) {
    const u = Math.max(0, Math.min(columns - 1, ((i + 0.5) * columns) / width - 0.5));
    at[i] = Math.min(columns - 2, Math.floor(u));
    share[i] = u - at[i];
  }
  return { at, share };
}

// A class in every cell, in the colour of that class.
export function paintClasses(context, plane, regions, colourOf) {
  const [rows, columns] = regions.shape;
  const base = rgb(cssColour("--plane")), share = Number(cssColour("--region"));
  const table = new Map();
  paint(context, plane, columns, rows, (data) => {
    for (let k = 0, at = 0; k < regions.length; k++, at += 4) {
      if (!table.has(regions[k])) {
        table.set(regions[k], rgb(colourOf(regions[k])).map((part, i) => base[i] + share * (part - base[i])));
      }
      const colour = table.get(regions[k]);
      data[at] = colour[0];
      data[at + 1] = colour[1];
      data[at + 2] = colour[2];
      data[at + 3] = 255;
    }
  });
}

// Level lines by marching squares, joined to long lines so that dashes run along them.
export function traceLevel(context, plane, scores, level) {
  const [rows, columns] = scores.shape;
  const places = new Map(), neighbours = new Map();  // by the edge of the grid that the line crosses
  const link = (one, other) => {
    if (!neighbours.has(one)) neighbours.set(one, []);
    neighbours.get(one).push(other);
  };
  for (let j = 0; j + 1 < rows; j++) {
    for (let i = 0; i + 1 < columns; i++) {
      const k = j * columns + i;
      const a = scores[k] - level, b = scores[k + 1] - level;
      const c = scores[k + columns + 1] - level, d = scores[k + columns] - level;
      const code = (a > 0) + 2 * (b > 0) + 4 * (c > 0) + 8 * (d > 0);
      if (code === 0 || code === 15) continue;
      const cuts = [];
      const cut = (edge, u, v) => { places.set(edge, [u, v]); cuts.push(edge); };
      if (a > 0 !== b > 0) cut(2 * k, i + a / (a - b), j);
      if (b > 0 !== c > 0) cut(2 * (k + 1) + 1, i + 1, j + b / (b - c));
      if (c > 0 !== d > 0) cut(2 * (k + columns), i + d / (d - c), j + 1);
      if (d > 0 !== a > 0) cut(2 * k + 1, i, j + a / (a - d));
      for (let n = 0; n + 1 < cuts.length; n += 2) {
        link(cuts[n], cuts[n + 1]);
        link(cuts[n + 1], cuts[n]);
      }
    }
  }
  const x = (u) => ((u + 0.5) / columns) * plane.width, y = (v) => ((v + 0.5) / rows) * plane.height;
  context.beginPath();
  const walk = (start) => {
    let edge = start, first = true;
    while (edge !== undefined) {
      const [u, v] = places.get(edge);
      if (first) context.moveTo(x(u), y(v));
      else context.lineTo(x(u), y(v));
      first = false;
      const next = neighbours.get(edge).pop();
      if (next !== undefined) {
        const back = neighbours.get(next);
        back.splice(back.indexOf(edge), 1);
      }
      edge = next;
    }
  };
  for (const [edge, ends] of neighbours) if (ends.length === 1) walk(edge);
  for (const [edge, ends] of neighbours) if (ends.length) walk(edge);
  context.stroke();
}

export function drawMargins(context, plane, scores, levels = [-1, 0, 1]) {
  for (const level of levels) {
    context.strokeStyle = cssColour(level === 0 ? "--ink" : "--soft");
    context.lineWidth = level === 0 ? 2.2 : 1.3;
    context.setLineDash(level === 0 ? [] : [5, 4]);
    traceLevel(context, plane, scores, level);
  }
  context.setLineDash([]);
}
