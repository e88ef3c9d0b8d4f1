/** Choosing words of a text: in a field that is only read browsers choose by pointer, finger and keys. */

export const brief = (/** @type {string} */ text) => (text.length > 60 ? `${text.slice(0, 59)}…` : text);

/** @param {HTMLElement} box @returns {[string, string] | null} what stands before the words that are chosen in it, and these */
export function chosenIn(box) {
  const range = getSelection()?.rangeCount ? getSelection()?.getRangeAt(0) : null;
  if (!range || !box.contains(range.commonAncestorContainer)) return null;
  const before = document.createRange();
  before.setStart(box, 0);
  before.setEnd(range.startContainer, range.startOffset);
  return [before.toString(), range.toString()];
}

/** @param {HTMLElement} box @param {number} left UTF-16 units before the cursor */
export function putCursor(box, left) {
  const nodes = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    const { length } = /** @type {Text} */ (node);
    if (left <= length) return void getSelection()?.collapse(node, left);
    left -= length;
  }
}

/** @param {HTMLElement} box @param {() => void} show it anew: what cannot be prevented is undone */
export function onlyRead(box, show) {
  box.addEventListener("beforeinput", (event) => event.preventDefault());
  box.addEventListener("input", show);
}
