/** The page on which other right orders are named: lanes that are copied and rearranged, or neighbours that may swap. */

import { sameSheet } from "./device.js";
import { make } from "./dom.js";
import { fields, startForm } from "./fields.js";
import { inWords, pictures, reorder } from "./reorder.js";
import { _, _n } from "./words.js";

/** Orders that count, as on the server (`alternatives.MOST`). */
const MOST = 24;

const form = /** @type {HTMLFormElement} */ (document.getElementById("sheet"));
const written = /** @type {HTMLElement} */ (document.getElementById("authored"));
const authored = [...written.children].map((card) => card.getAttribute("data-id") ?? "");
const whole = /** @type {HTMLElement} */ (document.getElementById("card-lanes"));
const copy = /** @type {HTMLButtonElement} */ (document.getElementById("lane-add"));
const none = /** @type {HTMLInputElement} */ (form.querySelector("input[name=none]"));
const ticks = /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll("input[name=swap]")]);
const swapping = /** @type {HTMLInputElement} */ (form.querySelector("input[value=swaps]"));
/** @type {{box: HTMLElement, title: HTMLElement, note: HTMLElement, cards: import("./reorder.js").Reorder}[]} */
let lanes = [];
const pairAt = (/** @type {number} */ n) => [authored[n], authored[n + 1]];
const linked = () => ticks.flatMap((box, n) => (box.checked ? [pairAt(n)] : []));

const page = startForm({
  read: () => ({ ...fields.read(), mode: swapping.checked ? "swaps" : "lanes", lanes: lanes.map((lane) => lane.cards.order()), swaps: linked(), none: none.checked }),
  fill: (sheet) => {
    fields.fill(sheet);
    swapping.checked = sheet.mode === "swaps";
    /** @type {HTMLInputElement} */ (form.querySelector("input[value=lanes]")).checked = !swapping.checked;
    none.checked = Boolean(sheet.none);
    ticks.forEach((box, n) => (box.checked = (sheet.swaps ?? []).some((/** @type {string[]} */ pair) => sameSheet(pair, pairAt(n)))));
    const wanted = swapping.checked ? [] : (sheet.lanes ?? []);
    while (lanes.length > wanted.length) lanes.pop()?.box.remove();
    while (lanes.length < wanted.length) add();
    lanes.forEach((lane, n) => lane.cards.set(wanted[n]));
  },
  // As the server keeps it, so that what was submitted is known again.
  reduce: (sheet) => (sheet.mode === "swaps" ? { ...sheet, lanes: ordersOf(sheet.swaps).slice(0, MOST) } : { ...sheet, swaps: [] }),
  missing: () => {
    for (const lane of lanes) lane.cards.drop();
    return fields.missing(); // what is wrong with orders the server says
  },
  changed: show,
  differences: (mine, theirs) => {
    const orders = (/** @type {string[][]} */ value) => value.map((order) => inWords(written, order)).join("; ") || _("none");
    const mode = (/** @type {string} */ value) => (value === "swaps" ? _("swaps") : _("lanes"));
    const ticked = (/** @type {boolean} */ value) => (value ? _("true") : _("false"));
    const shown = Object.entries({ mode: [_("How"), mode], lanes: [_("Orders"), orders], swaps: [_("May swap"), orders], none: [_("No other order"), ticked] });
    const found = shown.map(([id, [name, show]]) => /** @type {any} */ ({ id, name, mine: mine[id], theirs: theirs[id], show }));
    return [...found.filter((one) => !sameSheet(one.mine, one.theirs)), ...fields.differences(mine, theirs)];
  },
  cardOf: (field) => lanes[Number(field.split(".")[1])]?.box ?? (["swaps", "none", "lanes"].includes(field) ? whole : null),
});

pictures(written);
copy.addEventListener("click", () => {
  add();
  page.changed();
  /** @type {HTMLElement | null} */ (lanes.at(-1)?.box.querySelector(".grip"))?.focus();
});

/** Add a copy of the authored order. */
function add() {
  const pattern = /** @type {HTMLTemplateElement} */ (document.getElementById("lane-cards"));
  const list = /** @type {HTMLElement} */ (pattern.content.firstElementChild?.cloneNode(true));
  const remove = make("button", { type: "button" }, _("Remove"));
  const [title, note] = [make("h3"), make("span", { class: "lane-note", role: "status" })];
  const box = make("section", { class: "lane" }, make("div", { class: "lane-head" }, title, note, remove), list);
  copy.parentElement?.before(box);
  const cards = reorder(list, { dropped: () => page.changed(), readOnly: () => page.readOnly });
  lanes.push({ box, title, note, cards });
  remove.addEventListener("click", () => {
    if (page.readOnly) return;
    lanes = lanes.filter((lane) => lane.box !== box);
    box.remove();
    page.changed();
    copy.focus();
  });
}

/** @param {number} at @returns {number} the order that a lane is the same as, 0 for the authored one; -1 where it stands alone */
function twinOf(at) {
  const said = [authored, ...lanes.map((lane) => lane.cards.order())].map((order) => order.join("\n"));
  const first = said.indexOf(said[at + 1]);
  return first > at ? -1 : first;
}

/** Show what depends on the sheet. */
function show() {
  whole.dataset.mode = swapping.checked ? "swaps" : "lanes";
  copy.disabled = page.readOnly || lanes.length >= MOST;
  const twins = lanes.map((lane, n) => twinOf(n));
  lanes.forEach(({ box, title, note }, n) => {
    title.textContent = _("Order {n}", { n: n + 1 });
    box.querySelector("ol")?.setAttribute("aria-label", title.textContent);
    box.classList.toggle("twin", twins[n] >= 0 || twins.includes(n + 1));
    const said = twins[n] < 0 ? "" : twins[n] ? _("Order {n} is the same as order {other}.", { n: n + 1, other: twins[n] }) : _("Order {n} is the authored one.", { n: n + 1 });
    if (note.textContent !== said) note.textContent = said;
  });
  const found = ordersOf(linked());
  const rows = found.slice(0, MOST).map((order) => make("li", {}, order.map((id) => authored.indexOf(id) + 1).join(" → ")));
  const few = found.length > 0 ? _n(found.length, "{n} order follows:", "{n} orders follow:") : _("0 orders follow.");
  const said = found.length > MOST ? _("More than {n} orders follow; the first {n} count:", { n: MOST }) : few;
  document.getElementById("follows")?.replaceChildren(make("p", {}, said), make("ol", {}, ...rows));
}

/** @param {string[][]} swaps @returns {string[][]} what follows, as the server lists it, and one more than counts */
function ordersOf(swaps) {
  const links = swaps.map(([first]) => authored.indexOf(first)).sort((a, b) => a - b);
  /** @type {string[][]} */
  const found = [];
  /** @param {number} next in `links` @param {string[]} order */
  const walk = (next, order) => {
    if (found.length > MOST + 1) return;
    const n = links[next];
    if (n === undefined) return void found.push(order);
    walk(next + 1, order);
    walk(links[next + 1] === n + 1 ? next + 2 : next + 1, [...order.slice(0, n), order[n + 1], order[n], ...order.slice(n + 2)]);
  };
  walk(0, authored);
  return found.slice(1);
}
