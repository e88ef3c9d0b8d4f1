/** What the two pages with cards of steps share: what is chosen below the cards, and two versions of a sheet in words. */

import { sameSheet } from "./device.js";

/** @param {HTMLFormElement} form whose fields are all radios */
export function chosen(form) {
  const asked = [...form.querySelectorAll("[data-field]")].map((card) => ({ card: /** @type {HTMLElement} */ (card), radios: [...card.querySelectorAll("input")] }));
  const valueOf = (/** @type {HTMLInputElement[]} */ radios) => radios.find((radio) => radio.checked)?.value ?? "";
  const note = form.querySelector("textarea");
  return {
    read: () => ({ values: Object.fromEntries(asked.map(({ card, radios }) => [card.dataset.field, valueOf(radios)]).filter(([, value]) => value)), note: note?.value ?? "" }),
    fill: (/** @type {any} */ sheet) => {
      for (const { card, radios } of asked) for (const radio of radios) radio.checked = radio.value === sheet.values?.[card.dataset.field ?? ""];
      if (note) note.value = sheet.note ?? "";
    },
    missing: () => {
      const card = asked.find(({ radios }) => !valueOf(radios))?.card;
      return card ? { message: `Not filled in yet: ${card.querySelector(".label")?.textContent ?? ""}`, card } : null;
    },
  };
}

/** @param {Element} list @param {string[]} order @returns {string} the cards by name, in an order */
export const inWords = (list, order) => order.map((id) => list.querySelector(`[data-id="${CSS.escape(id)}"]`)?.getAttribute("data-name") ?? id).join(" → ");

/**
 * @param {any} mine @param {any} theirs @param {Record<string, [name: string, show: (value: any) => string]>} parts by key
 * @returns {import("./conflict.js").Difference[]}
 */
export const differ = (mine, theirs, parts) =>
  Object.entries(parts)
    .filter(([key]) => !sameSheet(mine[key], theirs[key]))
    .map(([key, [name, show]]) => ({ id: key, name, mine: mine[key], theirs: theirs[key], show }));
