/** Taking back a submit: the offer follows the person to the next page. */

import { tellDraft } from "./chip.js";
import { newId, putDraft } from "./device.js";
import { emit } from "./signals.js";
import { showToast } from "./toast.js";
import { reasonOf, send } from "./wire.js";
import { _ } from "./words.js";

/** @typedef {{person: string, pid: string, rev: number, until: number, full: import("./device.js").Sheet}} UndoNote */

const NOTE = "proctor:undo";

/** @param {Omit<UndoNote, "until">} note @param {number} seconds */
export function rememberUndo(note, seconds) {
  try {
    if (seconds > 0) sessionStorage.setItem(NOTE, JSON.stringify({ ...note, until: Date.now() + seconds * 1000 }));
  } catch {
    // Without session storage there is no offer; the item can still be opened and edited.
  }
}

/** @returns {UndoNote | null} */
function recall() {
  try {
    const note = JSON.parse(sessionStorage.getItem(NOTE) ?? "null");
    return note && typeof note.pid === "string" && note.until > Date.now() ? note : null;
  } catch {
    return null;
  }
}

export function forgetUndo() {
  try {
    sessionStorage.removeItem(NOTE);
  } catch {
    // Nothing was stored either.
  }
}

/** @param {string} person offer Undo if this person has just submitted */
export function offerUndo(person) {
  const note = recall();
  if (!note || note.person !== person) {
    forgetUndo();
    return;
  }
  tellDraft({ savedAt: new Date() }); // What was submitted a moment ago; this page has nothing to save yet.
  const seconds = Math.max(1, (note.until - Date.now()) / 1000);
  showToast(_("Submitted."), { label: _("Undo"), key: "z", run: () => void undo(note) }, seconds);
}

/** @param {UndoNote} note */
async function undo(note) {
  const path = `/w/${encodeURIComponent(note.pid)}`;
  const answer = await send("POST", `${path}/undo`, { body: {}, headers: { "If-Match": `"${note.rev}"` }, person: note.person });
  if (answer.kind === "ok") {
    forgetUndo();
    const record = {
      person: note.person, pid: note.pid, sheet: note.full, seq: 1, base: 0, client_id: newId(), key: newId(),
      rev: Number(answer.data.rev), dirty: true, force: true, active_ms: 0, at: Date.now(),
    };
    await putDraft(record).catch(() => {});
    location.assign(path);
    return;
  }
  if (answer.kind === "problem" && answer.status === 401) emit("signed-out", { pid: note.pid, problem: answer.problem });
  if (answer.kind === "unreachable" || answer.status === 401 || answer.status >= 500) {
    showToast(_("Not undone: {why}.", { why: reasonOf(answer) }), { label: _("Try again"), key: "z", run: () => void undo(note) }, 20);
    return;
  }
  forgetUndo();
  showToast(_("Not undone: {why}.", { why: reasonOf(answer) }), null, 20, { label: _("Open the item"), href: path });
}
