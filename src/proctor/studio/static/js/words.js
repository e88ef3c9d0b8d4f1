/** Sentences in the language of the page: English in the source, others from `words-<language>.js`, which pages load first. */

/** @typedef {Record<string, string | [string, string]>} Words */
/** @returns {Words} */
const words = () => /** @type {{ WORDS?: Words }} */ (globalThis).WORDS ?? {};

/** @param {string} text with names in braces @param {Record<string, unknown>} values @returns {string} */
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));

/** A sentence. @param {string} text @param {Record<string, unknown>} [values] @returns {string} */
export function _(text, values = {}) {
  const found = words()[text];
  return fill(Array.isArray(found) ? found[0] : (found ?? text), values);
}

/** A number with its decimals, as the language of the page writes it. @param {number} value @param {number} digits @returns {string} */
export function figure(value, digits) {
  return value.toLocaleString(document.documentElement.lang, { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false });
}

/** A sentence about a number of things, which is {n} in it. @param {number} n @param {string} one @param {string} many @param {Record<string, unknown>} [values] @returns {string} */
export function _n(n, one, many, values = {}) {
  const found = words()[one];
  const [first, rest] = Array.isArray(found) ? found : [one, many];
  return fill(n === 1 ? first : rest, { n, ...values });
}

/** A sentence whose words mean something else elsewhere. @param {string} about @param {string} text @param {Record<string, unknown>} [values] @returns {string} */
export function _in(about, text, values = {}) {
  const found = words()[`${about}|${text}`];
  return fill(Array.isArray(found) ? found[0] : (found ?? text), values);
}
