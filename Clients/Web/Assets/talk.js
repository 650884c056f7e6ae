// Messages of a room, and who has them. This module holds no channel, socket or clock: times are arguments, in milliseconds.
//
// A message is for everybody who has a seat when it is said. It waits for each of them until a connection can take it, goes
// again over the next one until its receipt is here, and is shown once: its id stays the same. A person
// who does not greet has an older page, and gets the text alone, over the channel `chat`.
import { fromBase64, utf8 } from "./bytes.js";

/** The protocol of the channel `talk`. */
export const protocol = "whisper-talk-1";
/** A person who has not greeted by then is plain. */
export const helloWithin = 3_000;
/** A frame, and the text of a message, in bytes. */
export const frameMax = 16_384;
export const textMax = 8_000;
/** A text to a plain page, in UTF-16 units. It cuts longer ones. */
export const plainMax = 4_000;
/** Bounds of the queue for one person: messages, and bytes of their texts. */
export const waitingMax = 64;
export const waitingBytesMax = 262_144;
/** Ids of messages of one person that are not shown again. */
export const rememberedMax = 512;
/** People of whom they are known, also after they have gone: who comes and goes may be told late. */
const rememberedPeopleMax = 64;
const receiptsMax = 64;
/** Frames that are none, within this time: then the connection is broken. */
const malformedMax = 20;
const malformedWithin = 60_000;
const nameMax = 64;

/**
 * @typedef {"waiting" | "sent" | "got" | "lost" | "plain"} State `plain`: sent to a page that tells nobody what it has
 * @typedef {{id: string, at: number, text: string, re?: string, bytes: number, states: Map<number, State>}} Said by seat
 * @typedef {object} Host
 * @property {(peer: string, channel: "talk" | "chat", texts: string[]) => boolean} write all of them, or none
 * @property {(seat: number, message: {id: string, at: number, text: string, re?: string}) => void} heard
 * @property {(message: Said) => void} changed
 * @property {(peer: string) => void} left by will
 * @property {(peer: string) => void} broke
 */

const isID = (id) => typeof id === "string" && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);
const isTime = (time) => Number.isSafeInteger(time) && time >= 0;

/** A name as it is shown: nothing in it moves what stands around it. @returns {string | undefined} */
export const nameOf = (text) => [...text.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "").trim()].slice(0, nameMax).join("") || undefined;

/** Whether each member of a frame is what it is to be. Other kinds of frames are not for this page. */
const kinds = {
  hello: ({ v, name, have, epoch }) =>
    isTime(v) && v > 0 && fromBase64(epoch, 8) && Array.isArray(have) && have.every((text) => typeof text === "string") &&
    (name === undefined || (typeof name === "string" && name.isWellFormed() && [...name].length > 0 && [...name].length <= nameMax)),
  say: ({ id, at, text, re }) =>
    isID(id) && isTime(at) && typeof text === "string" && text.isWellFormed() && utf8(text).length <= textMax &&
    (re === undefined || isID(re)),
  got: ({ ids }) => Array.isArray(ids) && ids.length > 0 && ids.length <= receiptsMax && ids.every(isID),
  bye: () => true,
};

/** @returns {object | null | undefined} null if it is no frame, undefined if it is of another kind */
function read(data) {
  if (typeof data !== "string" || utf8(data).length > frameMax) return null;
  let frame;
  try {
    frame = JSON.parse(data);
  } catch {
    return null;
  }
  if (typeof frame?.t !== "string") return null;
  if (!Object.hasOwn(kinds, frame.t)) return undefined;
  return kinds[frame.t](frame) ? frame : null;
}

/** A text as plain pages take it. A pair of units stays together. */
function pieces(text) {
  const parts = [];
  for (let from = 0; from < text.length;) {
    let to = Math.min(from + plainMax, text.length);
    if (!text.slice(from, to).isWellFormed()) to -= 1;
    parts.push(text.slice(from, to));
    from = to;
  }
  return parts;
}

class Person {
  /** @type {Said[]} without a receipt */
  queue = [];
  name;
  malformed = [];

  /** @param {{epoch?: string, ids: Set<string>}} memory of its life */
  constructor(id, seat, memory) {
    [this.id, this.seat, this.memory] = [id, seat, memory];
    this.cut();
  }

  /** Nothing goes out. */
  cut() {
    this.channels = new Set();
    /** The channel is open, and our greeting is to go. */
    this.isSilent = false;
    /** Theirs has come. */
    this.hasGreeted = this.isPlain = false;
    this.deadline = Infinity;
    /** Ids whose receipts are to go. */
    this.owed = [];
  }

  takes(bytes) {
    return this.queue.length < waitingMax && this.queue.reduce((sum, said) => sum + said.bytes, bytes) <= waitingBytesMax;
  }
}

export class Talk {
  /** @type {Map<string, Person>} */
  people = new Map();
  name;
  #memories = new Map();
  #host;
  #epoch;

  /** @param {Host} host @param {string} epoch 8 random bytes in Base64: the life of this page */
  constructor(host, epoch) {
    [this.#host, this.#epoch] = [host, epoch];
  }

  /** Takes the people who have a seat besides us. @param {Iterable<{id: string, seat: number}>} peers */
  seen(peers) {
    const seats = new Map([...peers].map(({ id, seat }) => [id, seat]));
    for (const [id, person] of this.people) {
      if (seats.get(id) === person.seat) continue;
      this.people.delete(id);
      for (const said of person.queue) this.#turn(said, person, "lost");
    }
    for (const [id, seat] of seats) {
      if (this.people.has(id)) continue;
      const memory = this.#memories.get(id) ?? { ids: new Set() };
      this.people.set(id, new Person(id, seat, memory));
      this.#memories.delete(id);
      this.#memories.set(id, memory);
    }
    for (const id of [...this.#memories.keys()].slice(0, -rememberedPeopleMax)) this.#memories.delete(id);
  }

  /** Whether something of ours has not arrived. */
  get isOwing() {
    return [...this.people.values()].some(({ queue }) => queue.length > 0);
  }

  /**
   * @param {boolean} isPartial people with a full queue do not get it
   * @returns {Said | {full: number[]} | {isLong: true}} `full`: seats of those whom too much waits for
   */
  say(id, at, typed, isPartial, re) {
    // Half a pair of units would be no text to anybody.
    const text = typed.toWellFormed();
    const said = { id, at, text, re, bytes: utf8(text).length, states: new Map() };
    if (said.bytes > textMax || utf8(say(said)).length > frameMax) return { isLong: true };
    const people = [...this.people.values()];
    const full = people.filter((person) => !person.takes(said.bytes));
    if (full.length > 0 && !isPartial) return { full: full.map(({ seat }) => seat) };
    for (const person of people) {
      said.states.set(person.seat, full.includes(person) ? "lost" : "waiting");
      if (!full.includes(person)) person.queue.push(said);
    }
    for (const person of people) this.#flush(person);
    return said;
  }

  /** Tells those who are connected that we go. */
  leave() {
    for (const { id, hasGreeted } of this.people.values()) if (hasGreeted) this.#host.write(id, "talk", [text({ t: "bye" })]);
  }

  // MARK: Connections

  /** A connection begins, or has ended: what has no receipt waits for the next. */
  cut(id) {
    const person = this.people.get(id);
    if (!person) return;
    person.cut();
    for (const said of person.queue) this.#turn(said, person, "waiting");
  }

  /** A channel is open. @param {"talk" | "chat"} channel */
  opened(id, channel, now) {
    const person = this.people.get(id);
    if (!person) return;
    person.channels.add(channel);
    if (channel === "talk") person.isSilent = true;
    else if (!person.hasGreeted) person.deadline = now + helloWithin;
    this.#flush(person);
  }

  /** There is room for more. */
  drained(id) {
    const person = this.people.get(id);
    if (person) this.#flush(person);
  }

  get nextWake() {
    return Math.min(...[...this.people.values()].map(({ deadline }) => deadline));
  }

  timerFired(now) {
    for (const person of this.people.values()) {
      if (person.deadline > now) continue;
      person.deadline = Infinity;
      // A person who has greeted before does so again, however slow the connection is.
      if (person.memory.epoch) continue;
      person.isPlain = true;
      this.#flush(person);
    }
  }

  // MARK: What others say

  /** @param {unknown} data of the channel `talk` */
  heard(id, data, now) {
    const person = this.people.get(id);
    if (!person) return;
    const frame = read(data);
    if (frame === undefined) return;
    if (!frame || (frame.t === "hello") === person.hasGreeted) return this.#malformed(person, now);
    switch (frame.t) {
      case "hello":
        if (frame.epoch !== person.memory.epoch) Object.assign(person.memory, { epoch: frame.epoch, ids: new Set() });
        Object.assign(person, { name: frame.name && nameOf(frame.name), hasGreeted: true, isPlain: false, deadline: Infinity });
        break;
      case "say":
        person.owed = [...person.owed, frame.id].slice(-rememberedMax);
        this.#show(person, frame);
        break;
      case "got":
        for (const said of person.queue.filter(({ id }) => frame.ids.includes(id))) this.#settle(person, said, "got");
        break;
      case "bye":
        return this.#host.left(id);
    }
    this.#flush(person);
  }

  #show(person, { id, at, text, re }) {
    const { ids } = person.memory;
    if (ids.has(id)) return;
    ids.add(id);
    if (ids.size > rememberedMax) ids.delete(ids.values().next().value);
    this.#host.heard(person.seat, { id, at, text, re });
  }

  #malformed(person, now) {
    person.malformed = [...person.malformed.filter((at) => at > now - malformedWithin), now];
    if (person.malformed.length < malformedMax) return;
    person.malformed = [];
    this.#host.broke(person.id);
  }

  // MARK: What goes out

  #flush(person) {
    const write = (channel, texts) => person.channels.has(channel) && this.#host.write(person.id, channel, texts);
    if (person.isSilent) {
      if (!write("talk", [text({ t: "hello", v: 1, name: this.name, have: [], epoch: this.#epoch })])) return;
      person.isSilent = false;
    }
    if (person.hasGreeted) {
      while (person.owed.length > 0) {
        if (!write("talk", [text({ t: "got", ids: person.owed.slice(0, receiptsMax) })])) return;
        person.owed.splice(0, receiptsMax);
      }
    }
    const waiting = person.queue.filter(({ states }) => states.get(person.seat) === "waiting");
    for (const said of waiting) {
      if (person.hasGreeted) {
        if (!write("talk", [say(said)])) return;
        this.#turn(said, person, "sent");
      } else {
        if (!person.isPlain || !write("chat", pieces(said.text))) return;
        this.#settle(person, said, "plain");
      }
    }
  }

  #settle(person, said, state) {
    person.queue = person.queue.filter((other) => other !== said);
    this.#turn(said, person, state);
  }

  #turn(said, { seat }, state) {
    if (said.states.get(seat) === state) return;
    said.states.set(seat, state);
    this.#host.changed(said);
  }
}

const text = (frame) => JSON.stringify(frame);
const say = ({ id, at, text: words, re }) => text({ t: "say", id, at, text: words, re });
