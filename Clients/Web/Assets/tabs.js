// One tab of a browser is in a room at a time: tabs share the guest, who has one connection and one seat in a room.

const place = "whisper.room";
/** A tab that is closed or loaded again gives its place up within this, in milliseconds. */
const patience = 1_000;

/** @returns {Promise<() => void>} gives the lock back; rejected if it is not to be had */
const lock = (name, options) =>
  new Promise((resolve, reject) => {
    navigator.locks.request(name, options, () => new Promise((release) => resolve(release))).catch(reject);
  });

export class Place {
  /** Resolves to what gives it back. @type {Promise<() => void> | null} */
  #place = null;
  /** Other locks that are held, by name. @type {Map<string, () => void>} */
  #held = new Map();

  /**
   * @param {string} key of the room: its id, or a code that opens it
   * @returns {Promise<"same" | "other" | null>} null: it is this tab's; otherwise which room another tab is in
   */
  async take(key) {
    try {
      await (this.#place ??= lock(place, { signal: AbortSignal.timeout(patience) }));
      await this.know(key);
      return null;
    } catch {
      this.#place = null;
      const { held } = await navigator.locks.query();
      return held.some(({ name }) => name === `${place} ${key}`) ? "same" : "other";
    }
  }

  /** Other tabs see by it that they want the same room. @param {...(string | undefined)} keys */
  async know(...keys) {
    if (!this.#place) return;
    for (const name of keys.filter(Boolean).map((key) => `${place} ${key}`)) {
      if (this.#held.has(name)) continue;
      this.#held.set(name, () => {});
      const release = await lock(name, { mode: "shared" });
      if (this.#held.has(name)) this.#held.set(name, release);
      else release();
    }
  }

  leave() {
    this.#place?.then((release) => release(), () => {});
    this.#place = null;
    for (const release of this.#held.values()) release();
    this.#held.clear();
  }
}
