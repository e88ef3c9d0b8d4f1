/** Two versions of one sheet side by side; nothing is merged unless a person picks it. */

import { dialogOrNew, make } from "./dom.js";
import { _, _in } from "./words.js";

/** @typedef {import("./device.js").Sheet} Sheet */
/** @typedef {{id: string, name: string, mine: any, theirs: any, both?: any, show?: (value: any) => string,
 *   set?: (sheet: Sheet, value: any) => void}} Difference
 * `both` where two values can stand together; `show` in words; `set` where `id` is no key of the sheet. */

/** @param {any} value @returns {string} */
const inWords = (value) => (typeof value === "object" ? JSON.stringify(value) : String(value));

/** @param {Difference} difference @param {any} value @returns {HTMLElement} */
function show({ show: words }, value) {
  if (words) return make("span", { class: "conflict-text" }, words(value));
  if (Array.isArray(value)) {
    if (value.length === 0) return make("em", {}, _in("nothing is in the list", "none"));
    return make("ul", {}, ...value.map((one) => make("li", {}, inWords(one))));
  }
  return (value ?? "") === "" ? make("em", {}, _("empty")) : make("span", { class: "conflict-text" }, inWords(value));
}

/** @param {Difference} difference @returns {HTMLElement} */
function row(difference) {
  const set = make("fieldset", { class: "conflict-row", "data-conflict-field": difference.id }, make("legend", {}, difference.name));
  /** @type {[string, string, any][]} */
  const choices = [["mine", _("Mine"), difference.mine], ["theirs", _("Theirs"), difference.theirs]];
  if (difference.both !== undefined) choices.push(["both", _("Both"), difference.both]);
  for (const [value, label, content] of choices) {
    const radio = make("input", { type: "radio", name: `conflict-${difference.id}`, value });
    set.append(make("label", { class: `conflict-choice conflict-${value}` }, radio, make("strong", {}, label), " ", show(difference, content)));
  }
  return set;
}

/**
 * Ask the person to pick; resolves to the sheet picked, or null when the dialog was closed without a choice.
 * @param {Sheet} mine
 * @param {Sheet} theirs
 * @param {(mine: Sheet, theirs: Sheet) => Difference[]} differences
 * @param {string} [where] and when theirs was saved, in words
 * @returns {Promise<Sheet | null>}
 */
export function compare(mine, theirs, differences, where = _("elsewhere")) {
  const found = differences(mine, theirs);
  if (found.length === 0) return Promise.resolve(mine);
  const dialog = dialogOrNew("conflict-dialog", _("This item was changed elsewhere"));
  if (dialog.open) return Promise.resolve(null);
  let body = dialog.querySelector("#conflict-body, [data-conflict-body]");
  if (!body) {
    body = make("div", { "data-conflict-body": true });
    dialog.append(body);
  }
  const error = make("p", { role: "alert", class: "conflict-error" });
  const buttons = ["mine", "theirs"].map((side) =>
    make("button", { type: "button", "data-conflict-all": side }, side === "mine" ? _("Keep all of mine") : _("Take all of theirs")),
  );
  const use = make("button", { type: "button", "data-conflict-use": true, class: "primary" }, _("Use what I picked"));
  const [before, after] = _("Mine is what this page holds. Theirs was saved {where}. Pick one for each part.").split("{where}");
  body.replaceChildren(
    make("p", {}, before, make("strong", { "data-conflict-where": true }, where), after),
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
          error.textContent = _("Pick one for: {name}.", { name: difference.name });
          const first = dialog.querySelector(`[data-conflict-field="${CSS.escape(difference.id)}"] input`);
          if (first instanceof HTMLElement) first.focus();
          return;
        }
        const value = structuredClone(/** @type {any} */ (difference)[chosen.value]);
        if (difference.set) difference.set(sheet, value);
        else sheet[difference.id] = value;
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
