/** The page on which steps are put in order: the adapter of `page.js`. Cards are moved by `reorder.js`. */

import { sameSheet } from "./device.js";
import { fields, startForm } from "./fields.js";
import { inWords, reorder } from "./reorder.js";
import { _ } from "./words.js";

const MOST_MOVES = 2000;
const form = /** @type {HTMLFormElement} */ (document.getElementById("sheet"));
const list = /** @type {HTMLElement} */ (form.querySelector(".reorder"));
const keep = /** @type {HTMLInputElement} */ (form.querySelector("input[name=kept]"));
const keepCard = /** @type {HTMLElement} */ (document.getElementById("card-kept"));
/** The order that was presented. */
const start = [...list.children].map((card) => card.getAttribute("data-id") ?? "");
const isStart = (/** @type {string[]} */ order) => sameSheet(order, start);
/** @type {[string, number, number][]} */
let moves = [];

const page = startForm({
  read: () => ({ ...fields.read(), order: cards.order(), kept: keep.checked, moves }),
  fill: (sheet) => {
    fields.fill(sheet);
    cards.set(sheet.order?.length ? sheet.order : start);
    moves = sheet.moves ?? [];
    keep.checked = Boolean(sheet.kept);
  },
  // As the server keeps it, so that what was submitted is known again.
  reduce: (sheet) => ({ ...sheet, kept: isStart(sheet.order), start, untouched: isStart(sheet.order) }),
  missing: () => {
    cards.drop();
    if (!isStart(cards.order()) || keep.checked) return fields.missing();
    keepCard.hidden = false;
    return { message: _("You have not moved a card. Keep this order? Tick the box, or move cards."), card: keepCard };
  },
  changed: () => {
    keepCard.hidden = !isStart(cards.order()) || (keepCard.hidden && !keep.checked);
  },
  differences: (mine, theirs) => {
    const moved = { id: "order", name: _("Order"), mine: mine.order, theirs: theirs.order, show: (/** @type {string[]} */ order) => inWords(list, order) };
    return [...(sameSheet(mine.order, theirs.order) ? [] : [moved]), ...fields.differences(mine, theirs)];
  },
});

const cards = reorder(list, {
  readOnly: () => page.readOnly,
  dropped: (id, from, to) => {
    if (moves.length < MOST_MOVES) moves.push([id, from, to]);
    page.changed();
  },
});
