/** The chip in the bar: which ring holds the work. */

import { _, _n } from "./words.js";

/** @typedef {{dirty: boolean, onDevice: boolean, why: string, savedAt: Date | null, shown: boolean, some: boolean}} DraftStatus
 * `shown`: something was told at all; `some`: there is something that could be saved. */

/** @type {DraftStatus} */
const draft = { dirty: false, onDevice: true, why: "", savedAt: null, shown: false, some: false };
/** `stuck` were refused and wait for the person; `sentSome`: this page has brought one to the server. */
const queue = { waiting: 0, stuck: 0, why: "", onDevice: true, sentSome: false };
/** Sound that this device recorded and the server lacks. */
const clips = { waiting: 0, stuck: 0, why: "", onDevice: true };
/** Slices of recordings: every page goes on sending them, so they keep nobody from leaving. */
const slices = { waiting: 0, stuck: 0, why: "" };
const SPEAK_AFTER_MS = 2000;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let speakTimer;
let spokenTrouble = false;

/** @param {Partial<DraftStatus>} change what is known of this page's draft */
export function tellDraft(change) {
  Object.assign(draft, change, { shown: true });
  draft.some ||= draft.dirty || draft.savedAt !== null;
  render();
}

/** @param {typeof queue} now what is known of submits not confirmed */
export function tellQueue(now) {
  Object.assign(queue, now);
  render();
}

/** @param {Partial<typeof clips>} now what is known of recorded sound not confirmed */
export function tellClips(now) {
  Object.assign(clips, now);
  render();
}

/** @param {typeof slices} now what is known of slices of recordings not confirmed */
export function tellSlices(now) {
  Object.assign(slices, now);
  render();
}

/** @returns {boolean} whether closing the tab now could leave work behind that the server lacks */
export function hasTrouble() {
  return queue.waiting + clips.waiting > 0 || (draft.dirty && (draft.why !== "" || !draft.onDevice));
}

/** @param {...string} parts */
const joined = (...parts) => parts.filter(Boolean).reduce((said, more) => _("{said} — {more}", { said, more }));

/** @param {Date} when */
const clock = (when) => `${String(when.getHours()).padStart(2, "0")}:${String(when.getMinutes()).padStart(2, "0")}`;

/** @returns {{ring: "server"|"device"|"none", text: string} | null} */
function describe() {
  const waiting = queue.waiting + clips.waiting + slices.waiting + (draft.dirty && draft.why !== "" ? 1 : 0);
  const parts = [];
  if (waiting > 0) parts.push(_n(waiting, "{n} waiting", "{n} waiting"));
  const stuck = queue.stuck + clips.stuck + slices.stuck;
  if (stuck > 0) parts.push(_("{n} not accepted", { n: stuck }));
  const count = parts.join(", ");
  const unsent = queue.waiting + clips.waiting + slices.waiting + stuck;
  const why = draft.why || queue.why || clips.why || slices.why;
  if ((draft.dirty && !draft.onDevice) || (unsent > 0 && !(queue.onDevice && clips.onDevice))) {
    return { ring: "none", text: joined(_("○ not saved"), why || _("this window alone holds it"), count) };
  }
  if (draft.dirty || unsent > 0) {
    return { ring: "device", text: joined(_("◐ on this device"), count, why) };
  }
  const alone = draft.onDevice ? "" : _("not on this device");
  if (draft.savedAt) return { ring: "server", text: joined(_("● saved {time}", { time: clock(draft.savedAt) }), alone) };
  if (draft.shown && !draft.some && !queue.sentSome) return { ring: "server", text: "" };
  if (draft.shown || queue.sentSome) return { ring: "server", text: joined(_("● saved"), alone) };
  return null;
}

function render() {
  const chip = document.getElementById("save-chip");
  const now = describe();
  if (!chip || !now) return;
  const trouble = now.ring !== "server";
  if (chip.dataset.ring === now.ring && chip.textContent === now.text) return;
  chip.dataset.ring = now.ring;
  // A listener should not hear of every pause in typing: trouble is spoken once it lasts, and so is its end.
  chip.setAttribute("aria-live", spokenTrouble ? "polite" : "off");
  chip.textContent = now.text;
  clearTimeout(speakTimer);
  if (!trouble) {
    spokenTrouble = false;
  } else if (!spokenTrouble) {
    speakTimer = setTimeout(() => {
      spokenTrouble = true;
      chip.setAttribute("aria-live", "polite");
      chip.textContent = "";
      chip.textContent = describe()?.text ?? "";
    }, SPEAK_AFTER_MS);
  }
}
