/** The page on which steps are put in order: the adapter of `page.js`. Cards are moved by `reorder.js`. */

import { announce, checkPictures, choose, differ, firstMissing, inWords, valuesOf } from "./cards.js";
import { noteOf, startPage } from "./page.js";
import { Reorder } from "./reorder.js";

const MOST_MOVES = 2000;

const form = /** @type {HTMLFormElement} */ (document.getElementById("sheet"));
const list = /** @type {HTMLElement} */ (form.querySelector(".reorder"));
const keep = /** @type {HTMLInputElement} */ (form.querySelector("input[name=kept]"));
const keepCard = /** @type {HTMLElement} */ (document.getElementById("card-kept"));
/** @type {string[]} the order that was presented */
const start = JSON.parse(form.dataset.task ?? "{}").start ?? [];
/** @type {[string, number, number][]} */
let moves = [];

/** @param {string[]} order */
const isStart = (order) => order.join("\n") === start.join("\n");

const page = startPage({
  read: () => ({ order: cards.order(), kept: keep.checked, moves, values: valuesOf(form), note: noteOf(form)?.value ?? "" }),
  fill: (sheet) => {
    cards.set(sheet.order?.length ? sheet.order : start);
    moves = sheet.moves ?? [];
    keep.checked = Boolean(sheet.kept);
    choose(form, sheet.values ?? {});
    const note = noteOf(form);
    if (note) note.value = sheet.note ?? "";
  },
  // As the server keeps it, so that what was submitted is known again.
  reduce: (sheet) => ({ ...sheet, kept: sheet.kept && isStart(sheet.order), note: sheet.note.trim(), start, untouched: isStart(sheet.order) }),
  missing: () => {
    cards.drop();
    if (!isStart(cards.order()) || keep.checked) return firstMissing(form);
    keepCard.hidden = false;
    return { message: "You have not moved a card. Keep this order? Tick the box, or move cards.", card: keepCard };
  },
  changed: () => {
    keepCard.hidden = !isStart(cards.order()) || (keepCard.hidden && !keep.checked);
  },
  differences: (mine, theirs) => {
    const both = (/** @type {any} */ sheet) => ({ ...sheet, order: { order: sheet.order, moves: sheet.moves } });
    const found = differ(both(mine), both(theirs), {
      order: ["Order", ({ order }) => inWords(list, order)],
      values: ["Answers below", (values) => Object.entries(values).map((pair) => pair.join(" ")).join(", ")],
      note: ["Note", String],
    });
    return found.map((one) => (one.id === "order" ? { ...one, set: (sheet, value) => Object.assign(sheet, value) } : one));
  },
  cardOf: (field) => (field === "order" ? list : null),
  nameOf: () => "",
});

const cards = new Reorder(list, {
  say: announce,
  readOnly: () => page.readOnly,
  dropped: ({ id, from, to }) => {
    if (moves.length < MOST_MOVES) moves.push([id, from, to]);
    page.changed();
  },
});
checkPictures(list);
