"use strict";
(() => {
  const value = (row, column) => {
    const text = row.cells[column].querySelector("bdi")?.textContent.trim() ?? "";
    const number = parseFloat(text.replace("\u2212", "-").replaceAll(",", ""));
    return [Number.isNaN(number) ? null : number, text];
  };
  const compare = ([a, s], [b, t]) => a !== null && b !== null ? a - b : s.localeCompare(t, "en", { numeric: true });
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const falling = head.getAttribute("aria-sort") !== "descending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        const rows = [...body.rows].map((row) => [value(row, column), row]);
        const empty = ([[number, text]]) => number === null && (text === "" || text === "\u2013");
        rows.sort((a, b) => empty(a) - empty(b) || (falling ? -1 : 1) * compare(a[0], b[0]));
        body.append(...rows.map(([, row]) => row));
      });
    });
  }
})();
