/** Slices of recordings: on the device first, then to the server one by one and in order, from whatever page is open. */

import { tellSlices } from "./chip.js";
import { countSlices, DeviceFull, dropSlice, nextSlice, putSlice } from "./device.js";
import { emit, on } from "./signals.js";
import { Backoff, isPassing, reasonOf, send } from "./wire.js";

const UPLOAD_MS = 60_000;

/** @param {ArrayBuffer} bytes @returns {Promise<string>} in hexadecimal digits */
async function sha256Of(bytes) {
  return [...new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))].map((b) => b.toString(16).padStart(2, "0")).join("");
}

/** What one person's recordings have still to send. */
class Slices {
  #person;
  #backoff = new Backoff();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {Promise<void> | null} */
  #running = null;
  #again = false;
  /** Parts that the server refused, and why; the next page tries again. @type {Map<string, string>} */
  #stuck = new Map();
  /** Told after each change of what waits. */
  heard = new EventTarget();
  waiting = 0;

  /** @param {string} person */
  constructor(person) {
    this.#person = person;
    addEventListener("online", () => this.#now());
    on("signed-in", () => this.#now());
  }

  #now() {
    this.#backoff.reset();
    void this.drain();
  }

  /** @param {string} pid @param {{part: string, seq: number, bytes: ArrayBuffer, type: string, perf_ns: number}} slice @throws {DeviceFull} */
  async keep(pid, { part, seq, bytes, type, perf_ns }) {
    const sha256 = await sha256Of(bytes);
    const key = `${pid} ${part} ${String(seq).padStart(6, "0")}`;
    try {
      await putSlice({ person: this.#person, key, pid, part, seq, bytes, type, sha256, perf_ns, wall: new Date().toISOString(), at: Date.now() });
    } catch (error) {
      if (error instanceof DeviceFull) tellSlices({ onDevice: false, why: error.why });
      throw error;
    } finally {
      void this.drain();
    }
  }

  /** @returns {Promise<void>} */
  drain() {
    this.#again = true;
    this.#running ??= (async () => {
      while (this.#again) {
        this.#again = false;
        const why = await this.#locked(() => this.#pass());
        await this.#count(why);
      }
    })().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** @param {() => Promise<string>} work done by one tab at a time @returns {Promise<string>} */
  #locked(work) {
    return navigator.locks ? navigator.locks.request(`proctor-slices:${this.#person}`, work) : work();
  }

  /** @returns {Promise<string>} why something waits */
  async #pass() {
    clearTimeout(this.#timer);
    let after = "";
    for (;;) {
      const slice = await nextSlice(this.#person, after);
      if (!slice) return [...this.#stuck.values()][0] ?? "";
      await this.#count("");
      const { key, pid, part, seq, bytes: data, type, sha256, perf_ns, wall } = slice;
      const headers = { "Proctor-Sha256": sha256, "Proctor-Perf-Ns": String(perf_ns), "Proctor-Wall": wall };
      const answer = await send("PUT", `/w/${encodeURIComponent(pid)}/slice/${part}/${seq}`, { bytes: { data, type }, headers, person: this.#person, timeout: UPLOAD_MS });
      if (answer.kind === "ok") {
        this.#backoff.reset();
        this.#stuck.delete(`${pid} ${part}`);
        await dropSlice(this.#person, key);
      } else if (answer.kind === "problem" && answer.status === 401) {
        emit("signed-out", { pid, problem: answer.problem });
        return reasonOf(answer);
      } else if (isPassing(answer)) {
        this.#timer = setTimeout(() => void this.drain(), this.#backoff.next());
        return reasonOf(answer);
      } else {
        // Of a part that lacks a slice nothing more is taken; the others go on.
        this.#stuck.set(`${pid} ${part}`, reasonOf(answer));
        after = `${pid} ${part} ~`;
      }
    }
  }

  /** @param {string} why */
  async #count(why) {
    this.waiting = await countSlices(this.#person);
    tellSlices({ waiting: this.waiting, stuck: this.#stuck.size, why, ...(this.waiting === 0 ? { onDevice: true } : {}) });
    this.heard.dispatchEvent(new Event("change"));
  }
}

/** @type {Slices | null} */
let shared = null;

/** @returns {Slices | null} null where nobody is signed in */
export function theSlices() {
  const { person } = document.body.dataset;
  if (person) shared ??= new Slices(person);
  return shared;
}
