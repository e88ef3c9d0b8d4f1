/** The page on which other right orders are named: lanes that are copied and rearranged, or neighbours that may swap. */

import { announce, checkPictures, differ, inWords } from "./cards.js";
import { make } from "./dom.js";
import { noteOf, startPage } from "./page.js";
import { Reorder } from "./reorder.js";

/** Orders that count, as on the server (`alternatives.MOST`). */
const MOST = 24;

/** @typedef {{box: HTMLElement, cards: Reorder, note: HTMLElement}} Lane */

const form = /** @type {HTMLFormElement} */ (document.getElementById("sheet"));
const authoredList = /** @type {HTMLElement} */ (document.getElementById("authored"));
const authored = [...authoredList.querySelectorAll("[data-id]")].map((card) => /** @type {HTMLElement} */ (card).dataset.id ?? "");
const lanesCard = /** @type {HTMLElement} */ (document.getElementById("card-lanes"));
const place = /** @type {HTMLElement} */ (document.getElementById("lanes"));
const pattern = /** @type {HTMLTemplateElement} */ (document.getElementById("lane-cards"));
const follows = /** @type {HTMLElement} */ (document.getElementById("follows"));
const none = /** @type {HTMLInputElement} */ (form.querySelector("input[name=none]"));
const copy = /** @type {HTMLButtonElement} */ (document.getElementById("lane-add"));
const ticks = [...form.querySelectorAll("input[name=swap]")].map((box) => /** @type {HTMLInputElement} */ (box));
const modes = [...form.querySelectorAll("input[name=mode]")].map((radio) => /** @type {HTMLInputElement} */ (radio));
/** @type {Lane[]} */
let lanes = [];

const mode = () => (modes.find((radio) => radio.checked)?.value === "swaps" ? "swaps" : "lanes");
const linked = () => ticks.flatMap((box, n) => (box.checked ? [n] : []));

const page = startPage({
  read: () => ({
    mode: mode(),
    lanes: lanes.map((lane) => lane.cards.order()),
    swaps: linked().map((n) => [authored[n], authored[n + 1]]),
    none: none.checked,
    note: noteOf(form)?.value ?? "",
  }),
  fill: (sheet) => {
    for (const radio of modes) radio.checked = radio.value === (sheet.mode ?? "lanes");
    none.checked = Boolean(sheet.none);
    ticks.forEach((box, n) => {
      box.checked = (sheet.swaps ?? []).some((/** @type {string[]} */ pair) => pair[0] === authored[n] && pair[1] === authored[n + 1]);
    });
    const wanted = sheet.mode === "swaps" ? [] : (sheet.lanes ?? []);
    while (lanes.length > wanted.length) lanes.pop()?.box.remove();
    while (lanes.length < wanted.length) add();
    lanes.forEach((lane, n) => lane.cards.set(wanted[n]));
    const note = noteOf(form);
    if (note) note.value = sheet.note ?? "";
  },
  // As the server keeps it, so that what was submitted is known again.
  reduce: (sheet) => {
    const swapping = sheet.mode === "swaps" && !sheet.none;
    return { ...sheet, lanes: swapping ? ordersOf(linked()) : sheet.none || sheet.mode === "swaps" ? [] : sheet.lanes, swaps: swapping ? sheet.swaps : [], note: sheet.note.trim() };
  },
  missing: () => {
    for (const lane of lanes) lane.cards.drop();
    if (none.checked) return null;
    if (mode() === "swaps") return linked().length ? null : { message: "Link neighbours that may swap, or say that there is no other order.", card: lanesCard };
    if (!lanes.length) return { message: "Name another order, or say that there is none.", card: lanesCard };
    const wrong = lanes.find((lane, n) => twinOf(n) !== "");
    return wrong ? { message: `${twinOf(lanes.indexOf(wrong))} Change it, or remove it.`, card: wrong.box } : null;
  },
  changed: show,
  differences: (mine, theirs) => {
    const orders = (/** @type {string[][]} */ value) => value.map((order) => inWords(authoredList, order)).join("; ") || "none";
    return differ(mine, theirs, {
      mode: ["How", String], lanes: ["Orders", orders], swaps: ["Neighbours that may swap", orders],
      none: ["There is no other order", (value) => (value ? "yes" : "no")], note: ["Note", String],
    });
  },
  cardOf: (field) => (field.startsWith("lanes.") ? (lanes[Number(field.slice(6))]?.box ?? lanesCard) : lanesCard),
  nameOf: () => "",
});
checkPictures(authoredList);

copy.addEventListener("click", () => {
  const lane = add();
  page.changed();
  /** @type {HTMLElement | null} */ (lane.box.querySelector(".grip"))?.focus();
  announce(`Order ${lanes.length} added: rearrange it.`);
});

/** @returns {Lane} a copy of the authored order */
function add() {
  const list = /** @type {HTMLElement} */ (/** @type {HTMLElement} */ (pattern.content.firstElementChild).cloneNode(true));
  const remove = make("button", { type: "button" }, "Remove");
  const note = make("span", { class: "lane-note", role: "status" });
  const box = make("section", { class: "lane" }, make("div", { class: "lane-head" }, make("h3", {}), note, remove), list);
  place.append(box);
  checkPictures(list);
  const cards = new Reorder(list, { say: announce, dropped: () => page.changed(), readOnly: () => page.readOnly });
  const lane = { box, cards, note };
  lanes.push(lane);
  remove.addEventListener("click", () => {
    lanes = lanes.filter((other) => other !== lane);
    box.remove();
    page.changed();
    copy.focus();
    announce("Order removed.");
  });
  return lane;
}

/** @param {number} at @returns {string} what a lane is the same as; empty where it stands alone */
function twinOf(at) {
  const order = lanes[at].cards.order().join("\n");
  if (order === authored.join("\n")) return `Order ${at + 1} is the authored one.`;
  const first = lanes.findIndex((lane) => lane.cards.order().join("\n") === order);
  return first < at ? `Order ${at + 1} is the same as order ${first + 1}.` : "";
}

/** Show what depends on the sheet. */
function show() {
  const swapping = mode() === "swaps";
  lanesCard.dataset.mode = none.checked ? "none" : mode();
  copy.disabled = page.readOnly || lanes.length >= MOST;
  const twins = lanes.map((_, n) => twinOf(n));
  lanes.forEach((lane, n) => {
    const title = /** @type {HTMLElement} */ (lane.box.querySelector("h3"));
    title.textContent = `Order ${n + 1}`;
    /** @type {HTMLElement} */ (lane.box.querySelector(".reorder")).setAttribute("aria-label", `Order ${n + 1}`);
    const isTwin = twins[n] !== "" || twins.some((text) => text.endsWith(`same as order ${n + 1}.`));
    lane.box.classList.toggle("twin", isTwin);
    if (lane.note.textContent !== twins[n]) lane.note.textContent = twins[n];
  });
  const found = swapping ? ordersOf(linked()) : [];
  const count = countOf(linked());
  const say = count > 1e6 ? "More than a million" : count.toLocaleString("en");
  const rest = count > MOST ? `${say} orders follow. The first ${MOST} count:` : `${say} ${count === 1 ? "order follows" : "orders follow"}:`;
  const numbers = (/** @type {string[]} */ order) => order.map((id) => authored.indexOf(id) + 1).join(" → ");
  follows.replaceChildren(make("p", {}, found.length ? rest : "No neighbours are linked yet."), make("ol", {}, ...found.map((order) => make("li", {}, numbers(order)))));
}

/**
 * @param {number[]} links places of the first of two neighbours that may swap
 * @returns {string[][]} the orders that follow, without the authored one; as the server lists them
 */
function ordersOf(links) {
  const free = new Set(links);
  /** @type {string[][]} */
  const found = [];
  /** @param {number} at @param {number[]} swapped */
  const walk = (at, swapped) => {
    while (at < authored.length && !free.has(at)) at += 1;
    if (found.length > MOST) return;
    if (at >= authored.length) {
      const order = [...authored];
      for (const n of swapped) [order[n], order[n + 1]] = [order[n + 1], order[n]];
      found.push(order);
      return;
    }
    walk(at + 1, swapped);
    walk(at + 2, [...swapped, at]);
  };
  walk(0, []);
  return found.slice(1, MOST + 1);
}

/** @param {number[]} links @returns {number} how many follow in all */
function countOf(links) {
  const free = new Set(links);
  let [before, here] = [1, 1];
  for (let n = 0; n < authored.length - 1; n++) [before, here] = [here, free.has(n) ? here + before : here];
  return here - 1;
}
