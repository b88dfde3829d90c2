// Paste a table of your own: two of its columns, or a projection of all of them, become the points.

import { button, make, select } from "../../lib/controls.js";

const EXAMPLE = "width, height, kind\n1.2, 0.7, apple\n1.1, 0.8, apple\n2.3, 1.9, pear\n2.1, 2.2, pear";
const NONE = "(no classes)";

export class TableDialog {
  constructor(context, use) {
    Object.assign(this, { context, use, answer: null });
    this.text = make("textarea", { id: "table-text", rows: 9, spellcheck: "false", placeholder: EXAMPLE });
    this.text.addEventListener("input", () => { this.wishes = {}; this.read(); });
    const wish = (name) => (value) => { this.wishes[name] = value; this.read(); };
    this.method = select("Show", [["columns", "two columns"], ["pca", "principal components (PCA)"], ["kda", "kernel discriminants (KDA)"]], wish("method"));
    this.x = select("Across", [], wish("x"));
    this.y = select("Up", [], wish("y"));
    this.label = select("Classes", [], (value) => { this.wishes.label = value === NONE ? null : value; this.read(); });
    this.fields = make("div", { class: "fields" }, this.method.root, this.label.root, this.x.root, this.y.root);
    this.notes = make("p", { class: "notes", role: "status" });
    this.accept = button("Use these points", () => this.finish(), { class: "main", disabled: true });
    this.root = make("dialog", { class: "card", "aria-labelledby": "table-title" },
      make("h2", { id: "table-title" }, "Paste a table"),
      make("label", { for: "table-text" }, "A line for each row; commas, semicolons or tabs between the values. It stays on this computer."),
      this.text, this.fields, this.notes,
      make("div", { class: "row end" }, button("Cancel", () => this.root.close()), this.accept));
    this.wishes = {};
  }

  open() {
    this.root.showModal();
    this.text.focus();
    if (this.text.value) this.read();
  }

  read() {
    this.accept.disabled = true;
    if (!this.text.value.trim()) { this.notes.textContent = ""; return; }
    this.context.ask("table", { text: this.text.value, ...this.wishes }, (answer) => {
      if (answer.error) {
        this.answer = null;
        this.notes.textContent = answer.error.message;
        return;
      }
      this.show(answer);
    });
  }

  show(answer) {
    this.answer = answer;
    const { columns, numeric, x, y, label, method, notes, rows, classes } = answer.values;
    const fill = (control, names, value) => {
      control.input.replaceChildren(...names.map((name) => make("option", { value: name }, name)));
      control.value = value;
    };
    fill(this.x, numeric, x);
    fill(this.y, numeric, y);
    fill(this.label, [NONE, ...columns], label ?? NONE);
    this.method.value = method;
    this.x.show(method === "columns");
    this.y.show(method === "columns");
    const kinds = label === null ? "" : `, classes ${classes.join(", ")}`;
    this.notes.textContent = [`${rows} points${kinds}; each axis scaled to the plane.`, ...notes].join(" ");
    this.accept.disabled = false;
  }

  finish() {
    const { px, py, c } = this.answer.arrays;
    this.root.close();
    this.use(Array.from(px, (x, i) => ({ x, y: py[i], c: c[i] })), this.answer.values);
  }
}
