/**
 * Cards that are put in order in three equal ways: pointer (drag the grip), buttons or taps (tap a card, then its place), keys (Space
 * lifts, arrows move, Space drops, Esc puts back; a number sends the card there). A card never leaves the document: the others move
 * around it, so that focus and what a finger holds stay. What is lifted counts where it stood until it is dropped.
 */

import { shown } from "./dom.js";
import { _ } from "./words.js";

const NEAR = 8;
const HOLD_MS = 150;
const DIGITS_MS = 700;
const EDGE = 56;

/** @typedef {{order: () => string[], set: (order: string[]) => void, drop: () => void}} Reorder */

/** @param {HTMLElement} list enlarge pictures that are clicked, and say in words where one does not load */
export function pictures(list) {
  /** @param {HTMLImageElement} image */
  const replace = (image) => {
    const text = document.createElement("span");
    text.className = "no-picture";
    text.textContent = _("The picture of {name} does not load. If you need it, choose “Can't do this”.", { name: image.alt });
    image.closest(".zoom")?.replaceWith(text);
  };
  list.addEventListener("error", (event) => event.target instanceof HTMLImageElement && replace(event.target), true);
  for (const image of list.querySelectorAll("img")) if (image.complete && !image.naturalWidth) replace(image);
  list.addEventListener("click", (event) => {
    const zoom = /** @type {Element} */ (event.target).closest(".zoom");
    zoom?.setAttribute("aria-expanded", String(zoom.closest(".step-card")?.classList.toggle("zoomed")));
  });
}

/** @param {Element} list @param {string[]} order @returns {string} the cards by name, in an order */
export const inWords = (list, order) => order.map((id) => list.querySelector(`[data-id="${CSS.escape(id)}"]`)?.getAttribute("data-name") ?? id).join(" → ");

/**
 * @param {HTMLElement} list of cards: `data-id`, `data-name`, a `.grip`, a `.no`, buttons with `data-to`
 * @param {{dropped: (id: string, from: number, to: number) => void, readOnly: () => boolean}} page
 * @returns {Reorder}
 */
export function reorder(list, page) {
  /** @type {{card: HTMLElement, from: number, order: string[]} | null} */
  let lift = null;
  /** @type {{card: HTMLElement, x: number, y: number, top: number, isTouch: boolean, drags: boolean, timers: number[]} | null} the pointer on a grip */
  let hold = null;
  let [hasDragged, digits, timer] = [false, "", 0];
  const cards = () => /** @type {HTMLElement[]} */ ([...list.children]);
  const order = () => lift?.order ?? cards().map((card) => card.dataset.id ?? "");
  const at = (/** @type {HTMLElement} */ card) => cards().indexOf(card);
  const gripOf = (/** @type {HTMLElement | undefined} */ card) => /** @type {HTMLElement | null | undefined} */ (card?.querySelector(".grip"));
  const cardOf = (/** @type {any} */ target) => cards().find((card) => card.contains(target));
  const live = document.getElementById("moves-said") ?? list;

  /** @param {HTMLElement} card @param {"lifted" | "back" | "stays" | "moved" | "none"} what to those who hear the page @param {number} [place] that is not there */
  const say = (card, what, place) => {
    const values = { name: shown(card.dataset.name ?? ""), n: at(card) + 1, total: list.children.length, place };
    live.textContent = {
      lifted: _("Card '{name}' lifted; arrows move it or tap its place, Space drops it, Escape puts it back: {n} of {total}", values),
      back: _("Card '{name}' is back at {n} of {total}", values),
      stays: _("Card '{name}' stays at {n} of {total}", values),
      moved: _("Card '{name}' moved to {n} of {total}", values),
      none: _("Card '{name}' stays, there is no place {place}: {n} of {total}", values),
    }[what];
  };

  /** Tell cards their places. */
  function number() {
    for (const [n, card] of cards().entries()) {
      /** @type {HTMLElement} */ (card.querySelector(".no")).textContent = String(n + 1);
      gripOf(card)?.setAttribute("aria-label", _("{name}, {n} of {total}", { name: card.dataset.name, n: n + 1, total: list.children.length }));
    }
  }

  /** @param {HTMLElement} card @param {number} to */
  function place(card, to) {
    const all = cards();
    const from = all.indexOf(card);
    if (to > from) card.before(...all.slice(from + 1, to + 1));
    else if (to < from) card.after(...all.slice(to, from));
    if (to !== from) number();
  }

  /** @param {HTMLElement} card */
  function begin(card) {
    drop();
    lift = { card, from: at(card), order: order() };
    list.dataset.lifting = card.dataset.lifted = "";
    gripOf(card)?.setAttribute("aria-pressed", "true");
    gripOf(card)?.focus({ preventScroll: true });
    say(card, "lifted");
  }

  /** @param {boolean} [back] to where it was lifted */
  function drop(back = false) {
    if (!lift) return;
    const { card, from } = lift;
    if (back) place(card, from);
    lift = null;
    delete list.dataset.lifting;
    delete card.dataset.lifted;
    gripOf(card)?.setAttribute("aria-pressed", "false");
    const to = at(card);
    say(card, back ? "back" : to === from ? "stays" : "moved");
    if (to !== from) page.dropped(card.dataset.id ?? "", from, to);
  }

  /** @param {HTMLElement} card @param {number} to where it stays at once if it is not lifted */
  function send(card, to) {
    const isHeld = lift?.card === card;
    if (!isHeld) begin(card);
    place(card, Math.max(0, Math.min(list.children.length - 1, to)));
    card.scrollIntoView({ block: "nearest" });
    if (isHeld) say(card, "moved");
    else drop();
  }

  list.addEventListener("click", ({ target }) => {
    const card = cardOf(target);
    if (hasDragged || !card || page.readOnly() || /** @type {Element} */ (target).closest(".zoom")) return;
    const to = /** @type {HTMLElement | null} */ (/** @type {Element} */ (target).closest("[data-to]"));
    const marked = window.getSelection();
    if (to) {
      drop();
      send(card, { first: 0, up: at(card) - 1, down: at(card) + 1, last: Infinity }[to.dataset.to ?? ""] ?? at(card));
      to.focus();
    } else if (lift) {
      const held = lift.card;
      place(held, at(card));
      drop();
      gripOf(held)?.focus();
    } else if (marked?.type !== "Range" || !card.contains(marked.anchorNode)) begin(card);
  });

  list.addEventListener("keydown", (event) => {
    const card = cardOf(event.target);
    if (!card || event.ctrlKey || event.metaKey || event.altKey) return;
    const here = at(card);
    const to = { ArrowUp: here - 1, ArrowDown: here + 1, Home: 0, End: list.children.length - 1 }[event.key];
    const digit = (/^\d$/.exec(event.key) ?? /^(?:Digit|Numpad)(\d)$/.exec(event.code))?.at(-1);
    if (event.key === "Escape" && lift) drop(true);
    else if (event.target !== gripOf(card)) return;
    else if (to !== undefined && lift) send(lift.card, to);
    else if (to !== undefined) gripOf(cards()[to])?.focus();
    else if (page.readOnly()) return;
    else if (event.key === " ") event.repeat || (lift ? drop() : begin(card));
    else if (digit) type(card, digit);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  /** @param {HTMLElement} card @param {string} digit wait only where a longer number could be meant */
  function type(card, digit) {
    const count = list.children.length;
    clearTimeout(timer);
    const wanted = Number((digits += digit));
    const go = () => {
      digits = "";
      if (wanted >= 1 && wanted <= count) send(card, wanted - 1);
      else say(card, "none", wanted);
    };
    if (wanted * 10 > count) go();
    else timer = window.setTimeout(go, DIGITS_MS);
  }

  // A finger that moves before it has held scrolls the list.
  list.addEventListener("pointerdown", (event) => {
    const [card, target] = [cardOf(event.target), /** @type {Element} */ (event.target)];
    if (!card || !target.closest(".grip") || event.button || !event.isPrimary || page.readOnly()) return;
    target.setPointerCapture(event.pointerId);
    const isTouch = event.pointerType === "touch";
    const timers = [window.setInterval(follow, 16), isTouch ? window.setTimeout(drag, HOLD_MS) : 0];
    hold = { card, x: event.clientX, y: event.clientY, top: event.clientY, isTouch, drags: false, timers };
  });
  list.addEventListener("pointermove", (event) => {
    if (!hold || !event.isPrimary) return;
    hold.y = event.clientY;
    const isFar = Math.hypot(event.clientX - hold.x, hold.y - hold.top) >= NEAR;
    if (isFar && !hold.drags) hold.isTouch ? letGo() : drag();
    follow();
  });
  list.addEventListener("pointerup", () => {
    if (!letGo()) return;
    drop();
    hasDragged = true; // the click that follows is that of the drag
    setTimeout(() => (hasDragged = false));
  });
  list.addEventListener("pointercancel", () => letGo() && drop(true));
  list.addEventListener("touchmove", (event) => hold?.drags && event.preventDefault(), { passive: false });
  list.addEventListener("contextmenu", (event) => hold && event.preventDefault());

  function drag() {
    if (!hold) return;
    hold.drags = true;
    begin(hold.card);
  }

  /** @returns {boolean} whether it was a drag */
  function letGo() {
    const was = hold;
    hold = null;
    for (const id of was?.timers ?? []) clearTimeout(id);
    return was?.drags ?? false;
  }

  /** Put the card that is dragged past the middles of which others the pointer is; at an edge the page scrolls. */
  function follow() {
    if (!hold?.drags || lift?.card !== hold.card) return;
    const { card, y } = hold;
    scrollBy(0, y < EDGE ? -14 : y > innerHeight - EDGE ? 14 : 0);
    const middles = cards().map((one) => one.getBoundingClientRect()).map((box) => box.top + box.height / 2);
    let to = at(card);
    while (to + 1 < middles.length && y > middles[to + 1]) to += 1;
    while (to > 0 && y < middles[to - 1]) to -= 1;
    place(card, to);
  }

  list.addEventListener("focusout", ({ relatedTarget }) => relatedTarget instanceof Node && !list.contains(relatedTarget) && !relatedTarget.contains(list) && drop());
  number();
  pictures(list);
  return {
    order,
    drop: () => drop(),
    set: (wanted) => {
      drop(true);
      if (wanted.join("\n") === order().join("\n")) return;
      list.append(...cards().sort((a, b) => wanted.indexOf(a.dataset.id ?? "") - wanted.indexOf(b.dataset.id ?? "")));
      number();
    },
  };
}
