// Voice notes: recorded, listened to, and played with bars. Loaded with the first of them.
import { lengthOf, words } from "./text.js";
import { button, dialog, el, say, set, signButton, signs } from "./view.js";

Object.assign(signs, { play: "M7 4l9 6-9 6Z", pause: "M7 4v12M13 4v12" });

const longest = 15 * 60_000;
const slices = 64;
/** Between two looks at the loudness. */
const lookEach = 50;
const rates = [1, 1.5, 2];
const types = ["audio/webm;codecs=opus", "audio/ogg;codecs=opus"];
const svg = "http://www.w3.org/2000/svg";

/** The loudest of each slice, 0 to 255. @param {number[]} levels of 0 to 1 @returns {Uint8Array} */
function waveform(levels) {
  const count = Math.min(slices, Math.max(1, levels.length));
  const top = Math.max(...levels, 0.01);
  return Uint8Array.from({ length: count }, (_, place) => {
    const slice = levels.slice(Math.floor(place * levels.length / count), Math.floor((place + 1) * levels.length / count));
    return Math.round(255 * Math.max(0, ...slice) / top);
  });
}

/** One path for all bars. */
function bars(levels) {
  const element = document.createElementNS(svg, "svg");
  element.setAttribute("viewBox", `0 0 ${levels.length * 4} 32`);
  element.setAttribute("preserveAspectRatio", "none");
  element.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(svg, "path");
  path.setAttribute("d", [...levels].map((level, place) => {
    const half = Math.max(1, Math.round(level / 255 * 14));
    return `M${place * 4 + 2} ${16 - half}v${half * 2}`;
  }).join(""));
  element.append(path);
  return element;
}

/** The one that plays. @type {Player | null} */
let playing = null;

/** Plays one voice note. */
export class Player {
  element;
  #audio;
  #url;
  #load;
  #duration;
  #button;
  #place;
  #time;
  #played;
  #rate;
  #opening;
  #isOver = false;

  /** @param {{durationMs: number, waveform?: string | Uint8Array}} voice @param {() => Promise<Blob>} load */
  constructor({ durationMs, waveform: levels }, load) {
    this.#load = load;
    this.#duration = durationMs;
    const heights = typeof levels === "string" ? Uint8Array.from(atob(levels), (letter) => letter.charCodeAt(0)) : levels ?? new Uint8Array(slices).fill(64);
    this.#button = signButton("play", words.play(lengthOf(durationMs)), () => this.#toggle());
    this.#played = bars(heights);
    this.#played.setAttribute("class", "played");
    this.#place = el("input", { type: "range", min: 0, max: durationMs, step: 1_000, value: 0, "aria-label": words.place, input: () => this.#seek(), keydown: (event) => /^(Arrow|Home|End|Page)/.test(event.key) && !event.altKey && event.stopPropagation() });
    this.#time = el("span", { class: "time" });
    this.#rate = button("1×", () => this.#faster(), { class: "rate", "aria-label": words.rate(1) });
    this.element = el("div", { class: "player", role: "group", "aria-label": words.voiceNote }, this.#button, el("div", { class: "bars" }, bars(heights), this.#played, this.#place), this.#time, this.#rate);
    this.#draw();
  }

  get #at() {
    return this.#audio ? Math.min(this.#duration, this.#audio.currentTime * 1_000) : 0;
  }

  #draw() {
    const isPlaying = playing === this && this.#audio && !this.#audio.paused;
    set(this.#button, "aria-label", isPlaying ? words.pause : words.play(lengthOf(this.#duration)));
    this.#button.querySelector("path").setAttribute("d", signs[isPlaying ? "pause" : "play"]);
    const part = this.#at / this.#duration;
    this.#played.style.clipPath = `inset(0 ${100 - part * 100}% 0 0)`;
    this.#place.value = this.#at;
    set(this.#place, "aria-valuetext", words.placeOf(lengthOf(this.#at), lengthOf(this.#duration)));
    this.#time.textContent = lengthOf(this.#at > 0 ? this.#at : this.#duration);
  }

  #open() {
    return (this.#opening ??= this.#begin().catch((error) => {
      this.#opening = undefined;
      throw error;
    }));
  }

  async #begin() {
    const blob = await this.#load();
    if (this.#isOver) throw new DOMException("", "AbortError");
    this.#url = URL.createObjectURL(blob);
    this.#audio = new Audio(this.#url);
    for (const name of ["timeupdate", "pause", "play"]) this.#audio.addEventListener(name, () => this.#draw());
    this.#audio.addEventListener("ended", () => {
      this.#audio.currentTime = 0;
      this.#draw();
    });
  }

  async #toggle() {
    try {
      await this.#open();
      if (!this.#audio.paused) return this.#audio.pause();
      if (playing !== this) playing?.stop();
      playing = this;
      this.#audio.playbackRate = rates[this.#step];
      await this.#audio.play();
    } catch (error) {
      if (error.name !== "AbortError") this.#time.textContent = error.message;
    }
  }

  async #seek() {
    const wanted = Number(this.#place.value) / 1_000;
    await this.#open().catch(() => {});
    if (this.#audio) this.#audio.currentTime = wanted;
    this.#draw();
  }

  #step = 0;

  #faster() {
    this.#step = (this.#step + 1) % rates.length;
    const rate = rates[this.#step];
    if (this.#audio) this.#audio.playbackRate = rate;
    this.#rate.replaceChildren(`${rate}×`);
    set(this.#rate, "aria-label", words.rate(rate));
  }

  stop() {
    this.#audio?.pause();
  }

  end() {
    this.#isOver = true;
    this.stop();
    if (playing === this) playing = null;
    if (this.#url) URL.revokeObjectURL(this.#url);
  }
}

/** Records a note, lets the person listen, and gives it away or throws it away. @param {(note: {blob: Blob, name: string, type: string, voice: any}) => Promise<void>} send @param {() => boolean} isWanted still, when there is a microphone */
export async function record(send, isWanted) {
  let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  } catch {
    throw new Error(words.noMicrophone);
  }
  if (!isWanted()) return stream.getTracks().forEach((track) => track.stop());
  const mimeType = types.find((type) => MediaRecorder.isTypeSupported(type));
  const recorder = new MediaRecorder(stream, { mimeType, audioBitsPerSecond: 32_000 });
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  context.createMediaStreamSource(stream).connect(analyser);
  const [levels, parts, samples] = [[], [], new Float32Array(analyser.fftSize)];
  const began = performance.now();
  const time = el("p", { class: "large", role: "timer" }, lengthOf(0));
  const buttons = el("div", { class: "buttons" });
  const body = el("div", { class: "recorder" }, el("p", {}, words.recording), time);
  const fault = el("p", { class: "fault", role: "alert" });
  let player;
  const look = setInterval(() => {
    analyser.getFloatTimeDomainData(samples);
    levels.push(samples.reduce((top, sample) => Math.max(top, Math.abs(sample)), 0));
    const passed = performance.now() - began;
    time.textContent = lengthOf(passed);
    if (passed >= longest) stop();
  }, lookEach);
  const silence = () => {
    clearInterval(look);
    if (recorder.state !== "inactive") recorder.stop();
    for (const track of stream.getTracks()) track.stop();
    context.close().catch(() => {});
  };
  recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
  let isOver = false;
  let durationMs = 0;
  const stop = () => {
    if (isOver) return;
    isOver = true;
    durationMs = Math.max(1, Math.min(longest, Math.round(performance.now() - began)));
    silence();
  };
  // Also by itself, when the microphone has gone.
  recorder.addEventListener("stop", () => {
    stop();
    heard();
  }, { once: true });
  const heard = () => {
    if (!element.open) return;
    const type = mimeType.split(";")[0];
    const blob = new Blob(parts, { type });
    const wave = waveform(levels);
    player = new Player({ durationMs, waveform: wave }, async () => blob);
    body.replaceChildren(player.element);
    const note = { blob, type, name: `${words.voiceNote}.${type.split("/")[1]}`, clientId: crypto.randomUUID(), voice: { durationMs, waveform: btoa(String.fromCharCode(...wave)) } };
    const go = button(words.send, async () => {
      if (go.ariaBusy) return;
      set(go, "aria-busy", "true");
      try {
        await send(note);
        close();
      } catch (error) {
        set(go, "aria-busy", null);
        fault.replaceChildren(error.message);
      }
    }, { class: "main", id: "send-voice" });
    buttons.replaceChildren(go, button(words.throwAway, () => close(), { id: "throw-away" }));
    go.focus();
  };
  const done = button(words.stopRecording, stop, { class: "main", id: "stop-voice" });
  buttons.append(done);
  const { element, close } = dialog(words.voiceNote, body, fault, buttons);
  element.addEventListener("close", () => {
    isOver = true;
    silence();
    player?.end();
  });
  recorder.start();
  done.focus();
  say(words.recording);
}
