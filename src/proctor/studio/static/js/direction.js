/** Direction marks in fields: a field shows its text as it is, so a line under it says what nobody can see there. */

import { make } from "./dom.js";
import { _ } from "./words.js";

const MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const FIELDS = "textarea, input[type=text], input[type=search], input:not([type]), [role=textbox]";
/** @type {WeakMap<Element, HTMLElement>} */
const hints = new WeakMap();
let count = 0;

/** @param {any} field show the line, or take it away */
function look(field) {
  const found = [...new Set((field.value ?? field.textContent ?? "").match(MARKS) ?? [])].map((sign) => `U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`);
  const before = hints.get(field);
  const said = found.length > 0 ? _("Contains hidden direction marks: {marks}.", { marks: found.sort().join(", ") }) + " " : "";
  if (said === (before?.firstChild?.textContent ?? "")) return;
  before?.remove();
  hints.delete(field);
  const others = (field.getAttribute("aria-describedby") ?? "").split(" ").filter((/** @type {string} */ id) => id && id !== before?.id);
  if (said) {
    const hint = make("p", { class: "marks-hint", id: `marks-${(count += 1)}`, role: "status" }, said);
    if ("value" in field && !field.matches(":disabled, :read-only")) hint.append(remover(field));
    const row = field.closest(".own-row");
    if (row) row.append(hint);
    else (field.closest("label") ?? field).after(hint);
    hints.set(field, hint);
    others.push(hint.id);
  }
  if (others.length > 0) field.setAttribute("aria-describedby", others.join(" "));
  else field.removeAttribute("aria-describedby");
}

/** @param {HTMLInputElement} field @returns {HTMLElement} */
function remover(field) {
  const button = make("button", { type: "button" }, _("Take them out"));
  button.addEventListener("click", () => {
    field.value = field.value.replace(MARKS, "");
    field.dispatchEvent(new Event("input", { bubbles: true })); // it is saved as if it had been typed
    field.focus();
  });
  return button;
}

/** Look at every field of the page; those that are filled or made later are looked at then. */
export function watchMarks() {
  const all = () => document.querySelectorAll(FIELDS).forEach(look);
  for (const hint of document.querySelectorAll(".marks-hint")) hint.remove(); // the server's, which cannot follow
  for (const name of ["input", "focusin"]) {
    document.addEventListener(name, (event) => event.target instanceof Element && event.target.matches(FIELDS) && look(event.target));
  }
  document.addEventListener("filled", all);
  for (const box of document.querySelectorAll("[role=textbox]")) new MutationObserver(() => look(box)).observe(box, { childList: true, subtree: true });
  all();
}
