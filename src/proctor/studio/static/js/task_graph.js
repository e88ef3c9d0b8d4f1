/** A task graph from a text: words become steps, steps are linked, proposals decided on; the server says how it stands. */

import { make } from "./dom.js";
import { startPage } from "./page.js";
import { send } from "./wire.js";

/** @typedef {{id: string, text: string, spans: [number, number][]}} Step */
/** @typedef {{text: string, steps: Step[], edges: [string, string][], refused_steps: string[], refused: [string, string][], note: string}} Sheet */

const PIECE = 30; // code points of a word that are chosen together: a text may be one word of thousands
const LOOK_MS = 500;
const same = (/** @type {any} */ a) => (/** @type {any} */ b) => a[0] === b[0] && a[1] === b[1];
const at = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const field = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (at(id));

/** @type {Sheet} */
let sheet = { text: "", steps: [], edges: [], refused_steps: [], refused: [], note: "" };
/** @type {[number, number][]} code points of each word */
let words = [];
let shown = ""; // the text whose words are on the page
let chosen = { first: -1, last: -1, open: false };
let link = ""; // the step that a link begins at
let current = ""; // the step last worked on
let timer = 0;
let turn = 0;

/** @param {string} text words of its script, long ones in pieces @returns {[number, number][]} */
export function cut(text) {
  /** @type {[number, number][]} */
  const found = [];
  let point = 0;
  for (const { segment, isWordLike } of new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)) {
    const end = point + [...segment].length;
    for (let k = point; isWordLike && k < end; k += PIECE) found.push([k, Math.min(k + PIECE, end)]);
    point = end;
  }
  return found;
}

const text = () => task.text || sheet.text;
const steps = () => /** @type {Step[]} */ (task.fixed ? task.steps : sheet.steps);
const number = (/** @type {string} */ id) => steps().findIndex((step) => step.id === id) + 1;
const named = (/** @type {string} */ id) => `${number(id)} ${brief(steps()[number(id) - 1]?.text ?? id)}`;
const brief = (/** @type {string} */ words) => (words.length > 60 ? `${words.slice(0, 59)}…` : words);
const pointed = (/** @type {number} */ from, /** @type {number} */ to) => [...text()].slice(from, to).join("");
const tell = (/** @type {string} */ words) => void (at("graph-said").textContent = words);

/** @param {string} label @param {() => void} run @param {Record<string, string>} [more] */
function button(label, run, more = {}) {
  const made = make("button", { type: "button", ...more }, label);
  made.addEventListener("click", run);
  return made;
}

// -- words of the text

function showText() {
  const given = text();
  at("words").hidden = given === "";
  if (!task.fixed) at("paste").hidden = Boolean(task.text) || sheet.steps.some((step) => step.spans.length > 0);
  if (document.activeElement !== at("pasted")) field("pasted").value = sheet.text;
  if (shown !== given) {
    [shown, words, chosen] = [given, cut(given), { first: -1, last: -1, open: false }];
    const points = [...given];
    let end = 0;
    const parts = words.flatMap(([from, to], n) => {
      const parts = [points.slice(end, from).join(""), make("span", { "data-word": String(n) }, points.slice(from, to).join(""))];
      end = to;
      return parts;
    });
    at("words").replaceChildren(...parts, points.slice(end).join(""));
  }
  /** @type {Map<number, string>} */
  const marks = new Map();
  const within = words.map(() => 0);
  for (const [n, step] of steps().entries()) {
    for (const [from, to] of step.spans) {
      const inside = words.flatMap((word, k) => (word[0] < to && word[1] > from ? [k] : []));
      for (const k of inside) within[k] += 1;
      if (inside.length > 0) marks.set(inside[0], [marks.get(inside[0]), n + 1].filter(Boolean).join(", "));
    }
  }
  for (const [n, word] of [.../** @type {NodeListOf<HTMLElement>} */ (at("words").querySelectorAll("[data-word]"))].entries()) {
    word.className = [within[n] > 1 ? "is-shared" : within[n] ? "is-marked" : "", n >= chosen.first && n <= chosen.last ? "is-chosen" : ""].join(" ").trim();
    if (marks.has(n)) word.dataset.steps = marks.get(n);
    else delete word.dataset.steps;
  }
  const some = chosen.first >= 0;
  for (const [id, n] of /** @type {[string, number][]} */ ([["word-first", chosen.first], ["word-last", chosen.last]])) {
    field(id).max = String(words.length);
    if (document.activeElement !== at(id)) field(id).value = some ? String(n + 1) : "";
  }
  at("word-said").textContent = some ? `Chosen: “${brief(pointed(words[chosen.first][0], words[chosen.last][1]))}”` : "No words chosen.";
  at("add-to").textContent = `Add to step ${number(current) || ""}`;
  for (const id of ["make-step", "add-to"]) /** @type {any} */ (at(id)).disabled = page.readOnly || !some || (id === "add-to" && !number(current));
}

/** @param {number} first @param {number} [last] @param {boolean} [open] the next word clicked is the last one */
function choose(first, last = first, open = false) {
  const bound = (/** @type {number} */ n) => Math.max(0, Math.min(words.length - 1, n));
  chosen = { first: bound(Math.min(first, last)), last: bound(Math.max(first, last)), open };
  showText();
}

function makeStep() {
  if (chosen.first < 0 || page.readOnly || task.fixed) return;
  /** @type {[number, number]} */
  const span = [words[chosen.first][0], words[chosen.last][1]];
  const quoted = pointed(...span).replace(/\s+/g, " ");
  insert({ id: freeId(), text: quoted.charAt(0).toLocaleUpperCase() + quoted.slice(1), spans: [span] });
  chosen = { ...chosen, first: chosen.last, open: false };
  edited(`Step ${named(current)}`);
}

/** @param {Step} step put where its words stand in the text */
function insert(step) {
  const begin = step.spans[0]?.[0] ?? Infinity;
  const after = sheet.steps.findIndex((other) => (other.spans[0]?.[0] ?? -1) > begin);
  sheet.steps.splice(after < 0 ? sheet.steps.length : after, 0, step);
  current = step.id;
}

function freeId() {
  const taken = new Set([...sheet.steps, ...task.steps].map((step) => step.id));
  for (let n = sheet.steps.length + 1; ; n += 1) if (!taken.has(`s${n}`)) return `s${n}`;
}

// -- steps and links

/** @param {string} from @param {string} to @param {Set<string>} [seen] @returns {string[]} a way along links, empty where there is none */
function way(from, to, seen = new Set()) {
  if (from === to) return [to];
  seen.add(from);
  for (const [before, after] of sheet.edges) {
    const rest = before === from && !seen.has(after) ? way(after, to, seen) : [];
    if (rest.length > 0) return [from, ...rest];
  }
  return [];
}

/** @param {string} before @param {string} after @param {boolean} on @returns {boolean} false where it would close a circle */
function setEdge(before, after, on) {
  const back = on ? way(after, before) : [];
  if (back.length > 0) {
    page.say(`Not linked: ${[before, ...back].map(named).join(" → ")} would be a circle.`);
    return false;
  }
  sheet.edges = sheet.edges.filter((edge) => !same(edge)([before, after]));
  if (on) sheet.edges.push([before, after]);
  if (on) sheet.refused = sheet.refused.filter((edge) => !same(edge)([before, after]));
  return true;
}

/** @param {string} id begin a link, or end the one that was begun */
function linkAt(id) {
  const from = link;
  link = from === "" ? id : "";
  if (from === "" || from === id) return edited(link ? `Link from step ${named(id)}: choose the step that comes after it.` : "No link.");
  const done = setEdge(from, id, true);
  const problem = at("form-error").textContent ?? "";
  edited(done ? `Linked: ${named(from)} → ${named(id)}` : problem);
  if (!done) page.say(problem);
}

/** @param {string} id @param {number} by */
function move(id, by) {
  const from = number(id) - 1;
  if (from + by < 0 || from + by >= sheet.steps.length) return;
  sheet.steps.splice(from + by, 0, ...sheet.steps.splice(from, 1));
  edited(`Moved to ${number(id)} of ${sheet.steps.length}`);
}

/** @param {string} id @param {string} [into] whose links it hands over @param {boolean} [set] aside for good, where it was proposed */
function remove(id, into = "", set = into !== "") {
  const moved = sheet.edges.map((edge) => /** @type {[string, string]} */ (edge.map((end) => (end === id ? into : end))));
  sheet.edges = [];
  for (const [before, after] of moved) if (before && after && before !== after) setEdge(before, after, true);
  sheet.steps = sheet.steps.filter((step) => step.id !== id);
  if (set && task.steps.some((/** @type {Step} */ step) => step.id === id)) sheet.refused_steps.push(id);
  [current, link] = [into, ""];
}

/** @param {Step} step into the one above */
function merge(step) {
  const above = sheet.steps[number(step.id) - 2];
  Object.assign(above, { text: `${above.text} ${step.text}`.trim(), spans: [...above.spans, ...step.spans] });
  remove(step.id, above.id);
  edited(`Merged into step ${named(above.id)}`);
}

/** @param {Step} step where the cursor stands, else in the middle @param {HTMLTextAreaElement} box */
function split(step, box) {
  const place = box.selectionStart > 0 && box.selectionStart < step.text.length ? box.selectionStart : step.text.indexOf(" ", step.text.length / 2);
  if (place <= 0) return page.say("Put the cursor where the step is to be split.");
  const rest = { id: freeId(), text: step.text.slice(place).trim(), spans: step.spans.slice(1) };
  Object.assign(step, { text: step.text.slice(0, place).trim(), spans: step.spans.slice(0, 1) });
  sheet.steps.splice(number(step.id), 0, rest);
  edited(`Split into steps ${number(step.id)} and ${number(rest.id)}`);
}

/** @param {Step} step @param {number} n */
function stepCard(step, n) {
  const name = `step ${n + 1}`;
  const box = /** @type {HTMLTextAreaElement} */ (make("textarea", { rows: "1", maxlength: "1000", dir: "auto", "aria-label": `Wording of ${name}` }));
  box.value = step.text;
  box.addEventListener("input", () => void (step.text = box.value));
  const before = sheet.edges.filter(([, after]) => after === step.id).map(([id]) => id);
  const waits = before.map((id) => button(`${named(id)} ×`, () => { setEdge(id, step.id, false); edited(); }, { class: "after", "aria-label": `${name} need not wait for ${named(id)}`, dir: "auto" }));
  const list = make("details", { class: "checklist" }, make("summary", {}, before.length > 0 ? "Change" : "Comes after …"));
  list.addEventListener("toggle", () => {
    if (list.childElementCount > 1) return;
    list.append(...steps().filter((other) => other !== step).map((other) => {
      const tick = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox", checked: before.includes(other.id) }));
      tick.addEventListener("change", () => { if (setEdge(other.id, step.id, tick.checked)) page.changed(); else tick.checked = false; });
      return make("label", { class: "tick", dir: "auto" }, tick, make("span", {}, named(other.id)));
    }));
  });
  list.addEventListener("focusout", (event) => { if (!list.contains(/** @type {Node} */ (event.relatedTarget))) setTimeout(edited, 200); });
  const act = (/** @type {string} */ label, /** @type {() => void} */ run, /** @type {boolean} */ off = false) => {
    const made = button(label, run, { "aria-label": `${label} ${name}`, "data-act": label });
    made.toggleAttribute("disabled", off);
    return made;
  };
  const acts = task.fixed ? [] : [
    act("Up", () => move(step.id, -1), n === 0), act("Down", () => move(step.id, 1), n === sheet.steps.length - 1), act("Split", () => split(step, box)),
    act("Merge up", () => merge(step), n === 0), act("Delete", () => { remove(step.id); edited(`Deleted ${name}`); }),
  ];
  const linking = button(link === step.id ? "Link from here …" : link ? "Link to here" : "Link", () => linkAt(step.id), { "data-act": "Link", "aria-label": `${link ? "Link to" : "Link from"} ${name}`, "aria-pressed": String(link === step.id) });
  const words = task.fixed ? make("p", { dir: "auto", tabindex: "-1" }, step.text) : box;
  const card = make("li", { class: "step card", id: `card-steps.${step.id}`, "data-id": step.id },
    make("span", { class: "no" }, String(n + 1)), words, make("div", { class: "row acts" }, linking, ...acts),
    make("div", { class: "row waits" }, ...(before.length > 0 ? [make("span", { class: "muted" }, "after")] : []), ...waits, list));
  card.addEventListener("focusin", () => { current = step.id; });
  return card;
}

// -- proposals

/** @returns {{key: string, words: string, sure: string, said: boolean | null, say: (yes: boolean) => void}[]} */
function proposals() {
  const ids = new Set(steps().map((step) => step.id));
  const ofSteps = (task.fixed ? [] : task.steps).map((/** @type {Step} */ step) => ({
    key: step.id, words: step.text, sure: "step", said: ids.has(step.id) ? true : sheet.refused_steps.includes(step.id) ? false : null,
    say: (/** @type {boolean} */ yes) => {
      sheet.refused_steps = sheet.refused_steps.filter((id) => id !== step.id);
      if (yes && !ids.has(step.id)) insert(structuredClone(step));
      else if (!yes) remove(step.id, "", true);
    },
  }));
  const ofEdges = task.edges.filter((/** @type {any} */ e) => ids.has(e.before) && ids.has(e.after)).map((/** @type {any} */ e) => {
    /** @type {[string, string]} */
    const pair = [e.before, e.after];
    const sure = [e.taken ? "" : "not taken", e.probability === null ? "" : `${Math.round(100 * e.probability)} % sure`, e.together ? `${e.agreeing} of ${e.together} recordings` : ""];
    return {
      key: pair.join("→"), words: `${named(e.before)} → ${named(e.after)}`, sure: sure.filter(Boolean).join(", "),
      said: sheet.edges.some(same(pair)) ? true : sheet.refused.some(same(pair)) ? false : null,
      say: (/** @type {boolean} */ yes) => {
        if (!setEdge(...pair, yes)) return;
        sheet.refused = [...sheet.refused.filter((edge) => !same(pair)(edge)), ...(yes ? [] : [pair])];
      },
    };
  });
  return [...ofSteps, ...ofEdges];
}

function showProposals() {
  const all = proposals();
  const open = all.filter((one) => one.said === null);
  at("card-proposals").hidden = all.length === 0;
  at("proposals-said").textContent = open.length > 0 ? `${open.length} of ${all.length} to decide, the most doubtful first.` : `All ${all.length} are decided.`;
  for (const id of ["accept-rest", "refuse-rest"]) /** @type {any} */ (at(id)).disabled = open.length === 0 || page.readOnly;
  at("proposals").replaceChildren(...all.map((one) => make("li", { class: "proposal", "data-key": one.key },
    make("span", { dir: "auto" }, one.words), make("span", { class: "muted small" }, one.sure),
    ...[true, false].map((yes) => button(yes ? "Accept" : "Refuse", () => { one.say(yes); edited(); }, {
      "data-act": yes ? "Accept" : "Refuse", "aria-pressed": String(one.said === yes), "aria-label": `${yes ? "Accept" : "Refuse"}: ${one.words}` })))));
}

/** @param {boolean} yes */
function decideRest(yes) {
  for (let more = true; more; ) {
    more = false; // accepting a step brings its links
    for (const one of proposals()) {
      if (one.said !== null) continue;
      one.say(yes);
      more ||= proposals().some((now) => now.key === one.key && now.said !== null);
    }
  }
  edited(`${yes ? "Accepted" : "Refused"} the rest`);
}

// -- the page

/** Show all that depends on the sheet; what was focused stays so. */
function render() {
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  const card = focused?.closest("[data-id], [data-key]");
  const place = card instanceof HTMLElement ? (card.dataset.id ? `[data-id="${CSS.escape(card.dataset.id)}"]` : `[data-key="${CSS.escape(card.dataset.key ?? "")}"]`) : "";
  const act = focused?.dataset.act;
  at("steps-said").textContent = steps().length === 0 ? "No steps yet." : `${steps().length} steps, in order of appearance.`;
  at("card-steps").querySelector("ol")?.replaceChildren(...steps().map(stepCard));
  showProposals();
  if (!task.fixed) showText();
  if (place && !document.contains(focused)) {
    const again = document.querySelector(place) ?? document.querySelector(`[data-id="${CSS.escape(current)}"]`);
    /** @type {HTMLElement | null | undefined} */ (again?.querySelector(act ? `[data-act="${act}"]:enabled` : "textarea") ?? again?.querySelector("textarea, button"))?.focus();
  }
}

/** @param {string} [words] said aloud */
function edited(words) {
  render();
  if (words) tell(words);
  page.changed();
}

/** @param {string} id */
function jump(id) {
  const card = document.querySelector(`[data-id="${CSS.escape(id)}"]`);
  card?.scrollIntoView({ block: "nearest" });
  /** @type {HTMLElement | null | undefined} */ (card?.querySelector("textarea, p"))?.focus({ preventScroll: true });
}

async function look() {
  const now = ++turn;
  const answer = await send("POST", `${page.path}/look`, { body: { sheet }, person: page.person });
  if (now !== turn) return;
  if (answer.kind !== "ok") return void (at("look-note").textContent = "How the graph stands is shown once the server can be reached.");
  const { findings, svg, note, orders, count } = answer.data;
  at("look-note").textContent = note;
  at("findings").replaceChildren(...findings.map((/** @type {any} */ one) => make("li", { class: one.broken ? "error-text" : "" },
    one.steps.length > 0 ? button(one.text, () => jump(one.steps.at(-1)), { class: "quiet" }) : one.text)));
  at("findings-said").textContent = steps().length === 0 ? "" : findings.length === 0 ? "Nothing wrong or odd was found." : `${findings.length} to look at:`;
  at("drawing").replaceChildren(...new DOMParser().parseFromString(svg, "text/html").querySelectorAll("svg"));
  const how = count === null ? "A few of the orders that are possible:" : count === 1 ? "One order is possible:" : `${orders.length} of ${count.toLocaleString("en")} possible orders:`;
  at("orders-said").textContent = orders.length > 0 ? how : "";
  at("orders").replaceChildren(...orders.map((/** @type {string[]} */ order) => make("li", {}, order.map(number).join(" → "))));
}

const page = startPage({
  read: () => sheet,
  fill: (given) => {
    sheet = { text: "", steps: [], edges: [], refused_steps: [], refused: [], note: "", .../** @type {any} */ (given) };
    note.value = sheet.note;
    render();
  },
  changed: () => {
    sheet.note = note.value;
    clearTimeout(timer);
    timer = setTimeout(() => void look(), LOOK_MS);
  },
  missing: () => {
    if (steps().length === 0) return { message: "There is no step yet: choose words of the text, and make them a step.", card: at("card-steps") };
    const empty = steps().find((step) => step.text.trim() === "");
    if (empty) return { message: `Step ${number(empty.id)} has no words.`, card: at(`card-steps.${empty.id}`) };
    const open = proposals().filter((one) => one.said === null).length;
    return open > 0 ? { message: `Accept or refuse what is proposed: ${open} are not decided on.`, card: at("card-proposals") } : null;
  },
  differences: (mine, theirs) => (JSON.stringify(mine) === JSON.stringify(theirs) ? [] : [{
    id: "graph", name: "Graph", mine, theirs, set: (into, value) => void Object.assign(into, value),
    show: (value) => [...value.steps.map((/** @type {Step} */ s, /** @type {number} */ n) => `${n + 1} ${s.text}`), `${value.edges.length} links`].join(" · "),
  }]),
  nameOf: () => "",
  group: "Task graph",
  keys: [
    { id: "link", group: "Task graph", label: "Link from or to the step", keys: ["l"], run: () => void (current && linkAt(current)) },
    { id: "accept", group: "Task graph", label: "Accept a proposal", keys: ["y"], run: () => press("Accept") },
    { id: "refuse", group: "Task graph", label: "Refuse a proposal", keys: ["n"], run: () => press("Refuse") },
  ],
});
const { task } = page;
const note = /** @type {HTMLTextAreaElement} */ (page.form.querySelector("textarea[name=note]"));

/** @param {string} act of the proposal in focus, and on to the next */
function press(act) {
  const row = document.activeElement?.closest(".proposal") ?? document.querySelector(".proposal:not(:has([aria-pressed=true]))");
  const following = /** @type {HTMLElement | null} */ (row?.nextElementSibling)?.dataset.key;
  /** @type {HTMLElement | null | undefined} */ (row?.querySelector(`[data-act="${act}"]`))?.click();
  if (following) /** @type {HTMLElement | null} */ (document.querySelector(`[data-key="${CSS.escape(following)}"] button`))?.focus();
}

at("accept-rest").addEventListener("click", () => decideRest(true));
at("refuse-rest").addEventListener("click", () => decideRest(false));
at("drawing").addEventListener("click", (event) => {
  const node = /** @type {Element} */ (event.target).closest("[data-step]");
  if (node) jump(steps()[Number(node.getAttribute("data-step")) - 1].id);
});
if (!task.fixed) {
  at("make-step").addEventListener("click", makeStep);
  at("add-to").addEventListener("click", () => {
    steps()[number(current) - 1].spans.push([words[chosen.first][0], words[chosen.last][1]]);
    edited(`Added to step ${number(current)}`);
  });
  at("pasted").addEventListener("input", () => { sheet.text = field("pasted").value; showText(); });
  for (const id of ["word-first", "word-last"]) {
    at(id).addEventListener("input", (event) => {
      event.stopPropagation();
      const [first, last] = ["word-first", "word-last"].map((other) => Number(field(other).value) - 1);
      if (first >= 0) choose(first, Math.max(first, last));
    });
  }
  at("words").addEventListener("click", (event) => {
    const word = /** @type {Element} */ (event.target).closest("[data-word]");
    const range = getSelection();
    const inside = range && !range.isCollapsed ? [...at("words").querySelectorAll("[data-word]")].filter((one) => range.containsNode(one, true)) : [];
    const ends = (inside.length > 1 ? [inside[0], inside[inside.length - 1]] : []).map((one) => Number(one.getAttribute("data-word")));
    if (ends.length > 0) return choose(ends[0], ends[1]);
    if (!word) return;
    const n = Number(word.getAttribute("data-word"));
    if (event.shiftKey || (chosen.open && n > chosen.first)) choose(chosen.first, n);
    else choose(n, n, true);
  });
  at("words").addEventListener("keydown", (event) => {
    const right = getComputedStyle(at("words")).direction === "rtl" ? -1 : 1;
    const by = /** @type {Record<string, number>} */ ({ ArrowRight: right, ArrowLeft: -right, ArrowDown: 10, ArrowUp: -10, Home: -words.length, End: words.length })[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || (by === undefined && event.key !== "Enter")) return;
    event.preventDefault();
    if (by === undefined) makeStep();
    else if (event.shiftKey && chosen.first >= 0) choose(chosen.first, Math.max(chosen.first, chosen.last + by));
    else choose(chosen.first < 0 ? 0 : chosen.last + by);
  });
}
