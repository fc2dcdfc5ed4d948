// The list of labels: score bars, and which of them are chosen.

import { make } from "/static/api.js";

export class LabelList {
  constructor(list, empty, { onChange, onLook }) {
    this.list = list;
    this.empty = empty;
    this.onChange = onChange;
    this.onLook = onLook;
    this.chosen = new Set();
    this.scores = new Map();
    this.predicted = [];
    this.isTaught = false;
    this.names = {};
  }

  show(prediction) {
    this.predicted = prediction.labels;
    this.names = prediction.names ?? {};
    this.isTaught = prediction.as_taught !== undefined;
    this.chosen = new Set(prediction.labels);
    this.scores = new Map(prediction.scores.map(({ label, score }) => [label, score]));
    for (const label of prediction.labels) if (!this.scores.has(label)) this.scores.set(label, null);
    this.draw();
  }

  clear() {
    this.predicted = [];
    this.isTaught = false;
    this.chosen = new Set();
    this.scores = new Map();
    this.draw();
  }

  add(label) {
    if (!this.scores.has(label)) this.scores.set(label, null);
    this.chosen.add(label);
    this.draw();
  }

  draw() {
    const largest = Math.max(1, ...[...this.scores.values()].map((score) => score ?? 0));
    this.list.replaceChildren(...[...this.scores].map(([label, score]) => this.item(label, score, largest)));
    this.empty.hidden = this.scores.size > 0;
    this.onChange();
  }

  // The name of a label that is an identifier, and the identifier.
  shown(label) {
    const name = this.names[label];
    return name === undefined || name === label ? label : `${name} <${label}>`;
  }

  mark(label) {
    return this.isTaught && this.predicted.includes(label) ? [make("span", { className: "as-taught", textContent: " as taught" })] : [];
  }

  item(label, score, largest) {
    const bar = make("span");
    bar.style.width = `${(100 * Math.max(0, score ?? 0)) / largest}%`;
    const button = make(
      "button",
      { type: "button", className: "label", "aria-pressed": String(this.chosen.has(label)) },
      make("span", { className: "tick", "aria-hidden": "true" }),
      make("span", { className: "name", title: label, textContent: this.shown(label) }),
      make("span", { className: "score", textContent: score === null ? "added" : score.toFixed(3) }, ...this.mark(label)),
      make("span", { className: "bar", "aria-hidden": "true" }, bar),
    );
    const tick = () => {
      button.querySelector(".tick").textContent = this.chosen.has(label) ? "✓" : "";
      button.setAttribute("aria-pressed", String(this.chosen.has(label)));
    };
    tick();
    button.addEventListener("click", () => {
      if (!this.chosen.delete(label)) this.chosen.add(label);
      tick();
      this.onChange();
    });
    for (const event of ["focus", "mouseenter"]) {
      button.addEventListener(event, () => {
        for (const other of this.list.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
        button.setAttribute("aria-current", "true");
        this.onLook(label);
      });
    }
    return make("li", {}, button);
  }
}
