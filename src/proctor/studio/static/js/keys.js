/** Keys: single letters outside text fields (WCAG 2.1.4: remappable, can be switched off), and the sheet that lists them. */

import { dialogOrNew, isTextField, make } from "./dom.js";
import { _, _in } from "./words.js";

/** @typedef {{id: string, group: string, label: string, keys: string[], run: (event: KeyboardEvent) => boolean | void,
 *   repeat?: boolean, native?: boolean}} Action
 * `run` returns false to let the browser have the key. `repeat`: holding the key repeats. `native`: a focused button,
 * link or box keeps Space for itself. Keys are written `Mod+Enter` (Ctrl or ⌘), `Alt+ArrowLeft`, `Shift+,`, `y`, `Space`. */

/** @typedef {{single: boolean, map: Record<string, string[]>}} Choice */

/** @type {Map<string, Action>} */
const actions = new Map();
/** @type {Choice} */
let choice = { single: true, map: {} };
let storageName = "proctor:keys";
let listening = false;

/** Characters by place on the keyboard, for layouts whose letters are not Latin. @type {Record<string, string>} */
const PLACES = {
  Comma: ",", Period: ".", Slash: "/", Semicolon: ";", Quote: "'", BracketLeft: "[", BracketRight: "]", Minus: "-", Equal: "=",
  Backquote: "`", Backslash: "\\",
};

/** @param {string} code @returns {string} */
function characterAt(code) {
  if (/^Key[A-Z]$/.test(code)) return code.slice(3).toLowerCase();
  if (/^(Digit|Numpad)\d$/.test(code)) return code.slice(-1);
  return PLACES[code] ?? "";
}

/** @param {string} key */
const isLetter = (key) => key.length === 1 && key.toLowerCase() !== key.toUpperCase();

/**
 * The names under which a key press may be bound, best first: what is printed, then for digits and for keys that print
 * nothing Latin the place on the keyboard.
 * @param {KeyboardEvent} event
 * @returns {string[]}
 */
export function namesOf(event) {
  const typedByAltGr = event.getModifierState("AltGraph");
  const mod = !typedByAltGr && (event.ctrlKey || event.metaKey) ? "Mod+" : "";
  const alt = !typedByAltGr && event.altKey ? "Alt+" : "";
  const shift = event.shiftKey ? "Shift+" : "";
  const key = event.key === " " ? "Space" : event.key;
  const printed = key.length === 1;
  /** @type {string[]} */
  const names = [];
  if (printed && key.charCodeAt(0) < 128) {
    names.push(mod + alt + (isLetter(key) ? shift : "") + key.toLowerCase());
  } else if (!printed) {
    names.push(mod + alt + shift + key);
  }
  const place = characterAt(event.code);
  const isDigit = /^\d$/.test(place);
  if (place && printed && (isDigit || key.charCodeAt(0) >= 128)) {
    // The shifted top row of AZERTY prints digits itself; elsewhere it prints signs that are nobody's digit.
    if (!(isDigit && event.shiftKey)) names.push(mod + alt + shift + place);
  }
  if (event.shiftKey && PLACES[event.code]) names.push(`${mod}${alt}Shift+${PLACES[event.code]}`);
  return names;
}

/** @param {string} name @returns {boolean} whether it is a key without Ctrl, ⌘ or Alt */
const isSingle = (name) => !name.startsWith("Mod+") && !name.startsWith("Alt+");

/** @param {Action} action @returns {string[]} */
const keysOf = (action) => choice.map[action.id] ?? action.keys;

/** @param {string[]} names @returns {Action | undefined} */
function find(names) {
  for (const name of names) {
    for (const action of actions.values()) if (keysOf(action).includes(name)) return action;
  }
  return undefined;
}

/** @param {EventTarget | null} target @returns {boolean} whether Space does something there by itself */
function keepsSpace(target) {
  if (!(target instanceof Element)) return false;
  if (target instanceof HTMLInputElement && target.type === "radio" && target.checked) return false;
  return target.closest("button, a[href], audio, summary, input, [role=button], [data-step]") !== null;
}

/** @param {KeyboardEvent} event @param {Action} action @param {string[]} names */
function mayRun(event, action, names) {
  const target = event.target;
  const name = names.find((n) => keysOf(action).includes(n)) ?? "";
  if (isSingle(name) && name !== "Escape") {
    if (!choice.single || isTextField(target)) return false;
  }
  // In text, Alt+arrows on a Mac move by words.
  if (name.startsWith("Alt+") && isTextField(target) && /Mac|iP/.test(navigator.platform)) return false;
  if (event.repeat && !action.repeat) return false;
  return !(action.native && name === "Space" && keepsSpace(target));
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
  const names = namesOf(event);
  const action = find(names);
  if (!action || !mayRun(event, action, names)) return;
  if (action.run(event) !== false) event.preventDefault();
}

/** @param {Action[]} more */
export function register(more) {
  for (const action of more) actions.set(action.id, action);
}

/** @param {string} person whose choices of keys hold */
export function listen(person) {
  storageName = `proctor:keys:${person || "nobody"}`;
  try {
    // `data-keys` on the body is what the person's settings on the server say.
    const stored = JSON.parse(localStorage.getItem(storageName) ?? document.body.dataset.keys ?? "null");
    if (stored && typeof stored.map === "object") choice = { single: stored.single !== false, map: cleanMap(stored.map) };
  } catch {
    // A broken or forbidden store means the keys as delivered.
  }
  if (listening) return;
  listening = true;
  document.addEventListener("keydown", onKey);
  register([{ id: "keys", group: _("Page"), label: _("Show this list"), keys: ["?"], run: openSheet }]);
  document.getElementById("keys-open")?.addEventListener("click", openSheet);
}

/** @param {any} map @returns {Record<string, string[]>} */
function cleanMap(map) {
  /** @type {Record<string, string[]>} */
  const found = {};
  for (const [id, keys] of Object.entries(map ?? {})) {
    found[id] = (Array.isArray(keys) ? keys : [keys]).filter((key) => typeof key === "string" && key !== "");
  }
  return found;
}

/** Let the server's settings hold again. */
export function forgetKeys() {
  try {
    localStorage.removeItem(storageName);
  } catch {
    // Nothing was kept.
  }
}

function store() {
  try {
    localStorage.setItem(storageName, JSON.stringify(choice));
  } catch {
    // The choice then holds for this page only.
  }
}

/** @param {string} name @returns {string} as people write it */
function spoken(name) {
  const mac = /Mac|iP/.test(navigator.platform);
  return name
    .replace("Mod+", mac ? "⌘" : `${_in("key", "Ctrl")}+`).replace("Alt+", mac ? "⌥" : "Alt+")
    .replace("ArrowLeft", "←").replace("ArrowRight", "→").replace("Space", _in("key", "Space"))
    .replace(/(^|\+)([a-z])$/, (_whole, before, letter) => before + letter.toUpperCase());
}

/** The sheet lists keys; changing them is asked for. */
let editing = false;

export function openSheet() {
  const dialog = dialogOrNew("keys-dialog", _("Keys"));
  editing = false;
  renderSheet(dialog);
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0; // The button in focus may be at the end.
}

/** @param {HTMLDialogElement} dialog */
function renderSheet(dialog) {
  let list = dialog.querySelector("[data-keys-list], .keys-body");
  if (!list) {
    list = make("div", { "data-keys-list": true });
    dialog.append(list);
  }
  const box = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox", "data-keys-single": true }));
  box.checked = choice.single;
  box.addEventListener("change", () => {
    choice.single = box.checked;
    store();
  });
  const message = make("p", { role: "status", class: "keys-message" });
  const edit = make("button", { type: "button", "data-keys-edit": true }, editing ? _("Done") : _("Change keys"));
  edit.addEventListener("click", () => {
    editing = !editing;
    renderSheet(dialog);
    const again = dialog.querySelector("[data-keys-edit]");
    if (again instanceof HTMLElement) again.focus();
  });
  /** @type {Node[]} */
  const parts = [message];
  for (const group of new Set([...actions.values()].map((action) => action.group))) {
    const rows = listed([...actions.values()].filter((a) => a.group === group)).map((a) => sheetRow(a, dialog, message));
    parts.push(make("table", { class: "keys-table" }, make("caption", {}, group), make("tbody", {}, ...rows)));
  }
  const reset = make("button", { type: "button", "data-keys-reset": true }, _("All keys as delivered"));
  reset.addEventListener("click", () => {
    choice = { single: true, map: {} };
    store();
    renderSheet(dialog);
  });
  const single = make("label", { class: "keys-single" }, box, " ", _("Single keys work outside text fields"));
  parts.push(make("div", { class: "keys-edit" }, ...(editing ? [single, reset] : []), edit));
  if (!dialog.querySelector("[data-close], [data-closes], form[method=dialog]")) {
    const close = make("button", { type: "button" }, _("Close"));
    close.addEventListener("click", () => dialog.close());
    parts.push(close);
  }
  list.replaceChildren(...parts);
}

/** While the sheet is only read, answers 1 to 9 are one row. @param {Action[]} found @returns {Action[]} */
function listed(found) {
  if (editing) return found;
  const numbered = found.filter(({ id }) => /^answer-\d$/.test(id));
  const last = numbered[numbered.length - 1];
  if (!last || numbered.some((a) => keysOf(a)[0] !== a.id.slice(7))) return found;
  const one = { ...numbered[0], id: "answers", label: _("Go to an answer, by its number"), keys: [`${numbered[0].keys[0]} … ${last.keys[0]}`] };
  return found.filter((a) => !numbered.includes(a) || a === numbered[0]).map((a) => (a === numbered[0] ? one : a));
}

/** @param {Action} action @param {HTMLDialogElement} dialog @param {HTMLElement} message */
function sheetRow(action, dialog, message) {
  const keys = keysOf(action);
  const shown = keys.length > 0 ? keys.map((name) => make("kbd", {}, spoken(name))) : [make("em", {}, _in("keys", "none"))];
  const change = make("button", { type: "button", "data-keys-change": action.id, "aria-label": _("Change the key for: {action}", { action: action.label }) }, _("Change"));
  change.addEventListener("click", () => capture(action, dialog, message, change));
  return make("tr", {}, make("th", { scope: "row" }, action.label), make("td", {}, ...shown), ...(editing ? [make("td", {}, change)] : []));
}

/** @param {Action} action @param {HTMLDialogElement} dialog @param {HTMLElement} message @param {HTMLElement} button */
function capture(action, dialog, message, button) {
  message.textContent = _("Press the key for “{action}”. Escape: leave it. Delete: no key.", { action: action.label });
  const stop = () => {
    removeEventListener("keydown", hear, true);
    button.removeEventListener("blur", stop);
  };
  /** @param {KeyboardEvent} event */
  const hear = (event) => {
    if (["Shift", "Control", "Alt", "Meta", "AltGraph", "CapsLock"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Tab") return;
    stop();
    message.textContent = "";
    if (event.key !== "Escape") {
      const name = event.key === "Delete" ? "" : (namesOf(event)[0] ?? "");
      const taken = name && [...actions.values()].find((other) => other.id !== action.id && keysOf(other).includes(name));
      if (taken) {
        message.textContent = _("{key} already means “{action}”.", { key: spoken(name), action: taken.label });
        return;
      }
      choice.map[action.id] = name ? [name] : [];
      store();
      renderSheet(dialog);
      const again = dialog.querySelector(`[data-keys-change="${CSS.escape(action.id)}"]`);
      if (again instanceof HTMLElement) again.focus();
    }
  };
  addEventListener("keydown", hear, true);
  button.addEventListener("blur", stop);
}
