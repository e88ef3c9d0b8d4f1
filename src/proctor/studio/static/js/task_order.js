/** The page on which steps are put in order: the adapter of `page.js`. Cards are moved by `reorder.js`. */

import { announce, checkPictures, differ, inWords } from "./cards.js";
import { startPage } from "./page.js";
import { Reorder } from "./reorder.js";

const MOST_MOVES = 2000;

const form = /** @type {HTMLFormElement} */ (document.getElementById("sheet"));
const list = /** @type {HTMLElement} */ (form.querySelector(".reorder"));
/** @type {{start: string[]}} */
const task = JSON.parse(form.dataset.task ?? '{"start": []}');
const keep = /** @type {HTMLInputElement} */ (form.querySelector("input[name=kept]"));
const keepCard = /** @type {HTMLElement} */ (document.getElementById("card-kept"));
const note = /** @type {HTMLTextAreaElement} */ (form.querySelector("textarea[name=note]"));
const fields = fieldsOf(form);
/** @type {[string, number, number][]} */
let moves = [];

/** @param {string[]} order */
const isStart = (order) => order.join("\n") === task.start.join("\n");

const page = startPage({
  read: () => ({ order: cards.order(), kept: keep.checked, moves, values: fields.read(), note: note.value }),
  fill: (sheet) => {
    cards.set(sheet.order?.length ? sheet.order : task.start);
    moves = sheet.moves ?? [];
    keep.checked = Boolean(sheet.kept);
    fields.fill(sheet.values ?? {});
    note.value = sheet.note ?? "";
  },
  // As the server keeps it, so that what was submitted is known again.
  reduce: (sheet) => ({ ...sheet, kept: sheet.kept && isStart(sheet.order), note: sheet.note.trim(), start: task.start, untouched: isStart(sheet.order) }),
  missing: () => {
    cards.drop();
    if (isStart(cards.order()) && !keep.checked) {
      keepCard.hidden = false;
      return { message: "You have not moved a card. Keep this order? Tick the box, or move cards.", card: keepCard };
    }
    return firstMissing(form);
  },
  changed: () => {
    if (!isStart(cards.order())) keepCard.hidden = true;
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
