// Undo and redo: states one after the other, and where we are.

const LONGEST = 200;

export class Timeline {
  constructor() {
    this.states = [];  // as text, so that nobody changes them later
    this.at = -1;
  }

  get current() { return this.at < 0 ? null : JSON.parse(this.states[this.at]); }
  get canUndo() { return this.at > 0; }
  get canRedo() { return this.at < this.states.length - 1; }

  record(state) {
    const text = JSON.stringify(state);
    if (this.at >= 0 && this.states[this.at] === text) return;
    this.states.splice(this.at + 1);
    this.states.push(text);
    if (this.states.length > LONGEST) this.states.shift();
    this.at = this.states.length - 1;
  }

  undo() { return this.canUndo ? JSON.parse(this.states[--this.at]) : null; }
  redo() { return this.canRedo ? JSON.parse(this.states[++this.at]) : null; }
}
