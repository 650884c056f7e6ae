// Reads completed lines aloud, each once and in order.

/** Lines that may wait to be read. Older ones are skipped, and that is said. */
const waitingMax = 5;

export class Speech {
  isOn = false;
  #waiting = [];
  #skipped = 0;
  #isSpeaking = false;
  /** The newest line that was taken: one that comes late is not read between others. */
  #newest = 0;

  static get isPossible() {
    return "speechSynthesis" in window;
  }

  /** Begun by a click, as browsers want it. */
  turn(isOn) {
    this.isOn = isOn;
    this.#waiting = [];
    this.#skipped = 0;
    this.#isSpeaking = false;
    speechSynthesis.cancel();
  }

  /** Another stream: its lines are numbered from 1. */
  began() {
    this.#newest = 0;
  }

  line(number, text) {
    if (number <= this.#newest) return;
    this.#newest = number;
    this.say(text);
  }

  say(text) {
    if (!this.isOn || text.trim() === "") return;
    this.#waiting.push(text);
    while (this.#waiting.length > waitingMax) {
      this.#waiting.shift();
      this.#skipped += 1;
    }
    this.#next();
  }

  #next() {
    if (this.#isSpeaking || !this.isOn) return;
    const text = this.#skipped > 0 ? `${this.#skipped === 1 ? "One line" : `${this.#skipped} lines`} skipped.` : this.#waiting.shift();
    this.#skipped = 0;
    if (text === undefined) return;
    this.#isSpeaking = true;
    const utterance = new SpeechSynthesisUtterance(text);
    utterance.onend = utterance.onerror = () => {
      // What was stopped has nothing behind it.
      if (this.#spoken !== utterance) return;
      this.#isSpeaking = false;
      this.#next();
    };
    this.#spoken = utterance;
    speechSynthesis.speak(utterance);
  }

  /** What is being said. Browsers forget, and then never end, what nobody holds. */
  #spoken = null;
}
