/** Sound of narrations: recorded while the video stands still, kept on the device first, sent until the server has it. */

import { tellClips } from "./chip.js";
import { DeviceFull, dropClip, getClip, listClips, newId, putClip } from "./device.js";
import { emit, on } from "./signals.js";
import { Backoff, isPassing, reasonOf, send } from "./wire.js";
import { _ } from "./words.js";

/** Ten minutes stay below what the server takes (16 MB), whatever rate the browser records at. */
const MAX_MS = 10 * 60_000;
const MIN_MS = 300;
const UPLOAD_MS = 120_000;

/** Sound of one person that waits for the server. */
class Narrations {
  #person;
  #backoff = new Backoff();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #busy = false;
  #again = false;
  /** Told after each change of what waits. */
  heard = new EventTarget();

  /** @param {string} person */
  constructor(person) {
    this.#person = person;
    addEventListener("online", () => void this.drain());
    on("signed-in", () => void this.drain());
  }

  /** @param {string} pid @param {{id: string, bytes: ArrayBuffer, type: string}} clip */
  async keep(pid, { id, bytes, type }) {
    try {
      await putClip({ person: this.#person, key: id, pid, bytes, type, at: Date.now() });
    } catch (error) {
      if (!(error instanceof DeviceFull)) throw error;
      tellClips({ onDevice: false, why: error.why });
    }
    this.#backoff.reset();
    void this.drain();
  }

  /** @param {string} key it is taken back; what the server has already stays there, named by no sheet */
  async drop(key) {
    await dropClip(this.#person, key);
    await this.#count("");
  }

  /** @param {string} pid @param {string} key @returns {Promise<ArrayBuffer | null>} from the device, or the server */
  async bytes(pid, key) {
    const kept = await getClip(this.#person, key);
    if (kept) return kept.bytes;
    const answer = await fetch(`/w/${encodeURIComponent(pid)}/narration/${encodeURIComponent(key)}`, { credentials: "same-origin" }).catch(() => null);
    return answer?.ok ? answer.arrayBuffer() : null;
  }

  /** @returns {Promise<Set<string>>} ids that the server has not confirmed */
  async waiting() {
    return new Set((await listClips(this.#person)).map((clip) => clip.key));
  }

  /** Send what was refused only for the moment, or by an earlier page. */
  async resume() {
    for (const clip of await listClips(this.#person)) if (clip.stuck) await putClip({ ...clip, stuck: undefined }).catch(() => {});
    await this.drain();
  }

  async drain() {
    this.#again = true;
    if (this.#busy) return;
    this.#busy = true;
    let why = "";
    while (this.#again) {
      this.#again = false;
      why = await this.#pass();
    }
    this.#busy = false;
    await this.#count(why);
  }

  /** @returns {Promise<string>} why something waits */
  async #pass() {
    clearTimeout(this.#timer);
    await this.#count("");
    for (const clip of await listClips(this.#person)) {
      if (clip.stuck) continue;
      const { pid, key, bytes: data, type } = clip;
      const path = `/w/${encodeURIComponent(pid)}/narration/${encodeURIComponent(key)}`;
      const answer = await send("PUT", path, { bytes: { data, type }, person: this.#person, timeout: UPLOAD_MS });
      if (answer.kind === "ok") {
        this.#backoff.reset();
        await this.drop(key);
      } else if (answer.kind === "problem" && answer.status === 401) {
        emit("signed-out", { pid, problem: answer.problem });
        return reasonOf(answer);
      } else if (isPassing(answer)) {
        this.#timer = setTimeout(() => void this.drain(), this.#backoff.next());
        return reasonOf(answer);
      } else {
        await putClip({ ...clip, stuck: reasonOf(answer) }).catch(() => {});
      }
    }
    return "";
  }

  /** @param {string} why */
  async #count(why) {
    const clips = await listClips(this.#person);
    const stuck = clips.filter((clip) => clip.stuck);
    tellClips({ waiting: clips.length - stuck.length, stuck: stuck.length, why: why || (stuck[0]?.stuck ?? "") });
    this.heard.dispatchEvent(new Event("change"));
  }
}

/** @type {Narrations | null} */
let shared = null;

/** @returns {Narrations | null} null where nobody is signed in */
export function theNarrations() {
  const { person } = document.body.dataset;
  if (person) shared ??= new Narrations(person);
  return shared;
}

/** One recording at a time. */
export class Recorder {
  /** @type {MediaRecorder | null} */
  #recorder = null;
  /** Counts begun and ended: somebody may let the key go before the microphone answers. */
  #turn = 0;

  get on() {
    return this.#turn % 2 === 1;
  }

  /** @param {{begun: () => void, done: (clip: {id: string, bytes: ArrayBuffer, type: string, ms: number} | null, why: string) => void}} then */
  async start(then) {
    if (this.on) return;
    const turn = ++this.#turn;
    const fail = (/** @type {string} */ why) => {
      if (turn === this.#turn) this.#turn += 1;
      then.done(null, why);
    };
    /** @type {MediaStream} */
    let stream;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    } catch (error) {
      const name = error instanceof DOMException ? error.name : _("no secure connection");
      return fail(name === "NotAllowedError" ? _("The microphone is not allowed: allow it in the address bar.") : _("There is no microphone here ({name}).", { name }));
    }
    const free = () => stream.getTracks().forEach((track) => track.stop());
    if (turn !== this.#turn) {
      free();
      return then.done(null, _("The microphone is ready: hold N, or press Record, while you speak."));
    }
    const type = ["audio/webm;codecs=opus", "audio/ogg;codecs=opus", "audio/mp4"].find((t) => MediaRecorder.isTypeSupported(t));
    const recorder = new MediaRecorder(stream, { ...(type ? { mimeType: type } : {}), audioBitsPerSecond: 48_000 });
    /** @type {Blob[]} */
    const parts = [];
    const begun = performance.now();
    const timer = setTimeout(() => this.stop(), MAX_MS);
    recorder.ondataavailable = (event) => parts.push(event.data);
    recorder.onstop = async () => {
      clearTimeout(timer);
      free();
      if (turn === this.#turn) this.#turn += 1;
      const sound = new Blob(parts, { type: recorder.mimeType });
      const ms = Math.round(performance.now() - begun);
      if (ms < MIN_MS || sound.size === 0) return then.done(null, _("Too short: nothing was kept."));
      then.done({ id: newId(), bytes: await sound.arrayBuffer(), type: recorder.mimeType.split(";")[0], ms }, "");
    };
    this.#recorder = recorder;
    recorder.start(1000);
    then.begun();
  }

  stop() {
    if (this.on) this.#turn += 1;
    if (this.#recorder?.state === "recording") this.#recorder.stop();
  }
}
