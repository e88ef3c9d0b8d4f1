/** Requests to the studio, with every way of failing told apart. */

import { _ } from "./words.js";

/** @typedef {{title?: string, status?: number, detail?: string, errors?: {field: string, message: string}[],
 *   theirs?: any, mine?: any, version?: number, rev?: number, person?: string}} Problem */

/** @typedef {{kind: "ok", status: number, data: any}
 *  | {kind: "problem", status: number, problem: Problem}
 *  | {kind: "unreachable", why: string}} Answer */

const TIMEOUT_MS = 20_000;

/**
 * Send JSON and read JSON; never throws.
 *
 * A redirect, or a page where JSON was due, does not count as an answer of the studio: a hotel's log-in page
 * answers 200 to everything.
 * @param {string} method
 * @param {string} url
 * @param {{body?: any, bytes?: {data: ArrayBuffer, type: string}, headers?: Record<string, string>, person?: string, signal?: AbortSignal, keepalive?: boolean, timeout?: number}} [options]
 * @returns {Promise<Answer>}
 */
export async function send(method, url, options = {}) {
  const timeout = options.timeout ?? TIMEOUT_MS;
  const late = AbortSignal.timeout(timeout);
  const signal = options.signal ? AbortSignal.any([options.signal, late]) : late;
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json, application/problem+json", ...options.headers };
  if (options.person) headers["Proctor-Person"] = options.person;
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  if (options.bytes) headers["Content-Type"] = options.bytes.type;
  try {
    const response = await fetch(url, {
      method,
      headers,
      body: options.bytes?.data ?? (options.body === undefined ? undefined : JSON.stringify(options.body)),
      signal,
      redirect: "manual",
      credentials: "same-origin",
      cache: "no-store",
      keepalive: options.keepalive ?? false,
    });
    return await understand(response);
  } catch {
    if (options.signal?.aborted) return { kind: "unreachable", why: _("stopped") };
    if (late.aborted) return { kind: "unreachable", why: _("the server did not answer in {seconds} s", { seconds: Math.round(timeout / 1000) }) };
    return { kind: "unreachable", why: _("no connection") };
  }
}

/** @param {Response} response @returns {Promise<Answer>} */
async function understand(response) {
  if (response.type === "opaqueredirect") return { kind: "unreachable", why: _("something between here and the server redirects") };
  const type = response.headers.get("Content-Type") ?? "";
  const isJson = /^application\/(problem\+)?json\b/.test(type);
  if (response.ok) {
    if (!isJson) return { kind: "unreachable", why: _("something between here and the server answers in its place") };
    return { kind: "ok", status: response.status, data: await response.json() };
  }
  /** @type {Problem} */
  let problem = {};
  if (isJson) {
    try {
      problem = await response.json();
    } catch {
      problem = {};
    }
  }
  return { kind: "problem", status: response.status, problem };
}

/** @param {Answer} answer @returns {boolean} whether the same request may succeed later without any change */
export function isPassing(answer) {
  if (answer.kind === "unreachable") return true;
  return answer.kind === "problem" && (answer.status >= 500 || answer.status === 429 || answer.status === 408 || answer.status === 425);
}

/** @param {Answer} answer @returns {string} why it failed, in few words */
export function reasonOf(answer) {
  if (answer.kind === "ok") return "";
  if (answer.kind === "unreachable") return answer.why;
  const said = answer.problem.detail || "";
  if (answer.status === 401) return _("you are signed out");
  if (answer.status === 429) return said || _("too many requests just now");
  if (answer.status === 507) return said || _("the server's disk is full");
  if (answer.status === 413) return said || _("too long for the server");
  if (answer.status >= 500) return said || _("the server has a problem ({status})", { status: answer.status });
  return said || answer.problem.title || _("the server refused ({status})", { status: answer.status });
}

/** Waiting times between tries: 1, 2, 4 … 60 s, then 60 s for ever. */
export class Backoff {
  #tries = 0;

  /** @returns {number} milliseconds to wait before the next try */
  next() {
    const seconds = Math.min(60, 2 ** this.#tries);
    this.#tries += 1;
    return seconds * 1000;
  }

  reset() {
    this.#tries = 0;
  }
}
