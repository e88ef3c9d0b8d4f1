/** What the two pages with cards of steps share: saying what moved, pictures that do not load, two versions in words. */

import { sameSheet } from "./device.js";
import { make } from "./dom.js";

/** @param {string} text for those who hear the page */
export function announce(text) {
  const place = document.getElementById("moves-said");
  if (place) place.textContent = text;
}

/** @param {HTMLElement} list say in words where a picture does not load, and what to do then */
export function checkPictures(list) {
  /** @param {HTMLImageElement} image */
  const replace = (image) => {
    const text = `The picture of ${image.alt || "this step"} does not load. If you need it, choose “Can't judge”.`;
    (image.closest(".zoom") ?? image).replaceWith(make("span", { class: "no-picture" }, text));
  };
  list.addEventListener("error", (event) => event.target instanceof HTMLImageElement && replace(event.target), true);
  for (const image of list.querySelectorAll("img")) if (image.complete && !image.naturalWidth) replace(image);
}

/** @param {HTMLElement} list @param {string[]} order @returns {string} the cards by name, in an order */
export function inWords(list, order) {
  const names = new Map([...list.children].map((card) => [/** @type {HTMLElement} */ (card).dataset.id, /** @type {HTMLElement} */ (card).dataset.name]));
  return order.map((id) => names.get(id) ?? id).join(" → ");
}

/**
 * Two versions of a sheet, by part.
 * @param {any} mine @param {any} theirs
 * @param {Record<string, [name: string, show: (value: any) => string]>} parts by key
 * @returns {import("./conflict.js").Difference[]}
 */
export function differ(mine, theirs, parts) {
  return Object.entries(parts)
    .filter(([key]) => !sameSheet(mine[key], theirs[key]))
    .map(([key, [name, show]]) => ({ id: key, name, mine: mine[key], theirs: theirs[key], show }));
}
