/** Slices of recordings: on the device first, then to the server one by one and in order, from whatever page is open. */

import { tellSlices } from "./chip.js";
import { countSlices, dropSlice, nextSlice, putSlice } from "./device.js";
import { emit, on } from "./signals.js";
import { Backoff, isPassing, reasonOf, send } from "./wire.js";

/** What one person's recordings have still to send. */
class Slices {
  #backoff = new Backoff();
  #timer = 0;
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
    this.person = person;
    const now = () => {
      this.#backoff.reset();
      void this.drain();
    };
    addEventListener("online", now);
    on("signed-in", now);
  }

  /** @param {string} pid @param {{part: string, seq: number, bytes: ArrayBuffer, type: string, perf_ns: number}} slice @throws {import("./device.js").DeviceFull} */
  async keep(pid, slice) {
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", slice.bytes));
    const sha256 = [...hash].map((b) => b.toString(16).padStart(2, "0")).join("");
    const key = `${pid} ${slice.part} ${String(slice.seq).padStart(6, "0")}`;
    await putSlice({ person: this.person, key, pid, ...slice, sha256, wall: new Date().toISOString() });
    void this.drain();
  }

  /** @returns {Promise<void>} */
  drain() {
    this.#again = true;
    this.#running ??= (async () => {
      while (this.#again) {
        this.#again = false;
        // One tab at a time, so that slices come in order.
        await this.#count(await (navigator.locks ? navigator.locks.request(`proctor-slices:${this.person}`, () => this.#pass()) : this.#pass()));
      }
    })().finally(() => (this.#running = null));
    return this.#running;
  }

  /** @returns {Promise<string>} why something waits */
  async #pass() {
    clearTimeout(this.#timer);
    for (let after = ""; ; ) {
      const slice = await nextSlice(this.person, after);
      if (!slice) return [...this.#stuck.values()][0] ?? "";
      await this.#count("");
      const { key, pid, part, seq, bytes: data, type, sha256, perf_ns, wall } = slice;
      const headers = { "Proctor-Sha256": sha256, "Proctor-Perf-Ns": String(perf_ns), "Proctor-Wall": wall };
      const answer = await send("PUT", `/w/${encodeURIComponent(pid)}/slice/${part}/${seq}`, { bytes: { data, type }, headers, person: this.person, timeout: 60_000 });
      if (answer.kind === "ok") {
        this.#backoff.reset();
        this.#stuck.delete(`${pid} ${part}`);
        await dropSlice(this.person, key);
      } else if (answer.kind === "problem" && answer.status === 401) {
        emit("signed-out", { pid, problem: answer.problem });
        return reasonOf(answer);
      } else if (isPassing(answer)) {
        this.#timer = window.setTimeout(() => void this.drain(), this.#backoff.next());
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
    this.waiting = await countSlices(this.person);
    tellSlices({ waiting: this.waiting, stuck: this.#stuck.size, why });
    this.heard.dispatchEvent(new Event("change"));
  }
}

/** Null where nobody is signed in. */
export const slices = document.body.dataset.person ? new Slices(document.body.dataset.person) : null;
