/** Active time: the tab is visible and somebody touched it in the last 30 s. */

const IDLE_AFTER_MS = 30_000;
const TICK_MS = 1000;

/** Counts milliseconds of active time on this page. */
export class ActiveTime {
  #total;
  #lastInput = -Infinity;
  #lastTick = performance.now();

  /** @param {number} before milliseconds counted on earlier visits */
  constructor(before) {
    this.#total = before;
    const touched = () => {
      this.#tick();
      this.#lastInput = performance.now();
    };
    for (const name of ["pointerdown", "pointermove", "keydown", "wheel", "touchstart", "input"]) {
      addEventListener(name, touched, { passive: true, capture: true });
    }
    document.addEventListener("visibilitychange", () => this.#tick(document.visibilityState === "hidden"));
    setInterval(() => this.#tick(), TICK_MS);
  }

  /** @param {boolean} wasVisible whether the time up to now was spent looking */
  #tick(wasVisible = document.visibilityState === "visible") {
    const now = performance.now();
    // Time between two ticks counts up to the moment at which the last input had grown old.
    const until = Math.min(now, this.#lastInput + IDLE_AFTER_MS);
    if (wasVisible && until > this.#lastTick) this.#total += until - this.#lastTick;
    this.#lastTick = now;
  }

  /** @param {number} before milliseconds of earlier visits, learnt late; this page's own count may be part of them */
  atLeast(before) {
    this.#total = Math.max(this.#total, before);
  }

  /** @returns {number} whole milliseconds */
  get total() {
    this.#tick();
    return Math.round(this.#total);
  }
}
