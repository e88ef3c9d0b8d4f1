/** Making elements without markup strings: text of data and people stays text. */

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|\u{e0000}|[\u{e0001}-\u{e007f}]/gu;

/**
 * Make characters visible that have no shape or turn the reading direction, as the server's pages do (`drawing.text.show_text`).
 * @param {string} text @returns {string}
 */
export const shown = (text) => text.replace(HIDDEN, (sign) => `⟨U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

/**
 * Text children are shown as `shown` says; what goes back to the server belongs into attributes and fields.
 * @param {string} tag
 * @param {Record<string, string | boolean | null | undefined>} [attributes] `true` sets an empty attribute, false and null none
 * @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  if (element instanceof HTMLOptionElement && !element.hasAttribute("value")) element.value = element.value || String(children[0] ?? "");
  element.append(...children.map((child) => (typeof child === "string" && tag !== "textarea" ? shown(child) : child)));
  return element;
}

/** @param {string} id @returns {HTMLDialogElement | null} */
export function dialogById(id) {
  const found = document.getElementById(id);
  return found instanceof HTMLDialogElement ? found : null;
}

/** @param {string} id @param {string} title @returns {HTMLDialogElement} the page's dialog, or a plain one made now */
export function dialogOrNew(id, title) {
  const found = dialogById(id);
  if (found) return found;
  const made = /** @type {HTMLDialogElement} */ (make("dialog", { id, "aria-label": title }, make("h2", {}, title)));
  document.body.append(made);
  return made;
}

/** @param {EventTarget | null} target @returns {boolean} whether typing goes into text there */
export function isTextField(target) {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  if (!(target instanceof HTMLInputElement)) return false;
  return !["radio", "checkbox", "button", "submit", "reset", "image", "file", "range", "color"].includes(target.type);
}

/** @param {string | null | undefined} url @returns {string} the path when it stays on this site, else the start page */
export function safePath(url) {
  return typeof url === "string" && /^\/(?![/\\])/.test(url) ? url : "/";
}

/** @param {HTMLInputElement} radio choose it as the person does */
export function choose(radio) {
  radio.checked = true;
  radio.focus();
  radio.dispatchEvent(new Event("input", { bubbles: true }));
  radio.dispatchEvent(new Event("change", { bubbles: true }));
}
