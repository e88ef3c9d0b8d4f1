/** What every page does: send what waits, keep the theme, open dialogs, confirm, filter tables. */

import { wireAsk } from "./ask.js";
import { awaitClips } from "./cutting.js";
import { countSlices } from "./device.js";
import { watchMarks } from "./direction.js";
import { make } from "./dom.js";
import { forgetKeys, listen, register } from "./keys.js";
import { theNarrations } from "./narrations.js";
import { theOutbox } from "./outbox.js";
import { slices } from "./slices.js";
import { watchSignIn } from "./signin.js";
import { runToastAction, showToast } from "./toast.js";
import { offerUndo } from "./undo.js";
import { _, _n } from "./words.js";

const THEME = "proctor:theme";
const ORDER = ["system", "light", "dark"];
const MARK = Symbol.for("proctor.site");

/** @returns {string | null} `light`, `dark` or `system` if chosen on this device; null: what the server says holds */
function chosenTheme() {
  try {
    const stored = localStorage.getItem(THEME) ?? "";
    return ORDER.includes(stored) ? stored : null;
  } catch {
    return null;
  }
}

/** @returns {string} */
function theme() {
  const served = document.documentElement.dataset.theme ?? "system";
  return chosenTheme() ?? (ORDER.includes(served) ? served : "system");
}

/** @param {string} chosen */
function setTheme(chosen) {
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  try {
    localStorage.setItem(THEME, chosen);
  } catch {
    // The choice then holds for this page only.
  }
  showTheme(chosen);
}

/** The settings page decides for every device: what this one chose before gives way. */
function forgetOnDevice() {
  try {
    localStorage.removeItem(THEME);
  } catch {
    // Nothing was kept.
  }
  forgetKeys();
}

/** @param {string} chosen */
function showTheme(chosen) {
  for (const button of document.querySelectorAll("[data-theme-set]")) {
    button.setAttribute("aria-pressed", String(button.getAttribute("data-theme-set") === chosen));
  }
  const toggle = document.getElementById("theme-toggle");
  if (toggle instanceof HTMLSelectElement) toggle.value = chosen;
  else toggle?.setAttribute("aria-label", chosen === "light" ? _("Theme: light") : chosen === "dark" ? _("Theme: dark") : _("Theme: system"));
  if (toggle) toggle.dataset.themeNow = chosen;
}

function wireTheme() {
  const chosen = chosenTheme();
  if (chosen) setTheme(chosen);
  else showTheme(theme());
  document.addEventListener("submit", (event) => {
    if (event.target instanceof HTMLFormElement && event.target.getAttribute("action") === "/my/settings") forgetOnDevice();
  });
  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target.closest("[data-theme-set], #theme-toggle") : null;
    if (!target || target instanceof HTMLSelectElement) return;
    const next = ORDER[(ORDER.indexOf(theme()) + 1) % ORDER.length];
    setTheme(target.getAttribute("data-theme-set") ?? next);
  });
  document.getElementById("theme-toggle")?.addEventListener("change", (event) => {
    if (event.target instanceof HTMLSelectElement) setTheme(event.target.value);
  });
  addEventListener("storage", (event) => {
    if (event.key === THEME) setTheme(theme());
  });
}

/** `data-opens="id"` opens a dialog, `data-close` closes the one around it. */
function wireDialogs() {
  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("[data-opens], [data-closes], [data-close]") : null;
    if (!button) return;
    const opens = button.getAttribute("data-opens");
    const dialog = opens ? document.getElementById(opens) : button.closest("dialog");
    if (!(dialog instanceof HTMLDialogElement)) return;
    event.preventDefault();
    if (!opens) dialog.close();
    else if (!dialog.open) dialog.showModal();
  });
}

/** `form[data-confirm="Really?"]` asks first. */
function wireConfirm() {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !form.dataset.confirm || event.defaultPrevented) return;
    if (form.dataset.confirmed) {
      delete form.dataset.confirmed;
      return;
    }
    event.preventDefault();
    const submitter = event.submitter;
    const yes = make("button", { type: "button", class: "primary", "data-confirm-yes": true }, submitter?.textContent?.trim() || _("Go on"));
    const no = make("button", { type: "button", "data-confirm-no": true, autofocus: true }, _("Cancel"));
    const dialog = /** @type {HTMLDialogElement} */ (
      make("dialog", { class: "confirm-dialog", "aria-label": _("Please confirm") }, make("p", {}, form.dataset.confirm), make("div", { class: "dialog-buttons" }, no, yes))
    );
    no.addEventListener("click", () => dialog.close());
    yes.addEventListener("click", () => {
      dialog.close();
      form.dataset.confirmed = "1";
      form.requestSubmit(submitter instanceof HTMLElement && form.contains(submitter) ? submitter : undefined);
    });
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** `input[data-filter="id of a table"]` shows the rows that hold every word; `[data-filter-count="id"]` counts them. */
function wireFilters() {
  for (const input of document.querySelectorAll("input[data-filter]")) {
    const field = /** @type {HTMLInputElement} */ (input);
    const name = field.dataset.filter ?? "";
    const table = document.getElementById(name);
    if (!(table instanceof HTMLTableElement)) continue;
    const apply = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      let all = 0;
      for (const body of table.tBodies) {
        for (const row of body.rows) {
          const text = (row.textContent ?? "").toLowerCase();
          row.hidden = !words.every((word) => text.includes(word));
          all += 1;
          if (!row.hidden) shown += 1;
        }
      }
      const count = document.querySelector(`[data-filter-count="${CSS.escape(name)}"]`);
      if (count) count.textContent = words.length > 0 ? _("{shown} of {all}", { shown, all }) : String(all);
    };
    field.addEventListener("input", apply);
    apply();
  }
}

/** `[data-copies]` copies the `code` of the `.copies` around it; where the browser refuses, the text is selected for whoever copies it. */
function wireCopies() {
  document.addEventListener("click", async (event) => {
    const button = event.target instanceof Element ? event.target.closest("[data-copies]") : null;
    const box = button?.closest(".copies");
    const code = box?.querySelector("code");
    const said = button?.parentElement?.querySelector("[role=status]");
    if (!code || !said) return;
    said.textContent = "";
    said.textContent = (await copied(code)) ? _("Copied.") : _("Selected. Copy it now.");
  });
}

/** @param {HTMLElement} code @returns {Promise<boolean>} whether its text is on the clipboard */
async function copied(code) {
  try {
    await navigator.clipboard.writeText(code.textContent ?? "");
    return true;
  } catch {
    getSelection()?.selectAllChildren(code);
    return document.execCommand("copy");
  }
}

/** Show where one is among the pages: on narrow screens their links are a strip that scrolls. */
function showPlace() {
  const here = document.querySelector(".bar nav [aria-current]");
  const strip = here?.closest("nav");
  if (here && strip) strip.scrollLeft += here.getBoundingClientRect().right - strip.getBoundingClientRect().right;
}

/** @param {string} person */
function wireOutbox(person) {
  const outbox = theOutbox();
  if (!outbox) return;
  watchSignIn(person);
  outbox.onUnclaimed((entry, outcome) => {
    const link = { label: _("Open it"), href: `/w/${encodeURIComponent(entry.pid)}` };
    if (outcome.kind === "sent") showToast(_("An item that waited on this device was submitted."), null, 8);
    else if (outcome.kind === "refused") showToast(_("An item that waited on this device was not accepted. Your text is kept."), null, 0, link);
  });
  void outbox.resume();
  void theNarrations()?.resume();
  void slices?.drain();
  void countSlices(person).then((n) => n > 0 && !document.getElementById("save-chip") && showToast(_n(n, "{n} slices of a recording wait on this device; they are being sent.", "{n} slices of a recording wait on this device; they are being sent."), null, 10));
  // Who comes after them on this device finds no page of theirs.
  document.querySelector("form[action='/signout']")?.addEventListener("submit", () => {
    for (const name of ["proctor-recordings", "proctor-ahead"]) void globalThis.caches?.delete(name);
  });
}

function main() {
  const page = /** @type {any} */ (globalThis);
  if (page[MARK]) return;
  page[MARK] = true;
  const person = document.body.dataset.person ?? "";
  wireTheme();
  wireDialogs();
  wireConfirm();
  wireFilters();
  wireCopies();
  watchMarks();
  awaitClips();
  showPlace();
  listen(person);
  register([{ id: "undo", group: _("Page"), label: _("Undo"), keys: ["z"], run: () => runToastAction() }]);
  if (person) {
    offerUndo(person);
    wireAsk(person);
    wireOutbox(person);
  }
}

main();
