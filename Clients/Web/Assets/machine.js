// Keeps a listener's text and lines from the packets of a stream. Holds no socket, clock or key: times are arguments, in
// milliseconds. Clients/WhisperClient/Live/Logic/ListenerMachine.swift decides the same.
//
// Packets may be missing and may be repeated, but come in order. What a packet says is shown only if that is sure: the
// packet needs none before it, or the one before it is here. So the text is always one that the whisperer had.
import { apply, scalars } from "./content.js";
import { LineLedger } from "./ledger.js";

/** `live_resync` goes out no more often than this. */
export const resyncInterval = 1000;
/** Repeated questions become rarer: what nobody has now, nobody has a second later. */
const longestPause = 5000;
/** A key that does not come by itself within this is asked for. What brought it may be lost. */
export const keyAwaitedFor = 5000;

/**
 * @typedef {{epoch: number, seq: number}} Position
 * @typedef {{state: "idle" | "live" | "paused" | "ended", content?: string, epoch: number}} Stream
 * @typedef {{epoch: number, seq: number, kind: string, line: number, generation: number, to?: string}} Header
 * @typedef {import("./content.js").Content | "keyMissing" | "unreadable"} Opened
 * @typedef {{do: "began", content: string} | {do: "text", text: string} | {do: "line", number: number, text: string}
 *   | {do: "missing", from: number, to: number} | {do: "cue", cue: import("./content.js").Cue}
 *   | {do: "resync", epoch: number, seq: number, line: number} | {do: "join"}} Action
 */

/** @type {Position} before any packet */
const start = { epoch: 0, seq: 0 };
const isBefore = (a, b) => a.epoch < b.epoch || (a.epoch === b.epoch && a.seq < b.seq);
const follows = (a, b) => a.epoch === b.epoch && a.seq === b.seq + 1;
/** @returns {Position} */
const later = (a, b) => {
  const { epoch, seq } = isBefore(a, b) ? b : a;
  return { epoch, seq };
};
const earliest = (...times) => times.reduce((a, b) => (a === null ? b : b === null ? a : Math.min(a, b)), null);

export class ListenerMachine {
  text = "";
  /** @type {string | null} the stream that is followed; lines are verified for it */
  content = null;
  /** What was counted and not shown. */
  unreadable = 0;

  #listener;
  /** The last packet that is part of `text`. */
  #position = start;
  /** The newest packet that is known to exist. While it is not `position`, the listener waits. */
  #newest = start;
  /** The newest cue that was played: a repetition is not played again. */
  #newestCue = start;
  #lines = new LineLedger(0);
  /** @type {number | null} a packet of this generation came, and its key did not yet */
  #awaitedGeneration = null;
  /** @type {number | null} when the key of it is asked for */
  #keyAskedAt = null;
  #isJoined = false;
  #isLive = false;
  /** Whether `live_join` says what is here already. */
  #isResuming = false;
  /** @type {number | null} */
  #lastAsked = null;
  /** Questions without an effect so far. */
  #timesAsked = 0;
  /** @type {number | null} no question before; set by each `live_joined` */
  #quietUntil = null;

  /** @param {string} listener packets to others are not for this machine */
  constructor(listener) {
    this.#listener = listener;
  }

  // MARK: Joining

  /** A `live_join` goes out. @returns its `after` */
  joining() {
    this.#isResuming = this.content !== null;
    if (!this.#isResuming) return undefined;
    return { contentId: this.content, ...this.#position, line: this.#lines.settled };
  }

  /**
   * `live_joined` came.
   * @param {Stream} stream
   * @param {number} seq of the stream's newest packet; 0 if there is none
   * @param {number} line lines completed so far
   * @returns {Action[]}
   */
  joined(stream, seq, line, now) {
    this.#isJoined = true;
    this.#isLive = stream.state === "live";
    if (!stream.content) return [];
    // The answer itself brings what is missing.
    this.#quietUntil = now + resyncInterval;
    this.#timesAsked = 0;
    let actions = [];
    if (this.#isResuming && stream.content === this.content) {
      this.#lines.askAnew(now);
      this.#lines.completed(line, now);
    } else {
      // Listeners see what is said after they have joined.
      actions = this.#begin(stream.content, line);
    }
    // The first packet of each epoch is a snapshot with the number 1.
    this.#newest = later(this.#newest, { epoch: stream.epoch, seq: Math.max(seq, 1) });
    return actions;
  }

  /** `live_state` came. @param {Stream} stream @returns {Action[]} */
  changed(stream, now) {
    if (!this.#isJoined || stream.epoch < this.#position.epoch) return [];
    this.#isLive = stream.state === "live";
    if (!this.#isLive || !stream.content) return [];
    let actions = [];
    if (stream.content !== this.content) {
      actions = this.#begin(stream.content, 0);
      // What is still under way of the stream before has a lower epoch.
      this.#position = { epoch: stream.epoch, seq: 0 };
    }
    const first = { epoch: stream.epoch, seq: 1 };
    if (isBefore(this.#newest, first)) {
      this.#newest = first;
      this.#quietUntil = now + resyncInterval;
    }
    return actions;
  }

  /** The connection is gone, or the listener left. */
  disconnected() {
    this.#isJoined = false;
  }

  #begin(content, completedBefore) {
    this.content = content;
    this.text = "";
    this.#position = this.#newest = this.#newestCue = start;
    this.#lines = new LineLedger(completedBefore);
    this.#awaitedGeneration = this.#keyAskedAt = null;
    return [{ do: "began", content }];
  }

  // MARK: Packets

  /** @param {Header} header @param {Opened} opened @returns {Action[]} */
  received(header, opened, now) {
    // It was on its way when the listener left.
    if (!this.#isJoined || this.content === null) return [];
    if (opened === "keyMissing") {
      if (header.to === undefined && isBefore(this.#position, header)) {
        if (this.#awaitedGeneration === null) this.#keyAskedAt = now + keyAwaitedFor;
        this.#awaitedGeneration = Math.max(this.#awaitedGeneration ?? 0, header.generation);
        this.#newest = later(this.#newest, header);
      }
      return [];
    }
    if (opened === "unreadable") {
      this.unreadable += 1;
      if (header.to === undefined) this.#newest = later(this.#newest, header);
      return this.#ask(now);
    }
    if (header.to === undefined) return this.#take(header, opened, now).concat(this.#ask(now));
    return header.to === this.#listener ? this.#takeAddressed(header, opened, now) : [];
  }

  /** The key of a generation is here. @returns {Action[]} */
  keyArrived(generation, now) {
    if (this.#awaitedGeneration === null || this.#awaitedGeneration > generation) return [];
    this.#awaitedGeneration = this.#keyAskedAt = null;
    return this.#ask(now);
  }

  #take(header, content, now) {
    const actions = [];
    if (content.kind === "line" && this.#lines.take(header.line, now)) {
      actions.push({ do: "line", number: header.line, text: content.text });
    }
    if (!isBefore(this.#position, header)) return actions;
    this.#lines.completed(header.line, now);
    this.#newest = later(this.#newest, header);
    const isDirect = follows(header, this.#position);
    switch (content.kind) {
      case "snapshot":
        return actions.concat(this.#show(content.text, content.count, header));
      case "line":
        return actions.concat(this.#show("", 0, header));
      case "diff": {
        // What begins at 0 needs nothing before it.
        const before = content.edits[0].offset === 0 ? "" : isDirect ? this.text : null;
        return before === null ? actions : actions.concat(this.#show(apply(before, content.edits), content.count, header));
      }
      case "cue":
        if (isDirect) this.#position = later(this.#position, header);
        if (!isBefore(this.#newestCue, header)) return actions;
        this.#newestCue = later(this.#newestCue, header);
        return actions.concat({ do: "cue", cue: content.cue });
    }
  }

  /** A packet to this listener alone is outside the sequence: it changes neither text nor position. */
  #takeAddressed(header, content, now) {
    switch (content.kind) {
      case "line":
        return this.#lines.take(header.line, now) ? [{ do: "line", number: header.line, text: content.text }] : [];
      case "cue":
        return [{ do: "cue", cue: content.cue }];
      default:
        this.unreadable += 1;
        return [];
    }
  }

  /** @param {string | null} text null if the packet does not fit what is here @param {number} count as the packet says */
  #show(text, count, { epoch, seq }) {
    if (text === null || scalars(text).length !== count) {
      this.unreadable += 1;
      return [];
    }
    this.#position = { epoch, seq };
    if (text === this.text) return [];
    this.text = text;
    return [{ do: "text", text }];
  }

  // MARK: Asking

  /** `live_resync` was refused. @param {number} [retryAfter] */
  refused(retryAfter, now) {
    this.#quietUntil = now + (retryAfter ?? longestPause);
  }

  /** When `timerFired` has something to do next. @returns {number | null} */
  get nextWake() {
    return this.#isJoined ? earliest(this.#lines.nextDeadline, this.#nextQuestion, this.#keyAskedAt) : null;
  }

  /** @returns {Action[]} */
  timerFired(now) {
    if (!this.#isJoined) return [];
    const missing = this.#lines.giveUp(now).map((lines) => ({ do: "missing", ...lines }));
    return missing.concat(this.#ask(now), this.#askForKey(now));
  }

  #askForKey(now) {
    if (this.#keyAskedAt === null || this.#keyAskedAt > now) return [];
    this.#keyAskedAt = now + keyAwaitedFor;
    return [{ do: "join" }];
  }

  get #isWaiting() {
    return isBefore(this.#position, this.#newest);
  }

  /** Nobody is asked who is not there, and no question brings what cannot be opened yet. */
  get #nextQuestion() {
    const isAsking = this.#lines.isAsking;
    const asks = this.#isJoined && this.#isLive && this.#awaitedGeneration === null && (this.#isWaiting || isAsking);
    if (!asks || this.#quietUntil === null) return null;
    // Lines are asked for during a few seconds only, so these count.
    const pause = isAsking ? resyncInterval : Math.min(resyncInterval * 2 ** (Math.max(this.#timesAsked, 1) - 1), longestPause);
    return Math.max(this.#lastAsked === null ? this.#quietUntil : this.#lastAsked + pause, this.#quietUntil);
  }

  #ask(now) {
    if (!this.#isWaiting && !this.#lines.isAsking) this.#timesAsked = 0;
    const time = this.#nextQuestion;
    if (time === null || time > now) return [];
    this.#lastAsked = now;
    this.#timesAsked += 1;
    return [{ do: "resync", ...this.#position, line: this.#lines.settled }];
  }
}
