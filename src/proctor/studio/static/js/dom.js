/** Making elements without markup strings: text of data and people stays text. */

/**
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
  element.append(...children);
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
