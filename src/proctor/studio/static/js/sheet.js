/** The form of the work page as a sheet, and a sheet as the form. */

/** @typedef {import("./device.js").Sheet} Sheet */

export const MAX_OWN = 20;

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

/** @param {HTMLFormElement} form @returns {HTMLTextAreaElement[]} */
export function ownFields(form) {
  return [...form.querySelectorAll("textarea[name=own]")].map((field) => /** @type {HTMLTextAreaElement} */ (field));
}

/** @param {HTMLFormElement} form @returns {HTMLTextAreaElement | null} */
export function noteField(form) {
  return form.querySelector("textarea[name=note]");
}

/** @param {HTMLFormElement} form @returns {Sheet} all that the form holds, hidden parts too */
export function readSheet(form) {
  return {
    question: verdictOf(form, "question"),
    reasons: [...form.querySelectorAll("input[name=reason]")]
      .map((box) => /** @type {HTMLInputElement} */ (box))
      .filter((box) => box.checked)
      .map((box) => box.value),
    answers: answerCards(form).map((card) => verdictOf(form, card.id)),
    own_answers: ownFields(form)
      .map((field) => field.value)
      .filter((text) => text.trim() !== ""),
    note: noteField(form)?.value ?? "",
  };
}

/** @param {HTMLFormElement} form @param {Sheet} sheet put the sheet's values into the form; fires no events */
export function fillSheet(form, sheet) {
  for (const radio of radiosOf(form, "question")) radio.checked = radio.value === sheet.question;
  const reasons = new Set(sheet.reasons ?? []);
  for (const box of form.querySelectorAll("input[name=reason]")) {
    const input = /** @type {HTMLInputElement} */ (box);
    input.checked = reasons.has(input.value);
  }
  answerCards(form).forEach((card, n) => {
    for (const radio of radiosOf(form, card.id)) radio.checked = radio.value === (sheet.answers?.[n] ?? null);
  });
  fillOwn(form, sheet.own_answers ?? []);
  const note = noteField(form);
  if (note) note.value = sheet.note ?? "";
}

/** @param {HTMLFormElement} form @param {string[]} texts */
function fillOwn(form, texts) {
  const rows = [...form.querySelectorAll(".own-row")];
  if (rows.length === 0) return;
  const wanted = Math.max(1, texts.length);
  while (rows.length < wanted) rows.push(appendOwnRow(form));
  while (rows.length > wanted) rows.pop()?.remove();
  ownFields(form).forEach((field, n) => {
    field.value = texts[n] ?? "";
  });
}

/** @param {HTMLFormElement} form @returns {HTMLElement} a new empty row, made like the last one */
export function appendOwnRow(form) {
  const rows = form.querySelectorAll(".own-row");
  const last = rows[rows.length - 1];
  const row = /** @type {HTMLElement} */ (last.cloneNode(true));
  const field = /** @type {HTMLTextAreaElement} */ (row.querySelector("textarea"));
  field.value = "";
  field.textContent = "";
  for (const note of row.querySelectorAll(".own-note")) note.remove();
  for (const named of row.querySelectorAll("[id]")) named.removeAttribute("id");
  field.removeAttribute("aria-describedby");
  last.after(row);
  labelOwnRows(form);
  return row;
}

/** @param {HTMLFormElement} form number the rows for those who cannot see them */
export function labelOwnRows(form) {
  form.querySelectorAll(".own-row").forEach((row, n) => {
    row.querySelector("textarea")?.setAttribute("aria-label", `Own answer ${n + 1}`);
    row.querySelector(".own-remove")?.setAttribute("aria-label", `Remove own answer ${n + 1}`);
  });
}

/**
 * What of a sheet counts as a judgement: below "No" there are no answers, above "No" no reasons (test A1).
 * @param {Sheet} sheet
 * @param {boolean} settled whether the question needs no verdict on this page
 * @param {boolean} mayAdd whether own answers are asked for
 * @returns {Sheet}
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

/** @param {unknown} a @param {unknown} b @returns {boolean} whether both stand for the same sheet; a missing part is an empty one */
export function sameSheet(a, b) {
  return JSON.stringify(normal(a)) === JSON.stringify(normal(b));
}

/** @param {any} sheet */
function normal(sheet) {
  return [
    sheet?.question ?? null,
    [...(sheet?.reasons ?? [])].sort(),
    (sheet?.answers ?? []).map((/** @type {any} */ v) => v ?? null),
    (sheet?.own_answers ?? []).map((/** @type {string} */ t) => t.trim()).filter(Boolean),
    (sheet?.note ?? "").trim(),
  ];
}

/** @param {any} sheet @returns {boolean} whether nothing was judged or written */
export function isEmpty(sheet) {
  const [question, reasons, answers, own, note] = /** @type {any[]} */ (normal(sheet));
  return question === null && reasons.length === 0 && own.length === 0 && note === "" && answers.every((/** @type {any} */ v) => v === null);
}
