// The plane with its points: mouse, touch and keyboard in, a picture out. Rooms say what to draw behind and around.
//
//   const plane = new Plane(host, { label, view: [left, right, bottom, top] });
//   plane.points = [{ x, y, c }, ...];            // c is a class, 1 to 9
//   plane.onChange = (dragging) => { ... };       // points were added, moved or removed
//   plane.onFocus = (index) => { ... };           // -1: none; what to say of a point is the room's business
//   plane.behind = (context, plane) => { ... };   // draws regions; plane.px(x), plane.py(y) give pixels
//   plane.around = (context, plane, index, x, y, r) => { ... };  // draws the mark of a point
//   plane.inFront = (context, plane) => { ... };  // optional
//   plane.redraw();

import { classColour, classShape, cssColour } from "./colours.js";
import { shapePath } from "./shapes.js";

const REACH = { mouse: 11, pen: 14, touch: 22 };  // pixels within which a pointer means a point
const STILL = 4;                                   // pixels that a click may wander
const LONG = 600;                                  // milliseconds of a long press
const rounded = (value) => Math.round(1000 * value) / 1000;

export class Plane {
  constructor(host, { label, view = [-4, 4, -3, 3], editable = true, most = 2000 }) {
    Object.assign(this, { host, view, editable, most });
    this.points = [];
    this.selected = this.hovered = -1;
    this.cursor = null;      // where the keyboard is, if it is in use
    this.classOfNew = 1;
    this.drag = null;
    this.onChange = this.onFocus = this.behind = this.around = this.inFront = this.onClass = this.onFull = () => {};
    this.build(label);
    this.listen();
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.surface);
  }

  build(label) {
    this.surface = document.createElement("div");
    this.surface.className = "plane";
    this.surface.tabIndex = 0;
    this.surface.setAttribute("role", "application");
    this.surface.setAttribute("aria-roledescription", "plane of points");
    this.surface.setAttribute("aria-label", label);
    this.back = document.createElement("canvas");
    this.front = document.createElement("canvas");
    for (const canvas of [this.back, this.front]) canvas.setAttribute("aria-hidden", "true");
    this.surface.append(this.back, this.front);
    this.host.append(this.surface);
  }

  leave() { this.observer.disconnect(); }

  // -- coordinates ----------------------------------------------------------------------------------------------

  px(x) { return ((x - this.view[0]) / (this.view[1] - this.view[0])) * this.width; }
  py(y) { return ((this.view[3] - y) / (this.view[3] - this.view[2])) * this.height; }
  x(px) { return this.view[0] + (px / this.width) * (this.view[1] - this.view[0]); }
  y(py) { return this.view[3] - (py / this.height) * (this.view[3] - this.view[2]); }
  get radius() { return Math.max(this.width < 280 ? 2.4 : 4, Math.min(6.5, this.width / 110)) * (this.points.length > 500 ? 0.7 : 1); }

  inside(x, y) {
    const edge = 0.005 * (this.view[1] - this.view[0]);
    return {
      x: rounded(Math.max(this.view[0] + edge, Math.min(this.view[1] - edge, x))),
      y: rounded(Math.max(this.view[2] + edge, Math.min(this.view[3] - edge, y))),
    };
  }

  nearest(px, py, reach) {
    let best = -1, least = reach * reach;
    this.points.forEach((point, index) => {
      const distance = (this.px(point.x) - px) ** 2 + (this.py(point.y) - py) ** 2;
      if (distance <= least) [best, least] = [index, distance];
    });
    return best;
  }

  // -- changes --------------------------------------------------------------------------------------------------

  add(x, y) {
    if (this.points.length >= this.most) {
      this.onFull();
      return;
    }
    this.points.push({ ...this.inside(x, y), c: this.classOfNew });
    this.changed();
  }

  remove(index) {
    if (index < 0) return;
    this.points.splice(index, 1);
    this.hovered = -1;
    this.select(-1);
    this.changed();
  }

  move(index, x, y, dragging) {
    Object.assign(this.points[index], this.inside(x, y));
    this.changed(dragging);
  }

  changed(dragging = false) {
    this.surface.dataset.points = this.points.length;
    this.redrawFront();
    this.onChange(dragging);
  }

  select(index) {
    this.selected = index;
    this.redrawFront();
    this.onFocus(this.focused);
  }

  get focused() { return this.hovered >= 0 ? this.hovered : this.selected; }

  chooseClass(c) {
    this.classOfNew = c;
    this.onClass(c);
    if (this.selected >= 0 && this.points[this.selected].c !== c) {
      this.points[this.selected].c = c;
      this.changed();
    }
  }

  // -- mouse and touch ------------------------------------------------------------------------------------------

  listen() {
    const at = (event) => {
      const box = this.surface.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const on = (name, listener) => this.surface.addEventListener(name, listener);
    on("pointerdown", (event) => this.down(event, ...at(event)));
    on("pointermove", (event) => this.wander(event, ...at(event)));
    on("pointerup", (event) => this.up(event, ...at(event)));
    on("pointercancel", () => { clearTimeout(this.pressTimer); this.drag = null; });
    on("pointerleave", () => { if (!this.drag) this.hover(-1); });
    on("contextmenu", (event) => {
      event.preventDefault();
      clearTimeout(this.pressTimer);
      const index = this.drag?.pressed ? -1 : this.nearest(...at(event), REACH.mouse);  // a long press may say so, too
      this.drag = null;
      if (this.editable) this.remove(index);
    });
    on("keydown", (event) => this.key(event));
    on("blur", () => { this.cursor = null; this.redrawFront(); });
  }

  down(event, px, py) {
    if (event.button !== 0 || !event.isPrimary) return;
    this.surface.setPointerCapture(event.pointerId);
    const index = this.nearest(px, py, REACH[event.pointerType] ?? REACH.mouse);
    const from = index < 0 ? null : [px - this.px(this.points[index].x), py - this.py(this.points[index].y)];
    this.drag = { index, px, py, from, moved: false, pressed: false };
    this.cursor = null;
    if (event.pointerType === "touch") this.pressTimer = setTimeout(() => this.pressed(), LONG);
  }

  // A finger has rested: what is under it goes, and lifting it does nothing.
  pressed() {
    const { drag } = this;
    if (!drag || drag.moved) return;
    drag.pressed = true;
    if (this.editable) this.remove(drag.index);
    drag.index = -1;
  }

  wander(event, px, py) {
    if (!this.drag) {
      this.hover(this.nearest(px, py, REACH.mouse));
      return;
    }
    const { drag } = this;
    drag.moved ||= Math.hypot(px - drag.px, py - drag.py) > STILL;
    if (drag.moved && drag.index >= 0 && this.editable) {
      this.surface.classList.add("dragging");
      this.move(drag.index, this.x(px - drag.from[0]), this.y(py - drag.from[1]), true);
    }
  }

  up(event, px, py) {
    const { drag } = this;
    this.drag = null;
    clearTimeout(this.pressTimer);
    this.surface.classList.remove("dragging");
    if (!drag || drag.pressed) return;
    if (drag.moved && drag.index >= 0) {
      if (this.editable) this.changed();
    } else if (drag.index >= 0) {
      if (event.shiftKey && this.editable) this.remove(drag.index);
      else this.select(this.selected === drag.index ? -1 : drag.index);
    } else if (!drag.moved) {
      if (this.selected >= 0) this.select(-1);
      if (this.editable) this.add(this.x(px), this.y(py));
    }
  }

  hover(index) {
    if (index === this.hovered) return;
    this.hovered = index;
    this.surface.classList.toggle("over", index >= 0);
    this.redrawFront();
    this.onFocus(this.focused);
  }

  // -- keyboard -------------------------------------------------------------------------------------------------

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = ((event.shiftKey ? 5 : 1) * (this.view[1] - this.view[0])) / 100;
    const arrows = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    const { key } = event;
    if (arrows[key]) this.arrow(...arrows[key]);
    else if (key === "n" || key === "p") this.next(key === "n" ? 1 : -1);
    else if (key === "Enter" || key === " ") this.enter();
    else if (key === "Delete" || key === "Backspace") { if (this.editable) this.remove(this.focused); }
    else if (key === "Escape") this.select(-1);
    else if (/^[1-9]$/.test(key)) { if (this.editable) this.chooseClass(Number(key)); }
    else return;
    event.preventDefault();
  }

  arrow(dx, dy) {
    if (this.selected >= 0 && this.editable) {
      const point = this.points[this.selected];
      this.move(this.selected, point.x + dx, point.y + dy, false);
      this.cursor = { x: point.x, y: point.y };
      this.onFocus(this.focused);
    } else {
      const { x, y } = this.cursor ?? { x: (this.view[0] + this.view[1]) / 2, y: (this.view[2] + this.view[3]) / 2 };
      this.cursor = this.inside(x + dx, y + dy);
      this.redrawFront();
    }
  }

  next(step) {
    const n = this.points.length;
    if (!n) return;
    const index = this.selected < 0 ? (step > 0 ? 0 : n - 1) : (this.selected + step + n) % n;
    this.cursor = { x: this.points[index].x, y: this.points[index].y };
    this.hovered = -1;
    this.select(index);
  }

  enter() {
    if (this.selected >= 0) this.select(-1);
    else if (this.editable) {
      this.cursor ??= { x: (this.view[0] + this.view[1]) / 2, y: (this.view[2] + this.view[3]) / 2 };
      this.add(this.cursor.x, this.cursor.y);
    }
  }

  // -- the picture ----------------------------------------------------------------------------------------------

  resize() {
    const { clientWidth, clientHeight } = this.surface;
    if (!clientWidth || !clientHeight) return;
    [this.width, this.height, this.ratio] = [clientWidth, clientHeight, Math.min(2, devicePixelRatio || 1)];
    for (const canvas of [this.back, this.front]) {
      canvas.width = Math.round(clientWidth * this.ratio);
      canvas.height = Math.round(clientHeight * this.ratio);
    }
    this.redraw();
  }

  redraw() {
    this.draw(this.back, (context) => this.behind(context, this));
    this.redrawFront();
  }

  redrawFront() {
    this.draw(this.front, (context) => {
      this.inFront(context, this);
      this.drawPoints(context);
      if (this.cursor && document.activeElement === this.surface) this.drawCursor(context);
    });
  }

  draw(canvas, painter) {
    if (!this.width) return;
    const context = canvas.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    painter(context);
  }

  drawPoints(context) {
    const r = this.radius, rim = cssColour("--surface"), ring = cssColour("--focus");
    this.points.forEach((point, index) => {
      const [px, py] = [this.px(point.x), this.py(point.y)];
      shapePath(context, classShape(point.c), px, py, r);
      context.fillStyle = classColour(point.c);
      context.fill();
      context.lineWidth = 1;
      context.strokeStyle = rim;
      context.stroke();
      this.around(context, this, index, px, py, r);
      if (index === this.selected || index === this.hovered) {
        context.beginPath();
        context.arc(px, py, 2.5 * r, 0, 2 * Math.PI);
        context.lineWidth = index === this.selected ? 3 : 1.5;
        context.strokeStyle = ring;
        context.stroke();
      }
    });
  }

  drawCursor(context) {
    const [px, py] = [this.px(this.cursor.x), this.py(this.cursor.y)];
    context.strokeStyle = cssColour("--focus");
    context.lineWidth = 1.5;
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(px + 5 * dx, py + 5 * dy);
      context.lineTo(px + 15 * dx, py + 15 * dy);
    }
    context.stroke();
  }
}
