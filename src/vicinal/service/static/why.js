// Why a label: the training rows that carry it, the words they share with the text, the exact parts.

import { ask, make } from "/static/api.js";

export class Why {
  constructor(panel, marked) {
    this.panel = panel;
    this.marked = marked;
    this.hint = panel.firstElementChild;
    this.canExplain = true;
    this.clear();
  }

  clear() {
    this.near = [];
    this.text = "";
    this.label = null;
    this.panel.replaceChildren(this.hint);
    this.marked.hidden = true;
  }

  begin(model, text, near) {
    this.model = model;
    this.text = text;
    this.near = near;
    if (this.label) this.show(this.label);
  }

  async show(label) {
    this.label = label;
    const carriers = this.near.filter((neighbor) => neighbor.labels.includes(label));
    const words = sharedWords(carriers);
    this.panel.replaceChildren(
      make("h3", { textContent: label }),
      make("p", {
        className: "hint",
        textContent: `${carriers.length} of the ${this.near.length} nearest training rows carry this label.`,
      }),
      wordList(words),
      make("ol", {}, ...carriers.map(neighborItem)),
    );
    this.highlight(words);
    await this.explain(label);
  }

  // The exact parts of the score, where the method has them.
  async explain(label) {
    if (!this.canExplain || !this.text) return;
    try {
      const body = { rows: [{ text: this.text }], labels: [label], top: 1 };
      const reply = await ask(`/v1/models/${this.model}/explain`, body);
      const found = reply.results[0]?.labels?.find((each) => each.label === label);
      if (found && this.label === label) this.panel.append(partsTable(found));
    } catch (error) {
      if (error.status === 501) this.canExplain = false;
    }
  }

  highlight(words) {
    const known = new Set(words.map(([word]) => word));
    const pieces = this.text.split(/([\p{L}\p{N}]+)/u).map((piece) =>
      known.has(piece.toLowerCase()) ? make("mark", { textContent: piece }) : piece,
    );
    this.marked.replaceChildren(...pieces);
    this.marked.hidden = known.size === 0;
  }
}

function sharedWords(neighbors) {
  const shares = new Map();
  for (const neighbor of neighbors)
    for (const { feature, share } of neighbor.shared) shares.set(feature, (shares.get(feature) ?? 0) + share);
  return [...shares].sort((one, other) => other[1] - one[1]).slice(0, 12);
}

function wordList(words) {
  return make("p", { className: "words" }, ...words.map(([word]) => make("span", { textContent: word })));
}

function neighborItem(neighbor) {
  const near = neighbor.similarity ?? neighbor.distance;
  const measure = neighbor.similarity === undefined ? "distance" : "similarity";
  return make(
    "li",
    {},
    make(
      "div",
      { className: "line" },
      make("span", { textContent: neighbor.name ?? `row ${neighbor.row_id}` }),
      make("span", { className: "hint", textContent: `${measure} ${near.toFixed(3)}` }),
    ),
    make("div", { className: "hint", textContent: neighbor.labels.join(", ") }),
  );
}

function partsTable(explanation) {
  const lines = [["base", explanation.base], ...explanation.parts.map((part) => [part.name, part.share])];
  return make(
    "div",
    {},
    make("h3", { textContent: `${explanation.scale} ${explanation.value.toFixed(4)} is the sum of` }),
    make(
      "ol",
      {},
      ...lines.map(([name, share]) =>
        make(
          "li",
          { className: "line" },
          make("span", { textContent: name ?? "" }),
          make("span", { className: "hint", textContent: `${share < 0 ? "−" : "+"}${Math.abs(share).toFixed(4)}` }),
        ),
      ),
    ),
  );
}
