/** What a tablet is while it records: camera and microphone, room, battery, a screen that stays on, its clock, and who else holds the task. */

import { newId } from "./device.js";
import { send } from "./wire.js";
import { _ } from "./words.js";

/** This page load's clock; each load counts from zero anew. */
export const CLOCK = `tablet:${newId().slice(0, 8)}`;
/** @param {number} [ms] of `performance.now` @returns {number} */
export const toNs = (ms = performance.now()) => Math.round(ms * 1e6);
/** Length of a slice; bits a second of picture and sound. */
const [SLICE_MS, VIDEO_BITS, AUDIO_BITS] = [2000, 2_500_000, 96_000];
const TYPES = { true: ["video/webm;codecs=vp8,opus", "video/webm;codecs=vp8", "video/webm", "video/mp4"], false: ["audio/webm;codecs=opus", "audio/webm", "audio/mp4"] };

/** Camera and microphone of this device. */
export class Camera {
  stream = /** @type {MediaStream | null} */ (null);
  /** Why there is none, in words, as it is written down and as it is said; empty while it is not known. */
  why = "";
  said = "";
  #recorder = /** @type {MediaRecorder | null} */ (null);
  /** Slices are kept one after the other. @type {Promise<void>} */
  #chain = Promise.resolve();

  /** @param {string[]} wanted `camera`, `microphone` @param {(what: string) => void} lost told when a sensor is lost or back */
  constructor(wanted, lost) {
    this.wanted = wanted;
    this.lost = lost;
    if (wanted.length === 0) this.#lacks("this round records with other cameras", _("this round records with other cameras"));
    else if (!isSecureContext) this.#lacks("this address has no https, and without it browsers lend neither camera nor microphone", _("this address has no https, and without it browsers lend neither camera nor microphone"));
    else if (typeof MediaRecorder !== "function" || !navigator.mediaDevices) this.#lacks("this browser cannot record", _("this browser cannot record"));
  }

  /** @param {string} why @param {string} said the first one stays */
  #lacks(why, said) {
    if (!this.why) [this.why, this.said] = [why, said];
  }

  /** @param {string} name */
  has(name) {
    return this.stream?.getTracks().some((track) => track.kind === (name === "camera" ? "video" : "audio") && track.readyState === "live" && !track.muted) ?? false;
  }

  /** Bytes that a minute takes. */
  get perMinute() {
    return this.stream ? ((this.wanted.includes("camera") ? VIDEO_BITS + AUDIO_BITS : AUDIO_BITS) * 60) / 8 : 2_000;
  }

  /** Ask for them; what is missing is said in `why`, and the other one is used. */
  async open() {
    if (this.stream || this.why) return;
    const video = this.wanted.includes("camera") && { facingMode: "environment", width: { ideal: 1280 }, height: { ideal: 720 } };
    const audio = this.wanted.includes("microphone");
    for (const asked of [{ video, audio }, { video, audio: false }, { video: false, audio }]) {
      if (this.stream || !(asked.video || asked.audio)) continue;
      this.stream = await navigator.mediaDevices.getUserMedia(asked).catch((error) => {
        const { name } = error;
        if (name === "NotAllowedError") this.#lacks("not allowed: allow camera and microphone in the address bar, and load the page again", _("not allowed: allow camera and microphone in the address bar, and load the page again"));
        else this.#lacks(`not there (${name})`, _("not there ({name})", { name }));
        return null;
      });
    }
    for (const track of this.stream?.getTracks() ?? []) {
      for (const event of ["ended", "mute", "unmute"]) track.addEventListener(event, () => this.lost(`${track.kind === "video" ? "camera" : "microphone"} ${event}`));
    }
  }

  /** Begin a part. @param {(slice: {bytes: ArrayBuffer, type: string, perf_ns: number}) => Promise<void>} keep @returns {Promise<boolean>} */
  async start(keep) {
    if (!this.stream) return false;
    const type = TYPES[`${this.stream.getVideoTracks().length > 0}`].find((t) => MediaRecorder.isTypeSupported(t));
    const recorder = new MediaRecorder(this.stream, { ...(type ? { mimeType: type } : {}), videoBitsPerSecond: VIDEO_BITS, audioBitsPerSecond: AUDIO_BITS });
    recorder.ondataavailable = ({ data }) => {
      const perf_ns = toNs();
      if (data.size > 0) this.#chain = this.#chain.then(async () => keep({ bytes: await data.arrayBuffer(), type: recorder.mimeType.split(";")[0], perf_ns }));
    };
    this.#recorder = recorder;
    recorder.start(SLICE_MS);
    await new Promise((resolve) => (recorder.onstart = recorder.onerror = resolve));
    return recorder.state === "recording";
  }

  /** End the part, and let camera and microphone go; resolves once its last slice is on the device. */
  async stop() {
    const recorder = this.#recorder;
    if (recorder && recorder.state !== "inactive") {
      const ended = new Promise((resolve) => recorder.addEventListener("stop", resolve));
      recorder.stop();
      await ended;
    }
    await this.#chain;
    this.stream?.getTracks().forEach((track) => track.stop());
    this.stream = null;
  }
}

/** @param {number} perMinute bytes @returns {Promise<number | null>} minutes that this device has room for; null where it does not say */
export const roomFor = async (perMinute) => navigator.storage?.estimate?.().then(({ quota, usage = 0 }) => (quota === undefined ? null : (quota - usage) / perMinute), () => null) ?? null;

/** @returns {Promise<number | null>} share of the battery that is left while it is not charged; null where nobody knows */
export const batteryLeft = async () => /** @type {any} */ (navigator).getBattery?.().then((/** @type {any} */ b) => (b.charging ? null : b.level), () => null) ?? null;

/** Keep the screen on; a lock ends whenever the page is hidden. */
export const stayAwake = () => void navigator.wakeLock?.request("screen").catch(() => {});

/** This browser, the same after each load; where nothing may be kept it is another one, and has to take over. */
let tablet = newId();
try {
  localStorage["proctor:tablet"] ??= tablet;
  tablet = localStorage["proctor:tablet"];
} catch {}

/** @typedef {{path: string, person: string, pid: string}} Page */ /** @param {Page} page @param {boolean} [take] @returns {Promise<boolean>} whether this tablet records; nobody can say without a network */
export async function holds({ path, person }, take = false) {
  const answer = await send("POST", `${path}/lease`, { body: { client: tablet, take }, person, timeout: 5000 });
  return answer.kind !== "ok" || answer.data.mine === true;
}

/** @param {Page} page @param {"preflight" | "arm" | "start" | "stop"} verb @returns {Promise<any>} status of a recorder of other sensors, null where none listens */
export async function askRecorder({ path, person }, verb) {
  const answer = await send("POST", `${path}/recorder`, { body: { client: tablet, verb }, person, timeout: 8000 });
  return answer.kind === "ok" ? answer.data : answer.kind === "problem" && answer.status < 500 ? { warnings: [answer.problem.detail] } : null;
}

/** Let the page stand without a network. @param {string} path @returns {Promise<string>} why it does not, empty where it does */
export async function workOffline(path) {
  if (!navigator.serviceWorker) return _("this address has no https");
  try {
    await navigator.serviceWorker.register("/tablet.js", { scope: path });
    const { active } = await navigator.serviceWorker.ready;
    const kept = new Promise((resolve) => navigator.serviceWorker.addEventListener("message", (event) => resolve(event.data?.kept === true)));
    const named = [...document.querySelectorAll("link[href], script[src]")].map((e) => /** @type {any} */ (e).href ?? /** @type {any} */ (e).src);
    const files = new Set([...named, ...performance.getEntriesByType("resource").map((entry) => entry.name)]);
    active?.postMessage({ page: path, files: [...files].filter((url) => new URL(url).pathname.startsWith("/static/")) });
    await navigator.storage?.persist?.().catch(() => false);
    return (await kept) ? "" : _("not all of it could be kept");
  } catch (error) {
    return error instanceof Error ? error.name : _("this browser refuses");
  }
}

/** iPads forget what sites keep after seven days without a visit, unless the site is on the home screen. */
export const shouldInstall = () =>
  (/iP(ad|hone)/.test(navigator.userAgent) || (navigator.platform === "MacIntel" && navigator.maxTouchPoints > 1)) && !(/** @type {any} */ (navigator).standalone);
