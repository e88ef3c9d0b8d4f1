/** A task graph from a text: words become steps, steps are linked, proposals decided on; the server says how it stands. */

import { sameSheet } from "./device.js";
import { make } from "./dom.js";
import { startPage } from "./page.js";
import { send } from "./wire.js";

/** @typedef {{id: string, text: string, spans: [number, number][]}} Step */
/** @typedef {{text: string, steps: Step[], edges: [string, string][], refused_steps: string[], refused: [string, string][], note: string}} Sheet */

const LOOK_MS = 500;
const BLANK = { text: "", steps: [], edges: [], refused_steps: [], refused: [], note: "" };
const at = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (document.getElementById(id));
const one = (/** @type {string} */ name, /** @type {string} */ value) => /** @type {HTMLElement | null} */ (document.querySelector(`[data-${name}="${CSS.escape(value)}"]`));
/** @param {string[]} pair @returns {(other: string[]) => boolean} */
const is = ([a, b]) => (other) => other[0] === a && other[1] === b;
const brief = (/** @type {string} */ text) => (text.length > 60 ? `${text.slice(0, 59)}…` : text);

let sheet = /** @type {Sheet} */ (structuredClone(BLANK));
let [shown, chosen] = ["", [0, 0]]; // the text as it stands with its marks, and the code points of it that are chosen
let [link, current] = ["", ""]; // the step that a link begins at, and the one last worked on
let [timer, turn] = [0, 0];

const text = () => task.text || sheet.text;
const steps = () => /** @type {Step[]} */ (task.fixed ? task.steps : sheet.steps);
const number = (/** @type {string} */ id) => steps().findIndex((step) => step.id === id) + 1;
const named = (/** @type {string} */ id) => `${number(id)} ${brief(steps()[number(id) - 1]?.text ?? id)}`;

/** @param {string} label @param {() => void} run @param {Record<string, string>} [more] @param {boolean} [off] */
function button(label, run, more = {}, off = false) {
  const made = make("button", { type: "button", "data-act": label, disabled: off, ...more }, label);
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
  const range = getSelection()?.rangeCount ? getSelection()?.getRangeAt(0) : null;
  if (!range || !at("words").contains(range.commonAncestorContainer)) return;
  const before = document.createRange();
  before.setStart(at("words"), 0);
  before.setEnd(range.startContainer, range.startOffset);
  const said = range.toString();
  const from = [...before.toString()].length + [...said].length - [...said.trimStart()].length;
  chosen = [from, from + [...said.trim()].length];
  at("word-said").textContent = said.trim() ? `Chosen: “${brief(said.trim())}”` : "No words are chosen.";
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
  edited(`Step ${named(current)}`);
  // The text was drawn anew: the cursor goes back behind these words.
  const nodes = document.createTreeWalker(at("words"), NodeFilter.SHOW_TEXT);
  let left = [...text()].slice(0, to).join("").length;
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    const { length } = /** @type {Text} */ (node);
    if (left <= length) return void getSelection()?.collapse(node, left);
    left -= length;
  }
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
  if (!from) return edited(`Link from step ${named(id)}: choose the step that comes after it.`);
  if (from !== id) setEdge([from, id], on);
  edited(from === id ? "No link." : `${on ? "Linked" : "No link any more"}: ${named(from)} → ${named(id)}`);
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
  return `Merged: ${named(current)}`;
}

/** @param {Step} step is parted where words that it was merged of end, or before the words that are chosen in the text; links stay with the first part */
function split(step) {
  const cut = chosen[0];
  const parts = step.spans.length > 1 ? step.spans
    : step.spans.flatMap(([from, to]) => /** @type {[number, number][]} */ (from < cut && cut < to ? [[from, cut], [cut, to]] : []));
  if (parts.length === 0) return "Choose in the text where the second part of this step begins, then split it.";
  Object.assign(step, { text: worded(parts[0]), spans: [parts[0]] });
  for (const part of parts.slice(1)) insert({ id: freeId(), text: worded(part), spans: [part] });
  current = step.id;
  return `Split into ${parts.length}: ${named(current)}`;
}

/** @param {number} n @param {number} to */
const move = (n, to) => (sheet.steps.splice(to, 0, ...sheet.steps.splice(n, 1)), `Moved to ${to + 1}`);
/** What buttons of a step do. @type {Record<string, (step: Step, n: number) => string>} */
const ACTS = { Up: (_, n) => move(n, n - 1), Down: (_, n) => move(n, n + 1), Merge: merge, Split: split, Delete: (step) => (remove(step.id), "Deleted") };

/** @param {Step} step @param {number} n */
function stepCard(step, n) {
  const name = `step ${n + 1}`;
  const box = /** @type {HTMLTextAreaElement} */ (make("textarea", { rows: "1", maxlength: "1000", dir: "auto", "aria-label": `Wording of ${name}` }));
  box.value = step.text;
  box.addEventListener("input", () => void (step.text = box.value));
  const before = sheet.edges.filter(([, after]) => after === step.id).map(([id]) => id).sort((a, b) => number(a) - number(b));
  const acts = Object.entries(task.fixed ? {} : ACTS).map(([label, run]) =>
    button(label, () => edited(run(step, n)), { "aria-label": label === "Merge" ? `Merge ${name} into the one above` : `${label} ${name}` }, n === { Up: 0, Merge: 0, Down: sheet.steps.length - 1 }[label]));
  const linking = button("Link", () => linkAt(step.id), { "aria-label": `Link ${link ? "to" : "from"} ${name}`, "aria-pressed": String(link === step.id) });
  const card = make("li", { class: "graph-card", id: `card-steps.${step.id}`, "data-id": step.id }, make("b", {}, String(n + 1)), task.fixed ? make("p", { dir: "auto" }, step.text) : box,
    make("div", { class: "row" }, linking, ...acts), make("p", { class: "small muted", dir: "auto" }, `After ${before.map(named).join("; ") || "no other step"}`));
  card.addEventListener("focusin", () => void (current = step.id));
  return card;
}

/** @returns {{key: string, words: string, sure: string, said: boolean | undefined, say: (yes: boolean) => void}[]} */
function proposals() {
  const ofSteps = (task.fixed ? [] : task.steps).map((/** @type {Step} */ step) => ({
    key: step.id, words: step.text, sure: "step", said: number(step.id) ? true : sheet.refused_steps.includes(step.id) ? false : undefined,
    say: (/** @type {boolean} */ yes) => {
      sheet.refused_steps = [...sheet.refused_steps.filter((id) => id !== step.id), ...(yes ? [] : [step.id])];
      if (!yes) remove(step.id);
      else if (!number(step.id)) insert(structuredClone(step));
    },
  }));
  const ofEdges = task.edges.filter((/** @type {any} */ e) => number(e.before) && number(e.after)).map((/** @type {any} */ e) => ({
    key: `${e.before}→${e.after}`, words: `${named(e.before)} → ${named(e.after)}`,
    sure: e.probability === null ? "" : `${Math.round(100 * e.probability)} % sure`,
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
  at("proposals-said").textContent = open.length > 0 ? `${open.length} of ${all.length} to decide on, the most doubtful first.` : `All ${all.length} are decided on.`;
  at("proposals").replaceChildren(...all.map(({ key, words, sure, said, say }) => make("li", { class: "proposal", "data-key": key },
    make("span", { dir: "auto" }, words), ...["Accept", "Refuse"].map((label) => button(label, () => (say(label === "Accept"), edited(`${label}: ${words}`)),
      { "aria-pressed": String(said === (label === "Accept")), "aria-label": `${label}: ${words}` })), make("span", { class: "muted small" }, sure))));
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
  at("steps-said").textContent = `${steps().length} steps, in order of appearance.`;
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

/** @param {string} said of a finding; the first step that it names is gone to */
function found(said) {
  const step = steps()[Number(/(?:step|edge)s? (\d+)/i.exec(said)?.[1]) - 1];
  const go = () => /** @type {HTMLElement | null | undefined} */ (one("id", step.id)?.querySelector("textarea, button"))?.focus();
  return step ? button(said, go, { class: "quiet", "data-act": "finding" }) : said;
}

async function look() {
  const now = ++turn;
  const answer = await send("POST", `${page.path}/look`, { body: sheet, person: page.person });
  if (now !== turn) return;
  if (answer.kind !== "ok") return void (at("look-note").textContent = "How it stands is shown once the server can be reached.");
  const { findings, svg, note, orders, count } = answer.data;
  at("look-note").textContent = note;
  at("findings-said").textContent = findings.length > 0 ? `${findings.length} to look at:` : svg ? "Nothing wrong or odd was found." : "";
  at("findings").replaceChildren(...findings.map((/** @type {any} */ seen) => make("li", { class: seen.broken ? "error-text" : "" }, found(seen.text))));
  at("drawing").replaceChildren(...new DOMParser().parseFromString(svg, "text/html").querySelectorAll("svg"));
  at("orders-said").textContent = orders.length === 0 ? "" : count === null ? "Some orders that are possible:" : `${orders.length} of ${count.toLocaleString("en")} possible orders:`;
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
    id: "graph", name: "Graph", mine, theirs, set: (into, value) => void Object.assign(into, value),
    show: (value) => [...value.steps.map((/** @type {Step} */ step, /** @type {number} */ n) => `${n + 1} ${step.text}`), `${value.edges.length} links`].join("; "),
  }]),
  nameOf: () => "",
  group: "Task graph",
  keys: [
    { id: "link", group: "Task graph", label: "Link from or to a step", keys: ["l"], run: () => void (number(current) && !page.readOnly && linkAt(current)) },
    { id: "accept", group: "Task graph", label: "Accept a proposal", keys: ["y"], run: () => press("Accept") },
    { id: "refuse", group: "Task graph", label: "Refuse a proposal", keys: ["n"], run: () => press("Refuse") },
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
  // A field that is only read, in which browsers choose words by pointer, finger and keys.
  document.addEventListener("selectionchange", select);
  at("words").addEventListener("beforeinput", (event) => event.preventDefault());
  at("words").addEventListener("input", () => {
    shown = ""; // what cannot be prevented is undone
    showText();
  });
  at("words").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    makeStep();
  });
}
