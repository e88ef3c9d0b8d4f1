"use strict";
(() => {
  // Data text only ever becomes text nodes and attribute values; nothing is parsed as markup.
  const $ = (id) => document.getElementById(id);
  const island = (id) => { const e = $(id); return e && e.textContent ? JSON.parse(e.textContent) : null; };
  const SVG = "http://www.w3.org/2000/svg";

  function el(tag, props, ...children) {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(props || {})) {
      if (v === null || v === undefined || v === false) continue;
      e.setAttribute(k === "cls" ? "class" : k, v === true ? "" : String(v));
    }
    for (const c of children.flat()) if (c !== null && c !== undefined && c !== "") e.append(c);
    return e;
  }
  const text = (s) => { const b = document.createElement("bdi"); b.textContent = s; return b; };
  const soft = (s) => el("span", { cls: "soft" }, s);

  // -- theme ------------------------------------------------------------------------------------------------
  const root = document.documentElement;
  const store = { get() { try { return localStorage.getItem("proctor-theme"); } catch { return null; } },
                  set(v) { try { localStorage.setItem("proctor-theme", v); } catch { /* private mode */ } } };
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches);
  function paintToggle() {
    $("theme").textContent = isDark() ? "Light" : "Dark";
    $("theme").setAttribute("aria-label", isDark() ? "Change to light colours" : "Change to dark colours");
  }
  const stored = store.get();
  if (stored === "light" || stored === "dark") root.dataset.theme = stored;
  $("theme").hidden = false;
  $("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    store.set(root.dataset.theme);
    paintToggle();
  });
  systemDark.addEventListener("change", paintToggle);
  paintToggle();

  // -- what is wider than the page says so, since scroll bars are hidden on many systems ---------------------------
  const wide = [...document.querySelectorAll(".scroll")];
  function tellWide() {
    for (const box of wide) {
      const over = box.clientWidth > 0 && box.scrollWidth > box.clientWidth + 2;
      box.classList.toggle("overflows", over);
      const before = box.previousElementSibling, there = before && before.classList.contains("hint");
      if (over && !there) box.before(el("p", { cls: "hint", "aria-hidden": "true" }, "wider than the page: scroll sideways →"));
      else if (!over && there) before.remove();
    }
  }
  tellWide();
  addEventListener("resize", tellWide);
  addEventListener("load", tellWide);
  document.addEventListener("toggle", tellWide, true);

  // -- printing: what is folded away is unfolded, except what would be pages and what the reader chooses --------------------
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open]):not(.activity):not(.call):not(.long)")];
    for (const d of unfolded) d.open = true;
  });
  addEventListener("afterprint", () => { for (const d of unfolded) d.open = false; unfolded = []; });

  // -- graphs placed by the page: boxes are there, Graphviz says where they stand and how the arrows run ------------------
  const MARGIN = 12;
  const figures = new Map([...document.querySelectorAll(".drawing[data-graph]")].map((f) => [Number(f.dataset.graph), f]));
  function svgEl(tag, props, ...children) {
    const e = document.createElementNS(SVG, tag);
    for (const [k, v] of Object.entries(props)) e.setAttribute(k, String(v));
    e.append(...children);
    return e;
  }
  const round = (v) => Math.round(v * 10) / 10;
  function arrow(points) {
    const [x, y] = points[points.length - 1];
    const from = points.slice(0, -1).reverse().find((p) => Math.hypot(x - p[0], y - p[1]) >= 0.5) || [x, y - 1];
    const length = Math.hypot(x - from[0], y - from[1]), dx = (x - from[0]) / length, dy = (y - from[1]) / length;
    const bx = x - 7 * dx, by = y - 7 * dy;
    const head = [[x, y], [bx - 3.2 * dy, by + 3.2 * dx], [bx + 3.2 * dy, by - 3.2 * dx]], list = (all) => all.map((p) => p.map(round).join(",")).join(" ");
    return [svgEl("path", { d: `M${list(points.slice(0, 1))}C${list(points.slice(1))}` }), svgEl("polygon", { points: list(head) })];
  }
  let engine = null;
  function placeInPage(source, svg) {
    if (!engine) engine = globalThis.Viz ? globalThis.Viz.instance() : Promise.reject(new Error("no engine"));
    return engine.then((viz) => {
      const drawn = viz.renderJSON(source), [, , width, height] = drawn.bb.split(",").map(Number);
      const spot = (pair) => { const [x, y] = pair.split(",").map(Number); return [x + MARGIN, height - y + MARGIN]; };
      for (const o of drawn.objects || []) {
        const slot = svg.querySelector(`[data-slot="${o.name.slice(1)}"]`), [x, y] = spot(o.pos);
        slot.setAttribute("transform", `translate(${round(x - o.width * 36)} ${round(y - o.height * 36)})`);
      }
      for (const e of drawn.edges || []) svg.querySelector(".edges").append(...arrow(e.pos.split(" ").map(spot)));
      const w = Math.ceil(width + 2 * MARGIN), h = Math.ceil(height + 2 * MARGIN);
      for (const [k, v] of Object.entries({ viewBox: `0 0 ${w} ${h}`, width: w, height: h })) svg.setAttribute(k, v);
      return svg;
    });
  }
  const dot = island("dot");
  const ready = new Map();
  function graphSvg(g) {
    const figure = figures.get(g);
    if (!figure) return Promise.resolve(null);
    const there = figure.querySelector("svg.graph");
    if (!there || there.hasAttribute("viewBox")) return Promise.resolve(there);
    if (!dot || !dot[g]) return Promise.resolve(null);
    if (!ready.has(g)) ready.set(g, placeInPage(dot[g], there).catch(() => null));
    return ready.get(g);
  }
  for (const d of document.querySelectorAll("details.activity")) {
    const f = d.querySelector(".drawing[data-graph]");
    if (!f) continue;
    const draw = () => { if (d.open) graphSvg(Number(f.dataset.graph)); };
    d.addEventListener("toggle", draw);
    draw();
  }

  // -- examples ------------------------------------------------------------------------------------------------
  const data = island("data");
  if (!data || !data.items.length || !$("browser")) return;
  $("browser").hidden = false;
  const { items, runs, graphs } = data;
  const OUTCOME = { 2: "2 match", 1: "1 partial", 0: "0 wrong", failed: "failed", unscored: "unscored", absent: "not asked" };
  const SIGN = { d: "✓", c: "▶\uFE0E", n: "→", m: "!", f: "" };
  const STATUS = { d: "done", c: "current", n: "next", m: "missing", f: "todo" };
  const WIDE = 560; // pixels; a wider drawing stands above its list, since the column of an example is narrow
  const WORD = { right: "right", wrong: "wrong", unsure: "cannot tell" };
  const byId = new Map(items.map((item, n) => [item.i, n]));
  let shown = items.map((_, n) => n);
  let at = 0;

  function stateWords(item, k) {
    const parts = [data.states[item.S[k]]];
    const special = item.X[k];
    if (special && special[0]) parts.push(data.flags.late);
    if (special && special[1].length) parts.push((special[1].length === 1 ? "mistake: " : "mistakes: ") + special[1].join(", "));
    return parts.join(", ");
  }

  // Filters
  const option = (value, label) => el("option", { value }, label);
  const distinct = (key) => [...new Set(items.map((i) => i[key]))];
  $("f-type").append(option("", "all"), ...distinct("t").map((t) => option(t, t)));
  $("f-activity").append(option("", "all"), ...distinct("a").sort().map((a) => option(a, a)));
  const runLabel = ([, , title, view]) => (view ? `${title}, ${view}` : title);
  $("f-run").append(option("", "any"), ...runs.map((run, n) => option(n, `${n + 1}. ${runLabel(run)}`)));
  $("f-other").append(option("", "–"), ...runs.map((run, n) => option(n, `${n + 1}. ${runLabel(run)}`)));
  $("f-mark").append(option("", "any"), ...["2", "1", "0"].map((k) => option(k, OUTCOME[k])), option("marked", "any mark"), option("less", "not a match"),
    ...["failed", "unscored", "absent"].map((k) => option(k, OUTCOME[k])),
    ...(runs.length > 1 ? [option("differ", "runs differ"), option("better", "better than compared"), option("worse", "worse than compared"), option("unlike", "unlike compared")] : []));
  $("f-verdict").append(...[["", "any"], ["none", "none"], ["wrong", "an answer is wrong"], ["unsure", "cannot tell"], ["disagree", "annotators differ"]].map(([v, l]) => option(v, l)));

  const blobs = [];
  function blob(n) {
    if (blobs[n] === undefined) {
      const i = items[n];
      blobs[n] = [i.i, i.q, i.a, i.r, ...i.G.map((g) => g[0]), ...i.D.map((d) => d[0]), ...i.P.map((p) => (p && p[0]) || "")].join("\n").toLowerCase();
    }
    return blobs[n];
  }
  function verdictMatches(item, wanted) {
    const all = item.V || [];
    if (wanted === "none") return !all.length;
    const values = all.flatMap((v) => [v.q[0], ...v.a.map((a) => a[0])]);
    if (wanted !== "disagree") return values.includes(wanted);
    const said = all.map((v) => JSON.stringify([v.q[0], v.a.map((a) => a[0])]));
    return new Set(said).size > 1;
  }
  function markMatches(item, run, mark) {
    if (mark === "differ") return new Set(item.O).size > 1;
    if (run === "") return item.O.some((outcome) => isMark(outcome, mark));
    return isMark(item.O[Number(run)], mark);
  }
  const POINTS = { 2: 2, 1: 1, 0: 0 };
  function isMark(outcome, mark) {
    if (mark === "marked") return outcome in POINTS;
    if (mark === "less") return outcome === "1" || outcome === "0";
    return outcome === mark;
  }
  function comparedMatches(item, f) {
    if (f.run === "" || f.other === "") return false;
    const a = POINTS[item.O[Number(f.run)]], b = POINTS[item.O[Number(f.other)]];
    if (a === undefined || b === undefined) return false;
    return f.mark === "better" ? a > b : f.mark === "worse" ? a < b : a !== b;
  }
  function matches(item, n, f) {
    return (!f.type || item.t === f.type) && (!f.activity || item.a === f.activity) && (f.noisy === "" || item.z === Number(f.noisy))
      && (!f.mark || (["better", "worse", "unlike"].includes(f.mark) ? comparedMatches(item, f) : markMatches(item, f.run, f.mark))) && (!f.verdict || verdictMatches(item, f.verdict))
      && f.words.every((w) => blob(n).includes(w));
  }
  function filters() {
    const f = Object.fromEntries(["type", "activity", "noisy", "run", "other", "mark", "verdict"].map((k) => [k, $(`f-${k}`).value]));
    return { ...f, words: $("f-text").value.toLowerCase().split(/\s+/).filter(Boolean) };
  }
  function applyFilters() {
    const current = shown[at], f = filters();
    shown = items.map((_, n) => n).filter((n) => matches(items[n], n, f));
    at = Math.max(0, shown.indexOf(current));
    show({ keepHash: true });
  }

  // List: a window of neighbours, so that thousands of items stay quick
  const WINDOW = 60;
  function paintList() {
    const first = Math.max(0, Math.min(at - WINDOW / 2, shown.length - WINDOW));
    const rows = shown.slice(first, first + WINDOW).map((n, k) => {
      const item = items[n];
      return el("li", {}, el("a", { href: `#item=${encodeURIComponent(item.i)}`, "aria-current": first + k === at ? "true" : null },
        el("span", { cls: "meta" }, text(`${item.t} · ${item.a}`)), text(item.q.length > 160 ? `${item.q.slice(0, 160)}…` : item.q)));
    });
    $("list").replaceChildren(...rows);
    $("list").setAttribute("start", first + 1);
    $("list-more").textContent = shown.length > WINDOW ? `${first + 1} to ${first + rows.length} of ${shown.length}` : "";
    const now = $("list").querySelector("[aria-current]"), box = now && now.closest(".item-list");
    if (box) box.scrollTop += now.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3;
  }

  // One example
  function head(item) {
    return [el("p", { cls: "meta" }, el("b", {}, text(item.t)), " · ", text(item.a), " · recording ", text(item.r), ` · at ${item.e} · `,
      item.z ? "noisy (after a mistake)" : "clean", ` · ${item.s}`), el("h3", {}, text(item.q))];
  }
  function golds(item) {
    return [el("h4", {}, item.G.length === 1 ? "Accepted answer" : `${item.G.length} accepted answers`),
      el("ol", { cls: "golds" }, item.G.map(([t, source, approved, kind]) => el("li", {}, text(t), " ", soft(`${kind} · written by ${source} · approved by ${approved}`))))];
  }
  const pairs = (flat) => { const found = []; for (let k = 0; k + 1 < flat.length; k += 2) found.push([data.keys[flat[k]], flat[k + 1]]); return found; };
  const facts = (list) => el("dl", { cls: "provenance" }, list.map(([a, b]) => [el("dt", {}, text(a)), el("dd", {}, el("code", {}, text(b)))]).flat());
  const markWord = (score, scale) => (score === null || score === undefined ? "no mark" : scale === "binary" ? (score > 0 ? "right" : "wrong") : OUTCOME[score] || String(score));
  function others(opinions, votes) {
    if (!opinions.length && !votes.length) return null;
    const rows = opinions.map(([n, score, reason]) => { const [full, title, view, scale] = data.judges[n];
      return el("li", { title: full }, text(title), view ? soft(` ${view}`) : null, ": ", el("b", {}, markWord(score, scale)), reason ? [" ", soft("— "), text(reason)] : null); });
    if (votes.length) rows.unshift(el("li", {}, "people: ", el("b", {}, votes.map((v) => markWord(v)).join(", "))));
    return el("details", { cls: "call" }, el("summary", {}, votes.length ? "People and other judges" : "Other judges"), el("ul", { cls: "opinions" }, rows));
  }
  function oneAnswer(item, k) {
    const [name, , title, view] = runs[k], outcome = item.O[k], p = item.P[k] || [];
    const [answer, failure, rationale, judge, gold, judgeFailure, frames, which, captions, own, judged, opinions, votes] = p;
    const said = answer === null || answer === undefined ? soft(failure ? ["No answer: ", text(failure)] : outcome === "absent" ? "This run was not asked." : "No answer.") : el("span", { cls: "said" }, text(answer));
    const notes = [rationale && text(rationale), judgeFailure && text(judgeFailure), typeof gold === "number" && gold >= 0 ? `decided by accepted answer ${gold + 1}` : null,
      judge && text(judge), frames ? `${frames} ${captions ? "frames described" : "frames shown"}` : null].filter(Boolean);
    const [sameAnswers, sameJudgements] = data.calls[k];
    const mine = item.P[k] ? [["run", name], ...pairs(own || []), ...sameAnswers] : [], his = judge && item.P[k] ? [...pairs(judged || []), ...sameJudgements] : [];
    const times = which ? item.F[which - 1][0] : "";
    const call = item.P[k] && (mine.length > 1 || his.length || times) ? el("details", { cls: "call" }, el("summary", {}, times ? "Frames and call" : "Call"), times ? el("p", {}, "Frames shown (time stamp in the stream, clock): ", text(times)) : null,
      el("p", {}, "Answering"), facts(mine), his.length ? [el("p", {}, "Judging"), facts(his)] : null) : null;
    const told = captions ? el("details", { cls: "call" }, el("summary", {}, "What the frames were said to show"), el("ol", { cls: "captions" }, item.K[captions - 1].map((c) => el("li", {}, text(c))))) : null;
    const why = notes.flatMap((note, n) => (n ? [" · ", note] : [note]));
    return el("tr", {}, el("th", { scope: "row", title: name }, text(title), view ? el("span", { cls: "view" }, text(view)) : null), el("td", { cls: "mark" }, el("span", { cls: `pill pill-${outcome}` }, OUTCOME[outcome])),
      el("td", {}, said, why.length ? el("span", { cls: "why" }, why) : null, others(opinions || [], votes || []), told, call));
  }
  function answers(item) {
    if (!runs.length) return [];
    const chosen = [$("f-run").value, $("f-other").value].filter((v) => v !== "").map(Number);
    const order = [...new Set(chosen), ...runs.map((_, k) => k).filter((k) => !chosen.includes(k))];
    const rows = order.map((k) => oneAnswer(item, k));
    for (const row of rows.slice(0, new Set(chosen).size)) row.classList.add("chosen");
    return [el("h4", {}, "Answers of the runs"), el("table", { cls: "answers" }, el("tbody", {}, rows))];
  }
  // When each run looked: one line for the steps, one for each different choice of frames
  function strip(marks) {
    return svgEl("svg", { class: "strip-line", width: "100%", height: 16, "aria-hidden": "true", focusable: "false" }, svgEl("line", { class: "base", x1: 0, x2: "100%", y1: 8, y2: 8 }), ...marks);
  }
  function looked(item) {
    const seen = (item.F || []).map(([, times], n) => [times, runs.filter((_, k) => item.P[k] && item.P[k][7] === n + 1)]).filter(([times, who]) => times.length && who.length);
    const end = item.E;
    if (!seen.length || !(end > 0)) return [];
    const at = (t) => `${Math.max(0, Math.min(100, (100 * t) / end)).toFixed(2)}%`;
    const tip = (t) => svgEl("title", {}, document.createTextNode(t));
    const lines = [];
    if (item.T) lines.push(el("li", {}, el("span", { cls: "who-looked" }, "steps performed"), strip(item.T.flatMap((span, k) => span ? [svgEl("rect", { class: span[2] ? "step bad" : "step", x: at(span[0]), y: 3, height: 10, width: at(Math.min(end, span[1]) - Math.max(0, span[0])) }, tip(item.D[k][0]))] : []))));
    for (const [times, who] of seen) {
      const views = [...new Set(who.map((run) => run[3] || run[2]))].join("; ");
      lines.push(el("li", {}, el("span", { cls: "who-looked", title: who.map(runLabel).join("; ") }, text(views), soft(` ${who.length} ${who.length === 1 ? "run" : "runs"}`)),
        strip(times.map((t) => svgEl("line", { class: "look", x1: at(t), x2: at(t), y1: 2, y2: 14 }, tip(`${t} s`))))));
    }
    return [el("h4", {}, "When the runs looked"), el("ul", { cls: "looked" }, lines, el("li", { cls: "ends" }, el("span", {}, ""), el("span", { cls: "ends-text" }, el("span", {}, "0:00"), el("span", {}, item.e))))];
  }
  function history(item) {
    const rows = item.D.map(([what, mistakes, when, id, told], k) => {
      const now = item.c && k === item.D.length - 1;
      return el("li", { cls: [now && "now", mistakes.length && "bad"].filter(Boolean).join(" ") || null }, text(what), now ? soft(" — just done") : null,
        when ? el("time", {}, when) : null,
        told ? el("span", { cls: "told" }, "instruction: ", text(told)) : null,
        mistakes.map(([kind, words]) => el("span", { cls: "wrong" }, "⚠ ", text(kind), words ? ": " : "", words ? text(words) : null)));
    });
    return [el("h4", {}, "What had happened"), rows.length ? el("ol", { cls: "history" }, rows) : el("p", { cls: "note" }, "Nothing had been done yet."),
      ...(item.m ? [el("p", { cls: "note" }, "The mistake asked about: ", item.m.map((m, k) => [k ? "; " : "", text(m)]).flat())] : [])];
  }
  function moment(item) {
    const graph = graphs[item.g];
    if (!graph || !item.S) return [];
    const order = "mncdf", listed = graph.steps.map((_, k) => k).sort((a, b) => order.indexOf(item.S[a]) - order.indexOf(item.S[b]) || a - b);
    const rows = listed.map((k) => el("li", { cls: `s-${item.S[k]}${item.X[k] ? " s-x" : ""}` },
      el("span", { cls: "sign", "aria-hidden": "true" }, SIGN[item.S[k]]),
      el("span", {}, soft(`${k + 1}. `), text(graph.steps[k][1]), el("span", { cls: "words" }, stateWords(item, k)))));
    const drawing = el("figure", { cls: "drawing", role: "group", tabindex: "0", "aria-label": "Drawing of the task graph at this moment; the list beside it says the same" });
    const box = el("div", { cls: "moment" }, drawing, el("ol", { cls: "state-list", "aria-label": "Steps and their states" }, rows));
    graphSvg(item.g).then((svg) => { if (svg) { box.classList.toggle("stacked", Number(svg.getAttribute("width")) > WIDE); drawing.append(stated(svg, item, graph)); } else { drawing.remove(); box.classList.add("no-drawing"); } });
    return [el("h4", {}, "Where the person stood"), legend(), box];
  }
  function legend() {
    const sample = (status, sign) => el("span", { cls: `sample is-${status}`, "aria-hidden": "true" }, sign);
    return el("ul", { cls: "legend" }, Object.entries(SIGN).map(([code, sign]) => el("li", {}, sample(STATUS[code], sign), " ", data.states[code])),
      el("li", {}, sample("error", "▲"), " ", data.flags.mistaken), el("li", {}, sample("late", "⇅"), " ", data.flags.late));
  }
  function pill([words, width], left, y) {
    return [svgEl("rect", { x: round(left), y: round(y), width, height: 14, rx: 3 }), svgEl("text", { x: round(left + width / 2), y: round(y + 10.6), "text-anchor": "middle" }, words)];
  }
  function stated(svg, item, graph) {
    const copy = svg.cloneNode(true);
    copy.removeAttribute("aria-hidden");
    copy.setAttribute("role", "list");
    copy.setAttribute("aria-label", `Task graph: ${graph.name}`);
    graph.steps.forEach(([, says, n], k) => {
      const node = copy.querySelector(`[data-step="${n}"]`);
      if (!node) return;
      const [late, , errors] = item.X[k] || [0, [], 0], status = STATUS[item.S[k]], shape = node.querySelector(".box"), sign = SIGN[item.S[k]];
      const w = Number(shape.getAttribute("width")), h = Number(shape.getAttribute("height"));
      node.classList.add(`is-${status}`);
      node.setAttribute("role", "listitem");
      node.setAttribute("aria-label", `${says} (${stateWords(item, k)})`);
      const added = [];
      if (status === "current") added.push(svgEl("rect", { class: "inner", width: w, height: h, rx: 5 }));
      if (sign) added.push(svgEl("text", { class: "glyph", x: 12, y: 18, "text-anchor": "middle", "aria-hidden": "true" }, sign));
      shape.after(...added);
      if (errors) {
        const said = data.pills.errors[errors - 1];
        node.classList.add("has-errors");
        node.append(svgEl("g", { class: "badge error", "aria-hidden": "true" }, svgEl("polygon", { class: "corner", points: `${w},${round(h - 16)} ${w},${h} ${round(w - 16)},${h}` }), ...pill(said, w + 5 - said[1], h - 6)));
      }
      if (late) {
        node.classList.add("is-late");
        node.append(svgEl("g", { class: "badge late", "aria-hidden": "true" }, ...pill(data.pills.late, -5, -8)));
      }
    });
    return copy;
  }
  function sawIt(item, seconds) {
    const near = (item.F || []).map(([, times]) => times.some((t) => Math.abs(t - seconds) < 0.06));
    const count = runs.filter((_, k) => item.P[k] && item.P[k][7] && near[item.P[k][7] - 1]).length;
    return item.F ? soft(count ? ` · seen by ${count} ${count === 1 ? "run" : "runs"}` : " · seen by no run") : null;
  }
  function frames(n) {
    const pictures = island(`frames-${n}`);
    if (!pictures) return [];
    return [el("h4", {}, "Frames"), el("div", { cls: "frames", role: "region", tabindex: "0", "aria-label": "Frames of the recording" }, pictures.map(([time, picture, seconds], k) =>
      el("figure", {}, el("img", { src: `data:image/jpeg;base64,${island(`picture-${picture}`)}`, alt: `Frame of the recording at ${time}`, decoding: "async" }),
        el("figcaption", {}, time, k === pictures.length - 1 ? " · the moment asked about" : null, sawIt(items[n], seconds)))))];
  }
  function verdicts(item) {
    if (!item.V) return [];
    const blocks = item.V.map((v) => el("div", { cls: "verdict" },
      el("p", {}, el("b", {}, text(v.who)), soft(` ${v.kind}, ${v.role}`), " — question ", el("b", {}, WORD[v.q[0]]), v.q[1] ? [": ", text(v.q[1])] : null),
      v.a.length ? el("ul", {}, v.a.map(([value, confidence, reason, evidence], k) => el("li", {}, el("b", {}, WORD[value]), confidence === null ? "" : ` (${Math.round(confidence * 100)} %)`, " ",
        item.A && item.A[k] ? [text(`“${item.A[k]}”`), " "] : `answer ${k + 1} `, reason ? text(reason) : null,
        evidence.length ? el("span", { cls: "evidence" }, " ", evidence.map(([a, b]) => text(`${a}: ${b}`)).flatMap((x, j) => (j ? ["; ", x] : [x]))) : null))) : null,
      v.own.length ? el("p", {}, "wrote: ", v.own.map((o, k) => [k ? "; " : "", text(o)]).flat()) : null,
      v.note ? el("p", { cls: "note" }, text(v.note)) : null));
    return [el("h4", {}, "Verification"), ...blocks];
  }
  function provenance(item) {
    return [el("details", {}, el("summary", {}, "Where it comes from"), el("dl", { cls: "provenance" }, [["item", item.i], ...item.p].map(([k, v]) => [el("dt", {}, text(k)), el("dd", {}, el("code", {}, text(v)))]).flat()))];
  }

  function show({ keepHash = false, focus = false } = {}) {
    $("previous").disabled = at <= 0;
    $("next").disabled = at >= shown.length - 1;
    if (!shown.length) {
      $("position").textContent = `No example matches, of ${items.length}`;
      $("item").replaceChildren(el("p", { cls: "empty" }, "Nothing matches these filters."));
      $("list").replaceChildren();
      $("list-more").textContent = "";
      return;
    }
    const n = shown[at], item = items[n];
    $("position").textContent = `${at + 1} of ${shown.length}${shown.length < items.length ? ` that match, of ${items.length}` : ""}`;
    $("item").replaceChildren(...head(item), ...golds(item), ...frames(n), ...looked(item), ...answers(item), ...history(item), ...moment(item), ...verdicts(item), ...provenance(item));
    paintList();
    if (!keepHash) rememberItem(item.i);
    if (focus) $("item").focus({ preventScroll: true });
  }
  function rememberItem(id) {
    try { browserHistory.replaceState(null, "", `#item=${encodeURIComponent(id)}`); } catch { /* sandboxed frame */ }
  }
  const browserHistory = globalThis.history;
  function step(by) {
    const to = at + by;
    if (to < 0 || to >= shown.length) return;
    at = to;
    show();
  }
  function fromHash(scroll) {
    const found = /^#item=(.+)$/.exec(location.hash);
    if (!found) return false;
    let id;
    try { id = decodeURIComponent(found[1]); } catch { return false; }
    const n = byId.get(id);
    if (n === undefined) return false;
    if (!shown.includes(n)) clear();
    at = shown.indexOf(n);
    show({ keepHash: true });
    if (scroll) $("examples").scrollIntoView();
    return true;
  }
  function clear() {
    for (const s of document.querySelectorAll("#filters select")) s.value = "";
    $("f-text").value = "";
    shown = items.map((_, n) => n);
  }

  $("previous").addEventListener("click", () => step(-1));
  $("next").addEventListener("click", () => step(1));
  $("filters").addEventListener("submit", (e) => e.preventDefault());
  $("filters").addEventListener("change", applyFilters);
  let timer = 0;
  $("f-text").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(applyFilters, 120); });
  $("f-clear").addEventListener("click", () => { clear(); applyFilters(); });
  addEventListener("hashchange", () => {
    const box = $("examples").getBoundingClientRect();
    fromHash(box.top > innerHeight || box.bottom < 0); // a link from another part of the page leads here
  });
  addEventListener("keydown", (e) => {
    if (e.altKey || e.ctrlKey || e.metaKey || e.shiftKey || e.defaultPrevented) return;
    if (e.target.closest && e.target.closest("input, select, textarea, .scroll, .drawing, .frames")) return;
    if (e.key === "ArrowLeft") step(-1);
    else if (e.key === "ArrowRight") step(1);
  });
  if (!fromHash(true)) show({ keepHash: true });
})();
