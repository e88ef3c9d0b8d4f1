/** Timelines: known steps of a recording, bracketed one after the other; mistakes, actions and narration beside them. */

import { make } from "./dom.js";
import { newId } from "./device.js";
import { byTime, Frames, isOpen, rowsOf, standsOut } from "./marks.js";
import { Recorder, theNarrations } from "./narrations.js";
import { startPage } from "./page.js";
import { clockText } from "./player.js";
import { showToast } from "./toast.js";

/** @typedef {import("./marks.js").Span} Span */

const AROUND_S = 1.5;
const MAX_ROWS = 300;

const form = /** @type {HTMLFormElement} */ (document.getElementById("sheet"));
const task = JSON.parse(form.dataset.task ?? "{}");
const video = document.getElementById("clip");
if (video) video.dataset.fps = `${task.fps_num}/${task.fps_den}`;
const frames = new Frames(task);
const length = task.duration_s;
/** Seconds of the zoomed window. */
const WINDOW_S = Math.min(60, length);
const steps = new Map(task.steps.map((/** @type {any} */ s) => [s.id, s]));
/** Steps in the order in which they are armed. @type {string[]} */
const order = [...new Set([...task.script.filter((/** @type {string} */ id) => steps.has(id)), ...steps.keys()])];
const numbers = new Map([...steps.keys()].map((id, n) => [id, n + 1]));
const tags = Object.entries(task.tags);

/** @type {any} */
let sheet = { segments: [], errors: [], dismissed: [], actions: [], narrations: [], note: "" };
let armed = order[0] ?? "";
/** Id of the segment or action that I and O move; empty for a new one. */
let chosen = "";
/** @type {"segments" | "actions"} */
let lane = "segments";
let from = 0;
/** @type {{at: number, list: {span: Span, end: boolean, time: number}[]} | null} */
let review = null;
/** @type {Set<string>} */
let unsent = new Set();
const recorder = new Recorder();
const narrations = theNarrations();

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);
/** @param {string} id */
const nameOf = (id) => (steps.has(id) ? `${numbers.get(id)} ${steps.get(id).text}` : id);
const here = () => page.player?.frame ?? 0;
/** @param {string} step @returns {Span[]} */
const segmentsOf = (step) => sheet.segments.filter((/** @type {Span} */ s) => s.step === step).sort(byTime);
/** @param {string} step @returns {any[]} */
const errorsOf = (step) => sheet.errors.filter((/** @type {any} */ e) => e.step === step);
/** @param {string} step */
const isMissing = (step) => errorsOf(step).some((e) => e.tag === "missing");
/** @param {string} step */
const isDone = (step) => isMissing(step) || segmentsOf(step).some((s) => !isOpen(s));
/** @returns {Span | undefined} */
const spanOf = (/** @type {string} */ id) => [...sheet.segments, ...sheet.actions].find((s) => s.id === id);
/** @returns {Span | undefined} what I and O move: what was chosen, or what was begun last in this lane */
const target = () => spanOf(chosen) ?? sheet[lane].findLast((/** @type {Span} */ s) => isOpen(s) && (lane === "actions" || s.step === armed));

/** @param {string} text said softly, and to those who listen */
function say(text) {
  byId("marks-said").textContent = text;
}

/** @param {number} frame pause, and show it */
function jump(frame) {
  if (!page.player) return;
  page.player.video.pause();
  page.player.toFrame(Math.min(frame, frames.count - 1));
  follow(frames.seconds(frame));
}

/** @param {() => void} change of the sheet, which is counted as the person's */
function edit(change) {
  if (page.readOnly) return say("The sheet can only be read here.");
  change();
  page.changed();
}

/** @param {string} step */
function arm(step) {
  armed = step;
  chosen = "";
  lane = "segments";
  show();
  byId("steps-list").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}

/** @param {number} by */
function armNext(by) {
  arm(order[Math.min(order.length - 1, Math.max(0, order.indexOf(armed) + by))]);
  say(`Step ${nameOf(armed)} is armed.`);
}

/** @param {string} id choose a segment or an action, and show its start */
function choose(id) {
  const span = spanOf(id);
  if (!span) return;
  lane = sheet.actions.includes(span) ? "actions" : "segments";
  if (lane === "segments") armed = span.step;
  chosen = id;
  show();
  jump(frames.at(span.start_s));
}

/** @param {boolean} stay pause at the frame that was set */
function markStart(stay) {
  const frame = here();
  const span = target();
  if (span && spanOf(chosen) && !isOpen(span) && frames.at(span.end_s) <= frame) return say(`It ends at ${clockText(span.end_s)}: the start has to come before.`);
  if (!span && lane === "segments" && isMissing(armed)) return say("This step is tagged as missing: take the tag off first.");
  edit(() => {
    const start_s = frames.seconds(frame);
    if (span) Object.assign(span, { start_s, end_s: isOpen(span) ? start_s : span.end_s });
    else if (lane === "segments") sheet.segments.push({ id: newId(), step: armed, start_s, end_s: start_s });
    else sheet.actions.push({ id: newId(), start_s, end_s: start_s, verb: "", noun: "", source: "manual", step: armed });
    say(`Start ${clockText(start_s)}: ${lane === "segments" ? nameOf(armed) : "action"}.`);
  });
  if (stay) jump(frame);
}

/** @param {boolean} stay */
function markEnd(stay) {
  const frame = here();
  const span = target();
  if (!span) return say("Mark the start first: I.");
  if (frame <= frames.at(span.start_s)) return say(`It starts at ${clockText(span.start_s)}: the end has to come after.`);
  const wasOpen = isOpen(span);
  edit(() => {
    span.end_s = frames.seconds(frame);
  });
  say(`End ${clockText(span.end_s)}: ${lane === "segments" ? nameOf(span.step) : "action"}.`);
  if (stay) jump(frame);
  if (!wasOpen || page.readOnly) return;
  if (lane === "actions") {
    byId(`verb-${span.id}`)?.focus();
    return;
  }
  const at = order.indexOf(span.step);
  const next = [...order.slice(at + 1), ...order.slice(0, at)].find((id) => !isDone(id));
  if (next) arm(next);
}

function split() {
  const time = frames.seconds(here());
  const inside = (/** @type {Span} */ s) => s.start_s < time && time < s.end_s;
  const span = [spanOf(chosen), ...segmentsOf(armed), ...sheet.segments].find((s) => s && sheet.segments.includes(s) && inside(s));
  if (!span) return say("No segment can be split here.");
  edit(() => {
    sheet.segments.push({ ...span, id: newId(), start_s: time });
    span.end_s = time;
    say(`Split at ${clockText(time)}: ${nameOf(span.step)}.`);
  });
}

/** @param {"segments"|"actions"|"errors"|"narrations"} list @param {any} item taken out, and back with Undo */
function takeOut(list, item, what = "Removed.") {
  edit(() => {
    sheet[list] = sheet[list].filter((/** @type {any} */ one) => one !== item);
    if (chosen === item.id) chosen = "";
    showToast(what, { label: "Undo", key: "z", run: () => edit(() => sheet[list].push(item)) }, 10);
  });
}

function remove() {
  const span = target();
  if (!span) return say("Choose a segment first.");
  takeOut(sheet.actions.includes(span) ? "actions" : "segments", span, `Removed: ${span.verb ?? nameOf(span.step)}.`);
}

/** @param {string} tag put on the armed step, or taken off */
function toggleTag(tag) {
  const old = errorsOf(armed).findLast((e) => e.tag === tag);
  if (old) return takeOut("errors", old, `Taken off: ${task.tags[tag]}.`);
  if (tag === "missing" && segmentsOf(armed).length > 0) return say("This step is marked: remove its segments before you tag it as missing.");
  edit(() => {
    sheet.errors.push({ step: armed, tag, text: "", origin: "review" });
    say(`${task.tags[tag]}: ${nameOf(armed)}.`);
  });
}

/** @param {Span} span @param {"start_s"|"end_s"} side @param {number} frame @returns {boolean} whether it may be there */
function place(span, side, frame) {
  const other = frames.at(side === "start_s" ? span.end_s : span.start_s);
  const fits = side === "start_s" ? frame >= 0 && (isOpen(span) || frame < other) : frame > other && frame <= frames.count;
  if (!fits) say(side === "start_s" ? "The start has to come before the end." : "The end has to come after the start, within the video.");
  else edit(() => Object.assign(span, { [side]: frames.seconds(frame) }, side === "start_s" && isOpen(span) ? { end_s: frames.seconds(frame) } : {}));
  return fits;
}

// -- review pass --------------------------------------------------------------------------------------------------

function toggleReview() {
  if (review || !page.player) return endReview();
  const list = sheet.segments.filter((/** @type {Span} */ s) => !isOpen(s))
    .flatMap((/** @type {Span} */ span) => [{ span, end: false, time: span.start_s }, { span, end: true, time: span.end_s }])
    .sort((/** @type {any} */ a, /** @type {any} */ b) => a.time - b.time);
  if (list.length === 0) return say("Nothing is marked yet.");
  review = { at: -1, list };
  nextBoundary();
}

function nextBoundary() {
  if (!review || !page.player) return;
  review.at += 1;
  const boundary = review.list[review.at];
  if (!boundary) return endReview();
  chosen = boundary.span.id;
  armed = boundary.span.step;
  lane = "segments";
  say(`Boundary ${review.at + 1} of ${review.list.length}: ${boundary.end ? "end" : "start"} of ${nameOf(armed)}.`);
  show();
  page.player.toFrame(frames.at(Math.max(0, boundary.time - AROUND_S)));
  void page.player.video.play().catch(() => {});
}

function endReview() {
  if (review) say("Review ended.");
  review = null;
  page.player?.video.pause();
  show();
}

/** @param {number} time of the frame on the screen */
function playhead(time) {
  const boundary = review?.list[review.at];
  if (boundary && (time >= boundary.time + AROUND_S || page.player?.video.ended)) nextBoundary();
  if (!page.player?.video.paused) follow(time);
  for (const head of document.querySelectorAll(".playhead")) {
    const zoomed = head.parentElement?.id !== "overview";
    const left = zoomed ? (time - from) / WINDOW_S : time / length;
    /** @type {HTMLElement} */ (head).hidden = left < 0 || left > 1;
    /** @type {HTMLElement} */ (head).style.left = `${100 * left}%`;
  }
  const overview = byId("overview");
  overview.setAttribute("aria-valuenow", time.toFixed(2));
  overview.setAttribute("aria-valuetext", `${clockText(time)}, frame ${here()}`);
}

/** @param {number} time to be inside the zoomed window */
function follow(time) {
  if (time < from || time > from + WINDOW_S * 0.95) pan(time - WINDOW_S * 0.1);
}

/** @param {number} start of the zoomed window */
function pan(start) {
  from = Math.max(0, Math.min(start, length - WINDOW_S));
  lanes();
}

// -- showing ------------------------------------------------------------------------------------------------------

/**
 * Show a list without remaking what is there, so that the focus and what is being typed stay.
 * @param {HTMLElement} box @param {any[]} items @param {(item: any) => string} key
 * @param {(key: string) => HTMLElement} create @param {(element: HTMLElement, item: any) => void} update
 */
function keyed(box, items, key, create, update) {
  const old = new Map([...box.children].map((child) => [/** @type {HTMLElement} */ (child).dataset.key, /** @type {HTMLElement} */ (child)]));
  items.forEach((item, n) => {
    const name = key(item);
    const element = old.get(name) ?? create(name);
    element.dataset.key = name;
    old.delete(name);
    if (box.children[n] !== element) box.insertBefore(element, box.children[n] ?? null);
    update(element, item);
  });
  for (const gone of old.values()) gone.remove();
}

/** @param {HTMLElement | null} element @param {string} text */
function put(element, text) {
  if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) {
    if (element !== document.activeElement && element.value !== text) element.value = text;
  } else if (element && element.textContent !== text) element.textContent = text;
}

/** @param {string} act @param {string} text @param {Record<string, any>} [more] */
const button = (act, text, more = {}) => make("button", { type: "button", "data-act": act, ...more }, text);

/** @param {string} name @param {string} label @param {Record<string, any>} [more] */
const field = (name, label, more = {}) => make("input", { type: "text", "data-field": name, "aria-label": label, autocomplete: "off", ...more });

function showSteps() {
  const marked = new Map(order.map((id) => [id, { spans: /** @type {Span[]} */ ([]), errors: 0, missing: false }]));
  for (const s of [...sheet.segments].sort(byTime)) marked.get(s.step)?.spans.push(s);
  for (const e of sheet.errors) {
    const of = marked.get(e.step);
    if (of) Object.assign(of, { errors: of.errors + 1, missing: of.missing || e.tag === "missing" });
  }
  keyed(byId("steps-list"), order, (id) => id, (id) => make("li", { id: `step-${id}` }, button("arm", "", { class: "arm", "data-step": null, value: id }), make("span", { class: "times" })), (row, id) => {
    const { spans, errors, missing } = /** @type {any} */ (marked.get(id));
    const arming = row.firstElementChild;
    const done = missing || spans.some((/** @type {Span} */ s) => !isOpen(s));
    row.className = missing ? "missing-step" : done ? "done" : "todo";
    put(/** @type {HTMLElement} */ (arming), `${id === armed ? "▶" : missing ? "✕" : done ? "✓" : "┄"} ${nameOf(id)}${missing ? " · missing" : ""}${steps.get(id).optional ? " · optional" : ""}${errors ? ` · ▲${errors}` : ""}`);
    if (id === armed) arming?.setAttribute("aria-current", "step");
    else arming?.removeAttribute("aria-current");
    keyed(/** @type {HTMLElement} */ (row.lastElementChild), spans, (s) => s.id, (key) => button("choose", "", { class: "time", value: key }), (chip, s) => {
      put(chip, isOpen(s) ? `${clockText(s.start_s)} – …` : `${clockText(s.start_s)} – ${clockText(s.end_s)}`);
      chip.setAttribute("aria-pressed", String(s.id === chosen));
      chip.setAttribute("aria-label", `Segment ${chip.textContent} of ${nameOf(id)}`);
    });
  });
  put(byId("steps-count"), `${order.filter(isDone).length} of ${order.length} done`);
}

function showEditor() {
  const span = target();
  const step = lane === "actions" ? "Action" : `Step ${nameOf(armed)}`;
  put(byId("edit-title"), step);
  const own = segmentsOf(armed);
  const which = own.length > 1 && span ? `segment ${own.indexOf(span) + 1} of ${own.length}` : "the segment";
  put(byId("edit-how"), !span ? `I marks the start of ${lane === "actions" ? "an action" : own.length ? "another segment" : "its segment"}.`
    : spanOf(chosen) ? `I and O move ${lane === "actions" ? "the action" : which}; Esc lets go.` : "Start set. O marks the end.");
  for (const side of ["start_s", "end_s"]) {
    const none = !span || (side === "end_s" && isOpen(span));
    const time = span ? /** @type {any} */ (span)[side] : 0;
    put(byId(side), none ? "" : clockText(time));
    put(byId(`${side}-frame`), none ? "–" : `frame ${frames.at(time)}`);
    for (const control of document.querySelectorAll(`[data-side="${side}"]`)) /** @type {any} */ (control).disabled = page.readOnly || none;
  }
  const errors = errorsOf(armed);
  for (const each of document.querySelectorAll("[data-tag]")) each.setAttribute("aria-pressed", String(errors.some((e) => e.tag === each.getAttribute("data-tag"))));
  keyed(byId("errors"), errors, (e) => `${armed}/${e.tag}/${errors.filter((o) => o.tag === e.tag).indexOf(e)}`, () => make("li", {}, make("label", {}, make("span"), make("textarea", { rows: "1", maxlength: "4000", dir: "auto", "data-field": "error" }))), (row, e) => {
    row.dataset.at = String(sheet.errors.indexOf(e));
    row.id = `error-${row.dataset.at}`;
    put(row.querySelector("span"), `▲ ${task.tags[e.tag]}`);
    put(row.querySelector("textarea"), e.text);
  });
}

/** Bars of both windows and of the actions. */
function lanes() {
  const span = target();
  /** @param {string} id @param {Span[]} spans @param {number} start @param {number} width */
  const bars = (id, spans, start, width) => {
    const rows = rowsOf(spans);
    const zoomed = id !== "overview";
    const seen = spans.filter((s) => Math.max(s.end_s, s.start_s) >= start && s.start_s <= start + width);
    byId(id).style.setProperty("--rows", String(Math.max(0, ...rows.values()) + 1));
    keyed(byId(`${id}-bars`), seen, (s) => s.id, () => make("div", { class: "bar-of" }, make("span"), ...(zoomed ? ["start_s", "end_s"].map((side) => make("i", { "data-handle": side })) : [])), (bar, s) => {
      bar.className = ["bar-of", isOpen(s) ? "open" : "", s === span ? "chosen" : "", s.step === armed ? "armed" : "", errorsOf(s.step).length && s.verb === undefined ? "wrong" : ""].join(" ");
      bar.style.left = `${(100 * (s.start_s - start)) / width}%`;
      bar.style.width = `${(100 * (Math.max(s.end_s, s.start_s) - s.start_s)) / width}%`;
      bar.style.setProperty("--row", String(rows.get(s.id)));
      put(bar.querySelector("span"), zoomed ? (s.verb === undefined ? nameOf(s.step) : `${s.verb} ${s.noun}`) : "");
    });
  };
  bars("overview", sheet.segments, 0, length);
  bars("zoom", sheet.segments, from, WINDOW_S);
  if (task.actions) bars("acts", sheet.actions, from, WINDOW_S);
  const lens = byId("lens");
  lens.style.left = `${(100 * from) / length}%`;
  lens.style.width = `${Math.min(100, (100 * WINDOW_S) / length)}%`;
  put(byId("zoom-range"), `${clockText(from)} – ${clockText(Math.min(length, from + WINDOW_S))}`);
}

function showNotes() {
  const { order: mistakes, gaps, overlaps } = standsOut(sheet, task);
  const notes = [
    ...mistakes.map(([a, b]) => ({ id: `order-${a}-${b}`, text: `Order? Step ${nameOf(b)} began before step ${nameOf(a)}.`, time: segmentsOf(b)[0].start_s, edge: JSON.stringify([a, b]) })),
    ...gaps.map(([a, b]) => ({ id: `gap-${a}`, text: `Gap of ${(b - a).toFixed(1)} s`, time: a })),
    ...overlaps.map(([a, b]) => ({ id: `over-${a.id}-${b.id}`, text: `Overlap: ${nameOf(a.step)} and ${nameOf(b.step)}`, time: b.start_s })),
  ];
  put(byId("notes-count"), notes.length ? String(notes.length) : "none");
  keyed(byId("notes"), notes.slice(0, MAX_ROWS), (n) => n.id, () => make("li", {}, button("to", ""), make("span")), (row, n) => {
    row.id = n.id;
    row.className = n.edge ? "proposal" : "";
    const to = /** @type {HTMLButtonElement} */ (row.firstElementChild);
    to.value = String(n.time);
    put(to, clockText(n.time));
    put(row.querySelector("span"), n.text);
    if (n.edge && row.children.length === 2) row.append(button("confirm", "A mistake", { value: n.edge }), button("dismiss", "No mistake", { value: n.edge }));
  });
}

function showActions() {
  if (!task.actions) return;
  for (const radio of form.querySelectorAll("[name=lane]")) /** @type {HTMLInputElement} */ (radio).checked = /** @type {HTMLInputElement} */ (radio).value === lane;
  const all = [...sheet.actions].sort(byTime);
  const listed = all.length <= MAX_ROWS ? all : all.filter((a) => a.step === armed || a.id === chosen).slice(0, MAX_ROWS);
  put(byId("actions-count"), listed.length < all.length ? `${all.length}, those of the armed step are listed` : String(all.length));
  keyed(byId("actions"), listed, (a) => a.id, (id) => make("li", { id: `action-${id}` }, button("choose", "", { class: "time", value: id }),
    field("verb", "Verb", { id: `verb-${id}`, list: "verbs", placeholder: "verb", maxlength: "200" }), field("noun", "Noun", { list: "nouns", placeholder: "noun", maxlength: "200" }),
    button("drop-action", "×", { value: id, "aria-label": "Remove this action" })), (row, a) => {
    const [time, verb, noun] = /** @type {HTMLElement[]} */ ([...row.children]);
    put(time, isOpen(a) ? `${clockText(a.start_s)} – …` : `${clockText(a.start_s)} – ${clockText(a.end_s)}`);
    time.setAttribute("aria-pressed", String(a.id === chosen));
    put(verb, a.verb);
    put(noun, a.noun);
  });
  for (const [id, key] of [["verbs", "verb"], ["nouns", "noun"]]) {
    const words = [...new Set(all.map((a) => a[key]).filter(Boolean))].sort();
    keyed(byId(id), words, String, (word) => make("option", { value: word }), () => {});
  }
}

function showNarrations() {
  if (!task.narration) return;
  const said = [...sheet.narrations].sort((a, b) => a.video_s - b.video_s);
  put(byId("narrations-count"), String(said.length));
  byId("record").setAttribute("aria-pressed", String(recorder.on));
  keyed(byId("narrations"), said, (n) => n.id, (id) => make("li", { id: `narration-${id}` }, button("to", "", { class: "time" }), button("hear", "Listen", { value: id }),
    make("textarea", { rows: "1", maxlength: "4000", dir: "auto", "data-field": "narration", "aria-label": "What was said" }), make("span", { class: "tiny muted" }), button("drop-narration", "×", { value: id, "aria-label": "Remove this narration" })), (row, n) => {
    const to = /** @type {HTMLButtonElement} */ (row.firstElementChild);
    to.value = String(n.video_s);
    put(to, clockText(n.video_s));
    put(row.querySelector("textarea"), n.text);
    put(row.querySelector("span"), `${(n.ms / 1000).toFixed(1)} s · ${unsent.has(n.id) ? "on this device" : "sent"}`);
  });
}

function show() {
  showSteps();
  showEditor();
  lanes();
  showNotes();
  showActions();
  showNarrations();
  const proposals = byId("proposals");
  proposals.hidden = page.readOnly || sheet.segments.length + sheet.errors.length > 0 || task.prelabels.length + task.planned.length === 0;
  for (const made of form.querySelectorAll("li :is(button, input, textarea)")) {
    if (!made.matches("[data-act=choose], [data-act=to], [data-act=hear], [data-act=arm]")) /** @type {any} */ (made).disabled = page.readOnly;
  }
}

// -- what people do -----------------------------------------------------------------------------------------------

/** @type {Record<string, (value: string) => void>} */
const acts = {
  arm,
  choose,
  start: () => markStart(false),
  end: () => markEnd(false),
  split,
  remove,
  review: toggleReview,
  record: () => (recorder.on ? recorder.stop() : record()),
  to: (value) => jump(frames.at(Number(value))),
  tag: toggleTag,
  hear: (id) => void hear(id),
  confirm: (edge) => edit(() => {
    const [before, step] = JSON.parse(edge);
    sheet.errors.push({ step, tag: "order", text: `Begun before step ${nameOf(before)}.`, origin: "auto" });
  }),
  dismiss: (edge) => edit(() => sheet.dismissed.push(JSON.parse(edge))),
  propose: () => edit(() => {
    sheet.segments = structuredClone(task.prelabels);
    sheet.errors = structuredClone(task.planned);
  }),
  "drop-action": (id) => takeOut("actions", spanOf(id)),
  "drop-narration": (id) => takeOut("narrations", sheet.narrations.find((/** @type {any} */ n) => n.id === id)),
};

document.addEventListener("click", (event) => {
  const pressed = event.target instanceof Element ? event.target.closest("[data-act]") : null;
  if (pressed instanceof HTMLButtonElement) acts[pressed.dataset.act ?? ""]?.(pressed.value);
  const nudge = event.target instanceof Element ? event.target.closest("[data-nudge]") : null;
  const span = target();
  if (!(nudge instanceof HTMLElement) || !span) return;
  const side = /** @type {"start_s"|"end_s"} */ (nudge.dataset.side);
  const frame = frames.at(span[side]) + Number(nudge.dataset.nudge);
  if (place(span, side, frame)) jump(frame);
});

form.addEventListener("input", (event) => {
  const input = /** @type {HTMLInputElement} */ (event.target);
  const row = /** @type {HTMLElement} */ (input.closest("li"));
  if (input.dataset.field === "error") sheet.errors[Number(row.dataset.at)].text = input.value;
  else if (input.dataset.field === "narration") sheet.narrations.find((/** @type {any} */ n) => n.id === row.dataset.key).text = input.value;
  else if (input.dataset.field) Object.assign(sheet.actions.find((/** @type {any} */ a) => a.id === row.dataset.key), { [input.dataset.field]: input.value });
  else if (input.name === "note") sheet.note = input.value;
  else event.stopImmediatePropagation(); // A time that is being typed is no change yet.
});

form.addEventListener("change", (event) => {
  const input = /** @type {HTMLInputElement} */ (event.target);
  const span = target();
  if (input.name === "lane") {
    lane = /** @type {"segments"|"actions"} */ (input.value);
    chosen = "";
    show();
  } else if (span && (input.id === "start_s" || input.id === "end_s")) {
    const frame = frames.parse(input.value);
    if (frame === null) say("A time is written as 1:02.500, a frame as f1875.");
    else if (place(span, input.id, frame)) jump(frame);
    input.value = clockText(span[input.id]);
  }
});

/** @param {PointerEvent} event @param {HTMLElement} box @returns {number} frame below the pointer */
function frameBelow(event, box) {
  const area = box.getBoundingClientRect();
  const share = Math.min(1, Math.max(0, (event.clientX - area.left) / area.width));
  return Math.min(frames.count, Math.max(0, Math.floor((box.id === "overview" ? share * length : from + share * WINDOW_S) * frames.rate)));
}

for (const id of ["overview", "zoom", "acts"]) {
  const box = byId(id);
  box?.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    if (event.button !== 0 || !(event.target instanceof Element)) return;
    const bar = event.target.closest(".bar-of");
    const side = event.target.getAttribute("data-handle");
    if (bar instanceof HTMLElement && id !== "overview") {
      chosen = bar.dataset.key ?? "";
      const span = spanOf(chosen);
      lane = id === "acts" ? "actions" : "segments";
      if (span && lane === "segments") armed = span.step;
      show();
    }
    const span = spanOf(chosen);
    const move = (/** @type {PointerEvent} */ now) => {
      const frame = frameBelow(now, box);
      if (!side || !span) page.player?.toFrame(frame);
      else if (place(span, /** @type {any} */ (side), frame)) page.player?.toFrame(frame);
    };
    page.player?.video.pause();
    if (!side) move(event);
    box.setPointerCapture(event.pointerId);
    box.addEventListener("pointermove", move);
    for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, () => box.removeEventListener("pointermove", move), { once: true });
  });
}

byId("overview").setAttribute("aria-valuemax", String(length));
byId("overview").addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
  const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: 60, PageDown: -60 }[event.key];
  if (by === undefined) return;
  event.preventDefault();
  jump(Math.max(0, here() + Math.round(by * frames.rate)));
});
byId("zoom").addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  event.preventDefault();
  pan(from + (event.key === "ArrowLeft" ? -10 : 10));
  playhead(frames.seconds(here()));
});

// -- narration ----------------------------------------------------------------------------------------------------

function record() {
  if (!narrations || page.readOnly || !task.narration) return;
  const playing = page.player && !page.player.video.paused;
  page.player?.video.pause();
  const frame = here();
  void recorder.start({
    begun: () => {
      say("Recording. Speak; the video stands still.");
      showNarrations();
    },
    done: (clip, why) => {
      say(why || "Kept. It is sent by itself.");
      if (clip) {
        unsent.add(clip.id);
        void narrations.keep(page.pid, clip.id, clip.bytes, clip.type);
        edit(() => sheet.narrations.push({ id: clip.id, video_s: frames.seconds(frame), text: "", asr: null, ms: clip.ms }));
      }
      showNarrations();
      page.player?.toFrame(frame);
      if (playing) void page.player?.video.play().catch(() => {});
    },
  });
}

/** @param {string} id */
async function hear(id) {
  const bytes = await narrations?.bytes(page.pid, id);
  if (!bytes) return say("The sound is not on this device, and the server does not have it.");
  const sound = new AudioContext();
  const source = sound.createBufferSource();
  try {
    source.buffer = await sound.decodeAudioData(bytes);
  } catch {
    return say("This browser cannot play the sound.");
  }
  source.connect(sound.destination);
  source.onended = () => void sound.close();
  source.start();
}

/** @param {KeyboardEvent} press hold to record */
function hold(press) {
  record();
  const release = (/** @type {KeyboardEvent} */ event) => {
    if (event.code !== press.code) return;
    removeEventListener("keyup", release);
    recorder.stop();
  };
  addEventListener("keyup", release);
}
addEventListener("blur", () => recorder.stop());
addEventListener("pagehide", () => recorder.stop());
narrations?.heard.addEventListener("change", async () => {
  unsent = await narrations.waiting();
  showNarrations();
});

// -- the page -----------------------------------------------------------------------------------------------------

/** @returns {{message: string, card: HTMLElement | null} | null} */
function missing() {
  const open = [...sheet.segments, ...sheet.actions].find(isOpen);
  const wanted = order.find((id) => !isDone(id) && ((task.complete && !steps.get(id).optional) || errorsOf(id).length > 0));
  const [proposal] = standsOut(sheet, task).order;
  const verbless = sheet.actions.find((/** @type {any} */ a) => !a.verb.trim());
  if (recorder.on) return { message: "A narration is being recorded: end it first.", card: byId("narration-card") };
  if (open) return { message: `${open.verb === undefined ? `Step ${nameOf(open.step)}` : "An action"} has a start and no end: press O at its end, or remove it.`, card: byId(`step-${open.step}`) };
  if (!order.some(isDone)) return { message: "Nothing is marked yet: mark a step, or tag steps that were left out.", card: byId("steps-list") };
  if (wanted) return { message: `Mark step ${nameOf(wanted)}, or tag it as a missing step.`, card: byId(`step-${wanted}`) };
  if (proposal) return { message: `Step ${nameOf(proposal[1])} began before step ${nameOf(proposal[0])}: say whether that is a mistake.`, card: byId(`order-${proposal.join("-")}`) };
  if (verbless) return { message: `The action at ${clockText(verbless.start_s)} has no verb.`, card: byId(`action-${verbless.id}`) };
  return null;
}

/** @param {any} value @returns {string} a part of the sheet in words */
function inWords(value) {
  if (!Array.isArray(value)) return value || "empty";
  return value.map((one) => {
    if (Array.isArray(one)) return one.map(nameOf).join(" → ");
    const what = one.tag ? `${task.tags[one.tag]}, ${nameOf(one.step)} ${one.text}` : one.verb ?? (one.step ? nameOf(one.step) : one.text);
    return one.start_s === undefined ? what : `${clockText(one.start_s)}–${clockText(one.end_s)} ${what} ${one.noun ?? ""}`;
  }).join("\n") || "none";
}

/** @type {[string, string][]} */
const PARTS = [["segments", "Segments"], ["errors", "Mistakes"], ["dismissed", "Order proposals dismissed"], ["actions", "Actions"], ["narrations", "Narrations"], ["note", "Note"]];
const keys = [
  { id: "start", label: "Start here", keys: ["i"], run: () => markStart(false) },
  { id: "end", label: "End here, and on to the next step", keys: ["o"], run: () => markEnd(false) },
  { id: "start-stay", label: "Start here, and stop at it", keys: ["Shift+i"], run: () => markStart(true) },
  { id: "end-stay", label: "End here, and stop at it", keys: ["Shift+o"], run: () => markEnd(true) },
  { id: "split", label: "Split the segment", keys: ["s"], run: split },
  { id: "remove", label: "Remove the segment", keys: ["Delete"], run: remove },
  { id: "step-before", label: "Step before", keys: ["ArrowUp"], run: () => armNext(-1), repeat: true },
  { id: "step-after", label: "Step after", keys: ["ArrowDown"], run: () => armNext(1), repeat: true },
  { id: "errors", label: "Mistakes of the step", keys: ["e"], run: () => document.querySelector("[data-tag]")?.focus() },
  ...tags.map(([tag, label], n) => ({ id: `tag-${tag}`, label: `Mistake: ${label}`, keys: [String(n + 1)], run: () => toggleTag(tag) })),
  { id: "review", label: "Review pass", keys: ["r"], run: toggleReview },
  { id: "lane", label: "Steps or actions", keys: ["a"], run: () => byId(lane === "segments" ? "lane-actions" : "lane-segments")?.click() },
  { id: "narrate", label: "Hold and speak", keys: ["n"], run: hold },
  {
    id: "let-go", label: "Let go of the segment", keys: ["Escape"], run: () => {
      if (review) return endReview();
      chosen = "";
      show();
    },
  },
].map((action) => ({ group: "Timeline", ...action }));

const page = startPage({
  read: () => sheet,
  fill: (given) => {
    const first = sheet.segments.length === 0;
    sheet = { ...sheet, ...structuredClone(given) };
    for (const said of sheet.narrations) {
      const heard = task.heard?.[said.id];
      if (heard !== undefined && said.asr === null) Object.assign(said, { asr: heard, text: said.text || heard });
    }
    if (form.elements.namedItem("note")) /** @type {HTMLTextAreaElement} */ (form.elements.namedItem("note")).value = sheet.note;
    if (first) armed = order.find((id) => !isDone(id)) ?? order[0] ?? "";
  },
  missing,
  changed: () => show(),
  differences: (mine, theirs) => PARTS.filter(([id]) => JSON.stringify(mine[id]) !== JSON.stringify(theirs?.[id]))
    .map(([id, name]) => ({ id, name, mine: mine[id], theirs: theirs?.[id] ?? (id === "note" ? "" : []), show: inWords })),
  cardOf: (name) => byId(name.startsWith("segment-") ? `step-${spanOf(name.slice(8))?.step}` : name === "segments" ? "steps-list" : name),
  nameOf: () => "",
  keys,
  group: "Page",
});
page.player?.video.addEventListener("clip-at", (/** @type {any} */ event) => playhead(event.detail));
