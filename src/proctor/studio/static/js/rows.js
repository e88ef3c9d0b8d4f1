/** Rows of texts in the person's own words: one row a sentence, as many as are needed. */

import { make } from "./dom.js";
import { showToast } from "./toast.js";
import { _ } from "./words.js";

const MAX_ROWS = 20;

/** @param {string} text @returns {string} */
const plain = (text) => text.trim().replace(/\s+/g, " ");

/** A block with `.own-row`s, each a text area and a button `.own-remove`, and a button that adds one. */
export class Rows {
  #block;
  #given;

  /**
   * @param {HTMLElement | null} block null where the page asks for none
   * @param {{name?: string, changed: () => void, others?: () => Iterable<Element>}} given what one row is called, an own answer else;
   *   called after a row came or went; texts shown above, that a row may say again
   */
  constructor(block, given) {
    this.#block = block;
    this.#given = given;
    block?.addEventListener("click", (event) => {
      const button = event.target instanceof Element ? event.target.closest("button") : null;
      if (!button) return;
      event.preventDefault();
      if (button.classList.contains("own-remove")) this.#remove(/** @type {HTMLElement} */ (button.closest(".own-row")));
      else this.add();
    });
    block?.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      if (!(event.target instanceof HTMLTextAreaElement)) return;
      event.preventDefault();
      if (event.target.value.trim() !== "") this.add();
    });
    // A button without a type submits: Enter in a radio would press the first of them.
    for (const button of block?.querySelectorAll("button") ?? []) button.type = "button";
    this.#label();
  }

  /** @returns {HTMLElement[]} */
  get #rows() {
    return [...(this.#block?.querySelectorAll(".own-row") ?? [])].map((row) => /** @type {HTMLElement} */ (row));
  }

  /** @returns {HTMLTextAreaElement[]} */
  get #fields() {
    return this.#rows.map((row) => /** @type {HTMLTextAreaElement} */ (row.querySelector("textarea")));
  }

  /** What is written, without empty rows. @returns {string[]} */
  get texts() {
    return this.#fields.map((field) => field.value).filter((text) => text.trim() !== "");
  }

  /** Show these texts and no others. @param {string[]} texts */
  fill(texts) {
    const rows = this.#rows;
    if (rows.length === 0) return;
    const wanted = Math.max(1, texts.length);
    while (rows.length < wanted) rows.push(this.#append());
    while (rows.length > wanted) rows.pop()?.remove();
    this.#fields.forEach((field, n) => {
      field.value = texts[n] ?? "";
    });
  }

  /** Focus an empty row, making one where there is none. @returns {boolean} false where there are no rows at all */
  add() {
    const fields = this.#fields;
    if (fields.length === 0) return false;
    const empty = fields.find((field) => field.value.trim() === "");
    if (empty) empty.focus();
    else if (fields.length >= MAX_ROWS) showToast(_("At most {n} rows.", { n: MAX_ROWS }));
    else this.#append().querySelector("textarea")?.focus();
    return true;
  }

  /** @returns {HTMLElement} a new empty row, made like the last one */
  #append() {
    const last = this.#rows[this.#rows.length - 1];
    const row = /** @type {HTMLElement} */ (last.cloneNode(true));
    const field = /** @type {HTMLTextAreaElement} */ (row.querySelector("textarea"));
    field.value = "";
    field.textContent = "";
    for (const note of row.querySelectorAll(".own-note")) note.remove();
    for (const named of row.querySelectorAll("[id]")) named.removeAttribute("id");
    field.removeAttribute("aria-describedby");
    last.after(row);
    this.#label();
    return row;
  }

  /** Number the rows for those who cannot see them. */
  #label() {
    const { name } = this.#given;
    this.#rows.forEach((row, at) => {
      const n = at + 1;
      row.querySelector("textarea")?.setAttribute("aria-label", name === undefined ? _("Own answer {n}", { n }) : `${name} ${n}`);
      row.querySelector(".own-remove")?.setAttribute("aria-label", name === undefined ? _("Remove own answer {n}", { n }) : _("Remove {name} {n}", { name: lower(name), n }));
    });
  }

  /** @param {HTMLElement} row */
  #remove(row) {
    const fields = this.#fields;
    const field = /** @type {HTMLTextAreaElement} */ (row.querySelector("textarea"));
    const at = fields.indexOf(field);
    const text = field.value;
    if (fields.length === 1) {
      field.value = "";
      field.focus();
    } else {
      row.remove();
      this.#fields[Math.max(0, at - 1)].focus();
    }
    this.#label();
    this.#given.changed();
    const { name } = this.#given;
    if (text.trim() !== "") showToast(name === undefined ? _("Own answer removed.") : _("{name} removed.", { name }), { label: _("Undo"), key: "z", run: () => this.#putBack(text, at) }, 10);
  }

  /** @param {string} text @param {number} at */
  #putBack(text, at) {
    const empty = this.#fields.find((field) => field.value.trim() === "");
    const field = empty ?? this.#append().querySelector("textarea");
    if (!field) return;
    field.value = text;
    const row = field.closest(".own-row");
    const others = this.#rows.filter((other) => other !== row);
    if (row && others[at]) others[at].before(row);
    this.#label();
    field.focus();
    this.#given.changed();
  }

  /** Say softly where two are the same; both are kept. */
  refresh() {
    const shown = [...(this.#given.others?.() ?? [])].map((element) => plain(element.textContent ?? ""));
    /** @type {string[]} */
    const before = [];
    const { name } = this.#given;
    for (const field of this.#fields) {
      const text = plain(field.value);
      const twin = text === "" ? -1 : before.indexOf(text);
      const card = text === "" ? -1 : shown.indexOf(text);
      let note = "";
      if (twin >= 0) note = name === undefined ? _("The same as own answer {n}.", { n: twin + 1 }) : _("The same as {name} {n}.", { name: lower(name), n: twin + 1 });
      else if (card >= 0) note = _("The same as answer {n} above.", { n: card + 1 });
      setNote(field, note);
      before.push(text);
    }
  }
}

/** @param {string} name within a sentence; nouns of German keep their capitals */
const lower = (name) => (document.documentElement.lang === "de" ? name : name.charAt(0).toLowerCase() + name.slice(1));

/** @param {HTMLTextAreaElement} field @param {string} text */
function setNote(field, text) {
  const row = field.closest(".own-row");
  let note = row?.querySelector(".own-note");
  if (text === "") {
    note?.remove();
    return;
  }
  if (!note) {
    note = make("span", { class: "own-note", role: "status" });
    row?.append(note);
  }
  if (note.textContent !== text) note.textContent = text;
}
