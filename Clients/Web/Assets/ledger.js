// Which lines of a stream a listener has, which it misses, and until when it asks for them. Times are in milliseconds.

/** A listener asks this long for missing lines, then it shows that they are missing. */
export const missingShownAfter = 10_000;
/** Separate runs of missing lines that are remembered. The oldest is given up and forgotten. */
const gapsMax = 64;

/**
 * @typedef {{from: number, to: number}} Lines
 * @typedef {Lines & {until: number | null}} Gap asked for until then; null: given up. A line that comes later still has its place.
 */

export class LineLedger {
  /** The newest line known to be completed. */
  newest;
  /** @type {Gap[]} in order, without overlap */
  #gaps = [];
  /** @type {Lines[]} given up for want of room */
  #crowdedOut = [];

  /** @param {number} completedBefore lines that were completed before the listener came */
  constructor(completedBefore) {
    this.newest = completedBefore;
  }

  get isAsking() {
    return this.#gaps.some((gap) => gap.until !== null);
  }

  /** All lines up to this one are here, or given up. */
  get settled() {
    const gap = this.#gaps.find((gap) => gap.until !== null);
    return gap ? gap.from - 1 : this.newest;
  }

  /** When `giveUp` has something to do next. @returns {number | null} */
  get nextDeadline() {
    return this.#gaps.reduce((first, { until }) => (until === null ? first : Math.min(first ?? until, until)), null);
  }

  /** As many lines are completed: whoever has fewer has missed some. */
  completed(count, now) {
    if (count <= this.newest) return;
    this.#insert({ from: this.newest + 1, to: count, until: now + missingShownAfter });
    this.newest = count;
  }

  /** A line has come. @returns {boolean} whether it was missing */
  take(number, now) {
    this.completed(number, now);
    const index = this.#gaps.findIndex((gap) => gap.from <= number && number <= gap.to);
    if (index < 0) return false;
    const [gap] = this.#gaps.splice(index, 1);
    if (number < gap.to) this.#insert({ ...gap, from: number + 1 });
    if (gap.from < number) this.#insert({ ...gap, to: number - 1 });
    return true;
  }

  /** Nobody could answer meanwhile: what is missing is asked for as long as if it were missing from now on. */
  askAnew(now) {
    for (const gap of this.#gaps) if (gap.until !== null) gap.until = now + missingShownAfter;
  }

  /** @returns {Lines[]} to be shown as missing from now on */
  giveUp(now) {
    const given = this.#crowdedOut;
    this.#crowdedOut = [];
    for (const gap of this.#gaps) {
      if (gap.until === null || gap.until > now) continue;
      gap.until = null;
      given.push({ from: gap.from, to: gap.to });
    }
    return given;
  }

  /** @param {Gap} gap */
  #insert(gap) {
    const index = this.#gaps.findIndex((other) => gap.to < other.from);
    this.#gaps.splice(index < 0 ? this.#gaps.length : index, 0, gap);
    if (this.#gaps.length <= gapsMax) return;
    const oldest = this.#gaps.shift();
    if (oldest.until !== null) this.#crowdedOut.push({ from: oldest.from, to: oldest.to });
  }
}
