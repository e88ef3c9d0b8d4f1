/**
 * A list of cards that are put in order, in three equal ways: pointer (drag the grip), buttons or taps (tap a card, then its place)
 * and keys (Space lifts, arrows move, Space drops, Esc puts back; digits send the card there). A card never leaves the document: the
 * others move around it, so that focus and what a finger holds stay.
 */

const NEAR = 8;
const HOLD_MS = 150;
const DIGITS_MS = 700;
const EDGE = 56;

/**
 * @typedef {object} Moved
 * @property {string} id
 * @property {number} from place before, from 0
 * @property {number} to
 */

export class Reorder {
  #list;
  #say;
  #dropped;
  #readOnly;
  /** @type {{card: HTMLElement, from: number, pointer: boolean} | null} */
  #lift = null;
  /** @type {string[] | null} what stands while a card is lifted */
  #standing = null;
  #digits = "";
  #timer = 0;

  /**
   * @param {HTMLElement} list its children are the cards: `data-id`, `data-name`, a `.grip`, a `.no`, buttons with `data-to`
   * @param {{say: (text: string) => void, dropped: (move: Moved) => void, readOnly?: () => boolean}} page
   */
  constructor(list, page) {
    this.#list = list;
    this.#say = page.say;
    this.#dropped = page.dropped;
    this.#readOnly = page.readOnly ?? (() => false);
    list.addEventListener("click", (event) => this.#click(event));
    list.addEventListener("keydown", (event) => this.#key(event));
    list.addEventListener("pointerdown", (event) => this.#press(event));
    list.addEventListener("focusin", (event) => this.#rove(this.#cardOf(event.target)));
    list.addEventListener("focusout", (event) => {
      if (event.relatedTarget instanceof Node && !list.contains(event.relatedTarget)) this.drop();
    });
    list.addEventListener("contextmenu", (event) => {
      if (this.#lift?.pointer) event.preventDefault();
    });
    this.#number(0, this.#cards().length - 1);
    for (const control of list.querySelectorAll("button")) control.tabIndex = -1;
    this.#rove(this.#cards()[0] ?? null);
  }

  /** @returns {string[]} ids as they stand; while a card is lifted, as they stood before */
  order() {
    return this.#standing ?? this.#cards().map((card) => card.dataset.id ?? "");
  }

  /** @param {string[]} order put the cards so; ids that are not there are left out */
  set(order) {
    this.#end();
    if (order.join("\n") === this.order().join("\n")) return;
    const place = new Map(order.map((id, n) => [id, n]));
    const sorted = this.#cards().sort((a, b) => (place.get(a.dataset.id ?? "") ?? 1e9) - (place.get(b.dataset.id ?? "") ?? 1e9));
    this.#list.append(...sorted);
    this.#number(0, sorted.length - 1);
  }

  /** Put a lifted card back. */
  cancel() {
    const lift = this.#lift;
    if (!lift) return;
    this.#place(lift.card, lift.from);
    this.#end();
    this.#say(`${nameOf(lift.card)} is back at ${lift.from + 1} of ${this.#cards().length}`);
  }

  /** @returns {HTMLElement[]} */
  #cards() {
    return /** @type {HTMLElement[]} */ ([...this.#list.children]);
  }

  /** @param {EventTarget | null} target @returns {HTMLElement | null} */
  #cardOf(target) {
    let found = target instanceof Element ? target : null;
    while (found && found.parentElement !== this.#list) found = found.parentElement;
    return /** @type {HTMLElement | null} */ (found);
  }

  /** @param {HTMLElement} card @param {number} to the others move around it */
  #place(card, to) {
    const cards = this.#cards();
    const from = cards.indexOf(card);
    if (to > from) card.before(...cards.slice(from + 1, to + 1));
    else if (to < from) card.after(...cards.slice(to, from));
    if (to !== from) this.#number(Math.min(from, to), Math.max(from, to));
  }

  /** @param {number} first @param {number} last tell the cards between, both included, their places */
  #number(first, last) {
    const cards = this.#cards();
    for (let n = first; n <= last; n++) {
      const no = cards[n].querySelector(".no");
      if (no) no.textContent = String(n + 1);
      cards[n].querySelector(".grip")?.setAttribute("aria-label", `${cards[n].dataset.name}, ${n + 1} of ${cards.length}`);
      for (const button of cards[n].querySelectorAll("[data-to]")) {
        const end = /first|up/.test(/** @type {HTMLElement} */ (button).dataset.to ?? "") ? 0 : cards.length - 1;
        button.setAttribute("aria-disabled", String(n === end || this.#readOnly()));
      }
    }
  }

  /** @param {HTMLElement | null} card the one whose grip and buttons the Tab key reaches */
  #rove(card) {
    if (!card) return;
    for (const other of this.#list.querySelectorAll(".roving")) {
      if (other === card) return;
      other.classList.remove("roving");
      for (const control of other.querySelectorAll("button")) control.tabIndex = -1;
    }
    card.classList.add("roving");
    for (const control of card.querySelectorAll("button")) control.tabIndex = 0;
  }

  /** @param {HTMLElement} card @param {boolean} pointer */
  #begin(card, pointer) {
    this.#standing = this.order();
    this.#lift = { card, from: this.#cards().indexOf(card), pointer };
    card.dataset.lifted = pointer ? "pointer" : "keys";
    this.#list.dataset.lifting = "";
    card.querySelector(".grip")?.setAttribute("aria-pressed", "true");
  }

  #end() {
    if (!this.#lift) return;
    delete this.#lift.card.dataset.lifted;
    delete this.#list.dataset.lifting;
    this.#lift.card.querySelector(".grip")?.setAttribute("aria-pressed", "false");
    this.#lift = this.#standing = null;
  }

  /** Let a lifted card be where it is: before the order counts. */
  drop() {
    const lift = this.#lift;
    if (!lift) return;
    const to = this.#cards().indexOf(lift.card);
    this.#end();
    this.#tell(lift.card, lift.from, to);
  }

  /** @param {HTMLElement} card @param {number} from @param {number} to */
  #tell(card, from, to) {
    const count = this.#cards().length;
    this.#say(from === to ? `${nameOf(card)} stays at ${to + 1} of ${count}` : `${nameOf(card)} moved to ${to + 1} of ${count}`);
    if (from !== to) this.#dropped({ id: card.dataset.id ?? "", from, to });
  }

  /** @param {HTMLElement} card @param {number} to send it there at once, or, where it is lifted, carry it there */
  #send(card, to) {
    const cards = this.#cards();
    const from = cards.indexOf(card);
    const place = Math.max(0, Math.min(cards.length - 1, to));
    this.#place(card, place);
    card.scrollIntoView({ block: "nearest" });
    if (this.#lift?.card === card) this.#say(`${nameOf(card)} moved to ${place + 1} of ${cards.length}`);
    else this.#tell(card, from, place);
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const card = this.#cardOf(event.target);
    if (!card || !(event.target instanceof Element)) return;
    const zoom = event.target.closest(".zoom");
    if (zoom) {
      const open = card.classList.toggle("zoomed");
      zoom.setAttribute("aria-expanded", String(open));
      return;
    }
    if (this.#readOnly() || event.target.closest("a, input, label")) return;
    const button = /** @type {HTMLElement | null} */ (event.target.closest("[data-to]"));
    if (button) {
      this.drop();
      if (button.getAttribute("aria-disabled") === "true") return;
      const at = this.#cards().indexOf(card);
      const to = { first: 0, up: at - 1, down: at + 1, last: this.#cards().length - 1 }[button.dataset.to ?? ""];
      if (to !== undefined) this.#send(card, to);
      return;
    }
    const selected = window.getSelection();
    if (selected?.type === "Range" && card.contains(selected.anchorNode)) return; // text was marked, not tapped
    const lift = this.#lift;
    if (!lift) {
      this.#begin(card, false);
      /** @type {HTMLElement | null} */ (card.querySelector(".grip"))?.focus();
      this.#say(`${nameOf(card)} lifted. Tap its place, or move it with the arrow keys.`);
    } else {
      if (lift.card !== card) this.#place(lift.card, this.#cards().indexOf(card));
      this.drop();
      /** @type {HTMLElement | null} */ (lift.card.querySelector(".grip"))?.focus();
    }
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const card = this.#cardOf(event.target);
    if (!card || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && (this.#lift || this.#list.querySelector(".zoomed"))) {
      this.cancel();
      for (const other of this.#list.querySelectorAll(".zoomed")) other.classList.remove("zoomed");
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (!(event.target instanceof Element) || !event.target.classList.contains("grip")) return;
    const at = this.#cards().indexOf(card);
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: this.#cards().length - 1 }[event.key];
    const digit = /^\d$/.test(event.key) ? event.key : (/^(?:Digit|Numpad)(\d)$/.exec(event.code)?.[1] ?? "");
    if (to !== undefined) {
      if (this.#lift) this.#send(this.#lift.card, to);
      else /** @type {HTMLElement | null} */ (this.#cards()[to]?.querySelector(".grip"))?.focus();
    } else if (this.#readOnly()) return;
    else if (event.key === " ") {
      if (event.repeat) return;
      if (this.#lift) this.drop();
      else {
        this.#begin(card, false);
        this.#say(`${nameOf(card)} lifted, ${at + 1} of ${this.#cards().length}. Arrows move it, Space drops it, Escape puts it back.`);
      }
    } else if (digit && !event.shiftKey) this.#type(card, digit);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {HTMLElement} card @param {string} digit wait only where a longer number could be meant */
  #type(card, digit) {
    const count = this.#cards().length;
    this.#digits += digit;
    clearTimeout(this.#timer);
    const number = Number(this.#digits);
    const go = () => {
      this.#digits = "";
      if (number >= 1 && number <= count) this.#send(card, number - 1);
      else this.#say(`There is no place ${number}: the last one is ${count}.`);
    };
    if (number * 10 > count || this.#digits.length > 3) go();
    else this.#timer = window.setTimeout(go, DIGITS_MS);
  }

  /** @param {PointerEvent} event */
  #press(event) {
    const card = this.#cardOf(event.target);
    if (!card || !(event.target instanceof Element) || !event.target.closest(".grip")) return;
    if (event.button !== 0 || !event.isPrimary || this.#readOnly()) return;
    const { pointerId, clientX, clientY, pointerType } = event;
    const stop = new AbortController();
    const on = { signal: stop.signal };
    let y = clientY;
    let frame = 0;
    const isTouch = pointerType === "touch";
    const start = () => {
      this.drop();
      this.#begin(card, true);
      this.#say(`${nameOf(card)} lifted`);
    };
    const hold = isTouch ? window.setTimeout(start, HOLD_MS) : 0;
    const finish = () => {
      clearTimeout(hold);
      cancelAnimationFrame(frame);
      stop.abort();
    };
    const edge = () => {
      const by = y < EDGE ? -12 : y > window.innerHeight - EDGE ? 12 : 0;
      if (by) window.scrollBy(0, by);
      this.#follow(card, y);
      frame = requestAnimationFrame(edge);
    };
    document.addEventListener("pointermove", (move) => {
      if (move.pointerId !== pointerId) return;
      y = move.clientY;
      if (!this.#lift?.pointer) {
        if (Math.hypot(move.clientX - clientX, y - clientY) < NEAR) return;
        if (isTouch) return finish(); // before it was held: the list scrolls
        start();
      }
      this.#follow(card, y);
      if (!frame) frame = requestAnimationFrame(edge);
    }, on);
    document.addEventListener("pointerup", (up) => {
      if (up.pointerId !== pointerId) return;
      finish();
      if (!this.#lift?.pointer) return;
      this.drop();
      /** @type {HTMLElement | null} */ (card.querySelector(".grip"))?.focus({ preventScroll: true });
      // The click that follows is that of the drag.
      const swallow = (/** @type {Event} */ click) => click.stopPropagation();
      window.addEventListener("click", swallow, { capture: true, once: true });
      setTimeout(() => window.removeEventListener("click", swallow, { capture: true }));
    }, on);
    document.addEventListener("pointercancel", (lost) => {
      if (lost.pointerId !== pointerId) return;
      finish();
      if (this.#lift?.pointer) this.cancel();
    }, on);
    document.addEventListener("keydown", (key) => {
      if (key.key !== "Escape" || !this.#lift?.pointer) return;
      finish();
      this.cancel();
      key.preventDefault();
    }, { ...on, capture: true });
    document.addEventListener("touchmove", (move) => {
      if (this.#lift?.pointer) move.preventDefault();
    }, { ...on, passive: false });
  }

  /** @param {HTMLElement} card @param {number} y let it change places with those whose middles the pointer has passed */
  #follow(card, y) {
    const cards = this.#cards();
    const from = cards.indexOf(card);
    let to = from;
    const middle = (/** @type {number} */ n) => {
      const box = cards[n].getBoundingClientRect();
      return box.top + box.height / 2;
    };
    while (to + 1 < cards.length && y > middle(to + 1)) to += 1;
    while (to > 0 && y < middle(to - 1)) to -= 1;
    this.#place(card, to);
  }
}

/** @param {HTMLElement} card @returns {string} how it is called aloud */
export function nameOf(card) {
  return `Card '${card.dataset.name ?? ""}'`;
}
