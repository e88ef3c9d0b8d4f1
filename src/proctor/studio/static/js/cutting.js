/** Clips that are still being cut: the server answers 503 and when to ask again. */

const PATIENCE_MS = 20_000;

/**
 * @param {string} source of the clip
 * @param {(share: number) => void} [tell] how far it is, 0 to 1
 * @returns {Promise<number | null>} milliseconds until it makes sense to ask again; null when it is not being cut (any more)
 */
export async function stillCutting(source, tell) {
  try {
    const answer = await fetch(source, {
      headers: { Range: "bytes=0-0" }, cache: "no-store", credentials: "same-origin", signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const seconds = Number(answer.headers.get("Retry-After"));
    if (answer.status !== 503 || !(seconds > 0)) {
      void answer.body?.cancel();
      return null;
    }
    tell?.(Number((await answer.json()).share) || 0);
    return seconds * 1000;
  } catch {
    return null;
  }
}

/** Show the clips of pages that only show them (card.html.j2) once they are there. */
export function awaitClips() {
  for (const video of document.querySelectorAll("video[hidden][data-src]")) void show(/** @type {HTMLVideoElement} */ (video));
}

/** @param {HTMLVideoElement} video */
async function show(video) {
  const source = video.dataset.src ?? "";
  for (let wait; (wait = await stillCutting(source)) !== null; ) await new Promise((resolve) => setTimeout(resolve, wait));
  video.src = source;
  video.hidden = false;
  video.parentElement?.querySelector(".clip-making")?.remove();
}
