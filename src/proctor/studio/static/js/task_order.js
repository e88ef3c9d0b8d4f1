/** The page on which steps are put in order: the adapter of `page.js`. Cards are moved by `reorder.js`. */

import { chosen, differ, inWords } from "./cards.js";
import { startPage } from "./page.js";
import { reorder } from "./reorder.js";

const MOST_MOVES = 2000;
const form = /** @type {HTMLFormElement} */ (document.getElementById("sheet"));
const list = /** @type {HTMLElement} */ (form.querySelector(".reorder"));
const keep = /** @type {HTMLInputElement} */ (form.querySelector("input[name=kept]"));
const keepCard = /** @type {HTMLElement} */ (document.getElementById("card-kept"));
const below = chosen(form);
/** @type {string[]} the order that was presented */
const start = JSON.parse(form.dataset.task ?? "{}").start ?? [];
const isStart = (/** @type {string[]} */ order) => order.join("\n") === start.join("\n");
/** @type {[string, number, number][]} */
let moves = [];

const page = startPage({
  read: () => ({ ...below.read(), order: cards.order(), kept: keep.checked, moves }),
  fill: (sheet) => {
    below.fill(sheet);
    cards.set(sheet.order?.length ? sheet.order : start);
    moves = sheet.moves ?? [];
    keep.checked = Boolean(sheet.kept);
  },
  // As the server keeps it, so that what was submitted is known again.
  reduce: (sheet) => ({ ...sheet, kept: isStart(sheet.order), note: sheet.note.trim(), start, untouched: isStart(sheet.order) }),
  missing: () => {
    cards.drop();
    if (!isStart(cards.order()) || keep.checked) return below.missing();
    keepCard.hidden = false;
    return { message: "You have not moved a card. Keep this order? Tick the box, or move cards.", card: keepCard };
  },
  changed: () => {
    keepCard.hidden = !isStart(cards.order()) || (keepCard.hidden && !keep.checked);
  },
  differences: (mine, theirs) =>
    differ(mine, theirs, {
      order: ["Order", (order) => inWords(list, order)],
      values: ["Answers below", (values) => Object.entries(values).map((pair) => pair.join(" ")).join(", ")],
      note: ["Note", String],
    }),
  cardOf: (field) => (field === "order" ? list : null),
  nameOf: () => "",
});

const cards = reorder(list, {
  readOnly: () => page.readOnly,
  dropped: (id, from, to) => {
    if (moves.length < MOST_MOVES) moves.push([id, from, to]);
    page.changed();
  },
});
