// The page: a text, or cells on lines "column: cell", its labels, why, teaching, and the log of what was taught.

import { ask, make, setToken } from "/static/api.js";
import { LabelList } from "/static/labels.js";
import { TaughtLog } from "/static/taught.js";
import { Why } from "/static/why.js";

const WAIT = 250; // milliseconds after the last key
const UPKEEP_WAIT = 1000; // milliseconds until the page asks again what the service is doing
const UPKEEP = { preparing: "getting ready to learn", recalibrating: "adjusting the threshold" };
const TOP = 8;
const $ = (id) => document.getElementById(id);

const why = new Why($("why"), $("marked"));
const labels = new LabelList($("labels"), $("no-labels"), {
  onChange: showTeach,
  onLook: (label) => why.show(label),
});
const taught = new TaughtLog($("taught"), $("nothing-taught"), undo);
let model = null;
let timer = 0;
let asked = 0;
let shownForm = ""; // the names of the model's columns, each on a line
let shown = ""; // model, version and text of the labels on the page
let lesson = null; // text, labels and key of the lesson being taught: a repeated try is one lesson

function say(message, isBad = false) {
  $("status").textContent = message;
  $("status").classList.toggle("bad", isBad);
}

function fail(error) {
  say(error.message, true);
  if (error.status === 401 || error.code === "read-only-token") {
    $("token-form").hidden = false;
    $("token").focus();
  }
}

// What the model is asked about: a text, or the cells on lines that begin with a column's name.
function row() {
  const text = $("text").value;
  if (!model.columns) return { text };
  const features = {};
  let column;
  for (const line of text.split("\n")) {
    const next = model.columns.find((name) => line.startsWith(`${name}:`));
    if (next === undefined && column !== undefined) features[column] += `\n${line}`;
    if (next !== undefined) features[next] = line.slice(next.length + 1).trim();
    column = next ?? column;
  }
  return { features };
}

const isBlank = () => !$("text").value.trim() || $("text").value === shownForm;

const path = (what = "") => `/v1/models/${encodeURIComponent(model.id)}${what}`;
const mayWrite = () => model !== null && model.can_learn && model.writes !== "nobody";

function showTeach() {
  $("teach").disabled = !mayWrite() || isBlank();
}

function showModel() {
  const number = (value) => value.toLocaleString("en");
  const doing = UPKEEP[model.upkeep] ? ` · ${UPKEEP[model.upkeep]} …` : "";
  $("facts").textContent =
    `${model.method} · ${number(model.rows)} rows · ${number(model.labels)} labels · version ${number(model.version)}${doing}`;
  if (doing) setTimeout(() => watchUpkeep().catch(fail), UPKEEP_WAIT);
  const reason = !model.can_learn ? "This model cannot learn incrementally." : "This service is read-only.";
  $("read-only").textContent = reason;
  $("read-only").hidden = mayWrite();
  $("add-form").hidden = !mayWrite();
  $("text").disabled = !model.reads_text && !model.columns;
  if ($("text").disabled) say("This model reads features, not texts: use the API.", true);
  showTeach();
}

// The threshold may change without a lesson of this page: then the labels are predicted again.
async function watchUpkeep() {
  const before = model;
  const now = await ask(path());
  if (model !== before) return; // a lesson or another model came first
  model = now;
  showModel();
  if (!UPKEEP[now.upkeep] && before.upkeep === "recalibrating") {
    shown = "";
    await predict();
  }
}

async function loadModels() {
  const { models } = await ask("/v1/models");
  const wanted = $("model").value || models[0].id;
  $("model").replaceChildren(
    ...models.map(({ id }) => make("option", { value: id, textContent: id, selected: id === wanted })),
  );
  model = models.find(({ id }) => id === wanted) ?? models[0];
  const form = (model.columns ?? []).map((column) => `${column}: `).join("\n");
  if (!$("text").value.trim() || $("text").value === shownForm) $("text").value = form;
  shownForm = form;
  const { examples } = await ask(path("/examples"));
  const options = examples.map(({ title, text }) => make("option", { value: text, textContent: title }));
  $("examples").replaceChildren(make("option", { value: "", textContent: "choose …" }), ...options);
  await refresh();
}

// What a change of the model changes on the page.
async function refresh() {
  model = await ask(path());
  showModel();
  const known = await ask(path("/labels?limit=2000"));
  $("known-labels").replaceChildren(...known.labels.map(({ label }) => make("option", { value: label })));
  await taught.refresh(encodeURIComponent(model.id), mayWrite());
  await predict();
}

async function predict() {
  if (model === null) return; // once the model is known, this is called again
  const text = $("text").value;
  const mine = ++asked;
  if (isBlank()) {
    labels.clear();
    why.clear();
    shown = "";
    say("");
    return;
  }
  const rows = [row()];
  const [prediction, near] = await Promise.all([
    ask(path("/predict"), { rows, top: TOP }),
    ask(path("/neighbors"), { rows }),
  ]);
  if (mine !== asked) return; // a newer text has been asked about
  const key = JSON.stringify([model.id, prediction.version, text]);
  if (key === shown) return; // what the person has chosen since then stays
  shown = key;
  labels.show(prediction.results[0]);
  why.begin(encodeURIComponent(model.id), rows[0], text, near.results[0].neighbors);
  const count = prediction.results[0].labels.length;
  const how = labels.isTaught ? `, as taught in row ${prediction.results[0].as_taught}` : "";
  say(`${count} ${count === 1 ? "label" : "labels"} predicted by version ${prediction.version}${how}.${unknown()}`);
}

// A text is compared with others by the words that the model knows.
const unknown = () => (why.near.length ? "" : " The model knows no word of it: train again with such texts.");

async function teach() {
  const taughtRow = { ...row(), labels: [...labels.chosen] };
  const content = JSON.stringify(taughtRow);
  if (lesson?.content !== content) lesson = { content, key: `page-${newKey()}` };
  const before = labels.predicted;
  showTeaching(true);
  try {
    const reply = await ask(path("/learn"), { rows: [taughtRow], idempotency_key: lesson.key });
    lesson = null;
    await refresh();
    say(`Taught: row ${reply.row_ids[0]}, version ${reply.version}. ${changes(before, taughtRow.labels)}`);
  } finally {
    showTeaching(false);
    showTeach();
  }
}

function showTeaching(isOn) {
  $("teach").textContent = isOn ? "Teaching …" : "Teach these labels";
  $("teach").setAttribute("aria-busy", String(isOn));
  $("teach").disabled = isOn;
  if (isOn) say("Teaching …");
}

// What a lesson changed for its text.
function changes(before, wanted) {
  const after = labels.predicted;
  const added = after.filter((label) => !before.includes(label));
  const removed = before.filter((label) => !after.includes(label));
  const isAsTaught = after.length === wanted.length && wanted.every((label) => after.includes(label));
  const parts = [
    isAsTaught ? "The text is now labelled as taught." : `The text is not yet labelled as taught.${unknown()}`,
    added.length ? `New: ${added.join(", ")}.` : "",
    removed.length ? `Gone: ${removed.join(", ")}.` : "",
  ];
  return parts.filter((part) => part).join(" ");
}

function newKey() {
  const parts = crypto.getRandomValues(new Uint32Array(4));
  return [...parts].map((part) => part.toString(16).padStart(8, "0")).join("");
}

async function undo(rowIds) {
  try {
    say("Undoing …");
    const reply = await ask(path("/forget"), { row_ids: rowIds });
    await refresh();
    say(`Undone, version ${reply.version}.`);
    $("text").focus();
  } catch (error) {
    fail(error);
  }
}

const soon = () => {
  clearTimeout(timer);
  timer = setTimeout(() => predict().catch(fail), WAIT);
};

$("text").addEventListener("input", soon);
$("examples").addEventListener("change", () => {
  $("text").value = $("examples").value;
  predict().catch(fail);
});
$("model").addEventListener("change", () => loadModels().catch(fail));
$("add-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const label = $("add").value.trim();
  if (label) labels.add(label);
  $("add").value = "";
});
$("teach").addEventListener("click", () => teach().catch(fail));
$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  setToken($("token").value);
  $("token").value = "";
  $("token-form").hidden = true;
  say("");
  (model === null ? loadModels() : refresh()).catch(fail);
});
loadModels().catch(fail);
