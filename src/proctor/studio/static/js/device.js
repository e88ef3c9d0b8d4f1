/**
 * Ring 1: what this device remembers, by person. IndexedDB where there is one, memory otherwise.
 *
 * Nothing here ever returns a record of another person: every key begins with the person's pid.
 */

import { _ } from "./words.js";

/** @typedef {any} Sheet What a page of some kind of work holds: plain JSON. */

/** @typedef {{person: string, pid: string, sheet: Sheet, seq: number, base: number, client_id: string, key: string,
 *   rev: number, dirty: boolean, force?: boolean, active_ms: number, at: number}} DraftRecord
 * `base` is the version of the server's draft that this sheet grew from, `rev` the submitted revision. `dirty`: the server
 * has not confirmed it. `force`: taken back by Undo, so it wins over an older draft. */

/** @typedef {{person: string, key: string, pid: string, sheet: Sheet, full: Sheet, rev: number, client_id: string,
 *   active_ms: number, at: number, stuck?: string}} QueuedSubmit
 * `sheet` is what is sent, `full` what the page held (what does not count is kept there). */

/** @param {unknown} a @param {unknown} b @returns {boolean} whether both stand for the same sheet; a missing part is an empty one */
export function sameSheet(a, b) {
  return JSON.stringify(normal(a)) === JSON.stringify(normal(b));
}

/** @param {any} value @returns {any} keys in order, empty parts left out, texts trimmed; undefined for what is empty */
function normal(value) {
  if (typeof value === "string") return value.trim() || undefined;
  if (Array.isArray(value)) return value.length > 0 ? value.map((one) => normal(one) ?? null) : undefined;
  if (value === null || typeof value !== "object") return value ?? undefined;
  const parts = Object.keys(value).sort().map((key) => [key, normal(value[key])]).filter(([, part]) => part !== undefined);
  return parts.length > 0 ? Object.fromEntries(parts) : undefined;
}

const NAME = "proctor-studio";
const DRAFTS = "drafts";
const QUEUE = "queue";
const CLIPS = "clips";
const SLICES = "slices";

/** The device refused to keep a record; `why` is a sentence for the chip. */
export class DeviceFull extends Error {
  /** @param {string} why */
  constructor(why) {
    super(why);
    this.why = why;
  }
}

/** @type {Map<string, any>} */
const memory = new Map();
/** @type {Promise<IDBDatabase | null> | null} */
let opening = null;

/** @returns {Promise<IDBDatabase | null>} null where the browser has no usable IndexedDB (private windows, policies) */
function openDatabase() {
  opening ??= new Promise((resolve) => {
    // Some browsers neither open nor refuse in a private window.
    const timer = setTimeout(() => resolve(null), 3000);
    /** @param {IDBDatabase | null} found */
    const done = (found) => {
      clearTimeout(timer);
      resolve(found);
    };
    try {
      const request = indexedDB.open(NAME, 3);
      request.onupgradeneeded = () => {
        const there = request.result.objectStoreNames;
        for (const [store, id] of [[DRAFTS, "pid"], [QUEUE, "key"], [CLIPS, "key"], [SLICES, "key"]]) {
          if (!there.contains(store)) request.result.createObjectStore(store, { keyPath: ["person", id] });
        }
      };
      request.onsuccess = () => {
        const found = request.result;
        found.onversionchange = () => {
          found.close();
          opening = null;
        };
        found.onclose = () => {
          opening = null;
        };
        done(found);
      };
      request.onerror = () => done(null);
      request.onblocked = () => done(null);
    } catch {
      done(null);
    }
  });
  return opening;
}

/** @returns {Promise<boolean>} whether records outlive this tab */
export async function isDurable() {
  return (await openDatabase()) !== null;
}

/** @param {unknown} error @returns {string} */
function whyRefused(error) {
  const name = error instanceof Error || error instanceof DOMException ? error.name : "unknown";
  return name === "QuotaExceededError" ? _("this device's storage is full") : _("this device refused: {name}", { name });
}

/**
 * @template T
 * @param {string} store
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest<T>} ask
 * @returns {Promise<T>}
 */
async function transact(store, mode, ask) {
  const database = await openDatabase();
  if (database === null) throw new DeviceFull(_("this browser keeps nothing for this site (private window?)"));
  return new Promise((resolve, reject) => {
    /** @param {unknown} error */
    const fail = (error) => reject(new DeviceFull(whyRefused(error)));
    try {
      const transaction = database.transaction(store, mode, { durability: "strict" });
      const request = ask(transaction.objectStore(store));
      transaction.onabort = () => fail(transaction.error ?? request.error);
      transaction.onerror = () => fail(transaction.error ?? request.error);
      transaction.oncomplete = () => resolve(request.result);
    } catch (error) {
      fail(error);
    }
  });
}

/** @param {string} store @param {string} person @param {string} id */
const memoryKey = (store, person, id) => JSON.stringify([store, person, id]);

/**
 * @param {string} store
 * @param {string} person
 * @param {string} id
 * @returns {Promise<any>}
 */
async function read(store, person, id) {
  const held = memory.get(memoryKey(store, person, id));
  if (held !== undefined) return held;
  try {
    return await transact(store, "readonly", (s) => s.get([person, id]));
  } catch {
    return undefined;
  }
}

/**
 * Keep a record; where the device refuses it stays in this tab's memory and the error is thrown.
 * @param {string} store
 * @param {string} id
 * @param {any} record
 */
async function write(store, id, record) {
  const copy = structuredClone(record);
  memory.set(memoryKey(store, record.person, id), copy);
  await transact(store, "readwrite", (s) => s.put(copy));
  if (memory.get(memoryKey(store, record.person, id)) === copy) memory.delete(memoryKey(store, record.person, id));
}

/** @param {string} store @param {string} person @param {string} id */
async function remove(store, person, id) {
  memory.delete(memoryKey(store, person, id));
  try {
    await transact(store, "readwrite", (s) => s.delete([person, id]));
  } catch {
    // Only memory held it.
  }
}

/** @param {string} store @param {string} person @returns {Promise<any[]>} records of this person alone */
async function list(store, person) {
  /** @type {Map<string, any>} */
  const found = new Map();
  try {
    const range = IDBKeyRange.bound([person], [person, []]);
    for (const record of await transact(store, "readonly", (s) => s.getAll(range))) {
      found.set(record.key ?? record.pid, record);
    }
  } catch {
    // Memory below is all there is.
  }
  for (const [name, record] of memory) {
    const [where, who, id] = JSON.parse(name);
    if (where === store && who === person) found.set(id, record);
  }
  return [...found.values()].filter((record) => record.person === person).sort((a, b) => a.at - b.at);
}

/** @param {string} person @param {string} pid @returns {Promise<DraftRecord | undefined>} */
export const getDraft = (person, pid) => read(DRAFTS, person, pid);
/** @param {DraftRecord} record @throws {DeviceFull} */
export const putDraft = (record) => write(DRAFTS, record.pid, record);
/** @param {string} person @param {string} pid */
export const dropDraft = (person, pid) => remove(DRAFTS, person, pid);
/** @param {string} person @returns {Promise<DraftRecord[]>} */
export const listDrafts = (person) => list(DRAFTS, person);

/** @param {string} person @param {string} key @returns {Promise<QueuedSubmit | undefined>} */
export const getQueued = (person, key) => read(QUEUE, person, key);
/** @param {QueuedSubmit} record @throws {DeviceFull} */
export const putQueued = (record) => write(QUEUE, record.key, record);
/** @param {string} person @param {string} key */
export const dropQueued = (person, key) => remove(QUEUE, person, key);
/** @param {string} person @returns {Promise<QueuedSubmit[]>} oldest first */
export const listQueued = (person) => list(QUEUE, person);

/** @typedef {{person: string, key: string, pid: string, bytes: ArrayBuffer, type: string, at: number, stuck?: string}} ClipRecord
 * Sound that somebody recorded; `key` is its id, also in the sheet. */
/** @param {string} person @param {string} key @returns {Promise<ClipRecord | undefined>} */
export const getClip = (person, key) => read(CLIPS, person, key);
/** @param {ClipRecord} record @throws {DeviceFull} */
export const putClip = (record) => write(CLIPS, record.key, record);
/** @param {string} person @param {string} key */
export const dropClip = (person, key) => remove(CLIPS, person, key);
/** @param {string} person @returns {Promise<ClipRecord[]>} oldest first */
export const listClips = (person) => list(CLIPS, person);

/** @typedef {{person: string, key: string, pid: string, part: string, seq: number, bytes: ArrayBuffer, type: string, sha256: string,
 *   perf_ns: number, wall: string}} SliceRecord
 * Two seconds of a recording; `key` orders them. They are read one by one, and never held in memory: an hour is a gigabyte. */
/** @param {SliceRecord} record @throws {DeviceFull} */
export const putSlice = (record) => transact(SLICES, "readwrite", (s) => s.put(record));
/** @param {string} person @param {string} key */
export const dropSlice = (person, key) => remove(SLICES, person, key);
/** @param {string} person @param {string} after @returns {Promise<SliceRecord | undefined>} the first slice after a key */
export const nextSlice = (person, after) => transact(SLICES, "readonly", (s) => s.getAll(IDBKeyRange.bound([person, after], [person, []], true), 1)).then(([first]) => first, () => undefined);
/** @param {string} person @returns {Promise<number>} slices that wait on this device */
export const countSlices = (person) => transact(SLICES, "readonly", (s) => s.count(IDBKeyRange.bound([person], [person, []]))).catch(() => 0);

/** @returns {string} a random UUID, also where `crypto.randomUUID` is missing (plain http on a network) */
export function newId() {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
