/** The sheet of the verification page: verdicts on a question and its answers, reasons, own answers, a note. */

import { choose } from "./dom.js";
import { startPage } from "./page.js";
import { Rows } from "./rows.js";
import { answerCards, differences, fillSheet, radiosOf, readSheet, reduceSheet } from "./sheet.js";
import { _ } from "./words.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("sheet"));
const settled = form.dataset.question === "settled";
const may = form.dataset.mayAdd ?? "1";
const mayAdd = may === "1" || (may === "if-open" && !settled);
const own = new Rows(form.querySelector("#own"), { changed: () => page.changed(), others: () => form.querySelectorAll("#answers .answer-text, #answers .card legend .text") });

/** @returns {boolean} whether answers are asked for */
const isValid = () => settled || radiosOf(form, "question").some((radio) => radio.checked && radio.value === "right");

/** @param {string} id @param {boolean} shown */
function toggle(id, shown) {
  const element = document.getElementById(id);
  if (element) element.hidden = !shown;
}

/** Show what the question's verdict asks for, and no more. */
function reveal() {
  const wrong = radiosOf(form, "question").some((radio) => radio.checked && radio.value === "wrong");
  toggle("answers", isValid());
  toggle("own", isValid() && mayAdd);
  toggle("reasons", wrong && form.dataset.reasons === "1");
  own.refresh();
}

/** The first thing that is missing (test A2). */
function missing() {
  const sheet = readSheet(form, own);
  if (!settled && sheet.question === null) {
    return { message: _("The question has no verdict yet: choose Yes or No."), card: document.getElementById("question-card") };
  }
  const open = isValid() ? answerCards(form).find((card, n) => sheet.answers[n] === null) : undefined;
  if (!open) return null;
  return { message: _("Answer {n} has no verdict yet: choose Yes or No.", { n: Number(open.id.slice(7)) + 1 }), card: open };
}

/** @param {string} field */
function cardOf(field) {
  const [part, n] = field.split(".");
  const ids = /** @type {Record<string, string>} */ ({ question: "question-card", own_answers: "own", answers: n === undefined ? "answers" : `answer-${n}` });
  return document.getElementById(ids[part] ?? "");
}

/** @param {string} field */
function nameOf(field) {
  const [part, n] = field.split(".");
  if (part === "answers") return n === undefined ? _("Answers") : _("Answer {n}", { n: Number(n) + 1 });
  if (part === "own_answers") return n === undefined ? _("Own answers") : _("Own answer {n}", { n: Number(n) + 1 });
  const names = /** @type {Record<string, string>} */ ({ question: _("Question"), reasons: _("Reasons"), note: _("Note") });
  return names[part] ?? part.charAt(0).toUpperCase() + part.slice(1);
}

/** @param {"right"|"wrong"} value */
const judge = (value) => () => {
  if (page.readOnly) return false;
  const card = answerCards(form).find((c) => c.contains(document.activeElement));
  const name = card && isValid() ? card.id : settled ? null : "question";
  const radio = name === null ? undefined : radiosOf(form, name).find((r) => r.value === value);
  if (!radio || radio.disabled) return false;
  choose(radio);
  return true;
};

/** @param {number} n */
const focusAnswer = (n) => () => {
  const card = isValid() ? document.getElementById(`answer-${n - 1}`) : null;
  page.focusCard(card);
  return card !== null;
};

const group = _("Judging");
const page = startPage({
  read: () => readSheet(form, own),
  fill: (sheet) => fillSheet(form, own, sheet),
  reduce: (sheet) => reduceSheet(sheet, settled, mayAdd),
  changed: reveal,
  missing, differences, cardOf, nameOf, group,
  keys: [
    { id: "yes", group, label: _("Yes"), keys: ["y"], run: judge("right") },
    { id: "no", group, label: _("No"), keys: ["n"], run: judge("wrong") },
    ...Array.from({ length: 9 }, (_each, n) => ({
      id: `answer-${n + 1}`, group, label: _("Go to answer {n}", { n: n + 1 }), keys: [String(n + 1)], run: focusAnswer(n + 1),
    })),
    { id: "own", group, label: _("Add your own answer"), keys: ["a"], run: () => !page.readOnly && isValid() && mayAdd && own.add() },
  ],
});
