// A plain script, loaded before the first paint: the page must not flash in the wrong colours.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("proctor:theme");
  } catch {
    // Storage is off: follow the system.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  else if (chosen === "system") delete document.documentElement.dataset.theme;
})();
