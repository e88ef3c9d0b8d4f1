"use strict";
(() => {
  const form = document.getElementById("filters");
  const cards = [...document.querySelectorAll(".example")];
  const texts = cards.map((card) => card.textContent.toLowerCase());
  const word = document.getElementById("f-text");
  const facets = [...form.querySelectorAll("[data-facet]")];
  const runs = [...form.querySelectorAll('[data-of="run"]')];
  const marks = [...form.querySelectorAll('[data-of="mark"]')];
  const found = document.getElementById("found");
  const answered = (card, n) => {
    const run = runs[n].value, mark = marks[n].value;
    if (!run && !mark) return true;
    const rows = [...card.querySelectorAll("tr[data-run]")];
    return rows.some((row) => (!run || row.dataset.run === run) && (!mark || row.dataset.mark === mark));
  };
  const filter = () => {
    const wanted = word.value.trim().toLowerCase();
    let shown = 0;
    cards.forEach((card, n) => {
      const fits = (!wanted || texts[n].includes(wanted))
        && facets.every((one) => !one.value || card.dataset["f" + one.dataset.facet] === one.value)
        && runs.every((_, k) => answered(card, k));
      card.hidden = !fits;
      shown += fits ? 1 : 0;
    });
    found.textContent = `${shown} of ${cards.length} examples`;
  };
  const reveal = () => {
    const card = document.getElementById(location.hash.slice(1))?.closest(".example");
    if (!card) return;
    if (card.hidden) {
      form.reset();
      filter();
    }
    card.open = true;
    card.scrollIntoView();
  };
  form.addEventListener("input", filter);
  addEventListener("hashchange", reveal);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();
  reveal();
})();
