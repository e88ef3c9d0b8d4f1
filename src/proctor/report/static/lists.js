"use strict";
(() => {
  const lists = [...document.querySelectorAll(".listing")];
  const number = (n) => n.toLocaleString("en");
  const made = (name, ...inside) => {
    const element = document.createElement(name);
    element.append(...inside);
    return element;
  };
  // a text, or a text, where it leads to and what stands below it, or several of them
  const filled = (cell) => {
    if (Array.isArray(cell[0])) return cell[0].flatMap((one, n) => [...(n ? [", "] : []), ...filled(one)]);
    const [text, href, find, small] = typeof cell === "string" ? [cell] : cell;
    const words = made("bdi", text);
    const below = small ? [made("span", made("bdi", small))] : [];
    below.forEach((part) => { part.className = "n"; });
    if (!href) return [words, ...below];
    const link = made("a", words);
    link.href = href;
    if (find != null) {
      link.className = "find";
      link.dataset[href === "#examples" ? "find" : "tag"] = find;
    }
    return [link, ...below];
  };
  // the lines behind the first ones are packed
  const load = async (list) => {
    const packed = list.dataset.rest;
    if (!packed) return;
    delete list.dataset.rest;
    const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
    const lines = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
    list.querySelector("tbody").append(...lines.map(([tags, first, ...more]) => {
      const head = made("th", ...filled(first));
      head.scope = "row";
      const row = made("tr", head, ...more.map((cell) => made("td", ...filled(cell))));
      row.dataset.tags = tags.join(" ");
      return row;
    }));
    list.querySelector("form button").remove();
    list.querySelector(".left").remove();
  };
  const show = async (list, whole = false) => {
    const select = list.querySelector("select");
    const fits = (row) => select.value === "" || row.dataset.tags.split(" ").includes(select.value);
    const wanted = () => [...list.querySelectorAll("tbody tr")].filter(fits).length;
    const total = Number(select.selectedOptions[0].dataset.n);
    if (whole || select.value !== "" && wanted() < total) await load(list);
    list.querySelectorAll("tbody tr").forEach((row) => { row.hidden = !fits(row); });
    const shown = wanted();
    list.querySelector("[role=status]").textContent = shown < total
      ? `The first ${number(shown)} of ${number(total)}` : `${number(shown)} of ${number(Number(select.options[0].dataset.n))}`;
  };
  // the address names a list and the tag of the lines that are shown of it: #list-funnel?built:%20dropped
  const reveal = () => {
    const [id, tag] = location.hash.slice(1).split(";")[0].split("?");
    const list = lists.find((one) => one.id === id);
    if (!list) return;
    const options = [...list.querySelector("select").options];
    list.querySelector("select").selectedIndex = Math.max(0, options.findIndex((one) => tag && one.dataset.tag === decodeURIComponent(tag)));
    for (let part = list; part; part = part.parentElement.closest("details")) part.open = true;
    show(list);
    list.scrollIntoView();
  };
  for (const list of lists) {
    const form = list.querySelector("form");
    form.hidden = false;
    form.addEventListener("input", () => {
      show(list);
      const tag = form.querySelector("select").selectedOptions[0].dataset.tag;
      history.replaceState(null, "", `#${list.id}` + (tag ? "?" + encodeURIComponent(tag) : "") + (location.hash.match(/;.*/)?.[0] ?? ""));
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.querySelector("button")?.addEventListener("click", () => show(list, true));
    show(list);
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-tag]");
    if (!link || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const hash = link.getAttribute("href") + "?" + encodeURIComponent(link.dataset.tag);
    if (location.hash.split(";")[0] === hash) reveal(); else location.hash = hash;
  });
  addEventListener("hashchange", reveal);
  reveal();
})();
