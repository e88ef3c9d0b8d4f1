/** Recordings: prepare a script, do it while the tablet records, look back on it. What was planned is never changed by what was done. */

import { make, shown } from "./dom.js";
import { startPage } from "./page.js";
import { slices } from "./slices.js";
import { askRecorder, batteryLeft, Camera, CLOCK, holds, roomFor, shouldInstall, stayAwake, toNs, workOffline } from "./tablet.js";
import { send } from "./wire.js";
import { _, _in } from "./words.js";

const HOLD_MS = 1000;
/** Below them it warns, and stops: minutes of room, share of the battery. */
const [ROOM, BATTERY] = [[10, 2], [0.15, 0.05]];

const form = /** @type {any} */ (document.getElementById("sheet"));
const task = JSON.parse(form.dataset.task ?? "{}");
const script = task.steps.map((/** @type {any} */ s) => ({ id: s.step, text: s.modified ?? s.text, out: false }));
/** Steps that are to be done, and those that are not. @type {{id: string, text: string, out: boolean}[]} */
const all = [...script, ...task.left_out.map((/** @type {string[]} */ [id, text]) => ({ id, text, out: true }))];
let sheet = /** @type {any} */ ({ stage: "prepare", ready: [], texts: {}, planned: [], events: [], slices: {}, review: [], note: "" });
let [viewer, recording, started, part] = [false, false, false, ""];
let [offline, hiddenAt, room] = [_("not known yet"), 0, /** @type {number | null} */ (null)];
let recorder = /** @type {any} of other sensors; null where none listens */ (null);
const warned = /** @type {Set<string>} each warning comes once */ (new Set());

const byId = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
/** @param {{id: string, text: string}} step @returns {string} what the participant reads */
const textOf = (step) => sheet.texts[step.id] || step.text;
/** @param {string} step @returns {any[]} what the script and the participant planned */
const plannedIn = (step) => [...task.mistakes, ...sheet.planned].filter((m) => m.step === step);
const nameOf = (/** @type {any} */ m) => [task.kinds[m.kind] ?? m.kind, m.text].filter(Boolean).join(": ");
/** @param {string} step @returns {any} what was said of it */
const reviewOf = (step) => sheet.review.find((/** @type {any} */ r) => r.step === step);
const eventsOf = (/** @type {string} */ kind) => sheet.events.filter((/** @type {any} */ e) => e.kind === kind);
const span = (/** @type {number} */ seconds) => `${Math.floor(Math.max(0, seconds) / 60)}:${String(Math.floor(Math.max(0, seconds)) % 60).padStart(2, "0")}`;
/** @param {string} [wall] @returns {number} seconds since the recording began, by labels alone: it may have gone over several loads */
const since = (wall = new Date().toISOString()) => (Date.parse(wall) - Date.parse(eventsOf("state")[0]?.wall)) / 1000 || 0;
const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));
const minutes = (/** @type {number} */ value) => (value >= 600 ? _("10 h or more") : _("{n} min", { n: Math.floor(value) }));
const camera = new Camera(task.streams, async (what) => {
  if (recording) await log("sensor", { stream: part, text: what });
  await lamps();
});

/** Place in the script: steps done, less those that were taken back. */
const place = () => eventsOf("step_done").length - eventsOf("mark").filter((e) => e.text === "back").length;

/** Write down what happens; it is on the device before anything moves. @param {string} kind @param {any} [more] @returns {Promise<void>} */
const log = (kind, more) => sheet.events.push({ n: sheet.events.length, kind, wall: new Date().toISOString(), clock: CLOCK, device_ns: toNs(), ...more }) && page.changed();

/** @template {HTMLElement} T @param {T} field @param {(field: T) => void} heard @param {string} [event] @returns {T} told before the page saves what changed */
function heardBy(field, heard, event = "input") {
  field.addEventListener(event, () => heard(field));
  return field;
}

/** @param {string} label @param {() => void} run @param {string} [name] */
const button = (label, run, name) => heardBy(make("button", { type: "button", "aria-label": name }, label), run, "click");

/** @param {string} label @param {string} value @param {(text: string) => void} heard */
function textBox(label, value, heard) {
  const field = /** @type {HTMLTextAreaElement} */ (make("textarea", { rows: "2", maxlength: "2000", dir: "auto", "aria-label": label, placeholder: label }));
  field.value = value;
  return heardBy(field, () => heard(field.value));
}

/** @param {string} type @param {string} label @param {boolean} checked @param {(on: boolean) => void} heard @param {string} [name] */
const tick = (type, label, checked, heard, name) => make("label", { class: "tick" },
  heardBy(/** @type {HTMLInputElement} */ (make("input", { type, name, checked })), (one) => heard(one.checked)), make("span", {}, label));

/** @param {any} mistake @param {() => void} gone @returns {HTMLElement} kind, text and a button that takes it away */
function mistakeRow(mistake, gone) {
  const kinds = Object.entries(task.kinds).map(([kind, name]) => make("option", { value: kind, selected: kind === mistake.kind }, name));
  const kind = heardBy(/** @type {HTMLSelectElement} */ (make("select", { "aria-label": _("Kind of mistake") }, ...kinds)), (one) => (mistake.kind = one.value));
  const text = /** @type {HTMLInputElement} */ (make("input", { type: "text", value: mistake.text, maxlength: "2000", placeholder: _("what exactly"), "aria-label": _("What exactly"), dir: "auto" }));
  return make("div", { class: "mistake" }, kind, heardBy(text, () => (mistake.text = text.value)), button("×", gone, _("Remove this mistake")));
}

function drawScript() {
  const plan = (/** @type {any[]} */ planned) => {
    sheet.planned = planned;
    drawScript();
    void page.changed();
  };
  byId("script").replaceChildren(...script.map((/** @type {any} */ step, /** @type {number} */ n) => {
    const own = sheet.planned.filter((/** @type {any} */ m) => m.step === step.id);
    const hints = task.hints.filter((/** @type {any} */ h) => h.step === step.id).map((/** @type {any} */ h) => make("li", {}, h.by === "text" ? nameOf(h) : `${nameOf(h)} (${h.by})`));
    return make("li", {},
      task.prepares ? textBox(_("Text of step {n}", { n: n + 1 }), textOf(step), (text) => (sheet.texts = { ...sheet.texts, [step.id]: text })) : make("p", { dir: "auto" }, textOf(step)),
      ...task.mistakes.filter((/** @type {any} */ m) => m.step === step.id).map((/** @type {any} */ m) => make("p", { class: "planned" }, _("Planned: {name}", { name: nameOf(m) }))),
      ...own.map((/** @type {any} */ m) => mistakeRow(m, () => plan(sheet.planned.filter((/** @type {any} */ one) => one !== m)))),
      task.prepares ? button(_("Plan a mistake here"), () => plan([...sheet.planned, { step: step.id, kind: "technique", text: "" }])) : "",
      hints.length > 0 ? make("details", {}, make("summary", {}, _("Hints")), make("ul", {}, ...hints)) : "");
  }), ...all.filter((s) => s.out).map((s) => make("li", { class: "left-out" }, _("Left out on purpose:"), " ", make("s", { dir: "auto" }, s.text))));
}

/** @param {boolean | null} good null: nothing is wrong, and nothing is there @param {string} text */
const lamp = (good, text) => make("li", { class: `lamp ${good ? "good" : good === null ? "none" : "poor"}` }, make("span", { "aria-hidden": "true" }, good ? "●" : good === null ? "○" : "▲"), ` ${text}`);

/** Show what each sensor is, before and while it records. @returns {Promise<number | null>} share of the battery */
async function lamps() {
  room = await roomFor(camera.perMinute);
  const left = await batteryLeft();
  const called = (/** @type {string} */ name) => /** @type {Record<string, string>} */ ({ camera: _("camera"), microphone: _("microphone") })[name] ?? name;
  const sensors = task.streams.map((/** @type {string} */ name) => lamp(camera.has(name) || (recording ? false : null), [called(name), ...(camera.has(name) ? [] : [camera.said || _("not there")])].join(": ")));
  const why = camera.said || _("no camera");
  if (!camera.stream) sensors.push(lamp(null, _("display only: {why}", { why })));
  for (const s of recorder?.sensors ?? []) sensors.push(lamp(s.state === "green", [s.name, s.message].filter(Boolean).join(": ")));
  byId("lamps").replaceChildren(...sensors);
  byId("sensors").replaceChildren(...sensors.map((/** @type {Node} */ n) => n.cloneNode(true)),
    ...(recorder?.checks ?? []).map((/** @type {any} */ c) => lamp(c.ok, [c.name, c.seen, c.ok ? "" : c.hint].filter(Boolean).join(": "))),
    room === null ? lamp(null, _("this browser does not say how much room there is")) : lamp(room >= task.minutes, _("room for {time} ({n} min wanted)", { time: minutes(room), n: task.minutes })),
    left === null ? "" : lamp(left >= BATTERY[0], _("battery {percent} %", { percent: Math.round(left * 100) })),
    offline ? lamp(null, _("needs the network: {why}", { why: offline })) : lamp(true, _("works without a network")),
    shouldInstall() ? lamp(false, _("add this page to the home screen: otherwise what is unsent is deleted after seven days")) : "");
  byId("room").textContent = room === null ? "" : _("{time} left", { time: minutes(room) });
  return left;
}

async function begin() {
  const open = task.checks.filter((/** @type {string} */ name) => !sheet.ready.includes(name)).length;
  const why = open > 0 ? _("Confirm all of the list first: {n} are open.", { n: open }) : room !== null && room < ROOM[1] ? _("This tablet has no room left: free some, and load the page again.") : "";
  byId("before-error").textContent = why;
  if (why || recording) return;
  await camera.open();
  sheet.stage = "record";
  await log("state", { text: "recording" });
  await startPart();
  for (let n = task.countdown_s; n > 0; n -= 1) {
    Object.assign(byId("countdown"), { hidden: false, textContent: String(n) });
    await pause(1000);
  }
  byId("countdown").hidden = true;
  byId("flash").hidden = false; // A white screen, for cameras to be lined up by.
  const at = await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  await log("clap", { device_ns: toNs(at), text: "flash" });
  await pause(300);
  byId("flash").hidden = true;
  await nextStep();
}

/** Record on the tablet, where it can, and have a recorder start: each page load begins a part of its own. */
async function startPart() {
  recording = true;
  stayAwake();
  show();
  part = `tablet-${Object.keys(sheet.slices).length + 1}`;
  let seq = 0;
  const begun = await camera.start(async (slice) => {
    const why = await slices?.keep(page.pid, { part, seq: seq + 1, ...slice }).then(() => "", (error) => error.why ?? error.name);
    if (why) return void stop(`the tablet could not keep its last seconds: ${why}`, _("The recording ended by itself: the tablet could not keep its last seconds: {why}.", { why }));
    sheet.slices[part] = seq += 1;
    await page.changed();
  });
  if (begun) sheet.slices[part] ??= 0;
  await (begun ? log("sensor", { stream: part, text: "began" }) : log("mark", { text: `display only: ${camera.why || "no camera"}` }));
  if (recorder) recorder = (await askRecorder(page, "arm")) && (await askRecorder(page, "start"));
  void pairClocks();
}

/** @param {string} [kind] @param {any} [event] done, or taken back; pressed once until the next step is shown */
async function nextStep(kind, event) {
  for (const id of ["done", "back-step"]) byId(id).disabled = true;
  if (kind) await log(kind, event);
  if (script[place()]) await log("step_start", { step: script[place()].id });
  show();
}

/** @param {string} [why] it ended by itself, as it is written down @param {string} [said] and as it is said */
async function stop(why = "", said = "") {
  if (!recording) return;
  recording = false;
  if (why) await log("warning", { text: why });
  await log("state", { text: "stopped" });
  if (recorder) void askRecorder(page, "stop");
  await camera.stop();
  sheet.stage = "review";
  await page.changed();
  byId("why-stopped").textContent = said;
  drawReview();
  show();
}

/** The page was loaded again while it recorded: the same session goes on, and says what it lacks. */
async function resume() {
  const away = Math.max(0, Date.now() - Date.parse(sheet.events.at(-1)?.wall)) || 0;
  await camera.open();
  await log("gap", { start_ns: toNs() - toNs(away), end_ns: toNs(), text: "the page was loaded again; where it begins is by wall time" });
  await log("state", { text: "resumed" });
  await startPart();
  await nextStep();
  alarm(_("The page was loaded again: {time} are not recorded. Recording goes on.", { time: span(away / 1000) }));
}

/** @param {string} said @param {string} [text] as it is written down, once @param {string} [once] what it is known by */
function alarm(said, text = "", once = text) {
  if (warned.has(once)) return;
  if (once && warned.add(once)) void log("warning", { text });
  byId("alarm").querySelector("p").textContent = said;
  byId("alarm").hidden = false;
}

/** Room, battery and sensors, while there is something to look at. */
async function look() {
  if (viewer || sheet.stage === "review") return;
  if (!recording || recorder) recorder = await askRecorder(page, "preflight");
  const left = (await lamps()) ?? 1;
  if (!recording) return;
  if ((room ?? 60) < ROOM[1]) await stop("the tablet has no room left", _("The recording ended by itself: the tablet has no room left."));
  else if (left < BATTERY[1]) await stop("the battery is empty", _("The recording ended by itself: the battery is empty."));
  else if ((room ?? 60) < ROOM[0]) alarm(_("This tablet has room for {time} more.", { time: minutes(room ?? 0) }), `This tablet has room for ${Math.floor(room ?? 0)} min more.`, "room");
  else if (left < BATTERY[0]) alarm(_("The battery is at {percent} %.", { percent: Math.round(left * 100) }), `The battery is at ${Math.round(left * 100)} %.`, "battery");
  for (const text of [...(recorder?.warnings ?? []), ...(recorder?.asks ?? [])]) alarm(text, text);
}

/** The server's clock beside ours, and how long the question took. */
async function pairClocks() {
  const before = performance.now();
  const answer = recording ? await send("GET", `${page.path}/clock`, { timeout: 5000 }) : null;
  const after = performance.now();
  if (recording && answer?.kind === "ok") await log("clock", { host_ns: answer.data.host_ns, device_ns: toNs((before + after) / 2), rtt_ns: toNs(after - before) });
}

/** Stopping needs a second of holding: an elbow on the screen ends nothing. */
function holdToStop() {
  const key = byId("stop");
  let timer = 0;
  const press = () => {
    if (timer || key.disabled) return;
    key.classList.add("holding");
    timer = window.setTimeout(() => void stop(), HOLD_MS);
  };
  const release = () => {
    if (timer) byId("stop-said").textContent = _("Hold it for a whole second to stop.");
    timer = clearTimeout(timer) ?? 0;
    key.classList.remove("holding");
  };
  key.addEventListener("pointerdown", press);
  for (const name of ["pointerup", "pointerleave", "pointercancel", "contextmenu"]) key.addEventListener(name, release);
  addEventListener("keydown", (event) => (event.key === "Escape" || (event.key === "Enter" && document.activeElement === key)) && press());
  for (const name of ["keyup", "blur"]) addEventListener(name, release);
}

/** @param {string} step @param {any} change of what is said of it; what goes without saying is left out, as the server does */
function say(step, change) {
  const now = { step, ...reviewOf(step), ...change };
  for (const name of ["done", "as_planned"]) if (now[name] !== false) delete now[name];
  for (const name of ["performed", "mistakes"]) if (!now[name]?.length) delete now[name];
  sheet.review = [...sheet.review.filter((/** @type {any} */ r) => r.step !== step), now];
}

/** @param {any} step done as it was planned, with the mistakes that were planned */
const asPlanned = (step) => say(step.id, { as_planned: true, done: !step.out, performed: "", mistakes: plannedIn(step.id).map((m) => ({ ...m, origin: "script" })) });

/** @param {any} step @param {number} n */
function reviewCard(step, n) {
  const planned = plannedIn(step.id);
  const oopses = eventsOf("oops").filter((/** @type {any} */ e) => e.step === step.id);
  const told = [...planned.map((m) => _("Planned: {name}", { name: nameOf(m) })), ...oopses.map((e) => _("Oops at {time}", { time: span(since(e.wall)) }))];
  const more = make("div", { class: "differs" });
  const change = (/** @type {any[]} */ mistakes) => {
    say(step.id, { mistakes });
    draw();
    void page.changed();
  };
  const draw = () => {
    const now = reviewOf(step.id);
    more.hidden = now?.as_planned !== false;
    if (more.hidden) return more.replaceChildren();
    const mistakes = now.mistakes ?? [];
    const without = (/** @type {any} */ gone) => mistakes.filter((/** @type {any} */ m) => m !== gone);
    more.replaceChildren(
      tick("checkbox", _("It was not done"), now.done === false, (on) => say(step.id, { done: !on })),
      ...planned.map((m) => {
        const there = mistakes.find((/** @type {any} */ one) => one.origin === "script" && one.kind === m.kind && one.text === m.text);
        return tick("checkbox", _("Made as planned: {name}", { name: nameOf(m) }), there !== undefined, (on) => change(on ? [...mistakes, { ...m, origin: "script" }] : without(there)));
      }),
      textBox(_("What was done instead"), now.performed ?? "", (performed) => say(step.id, { performed })),
      ...mistakes.filter((/** @type {any} */ m) => m.origin !== "script").map((/** @type {any} */ m) => mistakeRow(m, () => change(without(m)))),
      button(_("Add a mistake"), () => change([...mistakes, { step: step.id, kind: "technique", text: "" }])),
    );
  };
  const choose = (/** @type {string} */ label, /** @type {boolean} */ on, /** @type {() => void} */ run) => tick("radio", label, on, () => {
    run();
    draw();
  }, `review-${step.id}`);
  const now = reviewOf(step.id);
  const live = oopses.map(() => ({ step: step.id, kind: "other", text: "", origin: "live" }));
  draw();
  return make("fieldset", { class: "panel", id: `review-${step.id}` }, make("legend", { dir: "auto" }, `${n + 1}. ${textOf(step)}`), ...told.map((text) => make("p", { class: "planned" }, text)),
    make("div", { class: "row" }, choose(_("As planned"), now !== undefined && now.as_planned !== false, () => asPlanned(step)),
      choose(_("Differently"), now?.as_planned === false, () => say(step.id, { as_planned: false, done: true, mistakes: live }))), more);
}

const drawReview = () => byId("review-steps").replaceChildren(...all.map(reviewCard));

function show() {
  const { stage } = sheet;
  document.body.dataset.stage = stage;
  for (const [id, name] of [["prepare", "prepare"], ["recording", "record"], ["review", "review"]]) byId(id).hidden = stage !== name;
  byId("rec").textContent = !recording ? _("○ not recording here") : camera.stream ? _("● REC") : _("● steps only");
  byId("preview").hidden = !camera.has("camera");
  if (camera.stream && byId("preview").srcObject !== camera.stream) {
    byId("preview").srcObject = camera.stream;
    void byId("preview").play().catch(() => {});
  }
  const texts = script.map(textOf);
  const at = place();
  byId("step-count").textContent = at < texts.length ? _("Step {n} of {total}", { n: at + 1, total: texts.length }) : "";
  byId("step-now").textContent = (task.paragraph && at < texts.length ? texts.map((t) => (/[.!?]$/.test(t) ? t : `${t}.`)).join(" ") : texts[at] && shown(texts[at])) ?? _("All steps are done. Hold Stop.");
  byId("step-next").textContent = texts[at + 1] && !task.paragraph ? _("Then: {step}", { step: shown(texts[at + 1]) }) : "";
  const on = recording && eventsOf("step_start").length > 0;
  for (const [id, may] of [["done", at < texts.length], ["back-step", at > 0], ["oops", true], ["stop", true]]) byId(id).disabled = !(on && may);
}

/** Another tablet may record this: then this one looks on, until it takes over. */
async function askLease() {
  if (viewer || (await holds(page))) return;
  viewer = true;
  page.setReadOnly(true, _("Another tablet records this."));
  byId("readonly-banner").hidden = true;
  byId("lease").hidden = byId("lease").querySelector("button").disabled = false;
  recording = false;
  await camera.stop();
  show();
}

/** @type {Record<string, () => unknown>} */
const ACTS = {
  begin,
  done: () => byId("done").disabled || nextStep("step_done", { step: script[place()].id }),
  back: () => byId("back-step").disabled || nextStep("mark", { text: "back", step: script[place() - 1].id }),
  oops: async () => {
    if (byId("oops").disabled) return;
    await log("oops", { step: script[Math.min(place(), script.length - 1)].id });
    byId("stop-said").textContent = _("Oops at {time} is noted. Say more after the recording.", { time: span(since()) });
  },
  rest: () => {
    // What nothing was said of, and nothing was noted in, went as planned.
    for (const step of all) if (!reviewOf(step.id) && !eventsOf("oops").some((e) => e.step === step.id)) asPlanned(step);
    drawReview();
    void page.changed();
  },
  hush: () => (byId("alarm").hidden = true),
  take: async () => {
    await holds(page, true);
    location.reload();
  },
};

async function ready() {
  await askLease();
  if (started || viewer) return;
  started = true;
  if (sheet.stage === "record" && eventsOf("state").at(-1)?.text === "stopped") sheet.stage = "review";
  else if (sheet.stage === "record" && !page.readOnly) await resume();
  if (sheet.stage === "prepare") await camera.open();
  show();
  for (const [run, ms] of /** @type {[() => unknown, number][]} */ ([[look, 3000], [askLease, 10_000], [pairClocks, 30_000]])) setInterval(run, ms);
  await look();
  offline = await workOffline(page.path);
  document.body.toggleAttribute("data-offline", offline === "");
  await lamps();
}

const PARTS = { stage: _in("of a recording", "Stage"), ready: _("Confirmed"), texts: _("Step texts"), planned: _("Planned mistakes"), events: _in("of a recording", "Events"), slices: _("Slices"), review: _in("of a recording", "Review"), note: _("Note") };
const inWords = (/** @type {any} */ value) => (Array.isArray(value) && typeof value[0] === "object" ? _("{n} entries", { n: value.length }) : typeof value === "object" ? JSON.stringify(value) : value || _("empty"));
const boxes = /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll("input[name=ready]")]);

const page = startPage({
  read: () => sheet,
  fill: (given) => {
    sheet = { ...sheet, ...structuredClone(given) };
    form.elements.note.value = sheet.note;
    for (const box of boxes) box.checked = sheet.ready.includes(box.value);
    drawScript();
    drawReview();
    show();
  },
  ready: () => void ready(),
  offline: true,
  missing: () => {
    if (sheet.stage !== "review") return { message: _("Record first; what happened is asked after it."), card: byId("prepare") };
    const open = all.find((step) => !reviewOf(step.id));
    return open ? { message: _("Say whether “{step}” was done as planned.", { step: textOf(open) }), card: byId(`review-${open.id}`) } : null;
  },
  differences: (mine, theirs) => Object.entries(PARTS).filter(([id]) => JSON.stringify(mine[id]) !== JSON.stringify(theirs?.[id]))
    .map(([id, name]) => ({ id, name, mine: mine[id], theirs: theirs?.[id] ?? sheet[id], show: inWords })),
  cardOf: (name) => byId(name.startsWith("review.") ? `review-${name.slice(7)}` : name === "ready" ? "card-ready" : ""),
  nameOf: () => "",
  group: _("Recording"),
  keys: [["done", _("Step done"), "Space", "PageDown"], ["oops", _("Oops"), "o"]].map(([id, label, ...keys]) => ({ id, group: _("Recording"), label, keys, run: () => (recording ? void ACTS[id]() : false) }))
    .concat({ id: "stop", group: _("Recording"), label: _("Stop (hold for a second)"), keys: ["Escape"], run: () => false }),
});

heardBy(form.elements.note, (note) => (sheet.note = note.value));
for (const box of boxes) heardBy(box, () => (sheet.ready = boxes.filter((one) => one.checked).map((one) => one.value)));
form.addEventListener("click", (/** @type {MouseEvent} */ event) => {
  const act = event.target instanceof Element ? event.target.closest("[data-act]")?.getAttribute("data-act") : null;
  if (act && (act === "take" || !page.readOnly)) void ACTS[act]();
});
holdToStop();
document.addEventListener("visibilitychange", () => {
  const hidden = document.visibilityState === "hidden";
  if (recording && !hidden) stayAwake();
  if (recording && !hidden && hiddenAt) {
    void log("gap", { stream: part, start_ns: toNs(hiddenAt), end_ns: toNs(), text: "in the background" });
    alarm(_("This page was in the background for {time}: the recording may lack that.", { time: span((performance.now() - hiddenAt) / 1000) }));
  }
  hiddenAt = hidden ? performance.now() : 0;
});
addEventListener("beforeunload", (event) => recording && event.preventDefault());
slices?.heard.addEventListener("change", () => {
  byId("upload").textContent = slices?.waiting ? _("{n} slices of the recording are still being sent.", { n: slices.waiting }) : "";
});
setInterval(() => recording && (byId("elapsed").textContent = span(since())), 500);
