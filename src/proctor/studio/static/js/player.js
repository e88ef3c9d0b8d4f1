/** The one live video of the page: frame-exact stepping, and no connection held after leaving. */

import { stillCutting } from "./cutting.js";
import { register } from "./keys.js";
import { _ } from "./words.js";

const SPEEDS = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3];
const SPEED_NAME = "proctor:speed";
const STALLED_AFTER_MS = 20_000;
const DEFAULT_FPS = 30;

/** @param {string | undefined} text `30`, `29.97` or `30000/1001` @returns {number} frames per second */
export function parseRate(text) {
  const [over, under = "1"] = (text ?? "").split("/");
  const rate = Number(over) / Number(under);
  return Number.isFinite(rate) && rate > 0 ? rate : DEFAULT_FPS;
}

/** @param {number} seconds @returns {string} `m:ss.mmm` */
export function clockText(seconds) {
  const whole = Math.max(0, Math.round(seconds * 1000));
  const minutes = Math.floor(whole / 60_000);
  return `${minutes}:${String(Math.floor(whole / 1000) % 60).padStart(2, "0")}.${String(whole % 1000).padStart(3, "0")}`;
}

/** Controls of a `<video id="clip">` inside its panel. */
export class Player {
  /** @type {HTMLVideoElement} */
  video;
  /** @type {HTMLElement} */
  #panel;
  #rate;
  #source;
  #wanted = -1;
  #shown = 0;
  #asked = -1;
  /** The frame that the browser was on its way to when a frame was last wanted. */
  #towards = -1;
  #keepTime = 0;
  #released = false;
  #failed = false;
  /** Tried again by itself since it last went on. */
  #tried = false;
  #brokeAt = -Infinity;
  #times = 0;
  /** Until it is paused or over; a clip that breaks off tells neither. */
  #playing = false;
  /** @type {HTMLInputElement | null} */
  #bar = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #stallTimer;

  /** @param {HTMLVideoElement} video @param {HTMLElement} panel */
  constructor(video, panel) {
    this.video = video;
    this.#panel = panel;
    this.#rate = parseRate(video.dataset.fps);
    this.#source = video.getAttribute("src") ?? video.dataset.src ?? "";
    this.#wire();
    this.setSpeed(Number(read(SPEED_NAME)) || 1);
    if (video.error || !video.hasAttribute("src")) this.#fail();
    this.#show(video.currentTime);
  }

  /** One set of controls: ours, and the browser's own only on the full screen and where ours are not all there. */
  #takeControls() {
    const bar = this.#panel.querySelector("[data-player=seek]");
    if (!(bar instanceof HTMLInputElement)) return;
    this.#bar = bar;
    this.video.controls = false;
    bar.addEventListener("input", () => {
      if (Number.isFinite(this.video.duration)) this.seek((Number(bar.value) / 1000) * this.video.duration);
    });
    this.video.addEventListener("click", () => this.video.controls || this.act("play"));
    document.addEventListener("fullscreenchange", () => {
      this.video.controls = document.fullscreenElement === this.video;
    });
  }

  #wire() {
    this.#takeControls();
    this.#panel.addEventListener("click", (event) => {
      const button = event.target instanceof Element ? event.target.closest("[data-player]") : null;
      if (button instanceof HTMLElement && !(button instanceof HTMLSelectElement)) this.act(button.dataset.player ?? "");
    });
    this.#panel.addEventListener("change", (event) => {
      if (event.target instanceof HTMLSelectElement && event.target.dataset.player === "speed") this.setSpeed(Number(event.target.value));
    });
    const video = this.video;
    video.addEventListener("error", () => this.#fail());
    for (const name of ["play", "pause"]) video.addEventListener(name, () => (this.#playing = name === "play"));
    for (const name of ["play", "pause", "ended", "volumechange", "ratechange"]) video.addEventListener(name, () => this.#buttons());
    for (const name of ["waiting", "stalled"]) video.addEventListener(name, () => this.#watchStall());
    for (const name of ["canplay", "playing", "progress", "pause", "suspend", "timeupdate"]) {
      video.addEventListener(name, () => clearTimeout(this.#stallTimer));
    }
    video.addEventListener("loadeddata", () => {
      this.#failed = false;
      this.#tell("");
    });
    if ("requestVideoFrameCallback" in HTMLVideoElement.prototype) {
      const each = (/** @type {number} */ _now, /** @type {VideoFrameCallbackMetadata} */ frame) => {
        this.#show(frame.mediaTime);
        video.requestVideoFrameCallback(each);
      };
      video.requestVideoFrameCallback(each);
    } else {
      video.addEventListener("timeupdate", () => this.#show(video.currentTime));
    }
    video.addEventListener("seeking", () => {
      // Somebody went elsewhere by the browser's own controls.
      if (this.#wanted >= 0 && this.#frameAt(video.currentTime) !== this.#towards) this.#wanted = this.#asked = -1;
    });
    video.addEventListener("seeked", () => {
      if (this.#wanted >= 0 && this.#wanted !== this.#asked) this.#goTo(this.#wanted);
      else {
        // The frame's callback comes some milliseconds later; in Chromium not at all if that of an earlier frame is just at work.
        const frame = this.#wanted >= 0 ? this.#wanted : this.#within(this.#frameAt(video.currentTime));
        this.#wanted = -1;
        if (frame !== this.#shown) this.#show(frame / this.#rate);
      }
    });
    addEventListener("pagehide", () => this.release());
    addEventListener("pageshow", (event) => {
      if (event.persisted) this.#restore();
    });
  }

  /** @param {number} time @returns {number} */
  #frameAt(time) {
    return Math.floor(time * this.#rate + 1e-3);
  }

  /** @param {number} frame @returns {number} the one of the clip that is next to it */
  #within(frame) {
    const last = Number.isFinite(this.video.duration) ? Math.max(0, Math.ceil(this.video.duration * this.#rate - 1e-3) - 1) : Infinity;
    return Math.min(Math.max(0, frame), last);
  }

  /** @param {number} mediaTime of the frame that is on the screen */
  #show(mediaTime) {
    const time = this.#panel.querySelector("#clip-time");
    const frame = this.#panel.querySelector("#clip-frame");
    this.#shown = this.#frameAt(mediaTime);
    if (time) time.textContent = clockText(mediaTime);
    if (frame) frame.textContent = String(this.#shown);
    if (this.#bar && Number.isFinite(this.video.duration)) {
      this.#bar.value = String(Math.round((1000 * mediaTime) / this.video.duration));
      this.#bar.setAttribute("aria-valuetext", _("{time} of {length}", { time: clockText(mediaTime), length: clockText(this.video.duration) }));
    }
    this.video.dispatchEvent(new CustomEvent("clip-at", { detail: mediaTime }));
  }

  #buttons() {
    const play = this.#panel.querySelector("[data-player=play]");
    play?.setAttribute("aria-pressed", String(!this.video.paused));
    play?.setAttribute("aria-label", this.video.paused ? _("Play") : _("Pause"));
    this.#panel.querySelector("[data-player=mute]")?.setAttribute("aria-pressed", String(this.video.muted));
    const speed = this.#panel.querySelector("#clip-speed");
    if (speed) speed.textContent = `${this.video.playbackRate}×`;
    const menu = this.#panel.querySelector("select[data-player=speed]");
    if (menu instanceof HTMLSelectElement) menu.value = String(this.video.playbackRate);
  }

  /** @param {string} what one of the names of `data-player` */
  act(what) {
    const video = this.video;
    /** @type {Record<string, () => void>} */
    const table = {
      play: () => (video.paused ? void video.play().catch(() => {}) : video.pause()),
      back5: () => this.seek(video.currentTime - 5),
      fwd5: () => this.seek(video.currentTime + 5),
      prevframe: () => this.step(-1),
      nextframe: () => this.step(1),
      slower: () => this.#changeSpeed(-1),
      faster: () => this.#changeSpeed(1),
      home: () => this.seek(0),
      mute: () => {
        video.muted = !video.muted;
      },
      retry: () => this.retry(),
      full: () => void video.requestFullscreen?.().catch(() => {}),
    };
    table[what]?.();
  }

  /** @param {number} seconds */
  seek(seconds) {
    this.#wanted = this.#asked = -1;
    const end = Number.isFinite(this.video.duration) ? this.video.duration : Infinity;
    const time = Math.min(Math.max(0, seconds), end);
    this.#keepTime = time;
    if (this.video.readyState === 0) {
      this.video.addEventListener("loadedmetadata", () => {
        this.video.currentTime = Math.min(this.#keepTime, this.video.duration);
      }, { once: true });
      return;
    }
    this.video.currentTime = time;
  }

  /** The frame on the screen, or the one that is on its way there. */
  get frame() {
    return this.#wanted >= 0 ? this.#wanted : this.#shown;
  }

  /** @param {number} frames steps from the frame shown; presses during a seek add up */
  step(frames) {
    this.video.pause();
    this.toFrame((this.#wanted >= 0 ? this.#wanted : this.#frameAt(this.video.currentTime)) + frames);
  }

  /** Show a frame; asked faster than the browser seeks, only the last one counts. @param {number} frame */
  toFrame(frame) {
    this.#wanted = this.#within(frame);
    if (this.video.seeking) this.#towards = this.#frameAt(this.video.currentTime);
    else this.#goTo(this.#wanted);
  }

  /** Seeking to a frame's edge shows its neighbour (F7): go to its middle. @param {number} frame */
  #goTo(frame) {
    this.#asked = frame;
    this.video.currentTime = (frame + 0.5) / this.#rate;
    this.#towards = this.#frameAt(this.video.currentTime);
  }

  /** @param {number} speed */
  setSpeed(speed) {
    if (!SPEEDS.includes(speed)) return;
    this.video.defaultPlaybackRate = speed;
    this.video.playbackRate = speed;
    write(SPEED_NAME, String(speed));
    this.#buttons();
  }

  /** @param {number} by */
  #changeSpeed(by) {
    const at = SPEEDS.indexOf(this.video.playbackRate);
    const next = SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, (at < 0 ? SPEEDS.indexOf(1) : at) + by))];
    this.setSpeed(next);
  }

  #watchStall() {
    clearTimeout(this.#stallTimer);
    if (this.video.paused && this.video.readyState >= 2) return;
    this.#stallTimer = setTimeout(() => {
      if (this.video.readyState < 3 && this.video.networkState !== HTMLMediaElement.NETWORK_IDLE) this.#tell("problem");
    }, STALLED_AFTER_MS);
  }

  #fail() {
    if (this.#released || this.#failed) return;
    this.#failed = true;
    this.#keepTime = this.video.currentTime || this.#keepTime;
    if (Math.abs(this.#keepTime - this.#brokeAt) > 1) this.#tried = false;
    this.#brokeAt = this.#keepTime;
    // Without a source the poster shows again, and the broken connection is let go.
    this.#drop();
    void this.#askWhy();
  }

  /**
   * A video element does not tell why it has nothing: a clip that is still being cut (503 with Retry-After) is waited for. One
   * that is there by now may have been finished before we asked, so it is tried again, once.
   */
  async #askWhy() {
    while (this.#failed && !this.#released) {
      const wait = await stillCutting(this.#source, (share) => {
        const place = document.getElementById("clip-share");
        if (place) place.textContent = share > 0 ? `: ${Math.floor(100 * share)} %` : "";
      });
      if (!this.#failed || this.#released) return;
      if (wait === null) {
        if (this.#tried) this.#tell("problem");
        else this.retry();
        this.#tried = true;
        return;
      }
      this.#tried = false;
      this.#tell("making");
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /** @param {"" | "making" | "problem"} what stands below the clip */
  #tell(what) {
    for (const name of ["making", "problem"]) {
      const place = document.getElementById(`clip-${name}`);
      if (place) place.hidden = name !== what;
    }
  }

  #drop() {
    this.video.removeAttribute("src");
    this.video.load();
  }

  retry() {
    this.#failed = false;
    this.#times += 1;
    this.#tell("");
    this.#attach();
  }

  #attach() {
    if (!this.#source) return;
    // A clip that has been kept meanwhile (js/ahead.js) comes from another place. Chromium breaks off there, and would with the same
    // address do so again: it goes on under another one.
    this.video.src = this.#times > 0 ? `${this.#source}?again=${this.#times}` : this.#source;
    this.video.load();
    if (this.#keepTime > 0) this.seek(this.#keepTime);
    if (this.#playing) void this.video.play().catch(() => {});
  }

  /** Let the connection go (browsers allow six to one host, F9). */
  release() {
    if (this.#released) return;
    this.#released = true;
    clearTimeout(this.#stallTimer);
    this.#keepTime = this.video.currentTime || this.#keepTime;
    this.video.pause();
    this.#drop();
  }

  #restore() {
    if (!this.#released) return;
    this.#released = false;
    this.#failed = false;
    this.#attach();
  }

  /** Make the keys of §1.0 work. */
  bindKeys() {
    /** @param {string} what @returns {() => void} */
    const act = (what) => () => this.act(what);
    const group = _("Clip");
    register([
      { id: "play", group, label: _("Play or pause"), keys: ["Space", "k"], run: act("play"), native: true },
      { id: "back5", group, label: _("Back 5 s"), keys: ["j"], run: act("back5"), repeat: true },
      { id: "fwd5", group, label: _("Forward 5 s"), keys: ["l"], run: act("fwd5"), repeat: true },
      { id: "prevframe", group, label: _("One frame back"), keys: [","], run: act("prevframe"), repeat: true },
      { id: "nextframe", group, label: _("One frame on"), keys: ["."], run: act("nextframe"), repeat: true },
      { id: "prev10", group, label: _("Ten frames back"), keys: ["Shift+,"], run: () => this.step(-10), repeat: true },
      { id: "next10", group, label: _("Ten frames on"), keys: ["Shift+."], run: () => this.step(10), repeat: true },
      { id: "slower", group, label: _("Slower"), keys: ["["], run: act("slower") },
      { id: "faster", group, label: _("Faster"), keys: ["]"], run: act("faster") },
      { id: "home", group, label: _("Start of the clip"), keys: ["Home"], run: act("home") },
      { id: "mute", group, label: _("Sound on or off"), keys: ["m"], run: act("mute") },
    ]);
  }
}

/** @param {string} name @returns {string | null} */
function read(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** @param {string} name @param {string} value */
function write(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // The speed then holds for this page only.
  }
}
