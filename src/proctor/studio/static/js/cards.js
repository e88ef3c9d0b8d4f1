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
    const text = `The picture of ${image.alt || "this step"} does not load. If you need it, choose “Can't do this”.`;
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

/** @param {HTMLElement} form @returns {[HTMLElement, HTMLInputElement[]][]} what is asked below the cards, with its radios */
const asked = (form) => /** @type {any} */ ([...form.querySelectorAll("[data-field]")].map((card) => [card, [...card.querySelectorAll("input")]]));

/** @param {HTMLElement} form @returns {Record<string, string>} what is chosen, by field */
export function valuesOf(form) {
  const chosen = asked(form).map(([card, radios]) => [card.dataset.field, radios.find((radio) => radio.checked)?.value]);
  return Object.fromEntries(chosen.filter(([, value]) => value));
}

/** @param {HTMLElement} form @param {Record<string, string>} values */
export function choose(form, values) {
  for (const [card, radios] of asked(form)) for (const radio of radios) radio.checked = radio.value === values[card.dataset.field ?? ""];
}

/** @param {HTMLElement} form @returns {{message: string, card: HTMLElement} | null} the first that is not chosen yet */
export function firstMissing(form) {
  const found = asked(form).find(([, radios]) => !radios.some((radio) => radio.checked));
  return found ? { message: `Not filled in yet: ${found[0].querySelector(".label")?.textContent ?? ""}`, card: found[0] } : null;
}
