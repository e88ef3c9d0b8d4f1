/** The page of one recording without a network: from the server where that answers, else as it was last; its scripts and sheets as
 * they were kept, for their addresses change with their content. Nothing else is touched. */

const PATIENCE_MS = 4000;
const worker = /** @type {any} */ (globalThis);
const opened = () => caches.open("proctor-recordings");

worker.addEventListener("install", () => worker.skipWaiting());
worker.addEventListener("activate", (/** @type {any} */ event) => event.waitUntil(worker.clients.claim()));
worker.addEventListener("message", (/** @type {any} */ event) => {
  const { page, files } = event.data ?? {};
  if (typeof page === "string" && Array.isArray(files)) event.waitUntil(keepAll(page, files).catch(() => false).then((kept) => event.source?.postMessage({ kept })));
});

/** @param {string} page @param {string[]} files @returns {Promise<boolean>} whether all is there now */
async function keepAll(page, files) {
  const cache = await opened();
  for (const file of files) if (!(await cache.match(file))) await cache.add(file);
  const answer = await fetch(page, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  if (answer.ok && !answer.redirected) await cache.put(page, answer);
  return (await cache.match(page)) !== undefined;
}

worker.addEventListener("fetch", (/** @type {any} */ event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin) return;
  if (request.mode === "navigate" && worker.registration.scope === origin + pathname) event.respondWith(pageOf(request, pathname));
  else if (pathname.startsWith("/static/")) event.respondWith(opened().then((cache) => cache.match(request.url)).then((kept) => kept ?? fetch(request)));
});

/** @param {Request} request @param {string} path @returns {Promise<Response>} */
async function pageOf(request, path) {
  const cache = await opened();
  const kept = await cache.match(path);
  const late = new Promise((_, reject) => setTimeout(reject, PATIENCE_MS));
  try {
    const answer = /** @type {Response} */ (await (kept ? Promise.race([fetch(request), late]) : fetch(request)));
    if (answer.ok) await cache.put(path, answer.clone());
    else if (answer.status === 404 || answer.type === "opaqueredirect") await cache.delete(path); // It is no longer theirs, or they are signed out.
    return answer;
  } catch {
    return kept ?? Response.error();
  }
}
