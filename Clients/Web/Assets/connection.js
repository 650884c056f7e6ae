// A guest's connection to the server: it proves who it is, and comes back whenever it is lost.
import { Lost, Refusal, Wire } from "./wire.js";

const versions = { protocolVersion: 1, cryptoVersion: 1 };
/** Pauses between attempts to connect, in milliseconds: they double, and half of each is drawn. */
const firstPause = 300;
const longestPause = 15_000;
/** A token that ends sooner is not used any more. */
const tokenMargin = 60_000;

/**
 * Whoever uses a connection.
 * @typedef {object} User
 * @property {() => Promise<void>} entered the guest is known to the server; what is asked in here is asked first
 * @property {(frame: import("./wire.js").Frame) => Promise<void> | void} received one after the other, in order
 * @property {() => void} dropped nothing goes out any more, for whatever reason
 * @property {() => void} lost it was dropped, and another attempt follows by itself
 * @property {(state: "replaced" | "refused", reason?: string) => void} stopped no other attempt follows
 * @property {(error: Refusal) => boolean} refused an answer in `entered`; whether the user has dealt with it
 */

export class Connection {
  #guest;
  #user;
  /** @type {{value: string, until: number} | null} */
  #token = null;
  /** Of the server's clock, from ours. */
  #clockOffset = 0;
  /** @type {Wire | null} */
  #wire = null;
  #isWanted = false;
  #failures = 0;
  #retryTimer;

  /** @param {import("./guest.js").Guest} guest @param {User} user */
  constructor(guest, user) {
    this.#guest = guest;
    this.#user = user;
    addEventListener("online", () => this.#retryNow());
    document.addEventListener("visibilitychange", () => document.hidden || this.#retryNow());
  }

  /** By the server's clock, in milliseconds. */
  get now() {
    return Math.round(Date.now() + this.#clockOffset);
  }

  /** Tells one connection from the next; null while there is none. @returns {object | null} */
  get life() {
    return this.#wire;
  }

  /** Connects, and again whenever the connection is lost, until it is stopped. */
  begin() {
    this.#isWanted = true;
    this.#failures = 0;
    this.#connect();
  }

  /** Connects again after another tab had taken over. */
  useHere() {
    this.#token = null;
    this.begin();
  }

  stop() {
    this.#isWanted = false;
    clearTimeout(this.#retryTimer);
    this.#drop();
  }

  /** What was wanted is there: the next pause is a short one. */
  settled() {
    this.#failures = 0;
  }

  /** @returns {Promise<import("./wire.js").Frame>} */
  ask(type, fields) {
    return this.#wire?.ask(type, this.#named(fields)) ?? Promise.reject(new Lost());
  }

  send(type, fields) {
    this.#wire?.send(type, this.#named(fields));
  }

  /** Does what needs this connection. It is lost with its failure. @param {() => Promise<unknown>} work */
  async attempt(work) {
    const wire = this.#wire;
    try {
      await work();
    } catch (error) {
      if (wire === this.#wire) this.#failed(error);
    }
  }

  /** @param {number} [pause] at least so long, in milliseconds */
  again(pause = 0) {
    this.#drop();
    if (!this.#isWanted) return;
    this.#failures += 1;
    const whole = Math.min(firstPause * 2 ** (this.#failures - 1), longestPause);
    this.#retryTimer = setTimeout(() => this.#connect(), Math.max(pause, whole / 2 + (whole / 2) * Math.random()));
    this.#user.lost();
  }

  #named(fields) {
    return { ...versions, guestToken: this.#token?.value, ...fields };
  }

  #connect() {
    clearTimeout(this.#retryTimer);
    this.#retryTimer = undefined;
    this.#wire?.close();
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const wire = new Wire(`${scheme}//${location.host}/ws`, {
      received: async (frame) => wire === this.#wire && this.#user.received(frame),
      closed: (code, reason) => wire === this.#wire && this.#closed(code, reason),
    });
    this.#wire = wire;
    this.attempt(async () => {
      await wire.opened;
      if (!this.#isTokenGood) await this.#prove(wire);
      if (wire === this.#wire) await this.#user.entered();
    });
  }

  #drop() {
    const wire = this.#wire;
    this.#wire = null;
    this.#user.dropped();
    wire?.close();
  }

  #retryNow() {
    if (this.#isWanted && this.#retryTimer !== undefined) this.#connect();
  }

  #closed(code, reason) {
    switch (code) {
      case 4001:
        return this.#stopped("replaced");
      case 4003:
        return this.#stopped("refused", "banned");
      case 1001:
        // The server drains, and says how long to stay away, so that not everybody comes back at once.
        return this.again(/^\d{1,6}$/.test(reason) ? Number(reason) : 0);
      default:
        return this.again();
    }
  }

  #stopped(state, reason) {
    this.stop();
    this.#user.stopped(state, reason);
  }

  #failed(error) {
    if (!(error instanceof Refusal)) {
      if (!(error instanceof Lost)) console.warn("not connected", error);
      return this.again();
    }
    switch (error.code) {
      case "NOT_REGISTERED": {
        // A token ends when its time is up, or when the same guest proves itself elsewhere.
        const isOver = !this.#isTokenGood;
        this.#token = null;
        return isOver ? this.again() : this.#stopped("replaced");
      }
      case "USER_BANNED":
        return this.#stopped("refused", "banned");
      default:
        if (!this.#user.refused(error)) this.again(error.retryAfterMs);
    }
  }

  get #isTokenGood() {
    return this.#token !== null && Date.now() < this.#token.until - tokenMargin;
  }

  /** @param {Wire} wire */
  async #prove(wire) {
    const { payload } = await wire.ask("guest_begin", { ...versions, ...this.#guest.publicKeys });
    const signature = await this.#guest.answer(payload.challenge);
    if (!signature) throw new Error("no challenge for a guest");
    const proof = { ...versions, challengeId: payload.challengeId, signature };
    const { payload: ack } = await wire.ask("guest_proof", proof);
    if (ack.guestId !== this.#guest.id) throw new Error("somebody else's id");
    if (wire !== this.#wire) return;
    this.#clockOffset = ack.serverTime - Date.now();
    this.#token = { value: ack.guestToken, until: ack.guestExpiresAt - this.#clockOffset };
  }
}
