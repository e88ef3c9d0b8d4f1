/** Times and bars of a timeline, without its page. docs/rounds.md */

import { shown } from "./dom.js";

/** @typedef {{id: string, step: string, start_s: number, end_s: number, verb?: string, noun?: string}} Span */

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

  /** @param {string} text `1:02.5`, `62.5` or `f1875` @returns {number} the frame, NaN for anything else or beyond the end */
  parse(text) {
    const [, frame, hours, minutes, seconds] = /^\s*(?:f\s*(\d{1,9})|(?:(?:(\d{1,3}):)?(\d{1,3}):)?(\d{1,7}(?:[.,]\d*)?))\s*$/i.exec(text) ?? [];
    const found = frame ? Number(frame) : this.at(Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds?.replace(",", ".")));
    return found <= this.count ? found : NaN;
  }
}

/** @param {Span} span @returns {boolean} whether it has a start and no end yet */
export const isOpen = (span) => span.end_s <= span.start_s;

/** @param {Span} a @param {Span} b */
export const byTime = (a, b) => a.start_s - b.start_s || a.end_s - b.end_s;

/** @param {Span[]} spans @returns {Map<string, number>} the row of each bar, so that none covers another */
export function rowsOf(spans) {
  /** @type {number[]} */
  const ends = [];
  return new Map([...spans].sort(byTime).map((span) => {
    const free = ends.findIndex((end) => end <= span.start_s);
    const row = free < 0 ? ends.length : free;
    ends[row] = span.end_s;
    return [span.id, row];
  }));
}

/**
 * Show a list without remaking what is there, so that the focus and what is being typed stay.
 * @template T
 * @param {HTMLElement} box @param {T[]} items @param {(item: T) => string} key
 * @param {(item: T) => HTMLElement} create @param {(element: any, item: T) => void} update
 */
export function keyed(box, items, key, create, update) {
  const old = new Map([...box.children].map((child) => [/** @type {HTMLElement} */ (child).dataset.key, child]));
  items.forEach((item, n) => {
    const element = old.get(key(item)) ?? create(item);
    /** @type {HTMLElement} */ (element).dataset.key = key(item);
    old.delete(key(item));
    if (box.children[n] !== element) box.insertBefore(element, box.children[n] ?? null);
    update(element, item);
  });
  for (const gone of old.values()) gone.remove();
}

/** @param {Element | null} element @param {string} text shown there, unless somebody is typing */
export function put(element, text) {
  if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) {
    if (element !== document.activeElement && element.value !== text) element.value = text;
  } else if (element && element.textContent !== shown(text)) element.textContent = shown(text);
}
