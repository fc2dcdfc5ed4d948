// The log of what was taught, newest first, with undo.

import { ask, make } from "/static/api.js";

export class TaughtLog {
  constructor(list, empty, onUndo) {
    this.list = list;
    this.empty = empty;
    this.onUndo = onUndo;
  }

  async refresh(model, mayWrite) {
    const { taught } = await ask(`/v1/models/${model}/taught?limit=20`);
    const learned = taught.filter((event) => event.kind === "learn");
    this.list.replaceChildren(...learned.map((event) => this.item(event, mayWrite)));
    this.empty.hidden = learned.length > 0;
  }

  item(event, mayWrite) {
    const first = event.rows[0];
    const labels = first.labels.join(", ") || "no labels";
    const more = event.rows.length > 1 ? ` and ${event.rows.length - 1} more` : "";
    const item = make(
      "li",
      {},
      make(
        "div",
        { className: event.undone ? "what undone" : "what" },
        make("strong", { textContent: labels + more }),
        make("div", { className: "hint", textContent: first.text.slice(0, 120) }),
      ),
    );
    if (mayWrite && !event.undone) {
      const button = make("button", { type: "button", textContent: "Undo", "aria-label": `Undo teaching ${labels}` });
      button.addEventListener("click", () => this.onUndo(event.row_ids));
      item.append(button);
    }
    return item;
  }
}
