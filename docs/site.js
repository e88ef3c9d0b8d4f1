// Names for what the theme leaves without one, and the keyboard into wide tables.
const improve = () => {
  document.querySelectorAll(".md-search[role=dialog]").forEach((e) => e.setAttribute("aria-label", "Search"));
  document.querySelectorAll(".md-code__nav").forEach((e, n) => e.setAttribute("aria-label", `Code ${n + 1}`));
  document.querySelectorAll(".md-typeset__scrollwrap, pre > code, p:has(> img[src$='concepts.svg'])").forEach((e) => e.setAttribute("tabindex", "0"));
};
new MutationObserver(improve).observe(document.documentElement, { childList: true, subtree: true });
document.addEventListener("DOMContentLoaded", improve);
