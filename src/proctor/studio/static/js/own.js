/** Rows for answers in the person's own words: one row a sentence. */

import { make } from "./dom.js";
import { MAX_OWN, appendOwnRow, labelOwnRows, ownFields } from "./sheet.js";
import { showToast } from "./toast.js";

/** @param {string} text @returns {string} */
const plain = (text) => text.trim().replace(/\s+/g, " ");

/** The fieldset `#own`. */
export class OwnAnswers {
  #form;
  #changed;

  /** @param {HTMLFormElement} form @param {() => void} changed called after a row came or went */
  constructor(form, changed) {
    this.#form = form;
    this.#changed = changed;
    const block = form.querySelector("#own");
    if (!(block instanceof HTMLElement)) return;
    block.addEventListener("click", (event) => {
      const button = event.target instanceof Element ? event.target.closest("button") : null;
      if (!button) return;
      if (button.id === "own-add") {
        event.preventDefault();
        this.add();
      } else if (button.classList.contains("own-remove")) {
        event.preventDefault();
        this.#remove(/** @type {HTMLElement} */ (button.closest(".own-row")));
      }
    });
    block.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      if (!(event.target instanceof HTMLTextAreaElement)) return;
      event.preventDefault();
      if (event.target.value.trim() !== "") this.add();
    });
    // A button without a type submits: Enter in a radio would press the first of them.
    for (const button of block.querySelectorAll(".own-remove, #own-add")) /** @type {HTMLButtonElement} */ (button).type = "button";
    labelOwnRows(form);
  }

  /** Focus an empty row, making one where there is none. @returns {boolean} false where there are no rows at all */
  add() {
    const fields = ownFields(this.#form);
    if (fields.length === 0) return false;
    const empty = fields.find((field) => field.value.trim() === "");
    if (empty) {
      empty.focus();
      return true;
    }
    if (fields.length >= MAX_OWN) {
      showToast(`At most ${MAX_OWN} own answers.`);
      return true;
    }
    appendOwnRow(this.#form).querySelector("textarea")?.focus();
    return true;
  }

  /** @param {HTMLElement} row */
  #remove(row) {
    const fields = ownFields(this.#form);
    const field = /** @type {HTMLTextAreaElement} */ (row.querySelector("textarea"));
    const at = fields.indexOf(field);
    const text = field.value;
    if (fields.length === 1) {
      field.value = "";
      field.focus();
    } else {
      row.remove();
      ownFields(this.#form)[Math.max(0, at - 1)].focus();
    }
    labelOwnRows(this.#form);
    this.#changed();
    if (text.trim() !== "") showToast("Own answer removed.", { label: "Undo", key: "z", run: () => this.#putBack(text, at) }, 10);
  }

  /** @param {string} text @param {number} at */
  #putBack(text, at) {
    const empty = ownFields(this.#form).find((field) => field.value.trim() === "");
    const field = empty ?? appendOwnRow(this.#form).querySelector("textarea");
    if (!field) return;
    field.value = text;
    const row = field.closest(".own-row");
    const rows = [...this.#form.querySelectorAll(".own-row")].filter((other) => other !== row);
    if (row && rows[at]) rows[at].before(row);
    labelOwnRows(this.#form);
    field.focus();
    this.#changed();
  }

  /** Say softly where two are the same; both are kept. */
  refresh() {
    const shown = [...this.#form.querySelectorAll("#answers .answer-text, #answers .card legend .text")].map((element) => plain(element.textContent ?? ""));
    /** @type {string[]} */
    const before = [];
    for (const field of ownFields(this.#form)) {
      const text = plain(field.value);
      const twin = text === "" ? -1 : before.indexOf(text);
      const card = text === "" ? -1 : shown.indexOf(text);
      let note = "";
      if (twin >= 0) note = `The same as own answer ${twin + 1}.`;
      else if (card >= 0) note = `The same as answer ${card + 1} above.`;
      setNote(field, note);
      before.push(text);
    }
  }
}

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
