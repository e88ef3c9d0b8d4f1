/** Signed out in the middle of work: a dialog above the untouched page, then the same requests again. */

import { dialogById, dialogOrNew, make } from "./dom.js";
import { emit, on } from "./signals.js";
import { reasonOf, send } from "./wire.js";
import { _ } from "./words.js";

/** @type {string | null} pid of the assignment whose request was refused */
let asked = null;
let checking = false;

/** @param {string} person who the page belongs to */
export function watchSignIn(person) {
  on("signed-out", (detail) => {
    if (detail?.problem?.person !== undefined && detail.problem.person !== person) {
      emit("other-person");
      return;
    }
    asked = detail?.pid ?? asked;
    open(person);
  });
  const look = () => void (dialogById("signin-dialog")?.open && check(person, true));
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && look());
  const channel = new BroadcastChannel("proctor:signed-in"); // Where this page is open, somebody is signed in.
  channel.onmessage = look;
  channel.postMessage(null);
}

/** @param {string} person */
function open(person) {
  const dialog = dialogOrNew("signin-dialog", _("You are signed out"));
  wire(dialog, person);
  if (dialog.open) return;
  say(dialog, "");
  dialog.showModal();
}

/** @param {HTMLDialogElement} dialog @param {string} text */
function say(dialog, text) {
  let place = dialog.querySelector("[data-signin-error], [role=alert]");
  if (!place) {
    place = make("p", { role: "alert", "data-signin-error": true });
    dialog.append(place);
  }
  place.textContent = text;
  if (place instanceof HTMLElement) place.hidden = text === "";
}

/** @param {HTMLDialogElement} dialog @param {string} person */
function wire(dialog, person) {
  if (dialog.dataset.wired) return;
  dialog.dataset.wired = "1";
  if (!dialog.querySelector("p, form")) {
    dialog.append(make("p", {}, make("a", { class: "button primary", href: "/signin?next=/signin/again", target: "_blank" }, _("Sign in in another tab"))));
  }
  if (!dialog.querySelector("[data-signin-continue]")) {
    const button = make("button", { type: "button", "data-signin-continue": true }, _("Signed in there: continue"));
    dialog.append(make("p", { class: "small" }, _("Or open your sign-in link in another tab, come back, and:")), button);
  }
  for (const button of dialog.querySelectorAll("[data-signin-continue]")) {
    button.addEventListener("click", () => void check(person, false));
  }
  dialog.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || form.method === "dialog" || form.target) return;
    event.preventDefault();
    void signIn(dialog, form, person);
  });
}

/** @param {HTMLDialogElement} dialog @param {HTMLFormElement} form @param {string} person */
async function signIn(dialog, form, person) {
  say(dialog, "");
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (typeof value === "string") fields.append(name, value);
  try {
    const response = await fetch(form.action, {
      method: "POST", body: fields, redirect: "manual", credentials: "same-origin", cache: "no-store",
      headers: { Accept: "application/json, application/problem+json" }, signal: AbortSignal.timeout(20_000),
    });
    if (response.type !== "opaqueredirect" && !response.ok) {
      const problem = await response.json().catch(() => ({}));
      say(dialog, problem.detail || problem.title || _("Signing in failed ({status}).", { status: response.status }));
      return;
    }
  } catch {
    say(dialog, _("No answer from the server. Try again."));
    return;
  }
  for (const field of form.querySelectorAll("input[type=password]")) /** @type {HTMLInputElement} */ (field).value = "";
  await check(person, false);
}

/**
 * Ask who is signed in now, and go on only for the person whose work this is.
 * @param {string} person
 * @param {boolean} quiet say nothing when still signed out
 */
async function check(person, quiet) {
  const dialog = dialogOrNew("signin-dialog", _("You are signed out"));
  if (checking || asked === null) return;
  checking = true;
  const answer = await send("GET", `/w/${encodeURIComponent(asked)}/state`, { person });
  checking = false;
  const status = answer.kind === "problem" ? answer.status : 200;
  const other = answer.kind === "problem" && answer.problem.person !== undefined && answer.problem.person !== person;
  if (answer.kind === "ok" && answer.data.person === person) {
    dialog.close();
    emit("signed-in");
  } else if (answer.kind === "ok" || other || status === 404 || status === 403) {
    // A server that does not tell who is signed in says "not found" to everybody else.
    dialog.close();
    emit("other-person");
  } else if (!quiet) {
    say(dialog, status === 401 ? _("Still signed out.") : _("Not yet: {why}.", { why: reasonOf(answer) }));
  }
}
