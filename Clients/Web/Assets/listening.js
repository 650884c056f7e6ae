// A listener's way through a conversation: knocks, joins, and joins again whenever the connection was lost.
import { fromBase64 } from "./bytes.js";
import { Connection } from "./connection.js";
import { box, isSigned, knockTag, PacketKeys, signedDigest, unbox, verifyingKey } from "./crypto.js";
import { readContent } from "./content.js";
import { ListenerMachine } from "./machine.js";

const leftWithin = 1_000;
/** Whoever waits asks so often whether it is let in, and so many times: what told it may be lost. */
const askedEvery = 15_000;
const askedMax = 41;

/**
 * What the page is told. `state` is one of `main[data-state]`; `reason` says more about it.
 * @typedef {object} Audience
 * @property {(state: string, reason?: string, note?: string) => void} changed
 * @property {(isTranscribed: boolean) => void} transcribed
 * @property {(action: import("./machine.js").Action) => void} act
 */

export class Listening {
  #link;
  #info;
  #guest;
  #audience;
  /** @type {Connection} */
  #connection;
  #verifier;
  /** @type {PacketKeys} */
  #keys;
  /** @type {ListenerMachine} */
  #machine;
  /** What the reader says of himself: name and passcode. */
  #words = {};
  /** Whether the whisperer has let us in, in this visit. */
  #isAdmitted = false;
  #isJoined = false;
  #hasEnded = false;
  #wakeTimer;
  #askTimer;
  #timesAsked = 0;

  /** @param {Audience} audience */
  constructor(link, info, guest, audience) {
    this.#link = link;
    this.#info = info;
    this.#guest = guest;
    this.#audience = audience;
    this.#connection = new Connection(guest, {
      entered: () => this.#enter(),
      received: (frame) => this.#received(frame),
      dropped: () => this.#dropped(),
      lost: () => audience.changed("offline"),
      stopped: (state, reason) => audience.changed(state, reason),
      refused: (error) => this.#isRefused(error),
    });
  }

  // MARK: What the reader does

  /** @param {{name: string, passcode?: string}} words */
  async begin(words) {
    this.#words = words;
    this.#verifier ??= await verifyingKey(this.#info.sign);
    this.#keys = new PacketKeys(this.#link.id, this.#verifier);
    this.#machine = new ListenerMachine(this.#guest.id);
    this.#isAdmitted = false;
    this.#hasEnded = false;
    this.#audience.changed("connecting");
    this.#connection.begin();
  }

  /** Connects again after another tab had taken over. */
  useHere() {
    this.#audience.changed("connecting");
    this.#connection.useHere();
  }

  async leave() {
    const left = this.#connection.ask("live_leave", this.#named).catch(() => {});
    await Promise.race([left, new Promise((resolve) => setTimeout(resolve, leftWithin))]);
    this.#stop("consent");
  }

  /** @param {"hand" | "repeat" | "slower"} want @returns {boolean} whether it went out */
  attention(want) {
    if (!this.#isJoined) return false;
    this.#connection.send("live_attention", { ...this.#named, want });
    return true;
  }

  // MARK: Connections

  #stop(state, reason, note) {
    this.#connection.stop();
    this.#audience.changed(state, reason, note);
  }

  #dropped() {
    this.#isJoined = false;
    this.#machine?.disconnected();
    clearTimeout(this.#wakeTimer);
    clearTimeout(this.#askTimer);
    this.#timesAsked = 0;
  }

  /** @param {import("./wire.js").Refusal} error */
  #isRefused({ code }) {
    if (code === "FORBIDDEN") this.#stop("refused", this.#isAdmitted ? "removed" : "forbidden");
    else if (code === "NOT_FOUND") this.#stop(this.#isAdmitted ? "ended" : "notfound", "deleted");
    else return false;
    return true;
  }

  // MARK: Coming in

  get #named() {
    return { conversationId: this.#link.id };
  }

  async #enter() {
    if (this.#isAdmitted) return this.#join();
    await this.#connection.ask("live_knock", await this.#knock());
  }

  async #knock() {
    const { id } = this.#link;
    const timestamp = this.#connection.now;
    const words = { name: this.#words.name, tag: await knockTag(this.#link, this.#guest.id, timestamp) };
    if (this.#words.passcode) words.passcode = this.#words.passcode;
    const sealed = await box(words, this.#info.enc, "live_knock", id);
    const signed = { from: this.#guest.id, timestamp, ...sealed };
    const sig = await this.#guest.sign(await signedDigest("live_knock", id, id, signed));
    const linkProof = btoa(String.fromCharCode(...this.#link.proof));
    return { ...this.#named, linkProof, ...this.#guest.publicKeys, ...signed, sig };
  }

  #join() {
    return this.#connection.ask("live_join", { ...this.#named, after: this.#machine.joining() });
  }

  #askLater() {
    clearTimeout(this.#askTimer);
    const { life } = this.#connection;
    this.#askTimer = setTimeout(async () => {
      this.#timesAsked += 1;
      const code = await this.#join().then(() => null, (error) => error.code);
      if (code === null || this.#isJoined || life !== this.#connection.life) return;
      if (code === "NOT_FOUND" || this.#timesAsked >= askedMax) this.#stop("refused", "expired");
      else if (code === "FORBIDDEN" && this.#isAdmitted) this.#stop("refused", "removed");
      else this.#askLater();
    }, askedEvery);
  }

  // MARK: What the server says

  /** In order, one after the other: what comes behind an answer counts after it. */
  async #received({ type, requestId, payload }) {
    switch (type) {
      case "live_packet":
        return this.#packet(payload);
      case "live_state":
        return this.#stateChanged(payload);
      case "live_waiting":
        this.#askLater();
        return this.#audience.changed("waiting", payload.state);
      case "live_admitted":
        return this.#admitted(payload);
      case "live_joined":
        return this.#joined(payload);
      case "live_refused":
        return this.#refused(payload);
      case "error":
        // Answers have an id. Others are of a resync: too early, or the server has forgotten who listens.
        if (requestId !== undefined) return;
        if (payload.code === "RATE_LIMITED") this.#machine.refused(payload.retryAfterMs, performance.now());
        else if (payload.code === "FORBIDDEN") this.#connection.again();
    }
  }

  async #admitted(payload) {
    const { life } = this.#connection;
    if (!(await this.#takeGrant(payload)) || life !== this.#connection.life) return;
    this.#isAdmitted = true;
    clearTimeout(this.#askTimer);
    this.#audience.transcribed(payload.isTranscribed);
    if (!this.#isJoined) this.#connection.attempt(() => this.#join());
  }

  /** The content key of a generation, signed by the conversation for us. @returns {Promise<boolean>} whether it is */
  async #takeGrant(grant) {
    const inner = await this.#open("live_grant", grant);
    const key = fromBase64(inner?.key, 32);
    if (!key || inner.generation !== grant.generation) return false;
    // The latest grant is given again whenever we come: it may be an old one.
    if (grant.generation < this.#keys.newest) return true;
    await this.#keys.add(grant.generation, key);
    this.#act(this.#machine.keyArrived(grant.generation, performance.now()));
    return true;
  }

  /** What the conversation has signed, and boxed for us. @returns {Promise<any>} null if it did not */
  async #open(type, frame) {
    const { id } = this.#link;
    const digest = await signedDigest(type, id, this.#guest.id, frame);
    if (!(await isSigned(this.#verifier, frame.sig, digest))) return null;
    return unbox(frame, type, id, this.#guest.pairs.enc.privateKey, this.#guest.encPublicKey);
  }

  async #joined(payload) {
    const { life } = this.#connection;
    if (payload.grant) await this.#takeGrant(payload.grant);
    if (life !== this.#connection.life) return;
    this.#isJoined = true;
    this.#isAdmitted = true;
    clearTimeout(this.#askTimer);
    this.#connection.settled();
    const { state, contentId, epoch, seq, line, isTranscribed } = payload;
    this.#audience.transcribed(isTranscribed);
    this.#showState(state);
    this.#act(this.#machine.joined({ state, content: contentId, epoch }, seq, line ?? 0, performance.now()));
  }

  #stateChanged({ state, reason, contentId, epoch, isTranscribed }) {
    if (!this.#isJoined) {
      if (state === "ended" && reason === "deleted") this.#stop("ended", "deleted");
      else if (!this.#isAdmitted) this.#audience.changed("waiting", state === "ended" ? "idle" : state);
      return;
    }
    this.#audience.transcribed(isTranscribed);
    if (state === "ended" && reason === "deleted") return this.#stop("ended", "deleted");
    this.#showState(state);
    this.#act(this.#machine.changed({ state, content: contentId, epoch }, performance.now()));
  }

  /** @param {"idle" | "live" | "paused" | "ended"} state */
  #showState(state) {
    if (state === "live") this.#hasEnded = false;
    if (state === "ended") this.#hasEnded = true;
    const shown = { live: "connected", paused: "paused", ended: "ended", idle: this.#hasEnded ? "ended" : "connected" };
    this.#audience.changed(shown[state] ?? "connected", state);
  }

  async #refused(payload) {
    if (payload.reason === "deleted") return this.#stop("ended", "deleted");
    // The server's own refusals have no signature and no words.
    const { life } = this.#connection;
    const note = (await this.#open("live_refuse", payload))?.note;
    if (life === this.#connection.life) this.#stop("refused", payload.reason, typeof note === "string" ? note : undefined);
  }

  // MARK: Content

  async #packet(packet) {
    if (!this.#isJoined || packet.conversationId !== this.#link.id) return;
    const { life } = this.#connection;
    const opened = await this.#opened(packet);
    if (life === this.#connection.life) this.#act(this.#machine.received(packet, opened, performance.now()));
  }

  /** @returns {Promise<import("./machine.js").Opened>} */
  async #opened(packet) {
    const plain = await this.#keys.open(packet);
    if (typeof plain === "string") return plain;
    const content = readContent(plain, packet.kind);
    if (content?.kind !== "line") return content ?? "unreadable";
    const stream = this.#machine.content;
    return (await this.#keys.isSigned(packet.line, content.text, stream, content.sig)) ? content : "unreadable";
  }

  /** @param {import("./machine.js").Action[]} actions */
  #act(actions) {
    for (const { do: name, ...values } of actions) {
      if (name === "resync") this.#connection.send("live_resync", { ...this.#named, ...values });
      else if (name === "join") this.#connection.attempt(() => this.#join());
      else this.#audience.act({ do: name, ...values });
    }
    clearTimeout(this.#wakeTimer);
    const wake = this.#machine.nextWake;
    if (wake === null) return;
    const wait = Math.max(0, wake - performance.now());
    this.#wakeTimer = setTimeout(() => this.#act(this.#machine.timerFired(performance.now())), wait);
  }
}
