// The way to the daemon: a session, requests, and the stream of events.

const consumer = "app";
const keyName = "whisper.key";
const proofName = "whisper.proof";
/** Events are acknowledged after so many, or after so long. */
const ackedAtOnce = 64;
const ackedWithin = 500;
/** An answer of the server that does not come by the stream is asked for. */
const answeredWithin = 20_000;
const askedAgainMax = 3;
/** Pauses between attempts at a lost stream; the last one stays. */
const pauses = [250, 500, 1_000, 2_000, 4_000];

/** The daemon, or the server, did not do it. */
export class Refusal extends Error {
  /** @param {{code: string, message: string, field?: string, [more: string]: unknown}} error */
  constructor(error) {
    super(error.message);
    this.code = error.code;
    this.field = error.field;
  }
}

/** This window has no session any more. */
export class Ended extends Error {}

/** Of the session of now: another window of this browser may have begun it. */
const key = () => localStorage.getItem(keyName) ?? "";
/** Whether the other end has shown that it is our daemon. Once a stream was lost, it must show it again before anything is told to it. */
let isKnown = true;
/** The page is over: it has no session, or has ended it. */
let isOver = false;
let over = () => {};

/** Takes the launch token out of the address before anything else, and begins a session with it. */
export async function begin() {
  const token = location.hash.slice(1);
  history.replaceState(history.state, "", "/");
  if (!token) return;
  const answer = await post("/session", { token });
  if (!answer.ok) return;
  const secrets = await answer.json();
  localStorage.setItem(keyName, secrets.key);
  localStorage.setItem(proofName, secrets.proof);
}

const post = (path, body, keepalive = false) => fetch(path, {
  method: "POST", body: JSON.stringify(body), keepalive,
  headers: { "Content-Type": "application/json", "Whisper-Key": key() },
});

const checked = (answer) => {
  if (answer.status === 401) {
    isOver = true;
    over("ended");
    throw new Ended();
  }
  if (answer.status === 423) {
    goLocked();
    throw new Ended();
  }
  return answer;
};

/** @returns {Promise<{state: string, profile: string, server: string, version: string, assets: string, isOlder: boolean}>} */
export async function about() {
  return (checked(await fetch("/app", { headers: { "Whisper-Key": key() } }))).json();
}

/** Ends the session, and the daemon if so asked. @param {boolean} quit */
export async function leave(quit) {
  isOver = true;
  const ended = post("/session/end", { quit });
  localStorage.removeItem(keyName);
  localStorage.removeItem(proofName);
  await ended;
}

/** A change of the session or of the store's key. @param {string} path @param {any} body */
export const order = async (path, body) => checked(await post(path, body));

export async function lock() {
  const answer = await order("/session/end", { lock: true });
  if (answer.ok) goLocked();
}

/** The page goes, and the next one takes the passphrase alone. A call is closed before: it would ask whether to stay. */
function goLocked() {
  isOver = true;
  over("locked");
  history.replaceState(null, "", "/");
  setTimeout(() => location.reload());
}

/** A request for bytes, or with them. @param {string} path @param {RequestInit} [options] */
export async function raw(path, options = {}) {
  if (!isKnown) throw unknown();
  return checked(await fetch(path, { ...options, headers: { ...options.headers, "Whisper-Key": key() } }));
}

const unknown = () => new Refusal({ code: "unreachable", message: "Whisper isn't running on this computer any more." });

let requests = 0;

/** Does a verb of the core. @returns {Promise<any>} its result @throws {Refusal} */
export const rpc = (method, params = {}) => send("/rpc", method, params);
/** The same for verbs that concern this window. */
export const seated = (method, params = {}) => send(`/rpc?consumer=${consumer}`, method, params);
/** The same for small verbs, which are done also if the page goes meanwhile. */
export const lastly = (method, params) => send("/rpc", method, params, true);

async function send(path, method, params, keepalive) {
  if (!isKnown) throw unknown();
  const answer = checked(await post(path, { jsonrpc: "2.0", id: (requests += 1), method, params }, keepalive));
  if (!answer.ok) throw new Refusal({ code: "unreachable", message: `The daemon answered ${answer.status}.` });
  const { result, error } = await answer.json();
  if (error) throw new Refusal(error.data ?? error);
  return result;
}

/** @type {Map<string, (answer: any) => void>} */
const asked = new Map();

/** Does a verb that the server answers. @returns {Promise<any>} its result @throws {Refusal} */
export async function ask(method, params = {}, askedAgain = askedAgainMax) {
  const corrId = crypto.randomUUID();
  const answer = new Promise((resolve) => asked.set(corrId, resolve));
  try {
    await seated(method, { ...params, corrId });
    for (let count = 0; count < askedAgain; count += 1) {
      const late = new Promise((resolve) => setTimeout(resolve, answeredWithin));
      const { result, error } = await Promise.race([answer, late]) ?? await rpc("answer_get", { of: corrId });
      if (error) throw new Refusal(error);
      if (result) return result;
    }
    throw new Refusal({ code: "unreachable", message: "The server does not answer." });
  } finally {
    asked.delete(corrId);
  }
}

/**
 * @typedef {object} Reader
 * @property {() => void} began a stream has begun; events that are not kept may be missing
 * @property {(events: any[]) => void} came in their order, once per frame
 * @property {() => void} lost
 * @property {(why: "busy" | "taken" | "ended" | "locked") => void} over another window has the stream, or there is no session, or a locked one
 */

/** Reads events until the stream is over. @param {Reader} reader @param {boolean} takes from another window */
export async function read(reader, takes = false) {
  over = (why) => reader.over(why);
  for (let failures = 0; !isOver;) {
    const line = new Line(reader);
    try {
      await line.read(takes);
    } catch (error) {
      // Said already.
      if (error instanceof Ended) return;
    }
    if (line.isOver) return reader.over(line.isOver);
    if (line.hasBegun) [failures, takes] = [0, false];
    isKnown = false;
    reader.lost();
    await new Promise((resolve) => setTimeout(resolve, pauses[Math.min(failures, pauses.length - 1)]));
    failures += 1;
  }
}

/** The newest event that was acknowledged or drawn. */
let newest = 0;

/** One stream, from its beginning to its end. */
class Line {
  hasBegun = false;
  /** @type {"busy" | "taken" | undefined} */
  isOver;
  #reader;
  #waiting = [];
  #undrawn = 0;
  #timer;
  #floor = 0;

  constructor(reader) {
    this.#reader = reader;
  }

  async read(takes) {
    const headers = { "Whisper-Key": key() };
    if (newest) headers["Last-Event-ID"] = String(newest);
    const cut = new AbortController();
    const address = `/events?consumer=${consumer}${takes ? "&take=1" : ""}`;
    const answer = checked(await fetch(address, { headers, signal: cut.signal }));
    if (answer.status === 409) {
      const { error } = await answer.json();
      // Another daemon, or another store, counts anew.
      if (error?.code === "unknownConsumer") newest = 0;
      if (error?.code === "busyReader") this.isOver = "busy";
      return;
    }
    if (!answer.ok) return;
    // Another program may listen at the port by now.
    if (answer.headers.get("Whisper-Proof") !== localStorage.getItem(proofName)) return;
    isKnown = true;
    let text = "";
    for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
      text += part;
      const blocks = text.split("\n\n");
      text = blocks.pop();
      for (const block of blocks) this.#take(block);
      if (this.isOver) return cut.abort();
    }
  }

  #take(block) {
    const data = block.split("\n").find((line) => line.startsWith("data: "));
    if (!data) return;
    const { seq, event } = JSON.parse(data.slice(6));
    if (seq <= this.#floor) return;
    if (seq) newest = Math.max(newest, seq);
    switch (event.type) {
      case "subscribed":
        this.hasBegun = true;
        // A fresh page reads everything anew. Events of before would overwrite what it reads.
        if (!newest || !event.isKnown) this.#floor = newest = event.newest;
        this.#reader.began();
        return this.#acknowledge();
      case "taken":
        this.isOver = "taken";
        return;
      case "answer":
        asked.get(event.corrId)?.(event);
    }
    this.#waiting.push(event);
    if (this.#waiting.length > 1) return;
    const give = () => {
      if (this.isOver || this.#waiting.length === 0) return;
      const events = this.#waiting.splice(0);
      this.#undrawn += events.length;
      this.#reader.came(events);
      if (this.#undrawn >= ackedAtOnce) this.#acknowledge();
      else this.#timer ??= setTimeout(() => this.#acknowledge(), ackedWithin);
    };
    // A window that is hidden has no frames, also no one that was asked for before.
    requestAnimationFrame(give);
    setTimeout(give, 1_000);
  }

  #acknowledge() {
    clearTimeout(this.#timer);
    [this.#timer, this.#undrawn] = [undefined, 0];
    if (newest) rpc("events_ack", { consumer, seq: newest }).catch(() => {});
  }
}
