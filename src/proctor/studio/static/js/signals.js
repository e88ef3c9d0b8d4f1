/** What the modules tell each other, without knowing each other. */

/** Fires `signed-out` (detail: `{pid}`), `signed-in`, `other-person`, `unreachable` (a submit found no server). */
export const signals = new EventTarget();

/** @param {string} name @param {any} [detail] */
export function emit(name, detail) {
  signals.dispatchEvent(new CustomEvent(name, { detail }));
}

/** @param {string} name @param {(detail: any) => void} then */
export function on(name, then) {
  signals.addEventListener(name, (event) => then(/** @type {CustomEvent} */ (event).detail));
}
