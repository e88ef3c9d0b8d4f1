/** What is marked on a timeline, without the page: frames and seconds, what stands out, rows of bars. docs/rounds.md */

/** @typedef {{id: string, step: string, start_s: number, end_s: number, verb?: string, noun?: string, source?: string}} Span */

/** Frame k is shown from k / fps; seconds are what is kept, to the microsecond. */
export class Frames {
  /** @param {{fps_num: number, fps_den: number, frames: number}} task */
  constructor({ fps_num, fps_den, frames }) {
    this.rate = fps_num / fps_den;
    this.count = frames;
  }

  /** @param {number} frame @returns {number} seconds at which it begins */
  seconds(frame) {
    return Math.round((frame / this.rate) * 1e6) / 1e6;
  }

  /** @param {number} seconds @returns {number} the frame whose beginning is nearest */
  at(seconds) {
    return Math.round(seconds * this.rate);
  }

  /** @param {string} text `1:02.5`, `62.5` or `f1875` @returns {number | null} the frame, null for anything else or beyond the end */
  parse(text) {
    const frame = /^\s*f\s*(\d{1,9})\s*$/i.exec(text);
    const time = /^\s*(?:(\d{1,3}):)?(\d{1,3}):(\d{1,2}(?:[.,]\d*)?)\s*$|^\s*(\d{1,7}(?:[.,]\d*)?)\s*$/.exec(text);
    if (!frame && !time) return null;
    const number = (/** @type {string | undefined} */ part) => Number((part ?? "0").replace(",", "."));
    const found = frame ? Number(frame[1]) : this.at(time?.[4] ? number(time[4]) : number(time?.[1]) * 3600 + number(time?.[2]) * 60 + number(time?.[3]));
    return found <= this.count ? found : null;
  }
}

/** @param {Span} span @returns {boolean} whether it has a start and no end yet */
export const isOpen = (span) => span.end_s <= span.start_s;

/**
 * The edges that were violated: a step began before one that has to come first. One that was not done stands for its own
 * prerequisites, as in `verify.rounds.timeline.order_mistakes`.
 * @param {Map<string, number>} starts first start of each step that was done @param {[string, string][]} before edges
 * @returns {[string, string][]}
 */
export function orderMistakes(starts, before) {
  /** @type {[string, string][]} */
  const found = [];
  for (const [step, start] of starts) {
    const seen = new Set([step]);
    const open = [step];
    while (open.length > 0) {
      const next = open.shift();
      for (const [earlier] of before.filter(([, after]) => after === next)) {
        if (seen.has(earlier)) continue;
        seen.add(earlier);
        const began = starts.get(earlier);
        if (began === undefined) open.push(earlier);
        else if (began > start) found.push([earlier, step]);
      }
    }
  }
  return found;
}

/**
 * @param {any} sheet @param {any} task
 * @returns {{order: [string, string][], gaps: [number, number][], overlaps: [Span, Span][]}} what stands out; none of it is wrong by itself
 */
export function standsOut(sheet, task) {
  const marked = sheet.segments.filter((/** @type {Span} */ s) => !isOpen(s)).sort(byTime);
  /** @type {Map<string, number>} */
  const starts = new Map();
  /** @type {[number, number][]} */
  const gaps = [];
  /** @type {[Span, Span][]} */
  const overlaps = [];
  let upto = 0;
  marked.forEach((/** @type {Span} */ span, /** @type {number} */ n) => {
    if (!starts.has(span.step)) starts.set(span.step, span.start_s);
    if (span.start_s - upto > 2) gaps.push([upto, span.start_s]);
    upto = Math.max(upto, span.end_s);
    for (let m = n + 1; m < marked.length && marked[m].start_s < span.end_s && overlaps.length < 500; m++) overlaps.push([span, marked[m]]);
  });
  const confirmed = new Set(sheet.errors.filter((/** @type {any} */ e) => e.tag === "order").map((/** @type {any} */ e) => e.step));
  const dismissed = new Set(sheet.dismissed.map(String));
  const order = orderMistakes(starts, task.before).filter((edge) => !confirmed.has(edge[1]) && !dismissed.has(String(edge)));
  return { order, gaps, overlaps };
}

/** @param {Span} a @param {Span} b */
export const byTime = (a, b) => a.start_s - b.start_s || a.end_s - b.end_s;

/** @param {Span[]} spans @returns {Map<string, number>} the row of each bar, so that none covers another */
export function rowsOf(spans) {
  /** @type {number[]} */
  const ends = [];
  return new Map([...spans].sort(byTime).map((span) => {
    const free = ends.findIndex((end) => end <= span.start_s);
    const row = free < 0 ? ends.length : free;
    ends[row] = Math.max(span.end_s, span.start_s + 0.1);
    return [span.id, row];
  }));
}
