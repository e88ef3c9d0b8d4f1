/** Where a version was saved: this device or which other one, and when, in words for who compares two versions. */

import { _ } from "./words.js";

const NAME = "proctor:device";
const BROWSERS = { "Edg/": "Edge", "OPR/": "Opera", "Firefox/": "Firefox", "Chrome/": "Chrome", "Safari/": "Safari" };
const SYSTEMS = { Android: "Android", iPhone: "iPhone", iPad: "iPad", Windows: "Windows", "Mac OS X": "macOS", CrOS: "ChromeOS", Linux: "Linux" };

/** @param {Record<string, string>} signs @param {string} otherwise */
const nameIn = (signs, otherwise) => Object.entries(signs).find(([sign]) => navigator.userAgent.includes(sign))?.[1] ?? otherwise;

/** @returns {string} `~3f9a1c~Firefox~Windows`: the same for every page of this browser, another one elsewhere */
export function deviceMark() {
  let device = "000000"; // Where nothing may be kept, a browser is told apart by its name alone.
  try {
    device = localStorage[NAME] ??= [...crypto.getRandomValues(new Uint8Array(3))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  } catch {}
  return `~${device.slice(0, 6)}~${nameIn(BROWSERS, "Browser")}~${nameIn(SYSTEMS, "device")}`;
}

/**
 * @param {string} clientId under which something was saved; empty where nobody knows
 * @param {Date | null} at
 * @returns {string} `on another device (Firefox, Windows) on 3 May at 12:04`
 */
export function whereAndWhen(clientId, at) {
  const [, device, browser, system] = clientId.split("~");
  const here = device !== undefined && deviceMark().startsWith(`~${device}~`);
  const named = device && browser && system && { browser, system: system === "device" ? _("device") : system };
  const where = here ? _("in another tab of this browser") : named ? _("on another device ({browser}, {system})", named) : _("somewhere else");
  if (!at) return where;
  const { lang } = document.documentElement;
  const locale = lang && !navigator.language.startsWith(lang) ? lang : undefined; // else the browser's own: en-GB, de-AT
  const time = at.toLocaleTimeString(locale, { hour: "2-digit", minute: "2-digit" });
  if (at.toDateString() === new Date().toDateString()) return _("{where} at {time}", { where, time });
  return _("{where} on {day} at {time}", { where, time, day: at.toLocaleDateString(locale, { day: "numeric", month: "long" }) });
}
