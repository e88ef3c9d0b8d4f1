/** Two versions of one sheet side by side; nothing is merged unless a person picks it. */

import { dialogOrNew, make } from "./dom.js";
import { sameSheet } from "./sheet.js";

/** @typedef {import("./device.js").Sheet} Sheet */
/** @typedef {{id: string, name: string, mine: any, theirs: any, both?: any}} Difference */

const WORDS = { right: "Yes", wrong: "No" };

/** @param {unknown} value @returns {string} */
const verdict = (value) => (value === "right" || value === "wrong" ? WORDS[value] : "not judged");

/** @param {Sheet} sheet @param {number} answers @returns {Sheet} every part present */
function complete(sheet, answers) {
  return {
    question: sheet.question ?? null,
    reasons: [...(sheet.reasons ?? [])],
    answers: Array.from({ length: answers }, (_, n) => sheet.answers?.[n] ?? null),
    own_answers: [...(sheet.own_answers ?? [])],
    note: sheet.note ?? "",
  };
}

/** @param {Sheet} mine @param {Sheet} theirs @returns {Difference[]} */
export function differences(mine, theirs) {
  /** @type {Difference[]} */
  const found = [];
  if (mine.question !== theirs.question) found.push({ id: "question", name: "Question", mine: mine.question, theirs: theirs.question });
  if (JSON.stringify([...mine.reasons].sort()) !== JSON.stringify([...theirs.reasons].sort())) {
    found.push({ id: "reasons", name: "Reasons", mine: mine.reasons, theirs: theirs.reasons });
  }
  mine.answers.forEach((value, n) => {
    if (value !== theirs.answers[n]) found.push({ id: `answers.${n}`, name: `Answer ${n + 1}`, mine: value, theirs: theirs.answers[n] });
  });
  if (JSON.stringify(mine.own_answers) !== JSON.stringify(theirs.own_answers)) {
    const both = [...mine.own_answers, ...theirs.own_answers.filter((text) => !mine.own_answers.includes(text))];
    found.push({ id: "own_answers", name: "Own answers", mine: mine.own_answers, theirs: theirs.own_answers, both });
  }
  if (mine.note !== theirs.note) {
    const both = mine.note && theirs.note ? `${mine.note}\n${theirs.note}` : undefined;
    found.push({ id: "note", name: "Note", mine: mine.note, theirs: theirs.note, both });
  }
  return found;
}

/** @param {any} value @returns {HTMLElement} */
function show(value) {
  if (Array.isArray(value)) {
    if (value.length === 0) return make("em", {}, "none");
    return make("ul", {}, ...value.map((text) => make("li", {}, String(text))));
  }
  if (value === null || value === "right" || value === "wrong") return make("span", {}, verdict(value));
  return value === "" ? make("em", {}, "empty") : make("span", { class: "conflict-text" }, String(value));
}

/** @param {Difference} difference @returns {HTMLElement} */
function row(difference) {
  const set = make("fieldset", { class: "conflict-row", "data-conflict-field": difference.id }, make("legend", {}, difference.name));
  /** @type {[string, string, any][]} */
  const choices = [["mine", "Mine", difference.mine], ["theirs", "Theirs", difference.theirs]];
  if (difference.both !== undefined) choices.push(["both", "Both", difference.both]);
  for (const [value, label, content] of choices) {
    const radio = make("input", { type: "radio", name: `conflict-${difference.id}`, value });
    set.append(make("label", { class: `conflict-choice conflict-${value}` }, radio, make("strong", {}, label), " ", show(content)));
  }
  return set;
}

/** @param {Sheet} sheet @param {string} id @param {any} value */
function assign(sheet, id, value) {
  if (id.startsWith("answers.")) sheet.answers[Number(id.slice(8))] = value;
  else Object.assign(sheet, { [id]: value });
}

/**
 * Ask the person to pick; resolves to the sheet picked, or null when the dialog was closed without a choice.
 * @param {Sheet} mineGiven
 * @param {Sheet} theirsGiven
 * @returns {Promise<Sheet | null>}
 */
export function compare(mineGiven, theirsGiven) {
  const count = Math.max(mineGiven.answers?.length ?? 0, theirsGiven.answers?.length ?? 0);
  const mine = complete(mineGiven, count);
  const theirs = complete(theirsGiven, count);
  if (sameSheet(mine, theirs)) return Promise.resolve(mine);
  const dialog = dialogOrNew("conflict-dialog", "This item was changed elsewhere");
  if (dialog.open) return Promise.resolve(null);
  const found = differences(mine, theirs);
  let body = dialog.querySelector("#conflict-body, [data-conflict-body]");
  if (!body) {
    body = make("div", { "data-conflict-body": true });
    dialog.append(body);
  }
  const error = make("p", { role: "alert", class: "conflict-error" });
  const buttons = ["mine", "theirs"].map((side) =>
    make("button", { type: "button", "data-conflict-all": side }, side === "mine" ? "Keep all of mine" : "Take all of theirs"),
  );
  const use = make("button", { type: "button", "data-conflict-use": true, class: "primary" }, "Use what I picked");
  body.replaceChildren(
    make("p", {}, "Mine is what this page holds, theirs is what was saved elsewhere. Pick one for each part."),
    ...found.map(row), error, make("div", { class: "dialog-buttons" }, ...buttons, use),
  );
  return new Promise((resolve) => {
    /** @type {Sheet | null} */
    let picked = null;
    const pick = () => {
      const sheet = structuredClone(mine);
      for (const difference of found) {
        const chosen = /** @type {HTMLInputElement | undefined} */ (
          [...dialog.querySelectorAll("input:checked")].find((i) => /** @type {HTMLInputElement} */ (i).name === `conflict-${difference.id}`)
        );
        if (!chosen) {
          error.textContent = `Pick one for: ${difference.name}.`;
          const first = dialog.querySelector(`[data-conflict-field="${CSS.escape(difference.id)}"] input`);
          if (first instanceof HTMLElement) first.focus();
          return;
        }
        assign(sheet, difference.id, structuredClone(/** @type {any} */ (difference)[chosen.value]));
      }
      picked = sheet;
      dialog.close();
    };
    use.addEventListener("click", pick);
    for (const button of buttons) {
      button.addEventListener("click", () => {
        for (const radio of dialog.querySelectorAll(`input[type=radio][value="${button.dataset.conflictAll}"]`)) {
          /** @type {HTMLInputElement} */ (radio).checked = true;
        }
        pick();
      });
    }
    dialog.addEventListener("close", () => resolve(picked), { once: true });
    dialog.showModal();
  });
}
