/** Fields of forms: scales, yes or no, choices, numbers, texts and marked words, each asked where its condition holds; the adapter of a sheet of them alone. */

import { choose } from "./dom.js";
import { noteOf, startPage } from "./page.js";
import { Rows } from "./rows.js";
import { Spans } from "./spans.js";
import { _ } from "./words.js";

/** @typedef {{values: Record<string, string | string[]>, note: string}} FormSheet */

const form = /** @type {HTMLFormElement} */ (document.getElementById("sheet"));
const cards = [...form.querySelectorAll("[data-field]")].map((card) => /** @type {HTMLElement} */ (card));
/** @param {HTMLElement} card */
const nameOf = (card) => card.dataset.field ?? "";
/** @param {HTMLElement} card */
const labelOf = (card) => card.querySelector(".label")?.textContent ?? nameOf(card);
/** @param {HTMLElement} card @returns {any[]} its radios, boxes or its one text */
const inputsOf = (card) => [...card.querySelectorAll("input, textarea")];
const given = { changed: () => void page.changed(), readOnly: () => page.readOnly };
/** @type {Map<HTMLElement, Rows | Spans>} */
const rows = new Map();
for (const card of cards) {
  if (card.dataset.type === "texts") rows.set(card, new Rows(card.querySelector(".rows"), { name: labelOf(card), ...given }));
  if (card.dataset.type === "span") rows.set(card, new Spans(card, given));
}

/** @param {HTMLElement} card @returns {string | string[]} empty where nothing is filled in */
function valueOf(card) {
  const inputs = inputsOf(card);
  if (card.dataset.type === "choices") return inputs.filter((input) => input.checked).map((input) => input.value);
  return rows.get(card)?.texts ?? (inputs[0]?.type === "radio" ? (inputs.find((input) => input.checked)?.value ?? "") : (inputs[0]?.value ?? ""));
}

/** @returns {HTMLElement[]} cards of what is asked, given what is filled in above them */
function asked() {
  /** @type {Map<string, string | string[]>} */
  const above = new Map();
  return cards.filter((card) => {
    const [on, ...value] = (card.dataset.onlyIf ?? "").split("=");
    const isAsked = on === "" || [above.get(on)].flat().includes(value.join("="));
    if (isAsked) above.set(nameOf(card), valueOf(card));
    return isAsked;
  });
}

/** @param {HTMLElement[]} of @returns {FormSheet} */
function sheetOf(of) {
  const filled = of.map((card) => /** @type {[string, string | string[]]} */ ([nameOf(card), valueOf(card)])).filter(([, value]) => value.length > 0);
  return { values: Object.fromEntries(filled), note: noteOf(form)?.value ?? "" };
}

/** @param {Partial<FormSheet>} sheet */
function fill(sheet) {
  for (const card of cards) {
    const value = sheet.values?.[nameOf(card)] ?? "";
    const inputs = inputsOf(card);
    if (rows.has(card)) rows.get(card)?.fill([value].flat().filter(Boolean));
    else if (["radio", "checkbox"].includes(inputs[0]?.type)) for (const box of inputs) box.checked = [value].flat().includes(box.value);
    else if (inputs[0]) inputs[0].value = value;
  }
  const note = noteOf(form);
  if (note) note.value = sheet.note ?? "";
}

function changed() {
  const now = asked();
  for (const card of cards) card.hidden = !now.includes(card);
  for (const some of rows.values()) if (some instanceof Rows) some.refresh();
}

function missing() {
  const card = asked().find((one) => "required" in one.dataset && valueOf(one).length === 0);
  return card ? { message: _("Not filled in yet: {name}", { name: labelOf(card) }), card } : null;
}

/** @param {FormSheet} mine @param {FormSheet} theirs */
function differences(mine, theirs) {
  const found = cards.map((card) => {
    const name = nameOf(card);
    const marks = rows.get(card);
    const words = (/** @type {string} */ value) => (marks instanceof Spans ? marks.say(value) : inputsOf(card).find((input) => ["radio", "checkbox"].includes(input.type) && input.value === value)?.parentElement.querySelector("span").textContent ?? value);
    /** @param {any} value */
    const show = (value) => [value].flat().filter(Boolean).map(words).join("\n") || _("empty");
    /** @param {FormSheet} sheet @param {any} value */
    const set = (sheet, value) => Object.assign((sheet.values ??= {}), { [name]: value });
    return { id: name, name: labelOf(card), mine: mine.values?.[name] ?? "", theirs: theirs.values?.[name] ?? "", show, set };
  });
  return [...found, { id: "note", name: _("Note"), mine: mine.note ?? "", theirs: theirs.note ?? "" }].filter((one) => one.mine.toString() !== one.theirs.toString());
}

/** @param {string[]} types @param {(card: HTMLElement) => any} find the radio or box of the key, in the card in focus or the next one to fill in */
const pick = (types, find) => () => {
  const now = asked();
  const card = now.find((one) => one.contains(document.activeElement)) ?? now.find((one) => types.includes(one.dataset.type ?? "") && valueOf(one).length === 0);
  const radio = card && types.includes(card.dataset.type ?? "") && !page.readOnly ? find(card) : undefined;
  if (!radio || radio.disabled) return false;
  if (radio.type === "checkbox") {
    radio.focus();
    radio.click();
  } else choose(radio);
  return true;
};

/** @param {1 | -1} by */
const step = (by) => () => {
  const now = asked();
  const at = now.findIndex((card) => card.contains(document.activeElement));
  if (at < 0 && document.activeElement !== document.body) return false;
  const next = now[at < 0 ? 0 : at + by];
  if (next) page.focusCard(next);
  return next !== undefined;
};

/** @param {string} value */
const radioOf = (value) => (/** @type {HTMLElement} */ card) => inputsOf(card).find((input) => input.value === value);
const group = _("This form");
export const fields = {
  read: () => sheetOf(cards),
  reduce: () => sheetOf(asked()),
  fill, changed, missing, differences, group,
  nameOf: () => "",
  keys: [
    { id: "yes", group, label: _("Yes"), keys: ["y"], run: pick(["yesno"], radioOf("yes")) },
    { id: "no", group, label: _("No"), keys: ["n"], run: pick(["yesno"], radioOf("no")) },
    ...Array.from({ length: 10 }, (_each, n) => ({
      id: `value-${n}`, group, label: n > 0 ? _("{n} on the scale, or choice {n}", { n }) : _("{n} on the scale", { n }), keys: [String(n)],
      run: pick(["scale", "choice", "choices"], (card) => (card.dataset.type === "scale" ? radioOf(String(n))(card) : inputsOf(card)[n - 1])),
    })),
    { id: "down", group, label: _("Next field"), keys: ["ArrowDown"], run: step(1), repeat: true },
    { id: "up", group, label: _("Field before"), keys: ["ArrowUp"], run: step(-1), repeat: true },
  ],
};

/** @type {ReturnType<typeof startPage>} */
let page;

/** @param {Partial<import("./page.js").Adapter>} [more] of kinds that ask for more than fields */
export function startForm(more = {}) {
  page = startPage({ ...fields, ...more });
  return page;
}
