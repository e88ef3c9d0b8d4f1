/** Items of a queue without a network: a page comes from the server where that answers, else as it was kept; its clip and pictures,
 * once kept, are not fetched again. What is kept, js/ahead.js decides. */

const PATIENCE_MS = 4000;
const worker = /** @type {any} */ (globalThis);
const opened = () => caches.open("proctor-ahead");

worker.addEventListener("install", () => worker.skipWaiting());
worker.addEventListener("activate", (/** @type {any} */ event) => event.waitUntil(worker.clients.claim()));

worker.addEventListener("fetch", (/** @type {any} */ event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin) return;
  if (request.mode === "navigate" && /^\/w\/[^/]+$/.test(pathname)) event.respondWith(pageOf(request, pathname));
  else if (/^\/static\/|^\/w\/[^/]+\/(?:clip\.mp4|poster\.jpg|picture|sound)$/.test(pathname)) event.respondWith(keptOr(request));
});

/** @param {Request} request @param {string} path @returns {Promise<Response>} */
async function pageOf(request, path) {
  const kept = await (await opened()).match(path);
  if (!kept) return fetch(request);
  const late = new Promise((_, reject) => setTimeout(reject, PATIENCE_MS));
  try {
    return /** @type {Response} */ (await Promise.race([fetch(request), late]));
  } catch {
    return kept;
  }
}

/** @param {Request} request @returns {Promise<Response>} */
async function keptOr(request) {
  const kept = await (await opened()).match(request.url, { ignoreSearch: request.url.includes("/clip.mp4") });
  return kept ? part(request, kept) : fetch(request);
}

/** @param {Request} request @param {Response} whole @returns {Promise<Response>} the range that a player asks for (RFC 9110, section 14) */
async function part(request, whole) {
  const asked = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get("Range") ?? "");
  if (!asked) return whole;
  const data = await whole.blob();
  const from = Number(asked[1]);
  const to = Math.min(asked[2] ? Number(asked[2]) : Infinity, data.size - 1);
  if (from > to) return new Response(null, { status: 416, headers: { "Content-Range": `bytes */${data.size}` } });
  return new Response(data.slice(from, to + 1, data.type), {
    status: 206,
    headers: { "Content-Range": `bytes ${from}-${to}/${data.size}`, "Content-Length": String(to + 1 - from), "Content-Type": data.type, "Accept-Ranges": "bytes" },
  });
}
