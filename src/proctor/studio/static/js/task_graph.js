/** A task graph from a text: words become steps, steps are linked, proposals decided on; the server says how it stands. */

import { sameSheet } from "./device.js";
import { make } from "./dom.js";
import { startPage } from "./page.js";
import { brief, chosenIn, onlyRead, putCursor } from "./selecting.js";
import { send } from "./wire.js";
import { _, _in } from "./words.js";

/** @typedef {{id: string, text: string, spans: [number, number][]}} Step */
/** @typedef {{text: string, steps: Step[], edges: [string, string][], refused_steps: string[], refused: [string, string][], note: string}} Sheet */

const LOOK_MS = 500;
const BLANK = { text: "", steps: [], edges: [], refused_steps: [], refused: [], note: "" };
const at = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (document.getElementById(id));
const one = (/** @type {string} */ name, /** @type {string} */ value) => /** @type {HTMLElement | null} */ (document.querySelector(`[data-${name}="${CSS.escape(value)}"]`));
/** @param {string[]} pair @returns {(other: string[]) => boolean} */
const is = ([a, b]) => (other) => other[0] === a && other[1] === b;

let sheet = /** @type {Sheet} */ (structuredClone(BLANK));
let [shown, chosen] = ["", [0, 0]]; // the text as it stands with its marks, and the code points of it that are chosen
let [link, current] = ["", ""]; // the step that a link begins at, and the one last worked on
let [timer, turn] = [0, 0];

const text = () => task.text || sheet.text;
const steps = () => /** @type {Step[]} */ (task.fixed ? task.steps : sheet.steps);
const number = (/** @type {string} */ id) => steps().findIndex((step) => step.id === id) + 1;
const named = (/** @type {string} */ id) => `${number(id)} ${brief(steps()[number(id) - 1]?.text ?? id)}`;

/** @param {string} act @param {string} label @param {() => void} run @param {Record<string, string>} [more] @param {boolean} [off] */
function button(act, label, run, more = {}, off = false) {
  const made = make("button", { type: "button", "data-act": act, disabled: off, ...more }, label);
  made.addEventListener("click", run);
  return made;
}

/** Show the text: what steps are of is marked, with their numbers in front. */
function showText() {
  const spans = steps().flatMap((step, n) => step.spans.map(([from, to]) => ({ from, to, n: n + 1 })));
  const state = JSON.stringify([text(), spans]);
  at("paste").hidden = Boolean(task.text) || spans.length > 0;
  if (at("pasted").value !== sheet.text) at("pasted").value = sheet.text;
  at("words").hidden = text() === "";
  at("make-step").disabled = page.readOnly;
  if (shown === state) return;
  [shown, chosen] = [state, [chosen[1], chosen[1]]];
  const points = [...text()];
  const cuts = [...new Set([0, points.length, ...spans.flatMap(({ from, to }) => [from, to])])].sort((a, b) => a - b);
  const parts = cuts.slice(1).map((to, n) => {
    const [from, said] = [cuts[n], points.slice(cuts[n], to).join("")];
    const begun = spans.filter((span) => span.from === from).map((span) => span.n).join(", ");
    return spans.some((span) => span.from <= from && to <= span.to) ? Object.assign(make("mark", { "data-steps": begun || null }), { textContent: said }) : said;
  });
  at("words").replaceChildren(...parts);
}

/** Remember which words of the text are chosen, without what stands around them; buttons leave them chosen. */
function select() {
  const found = chosenIn(at("words"));
  if (!found) return;
  const [before, said] = found;
  const from = [...before].length + [...said].length - [...said.trimStart()].length;
  chosen = [from, from + [...said.trim()].length];
  at("word-said").replaceChildren(make("span", {}, said.trim() ? _("Chosen: “{words}”", { words: brief(said.trim()) }) : _("No words are chosen.")));
}

/** @param {[number, number]} span @returns {string} its words as the wording of a step */
function worded([from, to]) {
  const said = [...text()].slice(from, to).join("").trim().replace(/\s+/g, " ");
  return said.charAt(0).toLocaleUpperCase() + said.slice(1);
}

function makeStep() {
  select(); // the event of the last key may be still to come
  const [from, to] = chosen;
  if (from === to || page.readOnly) return;
  insert({ id: freeId(), text: worded([from, to]), spans: [[from, to]] });
  edited(_("Step {name}", { name: named(current) }));
  putCursor(at("words"), [...text()].slice(0, to).join("").length); // the text was drawn anew
}

/** @param {Step} step goes where its words stand in the text */
function insert(step) {
  const begin = step.spans[0]?.[0] ?? Infinity;
  const after = sheet.steps.findIndex((other) => (other.spans[0]?.[0] ?? -1) > begin);
  sheet.steps.splice(after < 0 ? sheet.steps.length : after, 0, step);
  current = step.id;
}

function freeId() {
  for (let n = sheet.steps.length + 1; ; n += 1) if (!sheet.steps.some((step) => step.id === `s${n}`)) return `s${n}`;
}

/** @param {[string, string]} pair @param {boolean} on */
function setEdge(pair, on) {
  sheet.edges = [...sheet.edges.filter((edge) => !is(pair)(edge)), ...(on ? [pair] : [])];
  if (on) sheet.refused = sheet.refused.filter((edge) => !is(pair)(edge));
}

/** @param {string} id begin a link, or end the one that was begun: it is made, or taken back where it is there */
function linkAt(id) {
  const [from, on] = [link, !sheet.edges.some(is([link, id]))];
  link = from ? "" : id;
  if (!from) return edited(_("Link from step {name}: choose the step that comes after it.", { name: named(id) }));
  if (from !== id) setEdge([from, id], on);
  const pair = { before: named(from), after: named(id) };
  edited(from === id ? _("No link.") : on ? _("Linked: {before} → {after}", pair) : _("No link any more: {before} → {after}", pair));
}

/** @param {string} id with its links */
function remove(id) {
  const n = number(id) - 1;
  sheet.edges = sheet.edges.filter((edge) => !edge.includes(id));
  sheet.steps = sheet.steps.filter((step) => step.id !== id);
  [current, link] = [(sheet.steps[n] ?? sheet.steps.at(-1))?.id ?? "", ""];
}

/** @param {Step} step becomes part of the one above it, with its words and its links @param {number} n */
function merge(step, n) {
  const above = sheet.steps[n - 1];
  Object.assign(above, { text: `${above.text} ${step.text}`, spans: [...above.spans, ...step.spans].sort((a, b) => a[0] - b[0]) });
  const moved = sheet.edges.map((edge) => /** @type {[string, string]} */ (edge.map((id) => (id === step.id ? above.id : id))));
  remove(step.id);
  for (const pair of moved) if (pair[0] !== pair[1]) setEdge(pair, true);
  if (task.steps.some((/** @type {Step} */ given) => given.id === step.id)) sheet.refused_steps.push(step.id);
  current = above.id;
  return _("Merged: {name}", { name: named(current) });
}

/** @param {Step} step is parted where words that it was merged of end, or before the words that are chosen in the text; links stay with the first part */
function split(step) {
  const cut = chosen[0];
  const parts = step.spans.length > 1 ? step.spans
    : step.spans.flatMap(([from, to]) => /** @type {[number, number][]} */ (from < cut && cut < to ? [[from, cut], [cut, to]] : []));
  if (parts.length === 0) return _("Choose in the text where the second part of this step begins, then split it.");
  Object.assign(step, { text: worded(parts[0]), spans: [parts[0]] });
  for (const part of parts.slice(1)) insert({ id: freeId(), text: worded(part), spans: [part] });
  current = step.id;
  return _("Split into {n}: {name}", { n: parts.length, name: named(current) });
}

/** @param {number} n @param {number} to */
const move = (n, to) => (sheet.steps.splice(to, 0, ...sheet.steps.splice(n, 1)), _("Moved to {n}", { n: to + 1 }));
/** What buttons of a step do. @type {Record<string, (step: Step, n: number) => string>} */
const ACTS = { Up: (step, n) => move(n, n - 1), Down: (step, n) => move(n, n + 1), Merge: merge, Split: split, Delete: (step) => (remove(step.id), _("Deleted")) };
/** What they say, and what they are called for step n. @type {(n: number) => Record<string, [string, string]>} */
const wordsOf = (n) => ({
  Up: [_("Up"), _("Up step {n}", { n })],
  Down: [_("Down"), _("Down step {n}", { n })],
  Merge: [_("Merge"), _("Merge step {n} into the one above", { n })],
  Split: [_("Split"), _("Split step {n}", { n })],
  Delete: [_("Delete"), _("Delete step {n}", { n })],
});

/** @param {Step} step @param {number} n */
function stepCard(step, n) {
  const words = wordsOf(n + 1);
  const box = /** @type {HTMLTextAreaElement} */ (make("textarea", { rows: "1", maxlength: "1000", dir: "auto", "aria-label": _("Wording of step {n}", { n: n + 1 }) }));
  box.value = step.text;
  box.addEventListener("input", () => void (step.text = box.value));
  const before = sheet.edges.filter(([, after]) => after === step.id).map(([id]) => id).sort((a, b) => number(a) - number(b));
  const acts = Object.entries(task.fixed ? {} : ACTS).map(([act, run]) =>
    button(act, words[act][0], () => edited(run(step, n)), { "aria-label": words[act][1] }, n === { Up: 0, Merge: 0, Down: sheet.steps.length - 1 }[act]));
  const linking = button("Link", _in("a button that joins two steps", "Link"), () => linkAt(step.id), { "aria-label": link ? _("Link to step {n}", { n: n + 1 }) : _("Link from step {n}", { n: n + 1 }), "aria-pressed": String(link === step.id) });
  const card = make("li", { class: "graph-card", id: `card-steps.${step.id}`, "data-id": step.id }, make("b", {}, String(n + 1)), task.fixed ? make("p", { dir: "auto" }, step.text) : box,
    make("div", { class: "row" }, linking, ...acts), make("p", { class: "small muted", dir: "auto" }, before.length > 0 ? _("After {steps}", { steps: before.map(named).join("; ") }) : _("After no other step")));
  card.addEventListener("focusin", () => void (current = step.id));
  return card;
}

/** @returns {{key: string, words: string, sure: string, said: boolean | undefined, say: (yes: boolean) => void}[]} */
function proposals() {
  const ofSteps = (task.fixed ? [] : task.steps).map((/** @type {Step} */ step) => ({
    key: step.id, words: step.text, sure: _("step"), said: number(step.id) ? true : sheet.refused_steps.includes(step.id) ? false : undefined,
    say: (/** @type {boolean} */ yes) => {
      sheet.refused_steps = [...sheet.refused_steps.filter((id) => id !== step.id), ...(yes ? [] : [step.id])];
      if (!yes) remove(step.id);
      else if (!number(step.id)) insert(structuredClone(step));
    },
  }));
  const ofEdges = task.edges.filter((/** @type {any} */ e) => number(e.before) && number(e.after)).map((/** @type {any} */ e) => ({
    key: `${e.before}→${e.after}`, words: `${named(e.before)} → ${named(e.after)}`,
    sure: e.probability === null ? "" : _("{percent} % sure", { percent: Math.round(100 * e.probability) }),
    said: sheet.edges.some(is([e.before, e.after])) ? true : sheet.refused.some(is([e.before, e.after])) ? false : undefined,
    say: (/** @type {boolean} */ yes) => {
      setEdge([e.before, e.after], yes);
      if (!yes) sheet.refused.push([e.before, e.after]);
    },
  }));
  return [...ofSteps, ...ofEdges];
}

const undecided = () => proposals().filter(({ said }) => said === undefined);

function showProposals() {
  const [all, open] = [proposals(), undecided()];
  at("card-proposals").hidden = all.length === 0;
  at("proposals-said").textContent = open.length > 0 ? _("{n} of {total} to decide on, the most doubtful first.", { n: open.length, total: all.length }) : _("All {n} are decided on.", { n: all.length });
  at("proposals").replaceChildren(...all.map(({ key, words, sure, said, say }) => {
    const choice = (/** @type {boolean} */ yes, /** @type {string} */ label, /** @type {string} */ name) =>
      button(yes ? "Accept" : "Refuse", label, () => (say(yes), edited(name)), { "aria-pressed": String(said === yes), "aria-label": name });
    return make("li", { class: "proposal", "data-key": key }, make("span", { dir: "auto" }, words), choice(true, _("Accept"), _("Accept: {words}", { words })),
      choice(false, _("Refuse"), _("Refuse: {words}", { words })), make("span", { class: "muted small" }, sure));
  }));
}

/** @param {string} act to the proposal in focus, or the first that is open; then on to the next */
function press(act) {
  const row = document.activeElement?.closest(".proposal") ?? one("key", undecided()[0]?.key ?? "");
  const following = /** @type {HTMLElement | null | undefined} */ (row?.nextElementSibling)?.dataset.key ?? "";
  /** @type {HTMLElement | null | undefined} */ (row?.querySelector(`[data-act="${act}"]`))?.click();
  one("key", following)?.querySelector("button")?.focus();
}

/** Show all that depends on the sheet; what had the focus keeps it. */
function render() {
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  const { id, key } = /** @type {HTMLElement | undefined} */ (focused?.closest("[data-id], [data-key]"))?.dataset ?? {};
  at("steps-said").textContent = _("{n} steps, in order of appearance.", { n: steps().length });
  at("steps").replaceChildren(...steps().map(stepCard));
  showProposals();
  if (!task.fixed) showText();
  if (!id && !key) return;
  const card = (id && (one("id", id) ?? one("id", current))) || (key && one("key", key)) || null;
  /** @type {HTMLElement | null | undefined} */ (card?.querySelector(`[data-act="${focused?.dataset.act}"]:enabled`) ?? card?.querySelector(focused?.tagName ?? "") ?? card?.querySelector("textarea, button"))?.focus({ preventScroll: true });
}

/** @param {string} [said] aloud */
function edited(said = "") {
  render();
  page.changed();
  at("graph-said").textContent = said;
}

/** @param {{ text: string, step: number }} finding with the number of a step to go to, 0 for none */
function found(finding) {
  const step = steps()[finding.step - 1];
  const go = () => /** @type {HTMLElement | null | undefined} */ (one("id", step.id)?.querySelector("textarea, button"))?.focus();
  return step ? button("finding", finding.text, go, { class: "quiet" }) : finding.text;
}

async function look() {
  const now = ++turn;
  const answer = await send("POST", `${page.path}/look`, { body: sheet, person: page.person });
  if (now !== turn) return;
  if (answer.kind !== "ok") return void (at("look-note").textContent = _("How it stands is shown once the server can be reached."));
  const { findings, svg, note, orders, count } = answer.data;
  at("look-note").textContent = note;
  at("findings-said").textContent = findings.length > 0 ? _("{n} to look at:", { n: findings.length }) : svg ? _("Nothing wrong or odd was found.") : "";
  at("findings").replaceChildren(...findings.map((/** @type {any} */ seen) => make("li", { class: seen.broken ? "error-text" : "" }, found(seen))));
  at("drawing").replaceChildren(...new DOMParser().parseFromString(svg, "text/html").querySelectorAll("svg"));
  at("orders-said").textContent = orders.length === 0 ? "" : count === null ? _("Some orders that are possible:")
    : _("{n} of {total} possible orders:", { n: orders.length, total: count.toLocaleString(document.documentElement.lang || "en") });
  at("orders").replaceChildren(...orders.map((/** @type {string[]} */ order) => make("li", {}, order.map(number).join(" → "))));
}

const page = startPage({
  read: () => sheet,
  fill: (given) => {
    sheet = { ...structuredClone(BLANK), .../** @type {any} */ (given) };
    note.value = sheet.note;
    link = "";
    render();
  },
  changed: () => {
    sheet.note = note.value;
    clearTimeout(timer);
    timer = setTimeout(() => void look(), LOOK_MS);
  },
  missing: () => null, // the server says it
  differences: (mine, theirs) => (sameSheet(mine, theirs) ? [] : [{
    id: "graph", name: _("Graph"), mine, theirs, set: (into, value) => void Object.assign(into, value),
    show: (value) => [...value.steps.map((/** @type {Step} */ step, /** @type {number} */ n) => `${n + 1} ${step.text}`), _("{n} links", { n: value.edges.length })].join("; "),
  }]),
  nameOf: () => "",
  group: _("Task graph"),
  keys: [
    { id: "link", group: _("Task graph"), label: _("Link from or to a step"), keys: ["l"], run: () => void (number(current) && !page.readOnly && linkAt(current)) },
    { id: "accept", group: _("Task graph"), label: _("Accept a proposal"), keys: ["y"], run: () => press("Accept") },
    { id: "refuse", group: _("Task graph"), label: _("Refuse a proposal"), keys: ["n"], run: () => press("Refuse") },
  ],
});
const { task } = page;
const note = /** @type {HTMLTextAreaElement} */ (page.form.querySelector("textarea[name=note]"));

if (!task.fixed) {
  at("make-step").addEventListener("click", makeStep);
  at("pasted").addEventListener("input", () => {
    sheet.text = at("pasted").value;
    edited();
  });
  document.addEventListener("selectionchange", select);
  onlyRead(at("words"), () => {
    shown = "";
    showText();
  });
  at("words").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    makeStep();
  });
}
