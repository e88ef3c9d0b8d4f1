/** Questions to the coordinators: sent without leaving the page; what is typed stays on this device until it was sent. */

import { make } from "./dom.js";
import { reasonOf, send } from "./wire.js";
import { _ } from "./words.js";

/** @param {string} person who is signed in */
export function wireAsk(person) {
  const form = document.getElementById("ask-form");
  const text = document.getElementById("ask-text");
  const said = document.getElementById("ask-said");
  if (!(form instanceof HTMLFormElement) || !(text instanceof HTMLTextAreaElement) || !said) return;
  const address = form.getAttribute("action") ?? "";
  const key = `proctor:ask:${person}:${address}`;
  const keep = () => {
    try {
      if (!text.value) localStorage.removeItem(key);
      else localStorage.setItem(key, text.value);
    } catch {} // It is then on this page only.
  };
  try {
    text.value ||= localStorage.getItem(key) ?? "";
  } catch {}
  const panel = form.closest("details");
  if (panel && text.value) panel.open = true;
  text.addEventListener("input", keep);
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.stopPropagation(); // elsewhere on the page it submits the sheet
    form.requestSubmit();
  });
  let busy = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const asked = text.value;
    if (busy || asked.trim() === "") return;
    busy = true;
    said.textContent = _("Sending …");
    const answer = await send("POST", address, { body: { text: asked }, person });
    busy = false;
    if (answer.kind !== "ok") {
      const why = answer.kind === "problem" ? answer.problem.errors?.[0]?.message : undefined;
      said.textContent = _("Not sent: {why}. Your text is kept here.", { why: why ?? reasonOf(answer) });
      return;
    }
    form.parentElement?.querySelector(".comments")?.replaceChildren(...answer.data.lines.map(shownLine));
    if (text.value === asked) text.value = "";
    keep();
    said.textContent = _("Sent. The answer comes here, and on your first page.");
    panel?.querySelector("summary .badge")?.remove();
    panel?.querySelector("summary")?.append(make("span", { class: "badge current" }, _("waiting for an answer")));
  });
}

/** @param {{who: string, at: string, text: string, mine: boolean}} line @returns {HTMLElement} */
const shownLine = ({ who, at, text, mine }) =>
  make("li", { class: mine && "mine" }, make("p", { class: "tiny muted" }, make("bdi", {}, who), `, ${at}`), make("p", { class: "as-typed", dir: "auto" }, text));
