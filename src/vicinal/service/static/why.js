// Why a label: the words without which its score falls, the training rows that have it, the exact parts.

import { ask, make } from "/static/api.js";

const WORDS = 12; // most words shown
const LEAST = 0.0005; // smaller losses would read 0.000
const SHARE = 0.02; // of the largest loss: words that lose less are no reason beside it

export class Why {
  constructor(panel, marked) {
    this.panel = panel;
    this.marked = marked;
    this.hint = panel.firstElementChild;
    this.canExplain = true;
    this.shown = 0; // how many labels have been looked at: only the newest is still of interest
    this.clear();
  }

  clear() {
    this.near = [];
    this.text = "";
    this.row = null;
    this.places = [];
    this.label = null;
    this.shown += 1;
    this.panel.replaceChildren(this.hint);
    this.marked.hidden = true;
  }

  begin(model, row, text, near) {
    this.model = model;
    this.row = row;
    this.text = text;
    this.near = near;
    if (this.label) this.show(this.label);
  }

  async show(label) {
    this.label = label;
    const mine = ++this.shown;
    const carriers = this.near.filter((neighbor) => neighbor.labels.includes(label));
    const words = make("div");
    this.panel.replaceChildren(
      make("h3", { textContent: label }),
      make("p", {
        className: "hint",
        textContent: `${carriers.length} of the ${this.near.length} nearest training rows have this label.`,
      }),
      words,
      make("ol", {}, ...carriers.map(neighborItem)),
    );
    const found = await this.explain(label);
    if (mine !== this.shown) return;
    const losses = found?.without ?? [];
    const least = Math.max(LEAST, SHARE * Math.max(0, ...losses.map(({ loss }) => loss)));
    const lost = losses.filter(({ loss }) => loss >= least).slice(0, WORDS);
    if (lost.length) words.replaceChildren(lossList(lost));
    this.highlight(new Set(lost.map(({ feature }) => feature)));
    if (found) this.panel.append(partsTable(found));
  }

  // The exact parts of the score and the words without which it falls, where the method has them.
  async explain(label) {
    if (!this.canExplain || !this.row) return undefined;
    try {
      const body = { rows: [this.row], labels: [label], top: 1, without: true };
      const reply = await ask(`/v1/models/${this.model}/explain`, body);
      this.places = reply.results[0]?.words ?? [];
      return reply.results[0]?.labels?.find((each) => each.label === label);
    } catch (error) {
      if (error.status === 501) this.canExplain = false;
      return undefined;
    }
  }

  // Marks the words as they are written in the text; a feature may be their dictionary form.
  highlight(features) {
    const letters = Array.from(this.text); // places count characters
    const pieces = [];
    let end = 0;
    for (const { start, stop, features: own } of this.places) {
      if (start < end || !own.some((feature) => features.has(feature))) continue;
      pieces.push(letters.slice(end, start).join(""));
      pieces.push(make("mark", { textContent: letters.slice(start, stop).join("") }));
      end = stop;
    }
    this.marked.replaceChildren(...pieces, letters.slice(end).join(""));
    this.marked.hidden = end === 0;
  }
}

function lossList(lost) {
  return make(
    "div",
    {},
    make("p", { className: "hint", textContent: "Without this word the score falls by:" }),
    make(
      "p",
      { className: "words" },
      ...lost.map(({ feature, loss }) => make("span", { textContent: `${feature} ${loss.toFixed(3)}` })),
    ),
  );
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

function partName(part) {
  return part.kind === "neighbor" && part.name === String(part.id) ? `row ${part.id}` : part.name;
}

const SHOWN_PARTS = 10;

function partsTable(explanation) {
  const parts = explanation.parts.filter((part) => part.share !== 0);
  parts.sort((one, other) => Math.abs(other.share) - Math.abs(one.share));
  const others = parts.splice(SHOWN_PARTS);
  const lines = [["base", explanation.base], ...parts.map((part) => [partName(part), part.share])];
  if (others.length > 0) {
    lines.push([`${others.length} others`, others.reduce((sum, part) => sum + part.share, 0)]);
  }
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
