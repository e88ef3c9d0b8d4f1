/** The page on which other right orders are named: lanes that are copied and rearranged, or neighbours that may swap. */

import { chosen, differ, inWords } from "./cards.js";
import { make } from "./dom.js";
import { startPage } from "./page.js";
import { pictures, reorder } from "./reorder.js";

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
const below = chosen(form);
/** @type {{box: HTMLElement, title: HTMLElement, note: HTMLElement, cards: import("./reorder.js").Reorder}[]} */
let lanes = [];
const linked = () => ticks.flatMap((box, n) => (box.checked ? [n] : []));
const pairAt = (/** @type {number} */ n) => [authored[n], authored[n + 1]];

const page = startPage({
  read: () => ({ ...below.read(), mode: swapping.checked ? "swaps" : "lanes", lanes: lanes.map((lane) => lane.cards.order()), swaps: linked().map(pairAt), none: none.checked }),
  fill: (sheet) => {
    below.fill(sheet);
    swapping.checked = sheet.mode === "swaps";
    /** @type {HTMLInputElement} */ (form.querySelector("input[value=lanes]")).checked = !swapping.checked;
    none.checked = Boolean(sheet.none);
    ticks.forEach((box, n) => (box.checked = (sheet.swaps ?? []).join(";").split(";").includes(pairAt(n).join(","))));
    const wanted = swapping.checked ? [] : (sheet.lanes ?? []);
    while (lanes.length > wanted.length) lanes.pop()?.box.remove();
    while (lanes.length < wanted.length) add();
    lanes.forEach((lane, n) => lane.cards.set(wanted[n]));
  },
  // As the server keeps it, so that what was submitted is known again.
  reduce: (sheet) => (sheet.mode === "swaps" ? { ...sheet, lanes: ordersOf(linked()), note: sheet.note.trim() } : { ...sheet, swaps: [], note: sheet.note.trim() }),
  missing: () => {
    for (const lane of lanes) lane.cards.drop();
    const wrong = swapping.checked ? -1 : lanes.findIndex((_, n) => twinOf(n));
    const count = swapping.checked ? linked().length : lanes.length;
    if (none.checked && count) return { message: "You say that there is no other order, and name some. Take one back.", card: whole };
    if (!none.checked && !count) return { message: "Name another order, or say that there is none.", card: whole };
    return wrong < 0 ? below.missing() : { message: `${twinOf(wrong)} Change it, or remove it.`, card: lanes[wrong].box };
  },
  changed: show,
  differences: (mine, theirs) => {
    const orders = (/** @type {string[][]} */ value) => value.map((order) => inWords(written, order)).join("; ") || "none";
    return differ(mine, theirs, { mode: ["How", String], lanes: ["Orders", orders], swaps: ["May swap", orders], none: ["No other order", String], values: ["Answers below", JSON.stringify], note: ["Note", String] });
  },
  cardOf: (field) => lanes[Number(field.split(".")[1])]?.box ?? (["swaps", "none", "lanes"].includes(field) ? whole : null),
  nameOf: () => "",
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
  const remove = make("button", { type: "button" }, "Remove");
  const [title, note] = [make("h3"), make("span", { class: "lane-note", role: "status" })];
  const box = make("section", { class: "lane" }, make("div", { class: "lane-head" }, title, note, remove), list);
  copy.parentElement?.before(box);
  const cards = reorder(list, { dropped: () => page.changed(), readOnly: () => page.readOnly });
  lanes.push({ box, title, note, cards });
  remove.addEventListener("click", () => {
    lanes = lanes.filter((lane) => lane.box !== box);
    box.remove();
    page.changed();
    copy.focus();
  });
}

/** @param {number} at @returns {string} what a lane is the same as; empty where it stands alone */
function twinOf(at) {
  const said = [authored, ...lanes.map((lane) => lane.cards.order())].map((order) => order.join("\n"));
  const first = said.indexOf(said[at + 1]);
  return first > at ? "" : first ? `Order ${at + 1} is the same as order ${first}.` : `Order ${at + 1} is the authored one.`;
}

/** Show what depends on the sheet. */
function show() {
  whole.dataset.mode = swapping.checked ? "swaps" : "lanes";
  copy.disabled = page.readOnly || lanes.length >= MOST;
  const twins = lanes.map((_, n) => twinOf(n));
  lanes.forEach(({ box, title, note }, n) => {
    title.textContent = `Order ${n + 1}`;
    box.querySelector("ol")?.setAttribute("aria-label", `Order ${n + 1}`);
    box.classList.toggle("twin", twins[n] !== "" || twins.some((text) => text.endsWith(`order ${n + 1}.`)));
    if (note.textContent !== twins[n]) note.textContent = twins[n];
  });
  const [found, count] = [ordersOf(linked()), countOf(linked())];
  const many = count > 1e6 ? "More than a million" : count.toLocaleString("en");
  const said = `${many} ${count === 1 ? "order follows" : "orders follow"}${count > MOST ? `. The first ${MOST} count` : ""}${count ? ":" : "."}`;
  const rows = found.map((order) => make("li", {}, order.map((id) => authored.indexOf(id) + 1).join(" → ")));
  document.getElementById("follows")?.replaceChildren(make("p", {}, said), make("ol", {}, ...rows));
}

/** @param {number[]} links places of the first of two neighbours that may swap @returns {string[][]} what follows, as the server lists it */
function ordersOf(links) {
  /** @type {string[][]} */
  const found = [];
  /** @param {number} next in `links` @param {string[]} order */
  const walk = (next, order) => {
    if (found.length > MOST) return;
    const n = links[next];
    if (n === undefined) return void found.push(order);
    walk(next + 1, order);
    walk(links[next + 1] === n + 1 ? next + 2 : next + 1, [...order.slice(0, n), order[n + 1], order[n], ...order.slice(n + 2)]);
  };
  walk(0, authored);
  return found.slice(1, MOST + 1);
}

/** @param {number[]} links @returns {number} how many orders follow in all */
function countOf(links) {
  let [before, here] = [1, 1];
  for (let n = 0; n < authored.length - 1; n++) [before, here] = [here, links.includes(n) ? here + before : here];
  return here - 1;
}
