/**
 * Rings 2 and 3: drafts go to the server 400 ms after a change, submits wait in a queue until the server answers.
 *
 * The queue lives in IndexedDB under the person's pid, so a submit that a killed tab left behind is sent by the next page of
 * that person, whichever it is. Every request can be repeated: a draft carries client and sequence, a submit its key.
 */

import {
  DeviceFull, dropDraft, dropQueued, getDraft, getQueued, isDurable, listDrafts, listQueued, newId, putDraft, putQueued,
  sameSheet,
} from "./device.js";
import { hasTrouble, tellDraft, tellQueue } from "./chip.js";
import { deviceMark } from "./where.js";
import { emit, on } from "./signals.js";
import { Backoff, isPassing, reasonOf, send } from "./wire.js";
import { _ } from "./words.js";

/** @typedef {import("./device.js").Sheet} Sheet */
/** @typedef {import("./device.js").DraftRecord} DraftRecord */
/** @typedef {import("./device.js").QueuedSubmit} QueuedSubmit */
/** @typedef {import("./wire.js").Problem} Problem */

/** @typedef {{kind: "sent", rev: number, next: string, undo_seconds: number}
 *  | {kind: "refused", status: number, problem: Problem}
 *  | {kind: "unknown"}} Outcome
 * `unknown`: another tab sent it and its word did not reach this one. */

export const DRAFT_DELAY_MS = 400;
const LOCK_PATIENCE_MS = 5000;
const WORD_PATIENCE_MS = 5000;
const FORGET_CLEAN_AFTER_MS = 30 * 24 * 3600 * 1000;

/** This page's name towards the server; a new one for each load, so that two tabs can never pass for one. It ends with the device. */
export const CLIENT_ID = `${newId()}${deviceMark()}`;

let sequence = 0;

/** @returns {number} rises for as long as this page lives: the server passes over a number that it has seen */
export function nextSequence() {
  sequence += 1;
  return sequence;
}

/**
 * Run under a lock of this origin where there are locks; a holder that hangs is not waited for.
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
async function underLock(name, work) {
  if (!navigator.locks) return work();
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), LOCK_PATIENCE_MS);
  let begun = false;
  try {
    return await navigator.locks.request(name, { signal: patience.signal }, () => {
      begun = true;
      clearTimeout(timer);
      return work();
    });
  } catch (error) {
    clearTimeout(timer);
    if (begun) throw error;
    return work(); // Safe without it: the server knows a repeated key.
  }
}

/** The queue of submits of one person. */
export class Outbox {
  #person;
  #backoff = new Backoff();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {Promise<void> | null} */
  #running = null;
  #again = false;
  #paused = false;
  #why = "";
  #sentSome = false;
  #paused401 = false;
  #kept = true;
  /** @type {Map<string, (outcome: Outcome) => void>} */
  #waiters = new Map();
  /** @type {BroadcastChannel | null} */
  #channel = null;
  /** @type {(entry: QueuedSubmit, outcome: Outcome) => void} */
  #unclaimed = () => {};

  /** @param {string} person pid of the signed-in person */
  constructor(person) {
    this.#person = person;
    if (typeof BroadcastChannel === "function") {
      this.#channel = new BroadcastChannel(`proctor:${person}`);
      this.#channel.onmessage = (event) => {
        const { key, outcome } = event.data ?? {};
        if (typeof key === "string") this.#waiters.get(key)?.(outcome);
        void this.#count();
      };
    }
    addEventListener("online", () => this.retryNow());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible" && this.#timer !== undefined) this.retryNow();
    });
    on("signed-in", () => {
      this.#paused = false;
      this.#paused401 = false;
      this.retryNow();
    });
    on("other-person", () => {
      this.#paused = true;
      this.#paused401 = false;
    });
  }

  /** @param {(entry: QueuedSubmit, outcome: Outcome) => void} then hears of answers that no part of this page waits for */
  onUnclaimed(then) {
    this.#unclaimed = then;
  }

  /** Send what earlier pages of this person left behind, drafts too. */
  async resume() {
    for (const entry of await listQueued(this.#person)) {
      // A "not found" may have been the answer to somebody else who was signed in meanwhile.
      if (entry.stuck === "404" || entry.stuck === "403") await putQueued({ ...entry, stuck: undefined }).catch(() => {});
      else if (entry.stuck && !isOpenHere(entry.pid)) {
        this.#unclaimed(entry, { kind: "refused", status: Number(entry.stuck), problem: {} });
      }
    }
    await this.drain();
    await this.#resumeDrafts();
  }

  /**
   * Queue a submit and wait for the server's word, as long as that takes.
   * @param {QueuedSubmit} entry
   * @returns {Promise<Outcome>}
   */
  async submit(entry) {
    const word = /** @type {Promise<Outcome>} */ (new Promise((resolve) => this.#waiters.set(entry.key, resolve)));
    try {
      await putQueued(entry);
      this.#kept = true;
    } catch (error) {
      this.#kept = false;
      this.#why = error instanceof DeviceFull ? error.why : "";
    }
    this.#backoff.reset();
    if (this.#paused401) emit("signed-out", { pid: entry.pid });
    void this.drain();
    const outcome = await word;
    this.#waiters.delete(entry.key);
    return outcome;
  }

  /** @param {string} pid @returns {Promise<QueuedSubmit[]>} what waits for this assignment, oldest first */
  async pendingOf(pid) {
    return (await listQueued(this.#person)).filter((entry) => entry.pid === pid);
  }

  /** @param {string} key forget a submit that was refused; its text stays in the draft */
  async drop(key) {
    await dropQueued(this.#person, key);
    await this.#count();
  }

  retryNow() {
    this.#backoff.reset();
    void this.drain();
  }

  /** @returns {Promise<void>} resolves after one pass over the queue */
  async drain() {
    if (this.#running) {
      this.#again = true;
      return this.#running;
    }
    this.#running = (async () => {
      do {
        this.#again = false;
        await underLock(`proctor-outbox:${this.#person}`, () => this.#pass());
      } while (this.#again);
    })().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #pass() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#count();
    /** @type {Set<string>} */
    const held = new Set();
    let retry = false;
    for (const { key, pid } of await listQueued(this.#person)) {
      if (this.#paused) break;
      const entry = await getQueued(this.#person, key); // An earlier answer may have changed its revision.
      if (!entry || held.has(pid)) continue;
      if (entry.stuck) {
        held.add(pid);
        continue;
      }
      const answer = await send("POST", `/w/${encodeURIComponent(pid)}/submit`, {
        body: { sheet: entry.sheet, active_ms: entry.active_ms, client_id: entry.client_id },
        headers: { "Idempotency-Key": key, "If-Match": `"${entry.rev}"` },
        person: this.#person,
      });
      if (answer.kind === "ok") {
        await this.#sent(entry, answer.data);
        continue;
      }
      this.#why = reasonOf(answer);
      if (answer.kind === "problem" && answer.status === 401) {
        this.#paused = true;
        this.#paused401 = true;
        emit("signed-out", { pid, problem: answer.problem });
        break;
      }
      held.add(pid);
      if (isPassing(answer)) {
        retry = true;
        if (answer.kind === "unreachable") {
          emit("unreachable");
          break;
        }
      } else if (answer.kind === "problem") {
        await this.#refused(entry, answer.status, answer.problem);
      }
    }
    if (retry) {
      this.#timer = setTimeout(() => void this.drain(), this.#backoff.next());
    } else {
      this.#backoff.reset();
    }
    await this.#count();
    this.#missed();
  }

  /** @param {QueuedSubmit} entry @param {any} data */
  async #sent(entry, data) {
    this.#backoff.reset();
    this.#why = "";
    this.#sentSome = true;
    const rev = Number(data.rev);
    await this.#settleDraft(entry, rev);
    for (const later of await this.pendingOf(entry.pid)) {
      if (later.key !== entry.key && later.at >= entry.at) await putQueued({ ...later, rev }).catch(() => {});
    }
    await dropQueued(this.#person, entry.key);
    await this.#count(); // Before the page moves on, for leaving asks when something waits.
    this.#tell(entry, { kind: "sent", rev, next: String(data.next ?? "/"), undo_seconds: Number(data.undo_seconds ?? 0) });
  }

  /** The draft that was submitted is done with; one that was changed since goes on from the new revision.
   * @param {QueuedSubmit} entry @param {number} rev */
  async #settleDraft(entry, rev) {
    const record = await getDraft(this.#person, entry.pid);
    if (!record) return;
    if (sameSheet(record.sheet, entry.full)) await dropDraft(this.#person, entry.pid);
    else await putDraft({ ...record, rev, key: record.key === entry.key ? newId() : record.key }).catch(() => {});
  }

  /** @param {QueuedSubmit} entry @param {number} status @param {Problem} problem */
  async #refused(entry, status, problem) {
    await putQueued({ ...entry, stuck: String(status) }).catch(() => {});
    this.#tell(entry, { kind: "refused", status, problem });
  }

  /** @param {QueuedSubmit} entry @param {Outcome} outcome */
  #tell(entry, outcome) {
    this.#channel?.postMessage({ key: entry.key, pid: entry.pid, outcome });
    const waiter = this.#waiters.get(entry.key);
    if (waiter) waiter(outcome);
    else this.#unclaimed(entry, outcome);
  }

  /** Somebody waits for a submit that is no longer queued: another tab sent it, and its word may be on its way. */
  #missed() {
    const ifGone = async (/** @type {string} */ key, /** @type {() => void} */ then) => {
      if (!(await getQueued(this.#person, key))) then();
    };
    for (const [key, resolve] of this.#waiters) {
      // What leaves the queue only after this look is told after it, however long the other tab takes to say so.
      void ifGone(key, () => setTimeout(() => void ifGone(key, () => resolve({ kind: "unknown" })), WORD_PATIENCE_MS));
    }
  }

  async #count() {
    const entries = await listQueued(this.#person);
    const stuck = entries.filter((entry) => entry.stuck).length;
    const onDevice = this.#kept && (await isDurable());
    tellQueue({ waiting: entries.length - stuck, stuck, why: entries.length > 0 ? this.#why : "", onDevice, sentSome: this.#sentSome });
  }

  /** Drafts that another page could not bring to the server before it ended. */
  async #resumeDrafts() {
    for (const record of await listDrafts(this.#person)) {
      if (!record.dirty) {
        if (Date.now() - record.at > FORGET_CLEAN_AFTER_MS) await dropDraft(this.#person, record.pid);
        continue;
      }
      if (this.#paused || (await this.pendingOf(record.pid)).length > 0) continue;
      await whenUnattended(record.pid, async () => {
        const answer = await putDraftToServer(record);
        if (answer.kind !== "ok") return;
        const now = await getDraft(this.#person, record.pid);
        if (now?.seq === record.seq && now.client_id === record.client_id) {
          await putDraft({ ...now, base: Number(answer.data.version), dirty: false }).catch(() => {});
        }
      });
    }
  }
}

/** @param {DraftRecord} record @param {{keepalive?: boolean, signal?: AbortSignal}} [options] */
function putDraftToServer(record, options = {}) {
  const { client_id, seq, base, sheet, active_ms } = record;
  return send("PUT", `/w/${encodeURIComponent(record.pid)}/draft`, {
    body: { client_id, seq, base, sheet, active_ms: Math.round(active_ms) },
    person: record.person,
    ...options,
  });
}

/** @param {string} pid */
const isOpenHere = (pid) => /** @type {HTMLElement | null} */ (document.querySelector("form#sheet"))?.dataset.pid === pid;

/** @param {string} pid @returns {string} name of the lock that the page of an assignment holds */
export const pageLock = (pid) => `proctor-page:${pid}`;

/** @param {string} pid @param {() => Promise<void>} work done only while no page has the assignment open */
async function whenUnattended(pid, work) {
  if (isOpenHere(pid)) return;
  if (!navigator.locks) return work();
  await navigator.locks.request(pageLock(pid), { ifAvailable: true }, async (lock) => {
    if (lock) await work();
  });
}

/** The draft of the page that is open. */
export class DraftKeeper {
  /** @type {DraftRecord} */
  record;
  #backoff = new Backoff();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {AbortController | null} */
  #flight = null;
  #stopped = false;
  #blocked = false;
  /** @type {Promise<void> | null} */
  #writing = null;
  #writeAgain = false;
  /** @type {(problem: Problem) => void} */
  #onConflict;
  /** Sheet that this page started from: a server that holds it has nothing new for us. @type {Sheet | null} */
  ancestor = null;

  /** @param {DraftRecord} record @param {(problem: Problem) => void} onConflict */
  constructor(record, onConflict) {
    this.record = record;
    this.#onConflict = onConflict;
    addEventListener("online", () => {
      this.#backoff.reset();
      if (this.record.dirty) this.#schedule(0);
    });
    on("signed-in", () => {
      this.#backoff.reset();
      if (this.record.dirty) this.#schedule(0);
    });
    on("other-person", () => this.stop());
  }

  /** @param {Sheet} sheet @param {number} activeMs a change by the person @returns {Promise<void>} once the device has it */
  change(sheet, activeMs) {
    if (this.#stopped) return Promise.resolve();
    Object.assign(this.record, { sheet, active_ms: activeMs, dirty: true, at: Date.now() });
    this.record.seq = nextSequence();
    this.#schedule(DRAFT_DELAY_MS);
    return this.#persist();
  }

  /** @param {number} version the server's version that this sheet has seen */
  rebase(version) {
    this.record.base = version;
    this.#blocked = false;
    void this.#persist();
  }

  /** Nothing is sent until `rebase`: two versions stand against each other. */
  block() {
    this.#blocked = true;
    this.cancel();
  }

  /** Stop sending, for a submit carries the sheet now. A draft in flight is not waited for. */
  cancel() {
    clearTimeout(this.#timer);
    this.#flight?.abort();
    this.#flight = null;
  }

  /** Another tab has the assignment; what is on the device stays there. */
  stop() {
    this.#stopped = true;
    this.cancel();
  }

  get stopped() {
    return this.#stopped;
  }

  /** The page goes away: last chance to reach the server. */
  flush() {
    if (this.#stopped || this.#blocked || !this.record.dirty) return;
    clearTimeout(this.#timer);
    void this.#push(true);
  }

  /** Try now, or after the next waiting time. */
  sendSoon() {
    this.#schedule(0);
  }

  /** @returns {Promise<void>} once the device has the record as it is now */
  #persist() {
    this.#writeAgain = true;
    this.#writing ??= (async () => {
      while (this.#writeAgain) {
        this.#writeAgain = false;
        await this.#write();
      }
    })().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  async #write() {
    try {
      await putDraft(this.record);
      tellDraft({ dirty: this.record.dirty, onDevice: true });
    } catch (error) {
      if (!(error instanceof DeviceFull)) throw error;
      tellDraft({ dirty: this.record.dirty, onDevice: false, ...(this.record.dirty ? { why: error.why } : {}) });
    }
  }

  /** @param {number} delay */
  #schedule(delay) {
    clearTimeout(this.#timer);
    if (!this.#stopped && !this.#blocked) this.#timer = setTimeout(() => void this.#push(false), delay);
  }

  /** @param {boolean} leaving */
  async #push(leaving) {
    if (!leaving && this.#flight) {
      this.#schedule(DRAFT_DELAY_MS);
      return;
    }
    const flight = new AbortController();
    this.#flight = flight;
    const seq = this.record.seq;
    const answer = await putDraftToServer(this.record, leaving ? { keepalive: true } : { signal: flight.signal });
    if (this.#flight === flight) this.#flight = null;
    if (this.#stopped || flight.signal.aborted) return;
    this.#heard(answer, seq);
  }

  /** @param {import("./wire.js").Answer} answer @param {number} seq */
  #heard(answer, seq) {
    if (answer.kind === "ok") {
      this.#backoff.reset();
      this.record.base = Math.max(this.record.base, Number(answer.data.version));
      this.record.force = false;
      if (this.record.seq === seq) this.record.dirty = false;
      tellDraft({ dirty: this.record.dirty, why: "", savedAt: new Date() });
      void this.#persist();
      return;
    }
    if (answer.kind === "problem" && answer.status === 409) {
      const { theirs, version } = answer.problem;
      const nothingNew = this.ancestor !== null && sameSheet(theirs, this.ancestor);
      if (version !== undefined && (nothingNew || sameSheet(theirs, this.record.sheet))) {
        this.rebase(Number(version));
        this.#schedule(0);
        return;
      }
      tellDraft({ why: _("changed elsewhere") });
      this.#onConflict(answer.problem);
      return;
    }
    tellDraft({ why: reasonOf(answer) });
    if (answer.kind === "problem" && answer.status === 401) emit("signed-out", { pid: this.record.pid, problem: answer.problem });
    else if (isPassing(answer)) this.#schedule(this.#backoff.next());
  }
}

let quiet = false;

/** The page goes on by itself with what waits kept on the device: nobody is asked. */
export function leaveQuietly() {
  quiet = true;
}

addEventListener("beforeunload", (event) => {
  if (!quiet && hasTrouble()) event.preventDefault();
});

/** @type {Outbox | null} */
let shared = null;

/** @returns {Outbox | null} the one outbox of this page; null where nobody is signed in */
export function theOutbox() {
  const person = document.body.dataset.person;
  if (!person) return null;
  shared ??= new Outbox(person);
  return shared;
}
