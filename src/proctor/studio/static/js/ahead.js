/** The next items of a queue, kept on this device with their clips: an hour without a network goes on. */

import { send } from "./wire.js";

const CACHE = "proctor-ahead";
const LIST = "/w/-/ahead";
const LOOK_MS = 1000;
const PATIENCE_MS = 120_000;
const AGAIN_MS = 2000;

const able = () => Boolean(navigator.serviceWorker && globalThis.caches && isSecureContext);
/** @param {string} pid */
const pathOf = (pid) => `/w/${encodeURIComponent(pid)}`;

/** Keep this item and the next ones. What is on the page comes first: its own clip is waited for. @param {string} person @param {string} pid */
export async function keepAhead(person, pid) {
  if (!able()) return;
  const clip = document.getElementById("clip");
  for (let waited = 0; clip instanceof HTMLVideoElement && clip.readyState < 2 && waited < PATIENCE_MS; waited += LOOK_MS) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  const answer = await send("GET", `${pathOf(pid)}/ahead`, { person });
  if (answer.kind !== "ok" || !Array.isArray(answer.data.pids) || answer.data.pids.length === 0) return;
  try {
    await navigator.serviceWorker.register("/ahead.js", { scope: "/w/" });
    const pids = [pid, ...answer.data.pids];
    const cache = await caches.open(CACHE);
    await cache.put(LIST, new Response(JSON.stringify(pids)));
    await forget(cache, pids.map(pathOf));
    for (let left = pids, pause = AGAIN_MS; left.length > 0; pause = Math.min(2 * pause, 30 * AGAIN_MS)) {
      const late = [];
      for (const one of left) if (!(await keep(cache, pathOf(one)))) late.push(one);
      left = late;
      if (left.length > 0) await new Promise((resolve) => setTimeout(resolve, pause));
    }
  } catch {
    // No room, or no network any more: what is kept is kept.
  }
}

/** @param {Cache} cache @param {string[]} wanted pages */
async function forget(cache, wanted) {
  for (const { url } of await cache.keys()) {
    const { pathname } = new URL(url);
    if (pathname.startsWith("/w/") && pathname !== LIST && !wanted.some((path) => pathname === path || pathname.startsWith(`${path}/`))) await cache.delete(url);
  }
}

/** Keep a page, and what it shows. @param {Cache} cache @param {string} path @returns {Promise<boolean>} whether nothing of it is still being cut */
async function keep(cache, path) {
  const page = await fetch(path, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  if (!page.ok || page.redirected) return true;
  const shown = new DOMParser().parseFromString(await page.clone().text(), "text/html");
  await cache.put(path, page);
  const named = [...shown.querySelectorAll("[src], [data-src], [poster], link[href]")].flatMap((element) =>
    ["src", "data-src", "poster", "href"].map((name) => element.getAttribute(name) ?? ""),
  );
  let whole = true;
  for (const url of new Set(named.filter((name) => name.startsWith("/static/") || name.startsWith(`${path}/`)))) {
    if (await cache.match(url)) continue;
    const answer = await fetch(url, { credentials: "same-origin" });
    if (answer.status === 200) await cache.put(url, answer);
    else if (answer.headers.has("Retry-After")) whole = false;
  }
  return whole;
}

/** @param {string} pid @param {(pid: string) => Promise<boolean>} isOpen @returns {Promise<string>} the page of the next item that this device has; empty where there is none */
export async function nextKept(pid, isOpen) {
  if (!able() || !navigator.serviceWorker.controller) return "";
  const cache = await caches.open(CACHE);
  /** @type {string[]} */
  const pids = (await (await cache.match(LIST))?.json()) ?? [];
  for (const one of pids.slice(pids.indexOf(pid) + 1)) {
    if (one !== pid && (await cache.match(pathOf(one))) && (await isOpen(one))) return pathOf(one);
  }
  return "";
}
