/** Timelines: known steps of a recording, bracketed one after the other; mistakes, actions and narration beside them. */

import { newId } from "./device.js";
import { make } from "./dom.js";
import { byTime, Frames, isOpen, keyed, put, rowsOf } from "./marks.js";
import { Recorder, theNarrations } from "./narrations.js";
import { startPage } from "./page.js";
import { clockText } from "./player.js";
import { showToast } from "./toast.js";
import { send } from "./wire.js";
import { _, figure } from "./words.js";

/** @typedef {import("./marks.js").Span} Span */
/** @typedef {"start_s" | "end_s"} Side */

const AROUND_S = 1.5;
const LOOK_MS = 300;
const MAX_ROWS = 300;

const form = /** @type {HTMLFormElement} */ (document.getElementById("sheet"));
const task = JSON.parse(form.dataset.task ?? "{}");
const frames = new Frames(task);
const length = task.duration_s;
/** Seconds of the zoomed window. */
const WINDOW_S = Math.min(60, length);
const steps = new Map(task.steps.map((/** @type {any} */ s) => [s.id, s]));
/** Steps in the order in which they are armed. @type {string[]} */
const order = [...new Set([...task.script.filter((/** @type {string} */ id) => steps.has(id)), ...steps.keys()])];
const numbers = new Map([...steps.keys()].map((id, n) => [id, n + 1]));

/** @type {any} */
let sheet = { segments: [], errors: [], dismissed: [], actions: [], narrations: [], note: "" };
let armed = order[0] ?? "";
/** Id of the segment or action that I and O move; empty for a new one. */
let chosen = "";
/** @type {"segments" | "actions"} */
let lane = "segments";
let from = 0;
/** @type {{at: number, list: {span: Span, side: Side}[]} | null} */
let review = null;
/** What stands out, as the server sees it. @type {any} */
let seen = { order: [], gaps: [], overlaps: [] };
/** @type {Set<string>} */
let unsent = new Set();
const recorder = new Recorder();
const narrations = theNarrations();

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);
/** @param {string} id */
const nameOf = (id) => (steps.has(id) ? `${numbers.get(id)} ${steps.get(id).text}` : id);
/** @param {Span} span */
const textOf = (span) => `${clockText(span.start_s)} – ${isOpen(span) ? "…" : clockText(span.end_s)}`;
const here = () => page.player?.frame ?? 0;
/** @param {string} step @returns {Span[]} */
const segmentsOf = (step) => sheet.segments.filter((/** @type {Span} */ s) => s.step === step).sort(byTime);
/** @param {string} step @returns {any[]} */
const errorsOf = (step) => sheet.errors.filter((/** @type {any} */ e) => e.step === step);
/** @param {string} step */
const isMissing = (step) => errorsOf(step).some((e) => e.tag === "missing");
/** @param {string} step */
const isDone = (step) => isMissing(step) || segmentsOf(step).some((s) => !isOpen(s));
/** @param {string} id @returns {Span | undefined} */
const spanOf = (id) => [...sheet.segments, ...sheet.actions].find((s) => s.id === id);
/** @returns {Span | undefined} what I and O move: what was chosen, or what was begun in this lane */
const target = () => spanOf(chosen) ?? sheet[lane].findLast((/** @type {Span} */ s) => isOpen(s) && (lane === "actions" || s.step === armed));
/** @param {string} text said softly, and to those who listen */
const say = (text) => put(byId("marks-said"), text);

/** @param {() => void} change of the sheet, which is the person's @returns {boolean} whether it may be made */
function edit(change) {
  if (page.readOnly) say(_("The sheet can only be read here."));
  else {
    change();
    page.changed();
  }
  return !page.readOnly;
}

/** @param {number} frame pause, and show it */
function jump(frame) {
  page.player?.video.pause();
  page.player?.toFrame(Math.min(frame, frames.count - 1));
  follow(frames.seconds(frame));
}

/** @param {string} step @param {string} [id] a segment of it that I and O move */
function arm(step, id = "") {
  [armed, chosen, lane] = [step, id, "segments"];
  show();
  byId("steps-list").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}

/** @param {number} by */
function armNext(by) {
  arm(order[Math.min(order.length - 1, Math.max(0, order.indexOf(armed) + by))]);
  say(_("Step {name} is armed.", { name: nameOf(armed) }));
}

/** @param {string} id of a segment or an action */
function choose(id) {
  const span = spanOf(id);
  if (!span) return;
  if (span.verb === undefined) arm(span.step, id);
  else [chosen, lane] = [id, "actions"];
  show();
}

/** @param {Span} span @param {Side} side @param {number} frame @returns {boolean} whether it may be there, and was put there */
function place(span, side, frame) {
  const other = frames.at(side === "start_s" ? span.end_s : span.start_s);
  const alone = side === "start_s" && isOpen(span);
  if (Number.isNaN(frame)) say(_("A time is written as 1:02.500, a frame as f1875."));
  else if (!alone && (side === "start_s" ? frame >= other : frame <= other)) say(_("The start has to come before the end: {times}.", { times: textOf(span) }));
  else if (frame >= 0 && frame <= frames.count) return edit(() => Object.assign(span, { [side]: frames.seconds(frame) }, alone ? { end_s: frames.seconds(frame) } : {}));
  return false;
}

/** @param {Side} side @param {boolean} [stay] pause at the frame that was set */
function mark(side, stay = false) {
  const frame = here();
  const span = target();
  const closes = side === "end_s" && span && isOpen(span);
  if (!span && side === "end_s") return say(_("Mark the start first: I."));
  if (!span && lane === "segments" && isMissing(armed)) return say(_("This step is tagged as missing: take the tag off first."));
  const begun = { id: newId(), step: armed, start_s: frames.seconds(frame), end_s: frames.seconds(frame) };
  const kept = span ? place(span, side, frame) : edit(() => sheet[lane].push(lane === "segments" ? begun : { ...begun, verb: "", noun: "", source: "manual" }));
  if (!kept) return;
  const values = { time: clockText(begun.start_s), name: lane === "segments" ? nameOf(armed) : _("action") };
  say(side === "start_s" ? _("Start {time}: {name}.", values) : _("End {time}: {name}.", values));
  if (stay) jump(frame);
  if (closes && lane === "actions") byId(`verb-${span.id}`)?.focus();
  if (!closes || lane === "actions") return;
  const at = order.indexOf(span.step) + 1;
  const next = [...order.slice(at), ...order.slice(0, at)].find((id) => !isDone(id));
  if (next) arm(next);
}

function split() {
  const time = frames.seconds(here());
  const span = [spanOf(chosen), ...segmentsOf(armed), ...sheet.segments].find((s) => s && s.verb === undefined && s.start_s < time && time < s.end_s);
  if (!span) return say(_("No segment can be split here."));
  edit(() => {
    sheet.segments.push({ ...span, id: newId(), start_s: time });
    span.end_s = time;
    say(_("Split at {time}: {name}.", { time: clockText(time), name: nameOf(span.step) }));
  });
}

/** @param {"segments"|"actions"|"errors"|"narrations"} list @param {any} item taken out, and put back with Undo @param {string} what */
function takeOut(list, item, what) {
  edit(() => {
    sheet[list] = sheet[list].filter((/** @type {any} */ one) => one !== item);
    if (chosen === item.id) chosen = "";
    showToast(_("Removed: {name}.", { name: what }), { label: _("Undo"), key: "z", run: () => void edit(() => sheet[list].push(item)) }, 10);
  });
}

function remove() {
  const span = target();
  if (!span) return say(_("Choose a segment first."));
  takeOut(span.verb === undefined ? "segments" : "actions", span, span.verb ?? nameOf(span.step));
}

/** @param {string} tag put on the armed step, or taken off */
function toggleTag(tag) {
  const old = errorsOf(armed).findLast((e) => e.tag === tag);
  if (old) return takeOut("errors", old, task.tags[tag]);
  if (tag === "missing" && segmentsOf(armed).length > 0) return say(_("This step is marked: remove its segments before you tag it as missing."));
  edit(() => {
    sheet.errors.push({ step: armed, tag, text: "", origin: "review" });
    say(`${task.tags[tag]}: ${nameOf(armed)}.`);
  });
}

// -- review pass, playhead ------------------------------------------------------------------------------------------

function toggleReview() {
  const list = sheet.segments.filter((/** @type {Span} */ s) => !isOpen(s)).flatMap((/** @type {Span} */ span) => [{ span, side: "start_s" }, { span, side: "end_s" }]);
  if (list.length === 0) return say(_("Nothing is marked yet."));
  review = review ? null : { at: -1, list: list.sort((/** @type {any} */ a, /** @type {any} */ b) => a.span[a.side] - b.span[b.side]) };
  nextBoundary();
}

/** Play around the next boundary; at the end, or when the pass was stopped, stand still. */
function nextBoundary() {
  const boundary = review?.list[review.at += 1];
  if (!review || !boundary) {
    review = null;
    page.player?.video.pause();
    return say(_("Review ended."));
  }
  arm(boundary.span.step, boundary.span.id);
  const values = { n: review.at + 1, total: review.list.length, name: nameOf(armed) };
  say(boundary.side === "start_s" ? _("Boundary {n} of {total}: start of {name}.", values) : _("Boundary {n} of {total}: end of {name}.", values));
  page.player?.toFrame(frames.at(Math.max(0, boundary.span[boundary.side] - AROUND_S)));
  void page.player?.video.play().catch(() => {});
}

/** @param {number} time of the frame on the screen */
function playhead(time) {
  const boundary = review?.list[review.at];
  if (boundary && (time >= boundary.span[boundary.side] + AROUND_S || page.player?.video.ended)) nextBoundary();
  if (!page.player?.video.paused) follow(time);
  for (const head of document.querySelectorAll(".playhead")) {
    const left = head.parentElement?.id === "overview" ? time / length : (time - from) / WINDOW_S;
    /** @type {HTMLElement} */ (head).hidden = left < 0 || left > 1;
    /** @type {HTMLElement} */ (head).style.left = `${100 * left}%`;
  }
  for (const [name, value] of [["max", length], ["now", time.toFixed(2)], ["text", _("{time}, frame {n}", { time: clockText(time), n: here() })]]) byId("overview").setAttribute(`aria-value${name}`, value);
}

/** @param {number} time to be inside the zoomed window */
function follow(time) {
  if (time < from || time > from + WINDOW_S) pan(time - WINDOW_S * 0.1);
}

/** @param {number} start of the zoomed window */
function pan(start) {
  from = Math.max(0, Math.min(start, length - WINDOW_S));
  lanes();
}

// -- showing --------------------------------------------------------------------------------------------------------

/** @param {string} act @param {string} text @param {Record<string, any>} [more] */
const button = (act, text, more = {}) => make("button", { type: "button", "data-act": act, ...more }, text);
/** @param {string} value @param {string} label */
const dropper = (value, label) => button("drop", "×", { value, "aria-label": label });
/** @param {string} tag @param {string} name @param {string} label @param {Record<string, any>} [more] */
const field = (tag, name, label, more = {}) => make(tag, { "data-field": name, "aria-label": label, dir: "auto", ...(tag === "input" ? { type: "text", maxlength: "200", autocomplete: "off" } : { rows: "1", maxlength: "4000" }), ...more });

/** @param {any} chip @param {Span} span @param {string} of */
function chipOf(chip, span, of) {
  put(chip, textOf(span));
  chip.setAttribute("aria-pressed", String(span.id === chosen));
  chip.setAttribute("aria-label", `${of}, ${textOf(span)}`);
}

function showSteps() {
  keyed(byId("steps-list"), order, String, (id) => make("li", { id: `step-${id}` }, button("arm", "", { class: "arm", value: id }), make("span", { class: "times" })), (row, id) => {
    const [arming, times] = row.children;
    const errors = errorsOf(id).length;
    row.className = isMissing(id) ? "missing-step" : isDone(id) ? "done" : "todo";
    const glyph = id === armed ? "▶" : { "missing-step": "✕", done: "✓", todo: "┄" }[/** @type {"done"} */ (row.className)];
    put(arming, [`${glyph} ${nameOf(id)}`, isMissing(id) && _("missing"), steps.get(id).optional && _("optional"), errors > 0 && `▲${errors}`].filter(Boolean).join(" · "));
    arming.ariaCurrent = id === armed ? "step" : null;
    keyed(times, segmentsOf(id), (s) => s.id, (s) => button("choose", "", { class: "time", value: s.id }), (chip, s) => chipOf(chip, s, nameOf(id)));
  });
  put(byId("steps-count"), _("{n} of {total} done", { n: order.filter(isDone).length, total: order.length }));
}

function showEditor() {
  const span = target();
  const own = segmentsOf(armed);
  const moves = lane === "actions" ? _("I and O move the action; Esc lets go.")
    : own.length > 1 && span ? _("I and O move segment {n} of {total}; Esc lets go.", { n: own.indexOf(span) + 1, total: own.length }) : _("I and O move the segment; Esc lets go.");
  const begins = lane === "actions" ? _("I marks the start of an action.") : own.length > 0 ? _("I marks the start of another segment.") : _("I marks the start of its segment.");
  put(byId("edit-title"), lane === "actions" ? _("Action") : _("Step {name}", { name: nameOf(armed) }));
  put(byId("edit-how"), spanOf(chosen) ? moves : span ? _("Start set. O marks the end.") : begins);
  for (const side of /** @type {Side[]} */ (["start_s", "end_s"])) {
    const time = span && (side === "start_s" || !isOpen(span)) ? span[side] : null;
    put(byId(side), time === null ? "" : clockText(time));
    put(byId(`${side}-frame`), time === null ? "–" : _("frame {n}", { n: frames.at(time) }));
    for (const control of document.querySelectorAll(`[data-side="${side}"]`)) /** @type {any} */ (control).disabled = page.readOnly || time === null;
  }
  const errors = errorsOf(armed);
  for (const each of document.querySelectorAll("[data-tag]")) each.ariaPressed = String(errors.some((e) => e.tag === each.getAttribute("data-tag")));
  const twin = (/** @type {any} */ e) => errors.filter((o) => o.tag === e.tag).indexOf(e);
  keyed(byId("errors"), errors, (e) => `${armed}/${e.tag}/${twin(e)}`, (e) => make("li", {}, make("span", {}, `▲ ${task.tags[e.tag]}`), field("textarea", "text", task.tags[e.tag])), (row, e) => {
    row.id = `error-${sheet.errors.indexOf(e)}`;
    row.item = e;
    put(row.lastElementChild, e.text);
  });
}

/** Bars of both windows and of the actions. */
function lanes() {
  const span = target();
  for (const [id, spans, start, width] of /** @type {[string, Span[], number, number][]} */ ([["overview", sheet.segments, 0, length], ["zoom", sheet.segments, from, WINDOW_S], ["acts", sheet.actions, from, WINDOW_S]])) {
    const rows = rowsOf(spans);
    if (!byId(id)) continue;
    byId(id).style.setProperty("--rows", String(Math.max(0, ...rows.values()) + 1));
    const inside = spans.filter((s) => Math.max(s.end_s, s.start_s) >= start && s.start_s <= start + width);
    keyed(byId(`${id}-bars`), inside, (s) => s.id, () => make("div", {}, make("span"), ...(id === "overview" ? [] : ["start_s", "end_s"].map((side) => make("i", { "data-handle": side })))), (bar, s) => {
      bar.className = ["bar-of", isOpen(s) && "open", s === span && "chosen", s.step === armed && "armed", s.verb === undefined && errorsOf(s.step).length && "wrong"].filter(Boolean).join(" ");
      bar.style.left = `${(100 * (s.start_s - start)) / width}%`;
      bar.style.width = `${(100 * Math.max(0, s.end_s - s.start_s)) / width}%`;
      bar.style.setProperty("--row", String(rows.get(s.id)));
      put(bar.firstElementChild, id === "overview" ? "" : s.verb === undefined ? nameOf(s.step) : `${s.verb} ${s.noun}`);
    });
  }
  byId("lens").style.left = `${(100 * from) / length}%`;
  byId("lens").style.width = `${(100 * WINDOW_S) / length}%`;
  put(byId("zoom-range"), `${clockText(from)} – ${clockText(from + WINDOW_S)}`);
}

function showNotes() {
  const at = (/** @type {string} */ id) => spanOf(id) ?? { step: "", start_s: 0 };
  const notes = [
    ...seen.order.map((/** @type {any} */ [a, b]) => ({ id: `order-${a}-${b}`, text: _("Order? Step {first} began before step {second}.", { first: nameOf(b), second: nameOf(a) }), time: segmentsOf(b)[0]?.start_s ?? 0, edge: JSON.stringify([a, b]) })),
    ...seen.gaps.map((/** @type {any} */ [a, b]) => ({ id: `gap-${a}`, text: _("Gap of {seconds} s", { seconds: figure(b - a, 1) }), time: a, edge: "" })),
    ...seen.overlaps.map((/** @type {any} */ [a, b]) => ({ id: `over-${a}-${b}`, text: _("Overlap: {first} and {second}", { first: nameOf(at(a).step), second: nameOf(at(b).step) }), time: at(b).start_s, edge: "" })),
  ];
  put(byId("notes-count"), notes.length ? String(notes.length) : _("nothing"));
  keyed(byId("notes"), notes.slice(0, MAX_ROWS), (n) => n.id, (n) => make("li", { id: n.id }, button("to", "", { class: "time" }), make("span"), ...(n.edge ? [button("confirm", _("A mistake"), { value: n.edge }), button("dismiss", _("No mistake"), { value: n.edge })] : [])), (row, n) => {
    row.className = n.edge ? "proposal" : "";
    row.firstElementChild.value = n.time;
    put(row.firstElementChild, clockText(n.time));
    put(row.children[1], n.text);
  });
}

function showActions() {
  if (!byId("actions")) return;
  byId(`lane-${lane}`).checked = true;
  if (lane === "actions") byId("actions").closest("details").open = true;
  const all = [...sheet.actions].sort(byTime);
  const listed = all.length <= MAX_ROWS ? all : all.filter((a) => a.step === armed || a.id === chosen).slice(0, MAX_ROWS);
  put(byId("actions-count"), listed.length < all.length ? _("{n}, those of the armed step are listed", { n: all.length }) : String(all.length));
  keyed(byId("actions"), listed, (a) => a.id, ({ id }) => make("li", { id: `action-${id}` }, button("choose", "", { class: "time", value: id }),
    field("input", "verb", _("Verb"), { id: `verb-${id}`, list: "verbs", placeholder: _("verb") }), field("input", "noun", _("Noun"), { list: "nouns", placeholder: _("noun") }), dropper(id, _("Remove this action"))), (row, a) => {
    row.item = a;
    chipOf(row.children[0], a, _("Action"));
    put(row.children[1], a.verb);
    put(row.children[2], a.noun);
  });
  for (const word of ["verb", "noun"]) {
    keyed(byId(`${word}s`), [...new Set(all.map((a) => a[word]).filter(Boolean))].sort(), String, (text) => make("option", { value: text }), () => {});
  }
}

function showNarrations() {
  if (!byId("narrations")) return;
  const said = [...sheet.narrations].sort((a, b) => a.video_s - b.video_s);
  put(byId("narrations-count"), String(said.length));
  byId("record").ariaPressed = String(recorder.on);
  keyed(byId("narrations"), said, (n) => n.id, (n) => make("li", { id: `narration-${n.id}` }, button("to", clockText(n.video_s), { class: "time", value: String(n.video_s) }), button("hear", _("Listen"), { value: n.id }),
    field("textarea", "text", _("What was said")), make("span", { class: "tiny muted" }), dropper(n.id, _("Remove this narration"))), (row, n) => {
    row.item = n;
    put(row.querySelector("textarea"), n.text);
    const seconds = figure(n.ms / 1000, 1);
    put(row.querySelector("span"), unsent.has(n.id) ? _("{seconds} s · on this device", { seconds }) : _("{seconds} s · sent", { seconds }));
  });
}

function show() {
  for (const part of [showSteps, showEditor, lanes, showNotes, showActions, showNarrations]) part();
  byId("proposals").hidden = page.readOnly || sheet.segments.length + sheet.errors.length > 0 || task.prelabels.length + task.planned.length === 0;
  for (const made of document.querySelectorAll("li :is([data-field], [data-act=drop], [data-act=confirm], [data-act=dismiss])")) /** @type {any} */ (made).disabled = page.readOnly;
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let looking;
let looks = 0;
/** Ask the server what stands out: the graph and its rules are there. */
function look() {
  clearTimeout(looking);
  looking = setTimeout(async () => {
    const turn = ++looks;
    const answer = await send("POST", `${page.path}/look`, { body: sheet, person: page.person });
    if (answer.kind !== "ok" || turn !== looks) return;
    seen = answer.data;
    showNotes();
  }, LOOK_MS);
}

// -- what people do -------------------------------------------------------------------------------------------------

/** @type {Record<string, (value: string) => void>} */
const acts = {
  arm, choose, split, remove, tag: toggleTag, review: toggleReview,
  start: () => mark("start_s"),
  end: () => mark("end_s"),
  record: () => (recorder.on ? recorder.stop() : record()),
  to: (value) => jump(frames.at(Number(value))),
  hear: (id) => void hear(id),
  confirm: (edge) => edit(() => sheet.errors.push({ step: JSON.parse(edge)[1], tag: "order", text: `Begun before step ${nameOf(JSON.parse(edge)[0])}.`, origin: "auto" })),
  dismiss: (edge) => edit(() => sheet.dismissed.push(JSON.parse(edge))),
  propose: () => edit(() => Object.assign(sheet, structuredClone({ segments: task.prelabels, errors: task.planned }))),
  drop: (id) => (spanOf(id) ? takeOut("actions", spanOf(id), _("action")) : takeOut("narrations", sheet.narrations.find((/** @type {any} */ n) => n.id === id), _("narration"))),
};

document.addEventListener("click", (event) => {
  const pressed = event.target instanceof Element ? event.target.closest("button") : null;
  const span = target();
  const { act, nudge, side } = pressed?.dataset ?? {};
  if (pressed && act) acts[act]?.(pressed.value);
  if (act === "choose" && spanOf(chosen)) jump(frames.at(/** @type {Span} */ (spanOf(chosen)).start_s));
  if (!nudge || !span) return;
  const frame = frames.at(span[/** @type {Side} */ (side)]) + Number(nudge);
  if (place(span, /** @type {Side} */ (side), frame)) jump(frame);
});

form.addEventListener("input", (event) => {
  const input = /** @type {HTMLInputElement} */ (event.target);
  const item = /** @type {any} */ (input.closest("li"))?.item;
  if (item && input.dataset.field) item[input.dataset.field] = input.value;
  else if (input.name === "note") sheet.note = input.value;
  else event.stopImmediatePropagation(); // A time that is being typed is no change yet.
});

form.addEventListener("change", (event) => {
  const input = /** @type {any} */ (event.target);
  const span = target();
  if (input.name === "lane") {
    [lane, chosen] = [input.value, ""];
    show();
  } else if (span && input.dataset.side) {
    const frame = frames.parse(input.value);
    if (place(span, input.dataset.side, frame)) jump(frame);
    input.value = clockText(span[/** @type {Side} */ (input.dataset.side)]);
  }
});

for (const id of ["overview", "zoom", "acts"]) {
  const box = byId(id);
  box?.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    if (event.button !== 0 || !(event.target instanceof Element)) return;
    const side = /** @type {Side | null} */ (event.target.getAttribute("data-handle"));
    const bar = event.target.closest(".bar-of");
    if (bar instanceof HTMLElement && id !== "overview") choose(bar.dataset.key ?? "");
    const span = spanOf(chosen);
    const move = (/** @type {PointerEvent} */ now) => {
      const area = box.getBoundingClientRect();
      const share = Math.min(1, Math.max(0, (now.clientX - area.left) / area.width));
      const frame = Math.min(frames.count, Math.floor((id === "overview" ? share * length : from + share * WINDOW_S) * frames.rate));
      if (!side || !span || place(span, side, frame)) page.player?.toFrame(frame);
    };
    page.player?.video.pause();
    if (!side) move(event);
    box.setPointerCapture(event.pointerId);
    box.addEventListener("pointermove", move);
    for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, () => box.removeEventListener("pointermove", move), { once: true });
  });
  box?.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: 60, PageDown: -60 }[event.key];
    if (!by) return;
    event.preventDefault();
    if (id === "overview") jump(Math.max(0, here() + Math.round(by * frames.rate)));
    else pan(from + 10 * by);
    playhead(frames.seconds(here()));
  });
}

// -- narration ------------------------------------------------------------------------------------------------------

function record() {
  if (!narrations || page.readOnly || !task.narration) return;
  const plays = page.player && !page.player.video.paused;
  const frame = here();
  jump(frame);
  void recorder.start({
    begun: () => {
      say(_("Recording. Speak; the video stands still."));
      showNarrations();
    },
    done: (clip, why) => {
      if (clip) {
        unsent.add(clip.id);
        void narrations.keep(page.pid, clip);
        edit(() => sheet.narrations.push({ id: clip.id, video_s: frames.seconds(frame), text: "", asr: null, ms: clip.ms }));
      }
      say(why || _("Kept. It is sent by itself."));
      showNarrations();
      page.player?.toFrame(frame);
      if (plays) void page.player?.video.play().catch(() => {});
    },
  });
}

/** @param {string} id */
async function hear(id) {
  const sound = new AudioContext();
  try {
    const source = sound.createBufferSource();
    source.buffer = await sound.decodeAudioData(/** @type {ArrayBuffer} */ (await narrations?.bytes(page.pid, id)));
    source.connect(sound.destination);
    source.onended = () => void sound.close();
    source.start();
  } catch {
    say(_("The sound is not on this device, and the server does not have it yet."));
  }
}

/** @param {KeyboardEvent} press hold to record */
function hold(press) {
  const release = (/** @type {KeyboardEvent} */ event) => {
    if (event.code !== press.code) return;
    removeEventListener("keyup", release);
    recorder.stop();
  };
  addEventListener("keyup", release);
  record();
}
for (const name of ["blur", "pagehide"]) addEventListener(name, () => recorder.stop());
narrations?.heard.addEventListener("change", async () => {
  unsent = await narrations.waiting();
  showNarrations();
});

// -- the page -------------------------------------------------------------------------------------------------------

/** @returns {{message: string, card: HTMLElement | null} | null} what the server cannot say better */
function missing() {
  const open = [...sheet.segments, ...sheet.actions].find(isOpen);
  const undone = order.find((id) => !isDone(id) && ((task.complete && !steps.get(id).optional) || errorsOf(id).length > 0));
  if (recorder.on) return { message: _("A narration is being recorded: end it first."), card: byId("narration-card") };
  if (open) return { message: open.verb === undefined ? _("Step {name} has a start and no end: press O at its end, or remove it.", { name: nameOf(open.step) }) : _("An action has a start and no end: press O at its end, or remove it."), card: byId(`step-${open.step}`) };
  return undone ? { message: _("Mark step {name}, or tag it as a missing step.", { name: nameOf(undone) }), card: byId(`step-${undone}`) } : null;
}

/** @param {any} value @returns {string} a part of the sheet in words */
function inWords(value) {
  if (!Array.isArray(value)) return value || _("empty");
  const lines = value.map((one) => (Array.isArray(one) ? one.map(nameOf).join(" → ")
    : [one.start_s === undefined ? "" : textOf(one), task.tags[one.tag], one.verb, one.noun, one.step && nameOf(one.step), one.text].filter(Boolean).join(" ")));
  return lines.join("\n") || _("none");
}

const PARTS = { segments: _("Segments"), errors: _("Mistakes"), dismissed: _("Order proposals dismissed"), actions: _("Actions"), narrations: _("Narrations"), note: _("Note") };
/** @type {[string, string, string, (event: KeyboardEvent) => boolean | void][]} */
const KEYS = [
  ["start", _("Start here"), "i", () => mark("start_s")],
  ["end", _("End here, and on to the next step"), "o", () => mark("end_s")],
  ["start-stay", _("Start here, and stop at it"), "Shift+i", () => mark("start_s", true)],
  ["end-stay", _("End here, and stop at it"), "Shift+o", () => mark("end_s", true)],
  ["split", _("Split the segment"), "s", split],
  ["remove", _("Remove the segment"), "Delete", remove],
  ["step-before", _("Step before"), "ArrowUp", () => armNext(-1)],
  ["step-after", _("Step after"), "ArrowDown", () => armNext(1)],
  ["errors", _("Mistakes of the step"), "e", () => /** @type {HTMLElement | null} */ (document.querySelector("[data-tag]"))?.focus()],
  ...Object.entries(task.tags).map(([tag, label], n) => /** @type {[string, string, string, () => void]} */ ([`tag-${tag}`, _("Mistake: {name}", { name: label }), String(n + 1), () => toggleTag(tag)])),
  ["review", _("Review pass"), "r", toggleReview],
  ["lane", _("Steps or actions"), "a", () => byId(lane === "segments" ? "lane-actions" : "lane-segments")?.click()],
  ["narrate", _("Hold and speak"), "n", hold],
  ["let-go", _("Let go of the segment; end the review"), "Escape", () => {
    if (review) return toggleReview();
    chosen = "";
    show();
  }],
];

const clip = byId("clip");
if (clip) clip.dataset.fps = `${task.fps_num}/${task.fps_den}`;
const page = startPage({
  read: () => sheet,
  fill: (given) => {
    const first = sheet.segments.length === 0;
    sheet = { ...sheet, ...structuredClone(given) };
    for (const n of sheet.narrations) if (n.asr === null && task.heard[n.id] !== undefined) Object.assign(n, { asr: task.heard[n.id], text: n.text || task.heard[n.id] });
    byId("sheet").elements.note.value = sheet.note;
    if (first) armed = order.find((id) => !isDone(id)) ?? armed;
  },
  missing,
  changed: () => {
    show();
    look();
  },
  differences: (mine, theirs) => Object.entries(PARTS).filter(([id]) => JSON.stringify(mine[id]) !== JSON.stringify(theirs?.[id]))
    .map(([id, name]) => ({ id, name, mine: mine[id], theirs: theirs?.[id] ?? (id === "note" ? "" : []), show: inWords })),
  cardOf: (name) => byId(name.startsWith("segment-") ? `step-${spanOf(name.slice(8))?.step}` : name === "segments" ? "steps-list" : name),
  nameOf: () => "",
  keys: KEYS.map(([id, label, key, run]) => ({ id, group: _("Timeline"), label, keys: [key], run, repeat: key.startsWith("Arrow") })),
});
clip?.addEventListener("clip-at", (/** @type {any} */ event) => playhead(event.detail));
