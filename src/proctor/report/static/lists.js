"use strict";
(() => {
  const lists = [...document.querySelectorAll(".listing")];
  const show = (list) => {
    const tag = list.querySelector("select").value;
    const rows = [...list.querySelectorAll("tbody tr")];
    rows.forEach((row) => { row.hidden = tag !== "" && !row.dataset.tags.split(" ").includes(tag); });
    list.querySelector("[role=status]").textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
  };
  // the address names a list and the tag of the lines that are shown of it: #list-funnel?built:%20dropped
  const reveal = () => {
    const [id, tag] = location.hash.slice(1).split("?");
    const list = lists.find((one) => one.id === id);
    if (!list) return;
    const options = [...list.querySelector("select").options];
    list.querySelector("select").selectedIndex = Math.max(0, options.findIndex((one) => tag && one.dataset.tag === decodeURIComponent(tag)));
    list.open = true;
    show(list);
    list.scrollIntoView();
  };
  for (const list of lists) {
    const form = list.querySelector("form");
    form.hidden = false;
    form.addEventListener("input", () => {
      show(list);
      const tag = form.querySelector("select").selectedOptions[0].dataset.tag;
      history.replaceState(null, "", `#${list.id}` + (tag ? "?" + encodeURIComponent(tag) : ""));
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    show(list);
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-tag]");
    if (!link || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const hash = link.getAttribute("href") + "?" + encodeURIComponent(link.dataset.tag);
    if (location.hash === hash) reveal(); else location.hash = hash;
  });
  addEventListener("hashchange", reveal);
  reveal();
})();
