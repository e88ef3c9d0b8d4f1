/** Graph, list and clip are one object: a step lights up everywhere, and choosing it seeks to its start. */

const LIT = "is-lit";
const NOW = "is-now";

/** @param {string} step @returns {Element[]} every element of the page that stands for the step */
const elementsOf = (step) => [...document.querySelectorAll(`[data-step="${CSS.escape(step)}"]`)];

/** @param {EventTarget | null} target @returns {(HTMLElement | SVGElement) | null} */
function stepAt(target) {
  const found = target instanceof Element ? target.closest("[data-step]") : null;
  return found instanceof HTMLElement || found instanceof SVGElement ? found : null;
}

/** @param {string | null} step light this step and no other */
function light(step) {
  for (const element of document.querySelectorAll(`.${LIT}`)) element.classList.remove(LIT);
  if (step !== null) for (const element of elementsOf(step)) element.classList.add(LIT);
  const panel = document.getElementById("clip-panel");
  if (panel) {
    if (step === null) delete panel.dataset.litStep;
    else panel.dataset.litStep = step;
  }
}

/** @param {number} time of the clip, in seconds: mark the step that runs there */
function markNow(time) {
  /** @type {{step: string, start: number} | null} */
  let best = null;
  for (const element of document.querySelectorAll("[data-step][data-start]")) {
    const { step, start, end } = /** @type {HTMLElement} */ (element).dataset;
    const from = Number(start);
    const to = end === undefined || end === "" ? Infinity : Number(end);
    if (step === undefined || start === "" || !Number.isFinite(from)) continue;
    if (from <= time + 1e-6 && time < to && (best === null || from > best.start)) best = { step, start: from };
  }
  const wanted = best === null ? [] : elementsOf(best.step);
  for (const element of document.querySelectorAll(`.${NOW}`)) {
    if (!wanted.includes(element)) {
      element.classList.remove(NOW);
      element.removeAttribute("aria-current");
    }
  }
  for (const element of wanted) {
    if (!element.classList.contains(NOW)) follow(element);
    element.classList.add(NOW);
    element.setAttribute("aria-current", "step");
  }
}

/** Bring the row of a step into the window of its list, unless somebody is busy there. @param {Element} row */
function follow(row) {
  const list = row.closest(".steps-scroll");
  if (!list || list.matches(":hover, :focus-within")) return;
  const window_ = list.getBoundingClientRect();
  const place = row.getBoundingClientRect();
  if (place.top < window_.top) list.scrollTop += place.top - window_.top;
  else if (place.bottom > window_.bottom) list.scrollTop += Math.min(place.bottom - window_.bottom, place.top - window_.top);
}

/**
 * @param {{video: HTMLVideoElement, seek: (seconds: number) => void} | null} player null where the page has no clip
 */
export function linkSteps(player) {
  for (const element of document.querySelectorAll("[data-step][data-start]")) makeFocusable(element);
  document.addEventListener("pointerover", (event) => light(stepAt(event.target)?.dataset.step ?? focusedStep()));
  document.addEventListener("pointerleave", () => light(focusedStep()));
  document.addEventListener("focusin", (event) => light(stepAt(event.target)?.dataset.step ?? null));
  document.addEventListener("focusout", () => light(null));
  if (!player) return;
  /** @param {EventTarget | null} target @returns {boolean} */
  const seekTo = (target) => {
    const start = stepAt(target)?.dataset.start;
    if (start === undefined || start === "" || !Number.isFinite(Number(start))) return false;
    player.seek(Number(start));
    return true;
  };
  document.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("summary, a[href], [data-no-seek]")) return;
    seekTo(event.target);
  });
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || (event.key !== "Enter" && event.key !== " ")) return;
    // Buttons and links turn these keys into a click themselves.
    if (event.target instanceof Element && event.target.closest("button, a[href], summary, input, textarea, select")) return;
    if (seekTo(event.target)) event.preventDefault();
  });
  player.video.addEventListener("clip-at", (event) => markNow(/** @type {CustomEvent<number>} */ (event).detail));
}

/** @returns {string | null} */
const focusedStep = () => stepAt(document.activeElement)?.dataset.step ?? null;

/** @param {Element} element */
function makeFocusable(element) {
  if (element.matches("button, a[href], [tabindex]") || element.querySelector("button, a[href], [tabindex]")) return;
  element.setAttribute("tabindex", "0");
  if (element instanceof SVGElement && !element.hasAttribute("role")) element.setAttribute("role", "button");
}
