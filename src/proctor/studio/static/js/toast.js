/** One short message at a time, with at most one thing to do about it. */

import { make } from "./dom.js";
import { _ } from "./words.js";

/** @type {{run: () => void} | null} */
let current = null;
/** @type {() => void} */
let closeCurrent = () => {};

/**
 * Show a message; hovering or focusing it stops its clock.
 * @param {string} text
 * @param {{label: string, run: () => void, key?: string} | null} [action]
 * @param {number} [seconds] until it goes away; 0: it stays until closed
 * @param {{label: string, href: string} | null} [link]
 */
export function showToast(text, action = null, seconds = 6, link = null) {
  const toast = document.getElementById("toast");
  if (!toast) return;
  closeCurrent();
  const parts = [make("span", { class: "toast-text" }, text)];
  if (action) {
    const button = make("button", { type: "button", class: "toast-action", "aria-keyshortcuts": action.key }, action.label);
    button.addEventListener("click", () => runToastAction());
    parts.push(button);
  }
  if (link) parts.push(make("a", { class: "toast-action", href: link.href }, link.label));
  const close = make("button", { type: "button", class: "toast-close", "aria-label": _("Close message") }, "×");
  parts.push(close);
  toast.replaceChildren(...parts);
  toast.hidden = false;
  toast.classList.add("is-shown");
  current = action ? { run: action.run } : null;

  let left = seconds * 1000;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    if (!toast.matches(":hover, :focus-within")) left -= now - last;
    last = now;
    if (seconds > 0 && left <= 0) closeCurrent();
  }, 200);
  closeCurrent = () => {
    clearInterval(timer);
    current = null;
    toast.replaceChildren();
    toast.hidden = true;
    toast.classList.remove("is-shown");
    closeCurrent = () => {};
  };
  close.addEventListener("click", () => closeCurrent());
}

/** @returns {boolean} whether there was something to run */
export function runToastAction() {
  const action = current;
  if (!action) return false;
  closeCurrent();
  action.run();
  return true;
}
