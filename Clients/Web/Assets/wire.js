// One WebSocket: frames out, frames in. What is lost with it is lost; who uses it opens another.

/** A connection opens, and a question is answered, within this. */
const answeredWithin = 15_000;
/** A connection from which nothing is heard for so long is asked whether it lives, and then given up. */
const quietMax = 25_000;
const pongWithin = 10_000;
/** Frames that wait to be handled. A page that cannot keep up connects again, and gets the newest. */
const backlogMax = 2_000;

/** An `error` frame that answers a request. */
export class Refusal extends Error {
  constructor({ code, retryAfterMs }) {
    super(code);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The connection ended first, or no answer came in time. */
export class Lost extends Error {}

/**
 * @typedef {{type: string, requestId?: string, payload: any}} Frame
 * @typedef {object} Handler
 * @property {(frame: Frame) => Promise<void>} received one after the other, in order
 * @property {(code: number, reason: string) => void} closed once
 */

export class Wire {
  #socket;
  /** @type {Map<string, {resolve: Function, reject: Function, timer: number}>} */
  #asked = new Map();
  #count = 0;
  #backlog = 0;
  #handled = Promise.resolve();
  #isClosed = false;
  #timer;
  #handler;
  #unopened;

  /** @param {string} url @param {Handler} handler */
  constructor(url, handler) {
    this.#handler = handler;
    this.#socket = new WebSocket(url);
    this.#timer = setTimeout(() => this.close(), answeredWithin);
    /** Resolved when frames may be sent; rejected if that never happens. */
    this.opened = new Promise((resolve, reject) => {
      this.#socket.onopen = resolve;
      this.#unopened = () => reject(new Lost());
    });
    this.#socket.addEventListener("open", () => this.#heard());
    this.#socket.onmessage = ({ data }) => this.#receive(data);
    this.#socket.onclose = ({ code, reason }) => this.#end(code, reason);
  }

  send(type, payload) {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ type, payload }));
  }

  /** @returns {Promise<Frame>} the answer, after it has been handled; throws `Refusal` or `Lost` */
  ask(type, payload) {
    if (this.#socket.readyState !== WebSocket.OPEN) return Promise.reject(new Lost());
    const requestId = String((this.#count += 1));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.close(), answeredWithin);
      this.#asked.set(requestId, { resolve, reject, timer });
      this.#socket.send(JSON.stringify({ type, requestId, payload }));
    });
  }

  /** At once, whatever the network says. */
  close() {
    this.#socket.close();
    this.#end(1000, "");
  }

  #receive(data) {
    this.#heard();
    this.#backlog += 1;
    if (this.#backlog > backlogMax) return this.close();
    this.#handled = this.#handled.then(() => this.#handle(data));
  }

  async #handle(data) {
    this.#backlog -= 1;
    if (this.#isClosed) return;
    let frame;
    try {
      frame = JSON.parse(data);
      await this.#handler.received(frame);
    } catch (error) {
      console.warn("a frame was not understood", error);
    }
    const asked = this.#asked.get(frame?.requestId);
    if (!asked) return;
    this.#asked.delete(frame.requestId);
    clearTimeout(asked.timer);
    if (frame.type === "error") asked.reject(new Refusal(frame.payload));
    else asked.resolve(frame);
  }

  /** It lives. */
  #heard() {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.send("ping", {});
      this.#timer = setTimeout(() => this.close(), pongWithin);
    }, quietMax);
  }

  #end(code, reason) {
    if (this.#isClosed) return;
    // What has arrived before the end is handled first: an error may say why it ends.
    this.#handled.then(() => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      clearTimeout(this.#timer);
      this.#unopened();
      for (const { reject, timer } of this.#asked.values()) {
        clearTimeout(timer);
        reject(new Lost());
      }
      this.#asked.clear();
      this.#handler.closed(code, reason);
    });
  }
}
