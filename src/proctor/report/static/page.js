"use strict";
(() => {
  const form = document.getElementById("filters");
  const cards = [...document.querySelectorAll(".example")];
  const texts = cards.map((card) => card.textContent.toLowerCase());
  const fields = [...form.querySelectorAll("[data-key]")];
  const facets = fields.filter((field) => "facet" in field.dataset);
  const runs = [...form.querySelectorAll('[data-of="run"]')];
  const marks = [...form.querySelectorAll('[data-of="mark"]')];
  const word = document.getElementById("f-text");
  const than = document.getElementById("f-than");
  const found = document.getElementById("found");
  const said = cards.map((card) => [...card.querySelectorAll("tr[data-run]")]
    .map((row) => [row, row.dataset.run.split(" "), row.dataset.mark, row.dataset.score]));
  const answered = (rows, n) => {
    const run = runs[n].value, mark = marks[n].value;
    if (["marked", "no mark", "not asked"].includes(mark)) {
      const lacks = (name) => {
        const own = rows.find(([, names]) => names.includes(name));
        return mark === "not asked" ? !own : own?.[3] === undefined;
      };
      const wanted = run ? [run] : [...runs[n].options].map((option) => option.value).filter(Boolean);
      return mark === "marked" ? !wanted.every(lacks) : wanted.some(lacks);
    }
    return !run && !mark || rows.some(([, names, given]) => (!run || names.includes(run)) && (!mark || given === mark));
  };
  // -1, 0 or 1: the first run's mark against the second one's; null where one of them has none
  const against = (rows) => {
    const [a, b] = runs.map((run) => rows.find(([, names]) => names.includes(run.value))?.[3]);
    return a === undefined || b === undefined ? null : Math.sign(a - b);
  };
  const filter = () => {
    const wanted = word.value.trim().toLowerCase();
    const beside = runs.length > 1 && runs.every((run) => run.value);
    const counts = { better: 0, equal: 0, worse: 0 };
    let shown = 0;
    cards.forEach((card, n) => {
      let fits = (!wanted || texts[n].includes(wanted))
        && facets.every((one) => !one.value || (card.dataset["f" + one.dataset.facet] ?? "").split(" ").includes(one.value))
        && (beside && than.value === "not compared" || runs.every((_, k) => answered(said[n], k)));
      if (fits && beside) {
        const sign = against(said[n]);
        const word = sign === null ? "" : ["worse", "equal", "better"][sign + 1];
        if (word) counts[word] += 1;
        fits = !than.value || than.value === (than.value.endsWith("compared") ? sign === null ? "not compared" : "compared" : word);
      }
      said[n].forEach(([row, names]) => { row.hidden = beside && !runs.some((run) => names.includes(run.value)); });
      card.hidden = !fits;
      shown += fits ? 1 : 0;
    });
    const names = runs.map((run) => run.selectedOptions[0]?.text);
    found.textContent = `${shown} of ${cards.length} examples` + (found.dataset.left ? ` (${found.dataset.left} more questions have no room on the page)` : "")
      + (beside ? `. ${names[0]} beside ${names[1]}: ${counts.better} better, ${counts.equal} equal, ${counts.worse} worse` : "");
  };
  const read = (query) => {
    const wanted = new URLSearchParams(query);
    for (const field of fields) {
      const value = wanted.get(field.dataset.key) ?? "";
      if (field === word) field.value = value;
      else field.selectedIndex = Math.max(0, [...field.options].findIndex((option) => value && option.text === value));
    }
    const rare = form.querySelector(".rare");
    if (rare && [...rare.querySelectorAll("select")].some((field) => field.value)) rare.open = true;
    filter();
  };
  const keep = () => {
    const chosen = fields.filter((field) => field.value)
      .map((field) => [field.dataset.key, field === word ? field.value : field.selectedOptions[0].text]);
    const sorted = location.hash.match(/;.*/)?.[0] ?? "";
    history.replaceState(null, "", (chosen.length ? "#find?" + new URLSearchParams(chosen) : "#examples") + sorted);
  };
  const reveal = () => {
    const [place] = location.hash.slice(1).split(";");
    if (place.startsWith("find?")) {
      read(place.slice(5));
      document.getElementById("filters").scrollIntoView();
      const first = cards.find((card) => !card.hidden);
      if (first) first.open = true;
      return;
    }
    const card = document.getElementById(place)?.closest(".example");
    if (!card) return;
    if (card.hidden) read("");
    card.open = true;
    card.scrollIntoView();
  };
  form.addEventListener("input", () => { filter(); keep(); });
  form.addEventListener("reset", () => setTimeout(() => { filter(); keep(); }));
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", reveal);
  const large = document.getElementById("enlarged");
  large.querySelector("button").addEventListener("click", () => large.close());
  large.addEventListener("click", (event) => { if (event.target === large) large.close(); });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.find, a.enlarge");
    if (!link || "tag" in link.dataset || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (link.matches(".find")) location.hash = "#find?" + link.dataset.find;
    else {
      const caption = link.parentElement.querySelector("figcaption")?.cloneNode(true);
      large.querySelector("div").replaceChildren(link.firstElementChild.cloneNode(true), ...(caption ? [caption] : []));
      large.showModal();
    }
  });
  form.hidden = false;
  filter();
  reveal();
})();
