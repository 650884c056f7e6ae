// The text on the page: completed lines, each in its place by its number, and the line that is being typed.

/** Lines on the page. The oldest go first. */
const linesMax = 5_000;
/** The reader is at the newest text if no more than this is beyond it, in CSS pixels. */
const nearby = 48;

const address = /https?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)\]}]/gu;

/**
 * An entry of past text: a line, or a run of lines that are missing.
 * @typedef {{from: number, to: number, element: HTMLElement}} Entry
 */

export class Text {
  #past = document.querySelector("#past");
  #earlier = document.querySelector("#earlier");
  #live = document.querySelector("#live");
  #panel = document.querySelector("#panel");
  #reading = document.querySelector("#reading");
  #newest = document.querySelector("#newest");
  #main = document.querySelector("main");
  /** @type {Entry[]} in order */
  #entries = [];
  #order = "bottom";

  constructor() {
    this.#newest.onclick = () => this.#goToNewest();
    addEventListener("scroll", () => this.#showDistance(), { passive: true });
    addEventListener("resize", () => this.#showDistance(), { passive: true });
  }

  /** @param {"bottom" | "top"} order where the newest text is */
  set order(order) {
    if (order === this.#order) return;
    this.#order = order;
    this.#main.dataset.order = order;
    // To people who hear the page, lines that change places are no news.
    this.#past.ariaLive = "off";
    for (const list of [this.#past, this.#earlier]) list.append(...[...list.children].reverse());
    if (order === "top") {
      this.#reading.before(this.#panel);
      this.#past.after(this.#earlier);
    } else {
      this.#reading.after(this.#panel);
      this.#past.before(this.#earlier);
    }
    setTimeout(() => (this.#past.ariaLive = "polite"), 500);
    this.#goToNewest();
  }

  /** Another stream: what was said before stays, apart. */
  began() {
    this.#following(() => {
      const lines = this.#entries.map(({ element }) => element);
      for (const line of lines) {
        delete line.dataset.line;
        this.#add(this.#earlier, line);
      }
      this.#entries = [];
      this.#live.textContent = "";
    });
    this.#goToNewest();
  }

  /** Nothing of a conversation stays. */
  clear() {
    this.#entries = [];
    for (const element of [this.#past, this.#earlier, this.#live]) element.replaceChildren();
  }

  set live(text) {
    this.#following(() => {
      this.#live.textContent = text;
      this.#live.scrollTop = this.#live.scrollHeight;
    });
  }

  line(number, text) {
    const element = document.createElement("p");
    element.dataset.line = String(number);
    element.append(...linked(text));
    this.#following(() => this.#put({ from: number, to: number, element }));
  }

  missing(from, to) {
    this.#following(() => this.#put(mark(from, to)));
  }

  /** @param {Entry} entry */
  #put(entry) {
    const entries = this.#entries;
    const place = entries.findIndex((other) => other.to >= entry.from);
    const at = place < 0 ? entries.length : place;
    const old = entries[at];
    const parts = [entry];
    const splits = old !== undefined && old.from <= entry.from;
    if (splits) {
      // It comes late, into a run that is marked as missing.
      if (old.from < entry.from) parts.unshift(mark(old.from, entry.from - 1));
      if (entry.to < old.to) parts.push(mark(entry.to + 1, old.to));
      old.element.remove();
    }
    entries.splice(at, splits ? 1 : 0, ...parts);
    const behind = entries[at + parts.length]?.element ?? null;
    for (const { element } of parts) this.#add(this.#past, element, behind);
    while (entries.length > linesMax) entries.shift().element.remove();
  }

  /** @param {HTMLElement | null} [behind] which is newer; null: nothing is */
  #add(list, element, behind = null) {
    if (this.#order === "bottom") list.insertBefore(element, behind);
    else if (behind) behind.after(element);
    else list.prepend(element);
    if (list === this.#earlier && list.childElementCount > linesMax) {
      (this.#order === "bottom" ? list.firstElementChild : list.lastElementChild).remove();
    }
  }

  // MARK: Where the reader is

  /** Makes a change. Whoever was at the newest text is there afterwards, everybody else stays. */
  #following(change) {
    const wasThere = this.#distance <= nearby;
    const before = this.#edges;
    change();
    if (wasThere) this.#goToNewest();
    else if (this.#order === "top") scrollBy(0, this.#edges.bottom - before.bottom);
    this.#showDistance();
  }

  get #edges() {
    return this.#reading.getBoundingClientRect();
  }

  /** From what is seen to the newest text, in CSS pixels. */
  get #distance() {
    const [{ top, bottom }, panel] = [this.#edges, this.#panel.getBoundingClientRect()];
    return Math.max(0, this.#order === "top" ? panel.bottom - top : bottom + panel.height - innerHeight);
  }

  #goToNewest() {
    scrollBy(0, this.#order === "top" ? -this.#distance : this.#distance);
    this.#showDistance();
  }

  #showDistance() {
    this.#newest.hidden = this.#distance <= nearby;
  }
}

/** @returns {Entry} */
function mark(from, to) {
  const element = document.createElement("p");
  element.className = "missing";
  element.dataset.missing = from === to ? `${from}` : `${from}-${to}`;
  element.textContent = from === to ? "One line is missing." : `${to - from + 1} lines are missing.`;
  return { from, to, element };
}

/** Text, with links where it has addresses. @returns {(string | HTMLElement)[]} */
export function linked(text) {
  const parts = [];
  let end = 0;
  for (const { 0: match, index } of text.matchAll(address)) {
    const link = document.createElement("a");
    link.href = match;
    link.rel = "noopener noreferrer";
    link.target = "_blank";
    link.textContent = match;
    parts.push(text.slice(end, index), link);
    end = index + match.length;
  }
  return [...parts, text.slice(end)];
}
