/** What lies beside a sheet: the recording, the steps and the graph, in tabs on a tablet. */

import { register } from "./keys.js";
import { linkSteps } from "./link.js";
import { Player } from "./player.js";
import { _ } from "./words.js";

/** On a tablet question, graph and steps are tabs: what is hidden cannot be focused. @param {"question"|"graph"|"steps"} name */
export function showTab(name) {
  const tab = document.getElementById(`tab-${name}`);
  if (tab instanceof HTMLInputElement) tab.checked = true;
}

/** Bring the current step into the windows of the graph and of the list, which are often smaller than these. */
function showCurrentStep() {
  for (const scroll of document.querySelectorAll("#graph-panel .graph-scroll, #steps-panel .steps-scroll")) {
    const node = scroll.querySelector(".is-current");
    if (!node) continue;
    const window_ = scroll.getBoundingClientRect();
    const step = node.getBoundingClientRect();
    scroll.scrollTop += step.top - window_.top - (window_.height - step.height) / 2;
    scroll.scrollLeft += step.left - window_.left - (window_.width - step.width) / 2;
  }
}

/** Where the list is a tab it is as long as it is, and the page scrolls. */
function showCurrentRow() {
  document.querySelector("#steps-panel .graph-step.is-current")?.scrollIntoView({ block: "center" });
}

/** @type {number[] | null} size of the drawing as it was made */
let made = null;

/** On the full screen the drawing is as large as fits, and never smaller than it was made; a phone shows a part of it, larger. */
function fitGraph() {
  const panel = document.getElementById("graph-panel");
  const drawing = panel?.querySelector("svg.graph");
  const scroll = panel?.querySelector(".graph-scroll");
  if (!(drawing instanceof SVGElement) || !panel || !scroll) return;
  const full = document.fullscreenElement === panel || panel.classList.contains("is-full");
  made ??= ["width", "height"].map((name) => Number(drawing.getAttribute(name)));
  const [width, height] = made;
  const rest = panel.scrollHeight - scroll.scrollHeight;
  const least = panel.clientWidth < 720 ? 1.25 : 1;
  const larger = full ? Math.max(least, Math.min(panel.clientWidth / width - 0.08, Math.max(1.25, (panel.clientHeight - Math.min(rest, 160)) / height - 0.04), 2.5)) : 1;
  drawing.setAttribute("width", String(Math.floor(width * larger)));
  drawing.setAttribute("height", String(Math.floor(height * larger)));
  const button = document.getElementById("graph-full")?.firstChild;
  if (button) button.textContent = (full ? _("Close") : _("Full screen")) + " ";
}

function fullScreen() {
  showTab("graph");
  const panel = document.getElementById("graph-panel");
  if (!panel) return false;
  if (document.fullscreenElement) void document.exitFullscreen();
  else if (panel.classList.contains("is-full")) panel.classList.remove("is-full");
  else if (panel.requestFullscreen) {
    panel.requestFullscreen().catch(() => {
      panel.classList.add("is-full");
      fitGraph();
    });
  } else panel.classList.add("is-full");
  fitGraph();
  return true;
}

function focusSteps() {
  showTab("steps");
  const steps = [...document.querySelectorAll("[data-step]")].filter((step) => step instanceof HTMLElement);
  const step = steps.find((s) => s.getAttribute("aria-current") === "step") ?? steps[0];
  if (!step) return false;
  const folded = step.closest("details");
  if (folded) folded.open = true;
  const target = step.matches("button, a[href], [tabindex]") ? step : step.querySelector("button, a[href], [tabindex]");
  if (target instanceof HTMLElement) target.focus();
  return true;
}

/** @returns {Player | null} the page's recording, once its controls, steps and graph work */
export function showMaterial() {
  const video = document.getElementById("clip");
  const player = video instanceof HTMLVideoElement ? new Player(video, document.getElementById("clip-panel") ?? document.body) : null;
  player?.bindKeys();
  linkSteps(player);
  showCurrentStep();
  document.getElementById("tab-steps")?.addEventListener("change", showCurrentRow);
  document.getElementById("graph-full")?.addEventListener("click", () => fullScreen());
  document.addEventListener("fullscreenchange", fitGraph);
  addEventListener("resize", fitGraph);
  register([
    { id: "graph", group: _("Page"), label: _("Graph on the full screen"), keys: ["g"], run: () => fullScreen() },
    { id: "steps", group: _("Page"), label: _("Go to the list of steps"), keys: ["t"], run: () => focusSteps() },
  ]);
  return player;
}
