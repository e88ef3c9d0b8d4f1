"use strict";
(() => {
  // -- sorting
  const value = (row, column) => {
    const text = row.cells[column].querySelector("bdi")?.textContent.trim() ?? "";
    const number = parseFloat(text.replace("\u2212", "-").replaceAll(",", ""));
    return [Number.isNaN(number) ? null : number, text];
  };
  const compare = ([a, s], [b, t]) => a !== null && b !== null ? a - b : s.localeCompare(t, "en", { numeric: true });
  // the address names sorted tables and their columns behind a semicolon, with a minus where they fall: #moment;moment:+Leaderboard=-Score
  const sorted = new Map();
  let orders = new URLSearchParams();
  const keep = () => {
    if (String(orders)) history.replaceState(null, "", `${location.hash.split(";")[0] || "#"};${orders}`);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    const names = heads.map((head) => head.textContent);
    const title = `${table.closest("section").id}: ${table.closest(".scroll").getAttribute("aria-label")}`;
    const sort = (column, falling) => {
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      heads[column].setAttribute("aria-sort", falling ? "descending" : "ascending");
      const rows = [...body.rows].map((row) => [value(row, column), row]);
      const empty = ([[number, text]]) => number === null && (text === "" || text === "\u2013");
      rows.sort((a, b) => empty(a) - empty(b) || (falling ? -1 : 1) * compare(a[0], b[0]));
      body.append(...rows.map(([, row]) => row));
    };
    sorted.set(title, (order) => {
      const column = names.indexOf(order.replace(/^-/, ""));
      if (column >= 0) sort(column, order.startsWith("-"));
      return table;
    });
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const falling = head.getAttribute("aria-sort") !== "descending";
        sort(column, falling);
        orders.set(title, (falling ? "-" : "") + names[column]);
        keep();
      });
    });
  }
  const restore = () => {
    const [place, given] = location.hash.slice(1).split(";");
    if (given === undefined) return keep(); // a link of the page: its tables stay as they are
    orders = new URLSearchParams(given);
    const tables = [...orders].map(([title, order]) => sorted.get(title)?.(order));
    (document.getElementById(place) ?? (place ? null : tables[0]))?.scrollIntoView();
  };
  addEventListener("hashchange", restore);
  restore();

  // -- copying: a cell is its number, and behind it what stands below it in brackets
  const said = (cell) => {
    const [first = "", ...more] = [...cell.querySelectorAll("bdi, .tag")].map((part) => part.textContent.trim());
    const text = first || cell.textContent.trim();
    return more.length ? `${text} (${more.join("; ")})` : text;
  };
  const grid = (table) => [...table.rows].filter((row) => !row.hidden).map((row) => [...row.cells].map(said));
  // a text that a spreadsheet would take for a formula stays a text
  const field = (text) => {
    const safe = /^[=+@\t\r-]/.test(text) && !/^[+-][\d.,]+( [\u25b2\u25bc\u2248])?( \(.*\))?$/.test(text) ? "'" + text : text;
    return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const csv = (table) => grid(table).map((row) => row.map((text) => field(text.replaceAll("\u2212", "-"))).join(",")).join("\n") + "\n";
  const TEX = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}", ">": "\\textgreater{}",
    "\u2212": "$-$", "\u2013": "--", "\u2265": "$\\geq$", "\u2248": "$\\approx$", "\u25b2": "$\\uparrow$", "\u25bc": "$\\downarrow$",
    "\u03ba": "$\\kappa$", "\u03b1": "$\\alpha$", "\u03c4": "$\\tau$", "\u2713": "$\\checkmark$", "\u00a0": "~" };
  const escape = (text) => text.replace(/[&%$#_{}\\~^<>\u2212\u2013\u2265\u2248\u25b2\u25bc\u03ba\u03b1\u03c4\u2713\u00a0]/g, (c) => TEX[c] ?? "\\" + c)
    .replace(/^[[*]/, "{$&}");
  const latex = (table) => {
    const [head, ...rows] = grid(table).map((row) => row.map(escape).join(" & ") + " \\\\");
    const right = table.tHead.rows[0].cells.length - 1;
    return ["\\begin{tabular}{l" + "r".repeat(right) + "}", "\\toprule", head, "\\midrule", ...rows, "\\bottomrule", "\\end{tabular}", ""].join("\n");
  };
  const copy = async (text) => {
    try { await navigator.clipboard.writeText(text); } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };

  // -- pictures: what the page shows, painted word by word, for no browser draws a part of a page
  const drawn = (svg) => new Promise((done) => {
    const box = svg.getBoundingClientRect();
    const twin = svg.cloneNode(true);
    const own = [svg, ...svg.querySelectorAll("*")];
    [twin, ...twin.querySelectorAll("*")].forEach((part, n) => {
      const style = getComputedStyle(own[n]);
      for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-family", "font-weight", "overflow"])
        part.setAttribute(name, style.getPropertyValue(name));
    });
    twin.setAttribute("width", box.width);
    twin.setAttribute("height", box.height);
    const image = new Image();
    image.onload = () => done([image, box]);
    image.onerror = () => done(null);
    image.src = "data:image/svg+xml," + encodeURIComponent(new XMLSerializer().serializeToString(twin));
  });
  const paint = async (part) => {
    const frame = part.getBoundingClientRect();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * Math.ceil(part.scrollWidth || frame.width), 2 * Math.ceil(frame.height)];
    const pen = canvas.getContext("2d");
    pen.scale(2, 2);
    pen.fillStyle = getComputedStyle(document.body).backgroundColor;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    for (const cell of part.querySelectorAll("th, td")) {
      const box = cell.getBoundingClientRect();
      pen.fillStyle = getComputedStyle(cell).backgroundColor;
      pen.fillRect(box.left - frame.left, box.top - frame.top, box.width, box.height);
    }
    const svgs = part.matches("svg") ? [part] : [...part.querySelectorAll("svg")].filter((svg) => !svg.parentElement.closest("svg"));
    for (const one of await Promise.all(svgs.map(drawn)))
      if (one) pen.drawImage(one[0], one[1].left - frame.left, one[1].top - frame.top, one[1].width, one[1].height);
    const walk = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const node = walk.currentNode;
      if (node.parentElement.closest("svg, .sr")) continue;
      const style = getComputedStyle(node.parentElement);
      [pen.fillStyle, pen.font, pen.textBaseline] = [style.color, `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`, "middle"];
      for (const word of node.data.matchAll(/[^\s-]+-*|-+/g)) {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const box = range.getBoundingClientRect();
        pen.fillText(word[0], box.left - frame.left, box.top - frame.top + box.height / 2);
      }
    }
    return canvas.toDataURL("image/png");
  };
  const save = async (part, title) => {
    const link = document.createElement("a");
    link.href = await paint(part);
    link.download = (title.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "picture") + ".png";
    link.click();
  };
  const status = document.createElement("p");
  status.className = "sr";
  status.setAttribute("role", "status");
  document.getElementById("main").append(status);
  const equip = (region) => {
    const part = region.querySelector("table") ?? region.querySelector("svg");
    if (!part || region.parentElement.closest(".scroll")) return;
    const title = region.getAttribute("aria-label");
    const bar = document.createElement("p");
    bar.className = "tools";
    const offer = (name, what, act) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "quiet";
      button.textContent = name;
      button.setAttribute("aria-label", `${what}: ${title}`);
      button.addEventListener("click", async () => { await act(); status.textContent = `${what}: done`; });
      bar.append(button);
    };
    if (part.matches("table") && !part.matches(".plot, .orders, .cells:not(.source-card *)")) {
      offer("CSV", "Copy as CSV", () => copy(csv(part)));
      offer("LaTeX", "Copy as LaTeX", () => copy(latex(part)));
    }
    offer("PNG", "Save as PNG", () => save(part, title));
    region.after(bar);
  };
  document.querySelectorAll("main > section:not(#examples) .scroll").forEach(equip);
  // hundreds of examples are equipped when they are first open
  const open = (card) => {
    if (!card.open || card.dataset.equipped) return;
    card.dataset.equipped = "yes";
    card.querySelectorAll(".scroll").forEach(equip);
  };
  for (const card of document.querySelectorAll(".example")) {
    open(card);
    card.addEventListener("toggle", () => open(card));
  }
})();
