/** Words marked in a text: chosen as in any text, then labelled. Places are counted in code points, as the server counts them. */

import { make, shown } from "./dom.js";
import { brief, chosenIn, onlyRead, putCursor } from "./selecting.js";
import { _ } from "./words.js";

/** @typedef {{start: number, end: number, label: string}} Span */

const SPACE = /^\s$/u;
/** @param {string} value `start:end:label` @returns {Span} */
function spanOf(value) {
  const [start, end, ...label] = value.split(":");
  return { start: Number(start), end: Number(end), label: label.join(":") };
}
/** @param {Span} span @returns {string} */
const valueOf = ({ start, end, label }) => `${start}:${end}:${label}`;
/** As the server sorts them. @param {Span} a @param {Span} b */
const inOrder = (a, b) => a.start - b.start || a.end - b.end || (a.label < b.label ? -1 : Number(a.label > b.label));

/** Where each code point of a text begins in what the page shows of it, in UTF-16 units; some are shown longer. @param {string[]} points */
export function placesOf(points) {
  const places = [0];
  for (const point of points) places.push(places[places.length - 1] + shown(point).length);
  return places;
}

/**
 * Code points that a stretch of the shown text touches, without blanks around them.
 * @param {string[]} points @param {number[]} places @param {number} from @param {number} to @returns {[number, number]}
 */
export function pointsOf(points, places, from, to) {
  let start = Math.max(0, places.findIndex((place) => place > from) - 1);
  if (from >= places[places.length - 1]) start = points.length;
  let end = places.findIndex((place) => place >= to);
  while (start < end && SPACE.test(points[start])) start += 1;
  while (start < end && SPACE.test(points[end - 1])) end -= 1;
  return [start, Math.max(start, end)];
}

/** A text, and the fields of the form that mark words of it. */
class Words {
  /** @type {[number, number]} */
  chosen = [0, 0];
  /** @type {Spans[]} */
  fields = [];

  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.points = [...JSON.parse(element.dataset.text ?? '""')];
    this.places = placesOf(this.points);
    this.section = /** @type {HTMLElement} */ (element.closest("section"));
    const more = { contenteditable: "true", inputmode: "none", spellcheck: "false", role: "textbox", "aria-readonly": "true", "aria-multiline": "true", "aria-label": element.dataset.name ?? "" };
    for (const [name, value] of Object.entries(more)) element.setAttribute(name, value);
    onlyRead(element, () => this.show());
    const buttons = [...this.section.querySelectorAll("[data-label]")].map((button) => /** @type {HTMLButtonElement} */ (button));
    for (const button of buttons) button.addEventListener("click", () => this.#mark(button));
    element.addEventListener("keydown", (event) => {
      const button = buttons[event.key === "Enter" ? 0 : "123456789".indexOf(event.key)];
      if (!button || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      this.#mark(button);
    });
    document.addEventListener("selectionchange", () => this.#select());
  }

  #select() {
    const found = chosenIn(this.element);
    if (!found) return;
    this.chosen = pointsOf(this.points, this.places, found[0].length, found[0].length + found[1].length);
    if (this.chosen[0] < this.chosen[1]) this.#say(_("Chosen: “{words}”", { words: brief(this.text(...this.chosen)) }));
  }

  /** @param {string} text */
  #say(text) {
    const place = this.section.querySelector(".own-said");
    if (place) place.textContent = shown(text);
  }

  /** @param {number} start @param {number} end */
  text = (start, end) => this.points.slice(start, end).join("");

  /** @param {HTMLElement} button of a label */
  #mark(button) {
    this.#select(); // the event of the last key may be still to come
    const [start, end] = this.chosen;
    const field = this.fields.find(({ name }) => name === button.closest("[data-marks]")?.getAttribute("data-marks"));
    if (start === end) return this.#say(_("Choose words in the text first."));
    if (!field?.add({ start, end, label: button.dataset.label ?? "" })) return;
    this.#say(_("Marked as {label}: “{words}”", { label: button.querySelector("span")?.textContent, words: brief(this.text(start, end)) }));
    putCursor(this.element, this.places[end]); // the text was drawn anew
  }

  /** Show the text with what is marked; a stretch under several marks has the line of the last. */
  show() {
    const marks = this.fields.flatMap((field) => field.spans.map((span) => ({ ...span, ...field.look(span.label) })));
    const cuts = [...new Set([0, this.points.length, ...marks.flatMap(({ start, end }) => [start, end])])].sort((a, b) => a - b);
    this.element.replaceChildren(...cuts.slice(1).map((to, n) => {
      const said = this.text(cuts[n], to);
      const over = marks.filter(({ start, end }) => start <= cuts[n] && to <= end);
      const begun = over.filter(({ start }) => start === cuts[n]).map(({ words }) => words).join(", ");
      return over.length > 0 ? make("mark", { class: over[over.length - 1].tint, "data-labels": begun || null }, said) : shown(said);
    }));
    this.chosen = [this.chosen[1], this.chosen[1]];
  }
}

const texts = /** @type {Map<string, Words>} by column */ (new Map());

/** A field of marked words: a list of them with buttons that take them off. It is read and filled like rows of texts. */
export class Spans {
  /** @type {Span[]} */
  spans = [];
  #given;
  #list;

  /** @param {HTMLElement} card @param {{changed: () => void, readOnly: () => boolean}} given */
  constructor(card, given) {
    this.#given = given;
    this.name = card.dataset.field ?? "";
    this.#list = /** @type {HTMLElement} */ (card.querySelector(".spans"));
    card.querySelector(".span-plain")?.remove();
    const column = card.dataset.column ?? "";
    this.words = texts.get(column) ?? new Words(/** @type {HTMLElement} */ (document.querySelector(`[data-words="${CSS.escape(column)}"]`)));
    texts.set(column, this.words);
    this.words.fields.push(this);
    this.fill([...this.#list.querySelectorAll("input")].map((box) => box.value));
  }

  get texts() {
    return this.spans.map(valueOf);
  }

  /** What a label is called, and its colour. @param {string} label */
  look(label) {
    const button = this.words.section.querySelector(`[data-marks="${this.name}"] [data-label="${CSS.escape(label)}"]`);
    return { words: button?.querySelector("span")?.textContent ?? label, tint: button?.className ?? "" };
  }

  /** @param {string} value @returns {string} */
  say(value) {
    const { start, end, label } = spanOf(value);
    return _("{label}: “{words}”", { label: this.look(label).words, words: this.words.text(start, end) });
  }

  /** @param {Span} span @returns {boolean} whether it is marked now */
  add(span) {
    return this.#set([...this.spans.filter((other) => inOrder(other, span) !== 0), span].sort(inOrder));
  }

  /** @param {Span[]} spans */
  #set(spans) {
    if (this.#given.readOnly()) return false;
    this.fill(spans.map(valueOf));
    this.#given.changed();
    return true;
  }

  /** @param {string[]} values */
  fill(values) {
    this.spans = values.map(spanOf);
    this.#list.replaceChildren(...values.map((value, n) => {
      const said = this.say(value);
      const button = make("button", { type: "button", "aria-label": _("Remove {name}", { name: shown(said) }) }, "×");
      button.addEventListener("click", () => {
        if (!this.#set(this.spans.filter((other, place) => place !== n))) return;
        (this.#list.querySelectorAll("button")[Math.min(n, this.spans.length - 1)] ?? this.words.element).focus();
      });
      return make("li", { class: this.look(this.spans[n].label).tint }, make("span", { dir: "auto" }, said), button);
    }));
    this.words.show();
  }
}
