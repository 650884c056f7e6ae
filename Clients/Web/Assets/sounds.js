// Sounds made by WebAudio: there are no files to load.

/** Of full scale. */
const volumes = { off: 0, low: 0.08, middle: 0.25, high: 0.6 };

/**
 * @typedef {object} Tone
 * @property {OscillatorType} wave
 * @property {number[]} hertz together
 * @property {number} at seconds from now
 * @property {number} for seconds
 * @property {boolean} [rings] fades like a bell
 */

/** @type {Record<string, Tone[]>} */
const cues = {
  "air-horn": [{ wave: "sawtooth", hertz: [440, 554, 659], at: 0, for: 0.9 }],
  "bike-horn": [
    { wave: "square", hertz: [294, 370], at: 0, for: 0.14 },
    { wave: "square", hertz: [233, 294], at: 0.18, for: 0.22 },
  ],
  "bike-bell": [
    { wave: "sine", hertz: [2093, 3136, 4186], at: 0, for: 0.5, rings: true },
    { wave: "sine", hertz: [2093, 3136, 4186], at: 0.22, for: 0.9, rings: true },
  ],
};
/** @type {Tone[]} */
const key = [{ wave: "triangle", hertz: [1400], at: 0, for: 0.02, rings: true }];
/** @type {Tone[]} */
const carriageReturn = [{ wave: "sine", hertz: [1318, 2637], at: 0, for: 0.35, rings: true }];
/** Typing is a background. */
const typingPart = 0.25;
const keysPerSecondMax = 12;

export class Sounds {
  volume = "middle";
  isTypingHeard = false;
  #context = null;
  #lastKey = 0;

  /** Browsers let a page sound only after a click or a key: call it from there. */
  allow() {
    this.#context ??= window.AudioContext ? new AudioContext() : null;
    this.#context?.resume();
  }

  /** @param {string} name a cue's; unknown ones are a bike's horn */
  cue(name) {
    const known = Object.hasOwn(cues, name) ? name : "bike-horn";
    this.#play(cues[known], 1);
  }

  typed() {
    const now = performance.now();
    if (!this.isTypingHeard || now < this.#lastKey + 1000 / keysPerSecondMax) return;
    this.#lastKey = now;
    this.#play(key, typingPart);
  }

  completedLine() {
    if (this.isTypingHeard) this.#play(carriageReturn, typingPart);
  }

  /** @param {Tone[]} tones @param {number} part of the volume */
  #play(tones, part) {
    const context = this.#context;
    const loudness = volumes[this.volume] * part;
    if (!context || context.state !== "running" || loudness === 0) return;
    for (const tone of tones) {
      const from = context.currentTime + tone.at;
      const gain = context.createGain();
      gain.connect(context.destination);
      gain.gain.setValueAtTime(0, from);
      gain.gain.linearRampToValueAtTime(loudness / tone.hertz.length, from + 0.005);
      if (tone.rings) gain.gain.exponentialRampToValueAtTime(0.0001, from + tone.for);
      else gain.gain.setTargetAtTime(0, from + tone.for - 0.05, 0.015);
      for (const hertz of tone.hertz) {
        const oscillator = new OscillatorNode(context, { type: tone.wave, frequency: hertz });
        oscillator.connect(gain);
        oscillator.start(from);
        oscillator.stop(from + tone.for + 0.1);
      }
    }
  }
}
