/** Recordings: prepare a script, do it while the tablet records, look back on it. What was planned is never changed by what was done. */

import { make } from "./dom.js";
import { startPage } from "./page.js";
import { theSlices } from "./slices.js";
import { batteryLeft, Camera, CLOCK, holds, readClocks, roomFor, shouldInstall, sliceKeeper, stayAwake, toNs, workOffline } from "./tablet.js";

const HOLD_MS = 1000;
const LOOK_MS = 3000;
const CLOCK_MS = 30_000;
const LEASE_MS = 10_000;
const ROOM_WARN = 10;
const ROOM_STOP = 2;
const BATTERY_WARN = 0.15;
const BATTERY_STOP = 0.05;

const form = /** @type {HTMLFormElement} */ (document.getElementById("sheet"));
const task = JSON.parse(form.dataset.task ?? "{}");
const person = document.body.dataset.person ?? "";
/** @type {any[]} steps that are to be done, and those that are not */
const script = task.steps;
const all = [...script.map((/** @type {any} */ s) => ({ id: s.step, text: s.modified ?? s.text, out: false })), ...task.left_out.map((/** @type {string[]} */ [id, text]) => ({ id, text, out: true }))];
/** @type {any} */
let sheet = { stage: "prepare", ready: [], texts: {}, planned: [], events: [], slices: {}, review: [], note: "" };
let viewer = false;
let recording = false;
let offline = "…";
let hiddenAt = 0;
/** @type {number | null} */
let room = null;
/** Warnings that were given: each comes once. @type {Set<string>} */
const warned = new Set();

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);
/** @param {{id: string, text: string}} step @returns {string} what the participant reads */
const textOf = (step) => sheet.texts[step.id] || step.text;
/** @param {string} step @returns {any[]} what the script and the participant planned */
const plannedIn = (step) => [...task.mistakes, ...sheet.planned].filter((m) => m.step === step);
/** @param {any} m */
const nameOf = (m) => [task.kinds[m.kind] ?? m.kind, m.text].filter(Boolean).join(": ");
/** @param {string} step @returns {any} what was said of it */
const reviewOf = (step) => sheet.review.find((/** @type {any} */ r) => r.step === step);
/** @param {string} kind @returns {any[]} */
const eventsOf = (kind) => sheet.events.filter((/** @type {any} */ e) => e.kind === kind);
const lastState = () => eventsOf("state").at(-1)?.text ?? "";
const camera = new Camera(task.streams, async (what) => {
  if (recording) await log("sensor", { stream: "tablet", text: what });
  await lamps();
});
const wake = stayAwake(() => recording);

/** @param {number} seconds @returns {string} minutes and seconds */
const clockText = (seconds) => `${Math.floor(Math.max(0, seconds) / 60)}:${String(Math.floor(Math.max(0, seconds)) % 60).padStart(2, "0")}`;

/** Place in the script: steps done, less those that were taken back. */
function place() {
  const taken = eventsOf("mark").filter((e) => e.text === "back").length;
  return Math.min(script.length, Math.max(0, eventsOf("step_done").length - taken));
}

/** Write down what happens; it is on the device before anything moves. @param {string} kind @param {any} [more] @returns {Promise<void>} */
function log(kind, more = {}) {
  sheet.events.push({ n: sheet.events.length, kind, wall: new Date().toISOString(), clock: CLOCK, device_ns: toNs(), ...more });
  return page.changed();
}

// -- preparing -----------------------------------------------------------------------------------------------------

/** @param {string} value @param {(kind: string) => void} chosen @returns {HTMLElement} */
function kindSelect(value, chosen) {
  const options = Object.entries(task.kinds).map(([kind, name]) => make("option", { value: kind, selected: kind === value }, name));
  const select = /** @type {HTMLSelectElement} */ (make("select", { "aria-label": "Kind of mistake" }, ...options));
  select.addEventListener("input", () => chosen(select.value));
  return select;
}

/** @param {any} mistake @param {() => void} gone @returns {HTMLElement} kind, text and a button that takes it away */
function mistakeRow(mistake, gone) {
  const text = /** @type {HTMLInputElement} */ (make("input", { type: "text", value: mistake.text ?? "", maxlength: "2000", placeholder: "what exactly", "aria-label": "What exactly", dir: "auto" }));
  text.addEventListener("input", () => (mistake.text = text.value));
  const away = make("button", { type: "button", "aria-label": "Remove this mistake" }, "×");
  away.addEventListener("click", gone);
  return make("div", { class: "mistake" }, kindSelect(mistake.kind, (kind) => (mistake.kind = kind)), text, away);
}

/** @param {string} label @param {() => void} run */
function button(label, run) {
  const made = make("button", { type: "button" }, label);
  made.addEventListener("click", run);
  return made;
}

function drawScript() {
  byId("script").replaceChildren(...all.filter((s) => !s.out).map((step) => {
    const item = make("li", {}, task.prepares ? "" : make("p", { dir: "auto" }, textOf(step)));
    if (task.prepares) {
      const field = /** @type {HTMLTextAreaElement} */ (make("textarea", { rows: "2", maxlength: "2000", dir: "auto", "aria-label": `Text of step ${all.indexOf(step) + 1}` }));
      field.value = textOf(step);
      field.addEventListener("input", () => (sheet.texts = { ...sheet.texts, [step.id]: field.value }));
      item.append(field);
    }
    for (const m of task.mistakes.filter((/** @type {any} */ m) => m.step === step.id)) item.append(make("p", { class: "planned" }, `Planned: ${nameOf(m)}`));
    const mine = sheet.planned.filter((/** @type {any} */ m) => m.step === step.id);
    const without = (/** @type {any} */ m) => {
      sheet.planned = sheet.planned.filter((/** @type {any} */ one) => one !== m);
      drawScript();
      void page.changed();
    };
    item.append(...mine.map((/** @type {any} */ m) => mistakeRow(m, () => without(m))));
    if (task.prepares) item.append(button("Plan a mistake here", () => {
      sheet.planned.push({ step: step.id, kind: "technique", text: "" });
      drawScript();
      void page.changed();
    }));
    const hints = task.hints.filter((/** @type {any} */ h) => h.step === step.id);
    if (hints.length > 0) item.append(make("details", {}, make("summary", {}, "Hints"), make("ul", {}, ...hints.map((/** @type {any} */ h) => make("li", {}, `${nameOf(h)} (${h.by})`)))));
    return item;
  }), ...all.filter((s) => s.out).map((s) => make("li", { class: "left-out" }, "Left out on purpose: ", make("s", { dir: "auto" }, s.text))));
}

/** @param {"good" | "poor" | "none"} state @param {string} text */
const lamp = (state, text) => make("li", { class: `lamp ${state}` }, make("span", { "aria-hidden": "true" }, { good: "●", poor: "▲", none: "○" }[state]), ` ${text}`);

/** What each sensor is, before and while it records. */
async function lamps() {
  room = await roomFor(camera.perMinute);
  const left = await batteryLeft();
  const named = task.streams.map((/** @type {string} */ name) => (camera.has(name) ? lamp("good", name) : lamp(recording ? "poor" : "none", `${name}: ${camera.why || "not there"}`)));
  if (task.streams.length === 0) named.push(lamp("none", `display only: ${camera.why}`));
  byId("lamps").replaceChildren(...named);
  const rooms = room === null ? lamp("none", "this browser does not say how much room there is") : lamp(room >= task.minutes ? "good" : "poor", `room for ${minutes(room)} (${task.minutes} min wanted)`);
  const power = left === null ? [] : [lamp(left >= BATTERY_WARN ? "good" : "poor", `battery ${Math.round(left * 100)} %`)];
  const net = offline === "" ? lamp("good", "works without a network") : lamp("none", `needs the network: ${offline}`);
  const install = shouldInstall() ? [lamp("poor", "add this page to the home screen: otherwise what is unsent is deleted after seven days")] : [];
  byId("sensors").replaceChildren(...named.map((/** @type {Node} */ n) => n.cloneNode(true)), rooms, ...power, net, ...install);
  byId("room").textContent = room === null ? "" : `${minutes(room)} left`;
  return left;
}

/** @param {number} value */
const minutes = (value) => (value >= 600 ? "10 h or more" : `${Math.floor(value)} min`);

// -- recording -----------------------------------------------------------------------------------------------------

async function begin() {
  const open = task.checks.filter((/** @type {string} */ name) => !sheet.ready.includes(name));
  byId("before-error").textContent = page.readOnly ? "" : open.length > 0 ? `Confirm all of the list first: ${open.length} are open.` : room !== null && room < ROOM_STOP ? "This tablet has no room left: free some, and load the page again." : "";
  if (page.readOnly || byId("before-error").textContent) return;
  await camera.open();
  sheet.stage = "record";
  await log("state", { text: "recording" });
  await startPart();
  for (let n = task.countdown_s; n > 0; n -= 1) {
    byId("countdown").hidden = false;
    byId("countdown").textContent = String(n);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  byId("countdown").hidden = true;
  await flash();
  await nextStep();
}

/** Record on the tablet, where it can: each page load begins a part of its own. */
async function startPart() {
  recording = true;
  wake();
  show();
  const part = `tablet-${Object.keys(sheet.slices).length + 1}`;
  const keep = sliceKeeper(page.pid, part);
  const begun = await camera.start(async (slice) => {
    try {
      sheet.slices[part] = await keep(slice);
      await page.changed();
    } catch {
      await alarm("This tablet could not keep the last two seconds: its storage is full.", "full");
      await stop("storage");
    }
  });
  if (begun) sheet.slices[part] = 0;
  await log("mark", begun ? { stream: "tablet", text: `part ${part}` } : { text: `display only: ${camera.why || "nothing to record with"}` });
  void pairClocks();
}

/** A white screen, for cameras to be lined up by. */
async function flash() {
  byId("flash").hidden = false;
  const at = await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  await log("clap", { device_ns: toNs(at), text: "flash" });
  await new Promise((resolve) => setTimeout(resolve, 300));
  byId("flash").hidden = true;
}

async function nextStep() {
  const step = script[place()];
  if (step) await log("step_start", { step: step.step });
  show();
}

async function done() {
  const step = script[place()];
  if (!recording || !step || byId("done").disabled) return;
  byId("done").disabled = true; // Until the next step is shown: an elbow presses twice.
  await log("step_done", { step: step.step });
  await nextStep();
}

async function back() {
  if (!recording || place() === 0) return;
  await log("mark", { text: "back", step: script[place() - 1].step });
  await nextStep();
}

async function oops() {
  if (!recording) return;
  await log("oops", { step: script[Math.min(place(), script.length - 1)]?.step ?? "" });
  byId("stop-said").textContent = `Oops at ${clockText(elapsed())} is noted. Say more after the recording.`;
}

/** @param {string} [why] */
async function stop(why = "") {
  if (!recording) return;
  recording = false;
  if (why) await log("warning", { text: why });
  await log("state", { text: "stopped" });
  await camera.stop();
  camera.close();
  sheet.stage = "review";
  drawReview();
  await page.changed();
  show();
  byId("h-review").scrollIntoView();
}

/** The page was loaded again, or its process ended, while it recorded: the same session goes on, and says what it lacks. */
async function resume() {
  const last = sheet.events.at(-1);
  const away = Math.max(0, Date.now() - Date.parse(last?.wall ?? ""));
  await camera.open();
  await log("gap", { stream: "tablet", start_ns: toNs() - toNs(away), end_ns: toNs(), text: "the page was loaded again; its beginning is by wall time" });
  await log("state", { text: "resumed" });
  await startPart();
  await nextStep();
  await alarm(`The page was loaded again: ${clockText(away / 1000)} are not recorded. Recording goes on.`);
}

/** @param {string} text @param {string} [once] */
async function alarm(text, once = "") {
  if (once && warned.has(once)) return;
  if (once) {
    warned.add(once);
    await log("warning", { text });
  }
  byId("alarm").querySelector("p").textContent = text;
  byId("alarm").hidden = false;
}

const elapsed = () => Math.max(0, (Date.now() - Date.parse(eventsOf("state")[0]?.wall ?? "")) / 1000) || 0;

/** Room, battery and sensors, while there is something to look at. */
async function look() {
  if (viewer || sheet.stage === "review") return;
  const left = await lamps();
  if (!recording) return;
  if (room !== null && room < ROOM_STOP) await stop("storage");
  else if (left !== null && left < BATTERY_STOP) await stop("battery");
  else if (room !== null && room < ROOM_WARN) await alarm(`This tablet has room for ${minutes(room)} more.`, "storage");
  else if (left !== null && left < BATTERY_WARN) await alarm(`The battery is at ${Math.round(left * 100)} %.`, "battery");
}

async function pairClocks() {
  const pair = recording ? await readClocks(page.path) : null;
  if (pair && recording) await log("clock", pair);
}

/** Stopping needs a second of holding: an elbow on the screen ends nothing. */
function holdToStop() {
  const key = byId("stop");
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const press = () => {
    if (timer !== undefined || !recording) return;
    key.classList.add("holding");
    timer = setTimeout(() => {
      release();
      void stop();
    }, HOLD_MS);
  };
  const release = () => {
    if (timer !== undefined && recording) byId("stop-said").textContent = "Hold it for a whole second to stop.";
    clearTimeout(timer);
    timer = undefined;
    key.classList.remove("holding");
  };
  key.addEventListener("pointerdown", press);
  for (const name of ["pointerup", "pointerleave", "pointercancel", "contextmenu"]) key.addEventListener(name, release);
  const isHold = (/** @type {KeyboardEvent} */ e) => e.key === "Escape" || (e.key === "Enter" && document.activeElement === key);
  addEventListener("keydown", (event) => {
    if (recording && isHold(event)) press();
  });
  addEventListener("keyup", release);
  addEventListener("blur", release);
}

// -- looking back --------------------------------------------------------------------------------------------------

/** @param {string} step @param {any} change of what is said of it; what goes without saying is left out, as the server does */
function say(step, change) {
  const now = { step, ...reviewOf(step), ...change };
  if (now.done !== false) delete now.done;
  if (now.as_planned !== false) delete now.as_planned;
  for (const name of ["performed", "mistakes"]) if (!now[name]?.length) delete now[name];
  sheet.review = [...sheet.review.filter((/** @type {any} */ r) => r.step !== step), now];
}

/** @param {{id: string, out: boolean}} step as it was planned, its mistakes too */
function asPlanned(step) {
  say(step.id, { as_planned: true, done: !step.out, performed: "", mistakes: plannedIn(step.id).map((m) => ({ ...m, origin: "script" })) });
}

/** @param {any} step @param {number} n @returns {HTMLElement} */
function reviewCard(step, n) {
  const oopses = eventsOf("oops").filter((e) => e.step === step.id);
  const card = make("fieldset", { class: "panel", id: `review-${step.id}` }, make("legend", { dir: "auto" }, `${n + 1}. ${textOf(step)}`));
  const planned = plannedIn(step.id);
  card.append(...planned.map((m) => make("p", { class: "planned" }, `Planned: ${nameOf(m)}`)), ...oopses.map((e) => make("p", { class: "planned" }, `Oops at ${clockText((Date.parse(e.wall) - Date.parse(eventsOf("state")[0]?.wall)) / 1000)}`)));
  const more = make("div", { class: "differs" });
  const radio = (/** @type {string} */ label, /** @type {boolean} */ on, /** @type {() => void} */ run) => {
    const input = make("input", { type: "radio", name: `review-${step.id}`, checked: on });
    input.addEventListener("input", () => {
      run();
      draw();
    });
    return make("label", { class: "tick" }, input, make("span", {}, label));
  };
  const draw = () => {
    const now = reviewOf(step.id);
    more.hidden = !now || now.as_planned !== false;
    if (more.hidden) return more.replaceChildren();
    const box = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox", checked: now.done === false }));
    box.addEventListener("input", () => say(step.id, { done: !box.checked }));
    const text = /** @type {HTMLTextAreaElement} */ (make("textarea", { rows: "2", maxlength: "4000", dir: "auto", "aria-label": "What was done instead" }));
    text.value = now.performed ?? "";
    text.addEventListener("input", () => say(step.id, { performed: text.value }));
    const mistakes = now.mistakes ?? [];
    const change = (/** @type {any[]} */ list) => {
      say(step.id, { mistakes: list });
      draw();
      void page.changed();
    };
    const confirm = planned.map((m) => {
      const there = mistakes.find((/** @type {any} */ one) => one.origin === "script" && one.kind === m.kind && one.text === m.text);
      const tick = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox", checked: there !== undefined }));
      tick.addEventListener("input", () => change(tick.checked ? [...mistakes, { ...m, origin: "script" }] : mistakes.filter((/** @type {any} */ one) => one !== there)));
      return make("label", { class: "tick" }, tick, make("span", {}, `Made as planned: ${nameOf(m)}`));
    });
    const others = mistakes.filter((/** @type {any} */ m) => m.origin !== "script");
    more.replaceChildren(
      make("label", { class: "tick" }, box, make("span", {}, "It was not done")), ...confirm,
      make("label", {}, "What was done instead", text),
      ...others.map((/** @type {any} */ m) => mistakeRow(m, () => change(mistakes.filter((/** @type {any} */ one) => one !== m)))),
      button("Add a mistake", () => change([...mistakes, { step: step.id, kind: "technique", text: "" }])),
    );
  };
  const now = reviewOf(step.id);
  const differ = () => say(step.id, { as_planned: false, done: true, mistakes: oopses.map(() => ({ step: step.id, kind: "other", text: "", origin: "live" })) });
  card.append(make("div", { class: "row" }, radio("As planned", now !== undefined && now.as_planned !== false, () => asPlanned(step)), radio("Differently", now?.as_planned === false, differ)), more);
  draw();
  return card;
}

function drawReview() {
  byId("review-steps").replaceChildren(...all.map(reviewCard));
}

/** What nothing was said of, and nothing was noted in, went as planned. */
function rest() {
  for (const step of all) if (!reviewOf(step.id) && !eventsOf("oops").some((e) => e.step === step.id)) asPlanned(step);
  drawReview();
  void page.changed();
}

// -- the page ------------------------------------------------------------------------------------------------------

function show() {
  const { stage } = sheet;
  document.body.dataset.stage = stage;
  byId("prepare").hidden = stage !== "prepare";
  byId("recording").hidden = stage !== "record";
  byId("review").hidden = stage !== "review";
  byId("rec").textContent = !recording ? "○ not recording here" : camera.stream ? "● REC" : "● steps only";
  byId("preview").hidden = !camera.has("camera");
  if (camera.stream && byId("preview").srcObject !== camera.stream) {
    byId("preview").srcObject = camera.stream;
    void byId("preview").play().catch(() => {});
  }
  const at = place();
  const texts = all.filter((s) => !s.out).map(textOf);
  byId("step-count").textContent = at < script.length ? `Step ${at + 1} of ${script.length}` : "";
  byId("step-now").textContent = texts[at] ?? "All steps are done. Hold Stop.";
  byId("step-next").textContent = texts[at + 1] ? `Then: ${texts[at + 1]}` : "";
  if (byId("whole")) byId("whole").textContent = texts.join(" ");
  const begun = eventsOf("step_start").length > 0;
  byId("done").disabled = !recording || !begun || at >= script.length;
  byId("back-step").disabled = !recording || at === 0;
  for (const id of ["oops", "stop"]) byId(id).disabled = !recording || !begun;
}

/** @param {boolean} on another tablet records */
function setViewer(on) {
  viewer = on;
  byId("lease").hidden = !on;
  if (!on) return;
  page.setReadOnly(true, "Another tablet records this.");
  byId("readonly-banner").hidden = true;
  byId("lease").querySelector("button").disabled = false;
  if (recording) {
    recording = false;
    void camera.stop().then(() => camera.close());
  }
  show();
}

async function askLease() {
  if (!viewer && !(await holds(page.path, person))) setViewer(true);
}

/** @type {Record<string, () => unknown>} */
const ACTS = {
  begin, done, back, oops, rest,
  hush: () => (byId("alarm").hidden = true),
  take: async () => {
    await holds(page.path, person, true);
    location.reload();
  },
};

let started = false;
async function ready() {
  await askLease();
  if (started || viewer) return;
  started = true;
  if (sheet.stage === "record" && !page.readOnly && lastState() !== "stopped") await resume();
  else if (sheet.stage === "record") sheet.stage = "review";
  if (sheet.stage === "prepare") await camera.open();
  show();
  await lamps();
  offline = await workOffline(page.path);
  document.body.toggleAttribute("data-offline", offline === "");
  await lamps();
  setInterval(() => void look(), LOOK_MS);
  setInterval(() => void pairClocks(), CLOCK_MS);
  setInterval(() => void askLease(), LEASE_MS);
}

const PARTS = { stage: "Stage", ready: "Confirmed", texts: "Step texts", planned: "Planned mistakes", events: "Events", slices: "Slices", review: "Review", note: "Note" };
/** @param {any} value @returns {string} */
const inWords = (value) => (Array.isArray(value) && typeof value[0] === "object" ? `${value.length} entries` : typeof value === "object" ? JSON.stringify(value) : value || "empty");

const page = startPage({
  read: () => sheet,
  fill: (given) => {
    sheet = { ...sheet, ...structuredClone(given) };
    form.elements.note.value = sheet.note;
    for (const box of form.querySelectorAll("input[name=ready]")) /** @type {any} */ (box).checked = sheet.ready.includes(/** @type {any} */ (box).value);
    drawScript();
    drawReview();
  },
  changed: show,
  ready: () => void ready(),
  offline: true,
  missing: () => {
    if (sheet.stage !== "review") return { message: "Record first; what happened is asked after it.", card: byId("prepare") };
    const open = all.find((step) => !reviewOf(step.id));
    return open ? { message: `Say of “${textOf(open)}” whether it was done as planned.`, card: byId(`review-${open.id}`) } : null;
  },
  differences: (mine, theirs) => Object.entries(PARTS).filter(([id]) => JSON.stringify(mine[id]) !== JSON.stringify(theirs?.[id]))
    .map(([id, name]) => ({ id, name, mine: mine[id], theirs: theirs?.[id] ?? sheet[id], show: inWords })),
  cardOf: (name) => byId(name.startsWith("review.") ? `review-${name.slice(7)}` : name === "ready" ? "card-ready" : ""),
  nameOf: () => "",
  group: "Recording",
  keys: [
    { id: "step-done", group: "Recording", label: "Step done", keys: ["Space", "PageDown"], run: () => (recording ? void done() : false) },
    { id: "oops", group: "Recording", label: "Oops", keys: ["o"], run: () => (recording ? void oops() : false) },
    { id: "stop", group: "Recording", label: "Stop (hold for a second)", keys: ["Escape"], run: () => false },
  ],
});

form.elements.note.addEventListener("input", () => (sheet.note = form.elements.note.value));
for (const box of form.querySelectorAll("input[name=ready]")) {
  box.addEventListener("input", () => (sheet.ready = [...form.querySelectorAll("input[name=ready]:checked")].map((one) => /** @type {any} */ (one).value)));
}
form.addEventListener("click", (event) => {
  const act = event.target instanceof Element ? event.target.closest("[data-act]")?.getAttribute("data-act") : null;
  if (act && (act === "take" || !page.readOnly)) void ACTS[act]?.();
});
holdToStop();
document.addEventListener("visibilitychange", () => {
  if (!recording) return;
  if (document.visibilityState === "hidden") {
    hiddenAt = performance.now();
  } else if (hiddenAt) {
    const from = hiddenAt;
    hiddenAt = 0;
    void log("gap", { stream: "tablet", start_ns: toNs(from), end_ns: toNs(), text: "in the background" });
    void alarm(`This page was in the background for ${clockText((performance.now() - from) / 1000)}: the recording may lack that.`);
  }
});
addEventListener("beforeunload", (event) => {
  if (recording) event.preventDefault();
});
theSlices()?.heard.addEventListener("change", () => {
  const left = theSlices()?.waiting ?? 0;
  byId("upload").textContent = left > 0 ? `${left} slices of the recording are still being sent.` : "";
});
setInterval(() => {
  if (recording) byId("elapsed").textContent = clockText(elapsed());
}, 500);
