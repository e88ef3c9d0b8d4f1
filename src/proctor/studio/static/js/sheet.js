/** The form of the verification page as a sheet, and a sheet as the form. */

import { sameSheet } from "./device.js";
import { noteOf } from "./page.js";
import { _ } from "./words.js";

/** @typedef {import("./rows.js").Rows} Rows */
/** @typedef {{question: "right"|"wrong"|null, reasons: string[], answers: ("right"|"wrong"|null)[],
 *   own_answers: string[], note: string}} Verdicts */

/** @param {HTMLFormElement} form @returns {HTMLElement[]} the answer cards in the order shown */
export function answerCards(form) {
  return [...form.querySelectorAll('[id^="answer-"]')]
    .filter((card) => /^answer-\d+$/.test(card.id))
    .sort((a, b) => Number(a.id.slice(7)) - Number(b.id.slice(7)))
    .map((card) => /** @type {HTMLElement} */ (card));
}

/** @param {HTMLFormElement} form @param {string} name @returns {HTMLInputElement[]} */
export function radiosOf(form, name) {
  return [...form.querySelectorAll("input[type=radio]")]
    .map((radio) => /** @type {HTMLInputElement} */ (radio))
    .filter((radio) => radio.name === name);
}

/** @param {HTMLFormElement} form @param {string} name @returns {"right"|"wrong"|null} */
function verdictOf(form, name) {
  const value = radiosOf(form, name).find((radio) => radio.checked)?.value;
  return value === "right" || value === "wrong" ? value : null;
}

/** @param {HTMLFormElement} form @param {Rows} own @returns {Verdicts} all that the form holds, hidden parts too */
export function readSheet(form, own) {
  return {
    question: verdictOf(form, "question"),
    reasons: [...form.querySelectorAll("input[name=reason]")]
      .map((box) => /** @type {HTMLInputElement} */ (box))
      .filter((box) => box.checked)
      .map((box) => box.value),
    answers: answerCards(form).map((card) => verdictOf(form, card.id)),
    own_answers: own.texts,
    note: noteOf(form)?.value ?? "",
  };
}

/** @param {HTMLFormElement} form @param {Rows} own @param {Partial<Verdicts>} sheet put its values into the form; fires no events */
export function fillSheet(form, own, sheet) {
  for (const radio of radiosOf(form, "question")) radio.checked = radio.value === sheet.question;
  const reasons = new Set(sheet.reasons ?? []);
  for (const box of form.querySelectorAll("input[name=reason]")) {
    const input = /** @type {HTMLInputElement} */ (box);
    input.checked = reasons.has(input.value);
  }
  answerCards(form).forEach((card, n) => {
    for (const radio of radiosOf(form, card.id)) radio.checked = radio.value === (sheet.answers?.[n] ?? null);
  });
  own.fill(sheet.own_answers ?? []);
  const note = noteOf(form);
  if (note) note.value = sheet.note ?? "";
}

/**
 * What of a sheet counts as a judgement: below "No" there are no answers, above "No" no reasons (test A1).
 * @param {Verdicts} sheet
 * @param {boolean} settled whether the question needs no verdict on this page
 * @param {boolean} mayAdd whether own answers are asked for
 * @returns {Verdicts}
 */
export function reduceSheet(sheet, settled, mayAdd) {
  const valid = settled || sheet.question === "right";
  return {
    question: sheet.question,
    reasons: sheet.question === "wrong" ? [...sheet.reasons] : [],
    answers: valid ? [...sheet.answers] : sheet.answers.map(() => null),
    own_answers: valid && mayAdd ? sheet.own_answers.map((text) => text.trim()).filter((text) => text !== "") : [],
    note: sheet.note.trim(),
  };
}

/** @param {unknown} value @returns {string} */
const verdict = (value) => (value === "right" ? _("Yes") : value === "wrong" ? _("No") : _("not judged"));

/** @param {Partial<Verdicts>} mine @param {Partial<Verdicts>} theirs @returns {import("./conflict.js").Difference[]} */
export function differences(mine, theirs) {
  /** @type {import("./conflict.js").Difference[]} */
  const found = [];
  /** @param {string} id @param {string} name @param {any} a @param {any} b @param {any} [more] */
  const tell = (id, name, a, b, more) => {
    if (!sameSheet(a, b)) found.push({ id, name, mine: a, theirs: b, ...more });
  };
  tell("question", _("Question"), mine.question ?? null, theirs.question ?? null, { show: verdict });
  tell("reasons", _("Reasons"), [...(mine.reasons ?? [])].sort(), [...(theirs.reasons ?? [])].sort());
  const count = Math.max(mine.answers?.length ?? 0, theirs.answers?.length ?? 0);
  for (let n = 0; n < count; n += 1) {
    /** @param {Verdicts} sheet @param {any} value */
    const set = (sheet, value) => {
      (sheet.answers ??= [])[n] = value;
    };
    tell(`answers.${n}`, _("Answer {n}", { n: n + 1 }), mine.answers?.[n] ?? null, theirs.answers?.[n] ?? null, { show: verdict, set });
  }
  const [own, others] = [mine.own_answers ?? [], theirs.own_answers ?? []];
  tell("own_answers", _("Own answers"), own, others, { both: [...own, ...others.filter((text) => !own.includes(text))] });
  const both = mine.note && theirs.note ? `${mine.note}\n${theirs.note}` : undefined;
  tell("note", _("Note"), mine.note ?? "", theirs.note ?? "", { both });
  return found;
}
