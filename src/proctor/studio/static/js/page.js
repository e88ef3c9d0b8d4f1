/**
 * What every page with a sheet does: three rings of drafts, one tab that edits, meeting the server, submitting once, undo,
 * conflicts, reading only, handing back, leaving, errors by field. What a sheet is, the page's adapter says.
 */

import { ActiveTime } from "./activity.js";
import { keepAhead, nextKept } from "./ahead.js";
import { tellDraft } from "./chip.js";
import { compare } from "./conflict.js";
import { dropDraft, getDraft, isDurable, newId, sameSheet } from "./device.js";
import { dialogById, make, safePath, shown } from "./dom.js";
import { listen, register } from "./keys.js";
import { showMaterial, showTab } from "./material.js";
import { CLIENT_ID, DraftKeeper, leaveQuietly, nextSequence, theOutbox } from "./outbox.js";
import { emit, on } from "./signals.js";
import { claim } from "./tabs.js";
import { runToastAction, showToast } from "./toast.js";
import { forgetUndo, rememberUndo } from "./undo.js";
import { whereAndWhen } from "./where.js";
import { Backoff, isPassing, reasonOf, send } from "./wire.js";
import { _ } from "./words.js";

/** @typedef {import("./device.js").Sheet} Sheet */
/** @typedef {import("./device.js").QueuedSubmit} QueuedSubmit */
/** @typedef {import("./outbox.js").Outcome} Outcome */
/** @typedef {import("./wire.js").Problem} Problem */

/**
 * @typedef {object} Adapter
 * @property {() => Sheet} read all that the page holds, hidden parts too: plain JSON
 * @property {(sheet: Sheet) => void} fill show a sheet, of which parts may be missing; fires no events
 * @property {(sheet: Sheet) => Sheet} [reduce] what of it counts, and is sent
 * @property {() => {message: string, card: HTMLElement | null} | null} missing the first thing that is not filled in yet
 * @property {() => void} [changed] show what depends on the sheet; called after each change, by the person or by `fill`
 * @property {(mine: Sheet, theirs: Sheet) => import("./conflict.js").Difference[]} differences one for each part that is not the same
 * @property {(field: string) => HTMLElement | null} [cardOf] where an error of the server belongs, if not at `#card-<field>`
 * @property {(field: string) => string} [nameOf] what the field is called before its error; empty for nothing
 * @property {import("./keys.js").Action[]} [keys] of this kind of page
 * @property {() => void} [ready] called once what the device remembers is shown; the server may not have been met yet
 * @property {boolean} [offline] the page may come from the device itself, older than what the device remembers
 * @property {string} [group] what the keys of submitting and undoing are listed under
 */

const STATE_TIMEOUT_MS = 10_000;

/** Everything that the form does. */
class SheetPage {
  /** @param {HTMLFormElement} form @param {string} person @param {Adapter} adapter */
  constructor(form, person, adapter) {
    this.form = form;
    this.person = person;
    this.adapter = adapter;
    this.pid = form.dataset.pid ?? "";
    this.path = `/w/${encodeURIComponent(this.pid)}`;
    /** What is asked, where the page draws it itself. @type {any} */
    this.task = JSON.parse(form.dataset.task ?? "null");
    this.player = showMaterial();
    this.active = new ActiveTime(0);
    this.outbox = /** @type {import("./outbox.js").Outbox} */ (theOutbox());
    this.readOnly = person === "";
    /** @type {HTMLElement[]} */
    this.disabledByUs = [];
    /** @type {Sheet | null} what was queued and is not answered yet */
    this.pending = null;
    /** @type {QueuedSubmit | null} what is on its way */
    this.waiting = null;
    this.submitting = false;
    this.loading = 0;
    this.loads = 0;
  }

  /** Begin: the adapter is asked from here on. */
  begin() {
    const { sheet } = this.form.dataset;
    if (sheet) this.adapter.fill(JSON.parse(sheet));
    this.rendered = this.read();
    this.keeper = this.#newKeeper(null);
    this.keeper.stop(); // Until `load` has read the device, nothing may be written over what it remembers.
    this.#wire();
    this.adapter.changed?.();
    this.#bindKeys();
    this.#claim();
  }

  /** @returns {Sheet} a copy: what the page goes on with is the adapter's */
  read() {
    return structuredClone(this.adapter.read());
  }

  /** @param {import("./device.js").DraftRecord | null | undefined} old what the device remembers */
  #newKeeper(old) {
    const keeper = new DraftKeeper(
      {
        person: this.person,
        pid: this.pid,
        sheet: old?.dirty ? old.sheet : this.read(),
        seq: nextSequence(),
        base: old?.base ?? 0,
        client_id: CLIENT_ID,
        key: old?.key ?? newId(),
        rev: old?.dirty ? old.rev : Number(this.form.dataset.rev ?? 0),
        dirty: old?.dirty ?? false,
        force: old?.force ?? false,
        active_ms: old?.active_ms ?? 0,
        at: old?.at ?? Date.now(),
      },
      (problem) => void this.draftConflict(problem),
    );
    // Text of an earlier visit did not grow from what this page was rendered with.
    keeper.ancestor = old?.dirty ? null : this.rendered;
    return keeper;
  }

  #wire() {
    const { form } = this;
    form.setAttribute("autocomplete", "off");
    form.noValidate = true;
    form.addEventListener("input", () => void this.changed());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.submit();
    });
    document.getElementById("take-over")?.addEventListener("click", () => this.tabs?.takeOver());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.keeper.flush();
    });
    addEventListener("pagehide", () => this.keeper.flush());
    addEventListener("pageshow", (event) => {
      // A page out of the back/forward cache may show what was submitted meanwhile.
      if (event.persisted) location.reload();
    });
    on("other-person", () => {
      this.setReadOnly(true, _("Another person has signed in here. Your text stays on this device, under your name, and is not sent."));
      tellDraft({ dirty: true, why: _("another person is signed in") });
    });
    on("unreachable", () => this.waiting && void this.#goOn(this.waiting));
    this.#wireCantJudge();
    this.#wireBack();
  }

  /** Claim the assignment; whoever wins it edits. */
  #claim() {
    this.tabs = claim(this.pid, {
      onOwn: () => void this.load(),
      onOther: () => {
        this.loading += 1;
        this.keeper.stop();
        this.rendered = this.read();
        this.setReadOnly(true);
      },
    });
  }

  /** Bring device and server together: the device's newer text first, then what the server knows. */
  async load() {
    const turn = ++this.loading;
    this.loads += 1;
    this.keeper.stop();
    // In this order: a submit that leaves the queue in between has settled the draft before.
    const waiting = await this.outbox.pendingOf(this.pid);
    const old = await getDraft(this.person, this.pid);
    if (turn !== this.loading) return;
    const now = this.read();
    this.keeper = this.#newKeeper(old);
    this.keeper.block();
    this.active.atLeast(old?.active_ms ?? 0);
    this.setReadOnly(false);
    if (old?.dirty) {
      this.fill(old.sheet);
      tellDraft({ dirty: true, onDevice: true });
    } else if (!sameSheet(now, this.rendered)) {
      void this.keeper.change(now, this.active.total);
    } else if (old && this.adapter.offline) {
      this.fill(old.sheet);
      this.keeper.record.sheet = old.sheet;
    }
    this.adapter.ready?.();
    if (waiting.length > 0) await this.resumeSubmit(waiting[waiting.length - 1], old?.dirty ?? false);
    await this.meetServer(turn, old?.client_id ?? "");
    if (turn === this.loading && this.form.dataset.stage === "judge") void keepAhead(this.person, this.pid);
  }

  /**
   * A submit of an earlier page still waits: it is this page's now.
   * @param {QueuedSubmit} entry @param {boolean} hasDraft
   */
  async resumeSubmit(entry, hasDraft) {
    if (!hasDraft) {
      this.fill(entry.full);
      this.keeper.record.sheet = entry.full;
    }
    this.pending = entry.full;
    this.say(_("This item was submitted and waits for the server. It is sent by itself."));
    void this.follow({ ...entry, stuck: undefined }, true);
  }

  /** @param {number} turn @param {string} earlierClient client id under which this device saved before */
  async meetServer(turn, earlierClient) {
    const backoff = new Backoff();
    for (;;) {
      const answer = await send("GET", `${this.path}/state`, { person: this.person, timeout: STATE_TIMEOUT_MS });
      if (turn !== this.loading) return;
      if (answer.kind === "ok") {
        await this.reconcile(answer.data, earlierClient);
        return;
      }
      if (answer.kind === "problem" && answer.status === 401) {
        emit("signed-out", { pid: this.pid, problem: answer.problem });
        await new Promise((resolve) => on("signed-in", resolve));
        continue;
      }
      if (!isPassing(answer)) {
        this.setReadOnly(true, _("This item cannot be opened: {why}. What you wrote stays on this device.", { why: reasonOf(answer) }));
        return;
      }
      tellDraft({ why: reasonOf(answer) });
      await new Promise((resolve) => {
        setTimeout(resolve, backoff.next());
        addEventListener("online", resolve, { once: true });
      });
    }
  }

  /** @param {any} state what the server knows @param {string} earlierClient */
  async reconcile(state, earlierClient) {
    if (state.person !== this.person) {
      emit("other-person");
      return;
    }
    const { record } = this.keeper;
    if (state.state === "frozen" || state.state === "gone") {
      const why = state.state === "frozen" ? _("This stage is closed: the item can be read, not changed.") : _("This item went to another person.");
      if (state.submitted && !record.dirty) this.fill(state.submitted);
      this.setReadOnly(true, why);
      return;
    }
    // A draft may be older than what was submitted after it; the page was rendered from the newer of the two.
    const newer = moment(state.draft?.saved_at) ?? null;
    const submittedAt = moment(state.submitted_at);
    const outdated = state.submitted && newer && (submittedAt ? newer <= submittedAt : Number(state.rev) === Number(this.form.dataset.rev));
    const rendered = outdated && !submittedAt && this.loads === 1 ? this.rendered : null;
    const serverSheet = rendered ?? (outdated ? state.submitted : (state.draft?.sheet ?? state.submitted ?? null));
    const version = Number(state.draft?.version ?? 0);
    const known = version === record.base && Number(state.rev) === record.rev;
    const ours = [earlierClient, CLIENT_ID].includes(state.draft?.client_id ?? "");
    const { ancestor } = this.keeper;
    const unchanged = serverSheet === null || sameSheet(serverSheet, record.sheet) || (ancestor !== null && sameSheet(serverSheet, ancestor));
    this.form.dataset.state = state.state;
    const landed = state.submitted && !state.draft && !record.force;
    if (landed && sameSheet(this.reduce(record.sheet), state.submitted)) {
      // Submitted by a request whose answer was lost.
      Object.assign(record, { dirty: false, sheet: state.submitted, rev: Number(state.rev) });
      await dropDraft(this.person, this.pid);
    }
    if (!record.dirty) {
      if (serverSheet && !sameSheet(serverSheet, this.read())) this.fill(serverSheet);
      Object.assign(record, { sheet: this.read(), rev: Number(state.rev) });
      this.keeper.ancestor = record.sheet;
      this.keeper.rebase(version);
      const savedAt = moment(state.draft?.saved_at);
      tellDraft({ dirty: false, why: "", ...(serverSheet ? { some: true } : {}), ...(savedAt ? { savedAt } : {}) });
    } else if (record.force || ((known || ours || unchanged || !state.draft) && Number(state.rev) === record.rev)) {
      this.keeper.ancestor = serverSheet ?? this.rendered;
      this.keeper.rebase(version);
      tellDraft({ why: "" });
      this.keeper.sendSoon();
    } else if (this.pending === null) {
      await this.settle({ theirs: serverSheet, version, rev: Number(state.rev) });
    }
  }

  /** @param {Sheet} sheet */
  fill(sheet) {
    this.adapter.fill(structuredClone(sheet));
    this.adapter.changed?.();
    document.dispatchEvent(new Event("filled"));
  }

  /** @param {Sheet} sheet @returns {Sheet} what counts */
  reduce(sheet) {
    return this.adapter.reduce?.(sheet) ?? sheet;
  }

  /** The person changed something; `input` events in the form say so themselves. @returns {Promise<void>} once the device has it */
  changed() {
    if (this.readOnly) return Promise.resolve();
    this.adapter.changed?.();
    this.say("");
    this.clearErrors();
    return this.keeper.change(this.read(), this.active.total);
  }

  /** @param {string} text */
  say(text) {
    const place = document.getElementById("form-error");
    if (place) {
      place.textContent = shown(text);
      place.hidden = text === "";
    }
  }

  clearErrors() {
    for (const marked of this.form.querySelectorAll("[aria-invalid], .missing")) {
      marked.removeAttribute("aria-invalid");
      marked.classList.remove("missing");
    }
  }

  /** @param {boolean} on @param {string} [why] shown in place of "open in another tab" */
  setReadOnly(on, why) {
    this.readOnly = on;
    document.body.toggleAttribute("data-readonly", on);
    const banner = document.getElementById("readonly-banner");
    const take = document.getElementById("take-over");
    toggle(banner, on);
    if (take) take.hidden = !on || why !== undefined;
    if (banner && why !== undefined) {
      let text = banner.querySelector("[data-readonly-why]");
      if (!text) {
        text = make("span", { "data-readonly-why": true });
        banner.prepend(text);
      }
      text.textContent = `${why} `;
    } else {
      banner?.querySelector("[data-readonly-why]")?.remove();
    }
    for (const element of this.disabledByUs) /** @type {any} */ (element).disabled = false;
    this.disabledByUs = [];
    if (!on) return;
    const cant = document.getElementById("cant-open");
    for (const element of [...this.form.elements, ...(cant ? [cant] : [])]) {
      const control = /** @type {any} */ (element);
      if (control.id === "back" || control.disabled || element instanceof HTMLFieldSetElement) continue;
      control.disabled = true;
      this.disabledByUs.push(control);
    }
  }

  /** @param {HTMLElement | null} card */
  focusCard(card) {
    if (!card) return;
    showTab("question");
    const target = card.querySelector("input:checked") ?? card.querySelector("input, textarea");
    if (target instanceof HTMLElement) target.focus({ preventScroll: true });
    card.scrollIntoView({ block: "nearest", behavior: "auto" });
  }

  async submit() {
    if (this.readOnly || this.submitting) return;
    this.clearErrors();
    const missing = this.adapter.missing();
    if (missing) {
      this.say(missing.message);
      mark(missing.card);
      this.focusCard(missing.card);
      return;
    }
    const full = this.read();
    if (this.pending && sameSheet(this.pending, full)) {
      this.say(_("This is queued already and is sent as soon as the server answers."));
      this.outbox.retryNow();
      return;
    }
    this.submitting = true;
    this.keeper.cancel();
    const { record } = this.keeper;
    const key = record.key;
    record.key = newId();
    /** @type {QueuedSubmit} */
    const entry = {
      person: this.person, pid: this.pid, key, sheet: this.reduce(full), full, rev: record.rev,
      client_id: CLIENT_ID, active_ms: this.active.total, at: Date.now(),
    };
    this.pending = full;
    this.form.setAttribute("aria-busy", "true");
    // The same sheet pressed again is caught above; a changed one is a new revision and may be pressed at once.
    this.submitting = false;
    await this.follow(entry);
  }

  /** @param {QueuedSubmit} entry wait for the server's word on it, and act on that @param {boolean} [stay] somebody came back to it */
  async follow(entry, stay = false) {
    this.waiting = stay ? null : entry;
    const slow = setTimeout(() => !stay && void this.#goOn(entry), 4000);
    const outcome = await this.outbox.submit(entry);
    clearTimeout(slow);
    if (this.waiting === entry) this.waiting = null;
    const isLatest = this.pending !== null && sameSheet(this.pending, entry.full);
    if (isLatest) {
      this.pending = null;
      this.form.removeAttribute("aria-busy");
    }
    await this.heard(entry, outcome);
  }

  /** The server does not answer: say so, or go on with the next item that is kept here. @param {QueuedSubmit} entry */
  async #goOn(entry) {
    this.form.removeAttribute("aria-busy");
    if (this.readOnly) return;
    this.say(_("Not sent yet. It waits on this device and is sent by itself as soon as the server answers."));
    if (this.form.dataset.stage !== "judge" || !sameSheet(this.read(), entry.full) || !(await isDurable())) return;
    const next = await nextKept(this.pid, async (pid) => (await this.outbox.pendingOf(pid)).length === 0);
    if (!next || !(await this.outbox.pendingOf(this.pid)).some(({ key }) => key === entry.key)) return;
    this.keeper.stop();
    leaveQuietly();
    location.assign(next);
  }

  /** @param {QueuedSubmit} entry @param {Outcome} outcome */
  async heard(entry, outcome) {
    if (outcome.kind === "unknown") {
      location.reload();
    } else if (outcome.kind === "sent") {
      await this.sent(entry, outcome);
    } else {
      await this.outbox.drop(entry.key);
      await this.refused(outcome.status, outcome.problem);
    }
  }

  /** @param {QueuedSubmit} entry @param {{rev: number, next: string, undo_seconds: number}} outcome */
  async sent(entry, outcome) {
    const { record } = this.keeper;
    record.rev = outcome.rev;
    this.form.dataset.rev = String(outcome.rev);
    this.say("");
    if (!sameSheet(this.read(), entry.full)) {
      if (this.pending === null) {
        showToast(_("Submitted. What you changed since then is a draft: submit again to count it."), null, 10);
        void this.keeper.change(this.read(), this.active.total);
      }
      return;
    }
    this.keeper.stop();
    await dropDraft(this.person, this.pid);
    tellDraft({ dirty: false, why: "", savedAt: new Date() });
    rememberUndo({ person: this.person, pid: this.pid, rev: outcome.rev, full: entry.full }, outcome.undo_seconds);
    location.assign(safePath(outcome.next));
  }

  /** @param {number} status @param {Problem} problem */
  async refused(status, problem) {
    if (status === 409 && problem.theirs) {
      await this.settle({ theirs: problem.theirs, rev: Number(problem.rev), version: null });
      return;
    }
    const errors = problem.errors ?? [];
    const named = errors.map(({ field, message }) => [this.#nameOf(field), message].filter(Boolean).join(": ")).join(" ");
    this.say(named || problem.detail || problem.title || _("The server refused this ({status}).", { status }));
    const first = errors.map((error) => this.#cardOf(error.field)).find((card) => card !== null) ?? null;
    mark(first);
    this.focusCard(first);
    this.keeper.sendSoon();
  }

  /** @param {string} field as the server names it: `answers.2` @returns {HTMLElement | null} */
  #cardOf(field) {
    return this.adapter.cardOf?.(field) ?? (field === "note" ? (noteOf(this.form)?.parentElement ?? null) : document.getElementById(`card-${field}`));
  }

  /** @param {string} field @returns {string} */
  #nameOf(field) {
    return this.adapter.nameOf?.(field) ?? (field === "note" ? _("Note") : field.charAt(0).toUpperCase() + field.slice(1).replaceAll("_", " "));
  }

  /** @param {Problem} problem another client saved a draft since this one was read */
  async draftConflict(problem) {
    await this.settle({ theirs: problem.theirs, version: Number(problem.version), rev: this.keeper.record.rev });
  }

  /**
   * Show both versions and go on with what the person picks. Closed without a choice, nothing is sent; the chip says so
   * and the next change or submit asks again.
   * @param {{theirs: any, version: number | null, rev: number}} other version null: the server is asked for it
   */
  async settle(other) {
    this.keeper.block();
    tellDraft({ dirty: true, why: _("changed elsewhere: compare the two") });
    const mine = this.read();
    const picked = await compare(mine, other.theirs, this.adapter.differences, await this.#whereTheirs());
    if (picked === null) {
      this.say(_("This item was changed elsewhere. Nothing is sent until you compare the two versions."));
      this.offerCompare(other);
      return;
    }
    this.say("");
    this.fill(picked);
    this.keeper.record.rev = other.rev;
    this.keeper.ancestor = other.theirs;
    this.keeper.record.base = other.version ?? (await this.askVersion());
    this.keeper.rebase(this.keeper.record.base);
    void this.keeper.change(picked, this.active.total);
    this.say(_("The sheet now holds what you picked. Look it over and submit."));
    document.getElementById("submit")?.focus();
  }

  /** @returns {Promise<string>} where and when the server's version was saved, in words */
  async #whereTheirs() {
    const answer = await send("GET", `${this.path}/state`, { person: this.person, timeout: 3000 });
    if (answer.kind !== "ok") return _("elsewhere");
    return whereAndWhen(String(answer.data.last?.by ?? ""), moment(answer.data.last?.at));
  }

  /** @param {{theirs: any, version: number | null, rev: number}} other */
  offerCompare(other) {
    const button = make("button", { type: "button", "data-compare": true }, _("Compare"));
    button.addEventListener("click", () => void this.settle(other));
    document.getElementById("form-error")?.append(" ", button);
  }

  /** @returns {Promise<number>} version of the server's draft */
  async askVersion() {
    const answer = await send("GET", `${this.path}/state`, { person: this.person, timeout: STATE_TIMEOUT_MS });
    return answer.kind === "ok" ? Number(answer.data.draft?.version ?? 0) : this.keeper.record.base;
  }

  #wireBack() {
    const back = document.getElementById("back");
    if (!(back instanceof HTMLButtonElement) || back.type === "submit") return;
    back.addEventListener("click", () => {
      const href = back.dataset.href ?? document.querySelector("a[rel=prev]")?.getAttribute("href");
      if (href) location.assign(safePath(href));
      else history.back();
    });
  }

  openCantJudge() {
    const dialog = dialogById("cant-dialog");
    if (this.readOnly || !dialog || dialog.open) return;
    dialog.showModal();
  }

  #wireCantJudge() {
    const dialog = dialogById("cant-dialog");
    const form = dialog?.querySelector("form");
    document.addEventListener("click", (event) => {
      const opener = event.target instanceof Element ? event.target.closest("#cant-open, [data-cant-open]") : null;
      if (opener) this.openCantJudge();
    });
    form?.addEventListener("submit", (event) => {
      const submitter = event.submitter;
      const closes = submitter?.getAttribute("formmethod") === "dialog" || /** @type {any} */ (submitter)?.value === "cancel";
      if (closes) return;
      event.preventDefault();
      void this.cantJudge(/** @type {HTMLDialogElement} */ (dialog), form);
    });
  }

  /** @param {HTMLDialogElement} dialog @param {HTMLFormElement} form */
  async cantJudge(dialog, form) {
    const fields = new FormData(form);
    const reason = String(fields.get("reason") ?? "");
    const note = String(fields.get("note") ?? "").trim();
    let place = form.querySelector("[role=alert]");
    if (!place) {
      place = make("p", { role: "alert" });
      form.append(place);
    }
    /** @param {string} text */
    const say = (text) => {
      /** @type {HTMLElement} */ (place).textContent = text;
      /** @type {HTMLElement} */ (place).hidden = text === "";
    };
    if (!["media", "text", "upsetting", "other"].includes(reason)) return say(_("Choose a reason."));
    if (reason === "other" && note === "") return say(_("Say in a few words what is wrong."));
    if (form.dataset.busy) return;
    form.dataset.busy = "1";
    say("");
    const answer = await send("POST", `${this.path}/cant`, { body: { reason, note }, person: this.person });
    delete form.dataset.busy;
    if (answer.kind === "ok") {
      this.keeper.stop();
      await dropDraft(this.person, this.pid);
      tellDraft({ dirty: false, why: "" });
      forgetUndo();
      dialog.close();
      location.assign(safePath(answer.data.next));
      return;
    }
    say(_("Not sent: {why}. Try again.", { why: reasonOf(answer) }));
    if (answer.kind === "problem" && answer.status === 401) {
      dialog.close();
      emit("signed-out", { pid: this.pid, problem: answer.problem });
      on("signed-in", () => {
        if (!dialog.open) dialog.showModal();
      });
    }
  }

  #bindKeys() {
    const { keys = [], group = _("This page") } = this.adapter;
    const cant = document.getElementById("cant-open")?.textContent ?? _("Can't judge");
    register([
      ...keys,
      { id: "submit", group, label: _("Submit"), keys: ["Mod+Enter"], run: () => this.form.requestSubmit() },
      { id: "undo", group, label: _("Undo"), keys: ["z"], run: () => runToastAction() },
      { id: "flag", group, label: cant, keys: ["f"], run: () => this.openCantJudge() },
      { id: "prev", group: _("Page"), label: _("Previous item"), keys: ["Alt+ArrowLeft"], run: () => follow("prev") },
      { id: "next", group: _("Page"), label: _("Next item"), keys: ["Alt+ArrowRight"], run: () => follow("next") },
    ]);
    const guide = dialogById("guide-dialog");
    const free = keys.every((action) => !action.keys.includes("i"));
    if (guide) register([{ id: "guide", group: _("Page"), label: _("Instructions"), keys: free ? ["i"] : [], run: () => guide.showModal() }]);
  }
}

/** @param {unknown} value seconds since 1970, or an ISO time @returns {Date | null} */
function moment(value) {
  const found = typeof value === "number" ? new Date(value * 1000) : typeof value === "string" ? new Date(value) : null;
  return found && !Number.isNaN(found.getTime()) ? found : null;
}

/** @param {HTMLElement | null} element @param {boolean} shown */
function toggle(element, shown) {
  if (element) element.hidden = !shown;
}

/** @param {HTMLElement | null} card */
function mark(card) {
  card?.setAttribute("aria-invalid", "true");
  card?.classList.add("missing");
}

/** @param {"prev"|"next"} where @returns {boolean} */
function follow(where) {
  const link = document.querySelector(`a[rel="${where}"], [data-nav="${where}"]`) ?? (where === "prev" ? document.getElementById("back") : null);
  if (link instanceof HTMLElement) link.click();
  return true; // Alt+← must not fall through to the browser's own "back".
}

/** @param {HTMLFormElement} form @returns {HTMLTextAreaElement | null} */
export const noteOf = (form) => form.querySelector("textarea[name=note]");

/**
 * Run the page. The adapter is first asked once the module that called this has run to its end.
 * @param {Adapter} adapter
 * @returns {SheetPage}
 */
export function startPage(adapter) {
  const person = document.body.dataset.person ?? "";
  const page = new SheetPage(/** @type {HTMLFormElement} */ (document.getElementById("sheet")), person, adapter);
  listen(person);
  if (person) queueMicrotask(() => page.begin());
  return page;
}
