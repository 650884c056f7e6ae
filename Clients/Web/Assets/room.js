// A seat in a room: connections to all others, and what the server says about who is there. `Mesh` decides, this does it.
import { fromBase64, hex, toBase64 } from "./bytes.js";
import { Connection } from "./connection.js";
import {
  box, isIDOf, isSigned, roomProof, roomSalt, safetyNumber, sha256, signedDigest, unbox, verifyingKey,
} from "./crypto.js";
import { Mesh } from "./mesh.js";
import { plainMax, protocol, Talk } from "./talk.js";

/** The channels of each connection: for plain pages, and for all others. */
const [plain, talk] = ["chat", "talk"];
const now = () => performance.now();
/** Bytes that wait for one peer. Until there are fewer than the second, nothing is sent. */
const [bufferedMax, bufferedLow] = [1_048_576, 262_144];
const leftWithin = 1_000;
/** For receipts of what was said last, before we go. */
const [receivedWithin, lookEvery] = [500, 20];
/** After a sign that somebody has come or gone of whom nothing was told. */
const lookPause = 2_000;
/** Of their life, after which credentials for relays are renewed. */
const relaysShare = 0.75;
const freshCode = { codeDigits: 6, codeTtlSeconds: 600 };

/**
 * @typedef {{id: string, seat: number, state: string, number: string, isVouched: boolean, name?: string, isPlain: boolean}} Person
 *   `number` is the safety number; `isVouched`: who came by the link, which the server does not know; `isPlain`: on a page of
 *   before, which tells nobody what it has
 * @typedef {{code: string, until: number} | null} Code
 * @typedef {object} Audience
 * @property {(state: string, reason?: string) => void} changed `state` is one of `main[data-state]`
 * @property {(room: {id: string, seat: number, isHost: boolean, isFull: boolean, people: Person[], code: Code}) => void} seen
 * @property {(seat: number, text: string) => void} message
 * @property {(said: import("./talk.js").Said) => void} delivered one of ours, to one more or one fewer
 * @property {(seat: number, stream: MediaStream | null) => void} media
 */

export class Room {
  #guest;
  #audience;
  #policy;
  /** @type {Connection} */
  #connection;
  /** @type {Mesh} */
  #mesh;
  #talk;
  /** @type {[string, object]} what brings us in for the first time */
  #wish;
  #id;
  /** @type {Uint8Array | null} the link's */
  #secret = null;
  #isIn = false;
  /** Nothing shows the room again that was under way when it ended. */
  #isOver = false;
  #isOnline = false;
  #shown;
  #code = null;
  /** Absent until somebody else has had a seat. */
  #turn;
  #turnTimer;
  /** News of the room that came while relays are asked for. @type {[object, object | null][] | null} */
  #unseen = null;
  /** @type {Map<string, {seat: number, verify: CryptoKey, enc: Uint8Array, number: string, salt?: Uint8Array}>} */
  #keys = new Map();
  #ownSeat = 0;
  /** @type {Map<string, {pc: RTCPeerConnection, session: string, seat: number, chat?: RTCDataChannel, talk?: RTCDataChannel, steps: Promise<void>}>} */
  #links = new Map();
  #outgoing = Promise.resolve();
  /** @type {MediaStream | null} */
  #stream = null;
  #wakeTimer;
  #lookTimer;
  #isLooking = false;

  /** @param {Audience} audience @param {boolean} isRelayed others do not learn this browser's address */
  constructor(guest, audience, isRelayed) {
    this.#guest = guest;
    this.#audience = audience;
    this.#policy = isRelayed ? "relay" : "all";
    this.#talk = this.#newTalk();
    this.#connection = new Connection(guest, {
      entered: () => this.#enter(),
      received: (frame) => this.#received(frame),
      dropped: () => this.#dropped(),
      lost: () => this.#show(),
      stopped: (state, reason) => this.#end(reason ? "ended" : state, reason),
      refused: (error) => this.#isRefused(error),
    });
  }

  // MARK: What people do

  /** @param {string} id of the new room @param {Uint8Array} secret of its link */
  async create(id, secret, participantsMax) {
    const linkVerifier = toBase64(await sha256(await roomProof(secret)));
    this.#begin("room_create", { roomId: id, participantsMax, linkVerifier, ...freshCode }, secret);
  }

  /** @param {string} [pin] */
  enterCode(code, pin) {
    this.#begin("room_join", pin ? { code, pin } : { code }, null);
  }

  /** By the link, or back to one's seat. @param {Uint8Array | null} secret */
  async enter(id, secret) {
    this.#begin("room_join", secret ? { roomId: id, linkProof: toBase64(await roomProof(secret)) } : { roomId: id }, secret);
  }

  useHere() {
    this.#forget();
    this.#audience.changed("connecting");
    this.#connection.useHere();
  }

  async renewCode() {
    const { payload } = await this.#connection.ask("room_code", { roomId: this.#id, ...freshCode });
    this.#takeCode(payload);
    this.#show();
  }

  /** By which others see us from the next connection on. It goes to them alone. @param {string | undefined} name */
  set name(name) {
    this.#talk.name = name;
  }

  /** @param {boolean} isPartial @returns {ReturnType<Talk["say"]>} */
  say(text, isPartial) {
    return this.#talk.say(crypto.randomUUID(), this.#connection.now, text, isPartial);
  }

  get isOwing() {
    return this.#talk.isOwing;
  }

  /** What others see and hear from now on. @param {MediaStream | null} stream */
  share(stream) {
    this.#stream = stream;
    for (const { pc } of this.#links.values()) {
      for (const sender of pc.getSenders()) if (sender.track) pc.removeTrack(sender);
      this.#addTracks(pc);
    }
  }

  /** The others first: they are not to wait for somebody who has gone. */
  async leave() {
    for (const until = now() + receivedWithin; this.#talk.isOwing && now() < until;) await new Promise((resolve) => setTimeout(resolve, lookEvery));
    this.#talk.leave();
    for (const [id, { session }] of this.#links) this.#signal(id, "bye", { session });
    this.#closeAll();
    const left = this.#outgoing.then(() => this.#connection.ask("room_leave", { roomId: this.#id })).catch(() => {});
    await Promise.race([left, new Promise((resolve) => setTimeout(resolve, leftWithin))]);
    this.#end("entry");
  }

  // MARK: Coming in

  #begin(type, fields, secret) {
    this.#wish = [type, fields];
    this.#secret = secret;
    this.#forget();
    this.#isIn = false;
    this.#code = null;
    this.#keys.clear();
    this.#turn = undefined;
    this.#audience.changed("connecting");
    this.#connection.begin();
  }

  #forget() {
    this.#isOver = false;
    this.#mesh = new Mesh(this.#guest.id, () => hex(crypto.getRandomValues(new Uint8Array(8))));
  }

  async #enter() {
    const [type, fields] = this.#isIn ? ["room_join", { roomId: this.#id }] : this.#wish;
    const enter = () => this.#connection.ask(type, { ...fields, ...this.#guest.publicKeys });
    await enter().catch(async (error) => {
      if (type !== "room_create" || error.code !== "FORBIDDEN") throw error;
      // A guest hosts three rooms at most, and whoever starts another is in none of them.
      await this.#connection.ask("room_purge", {});
      await enter();
    });
  }

  /** @param {import("./wire.js").Refusal} error */
  #isRefused({ code }) {
    switch (code) {
      case "NOT_FOUND":
      case "INVALID_PAYLOAD":
        this.#end(this.#isIn ? "ended" : "notfound");
        return true;
      case "FORBIDDEN":
        this.#end("full");
        return true;
      case "RATE_LIMITED":
        if (this.#isIn || !this.#wish[1].code) return false;
        this.#end("entry", "limited");
        return true;
      default:
        return false;
    }
  }

  #dropped() {
    this.#isOnline = false;
    this.#mesh?.offline();
    this.#sleep();
    clearTimeout(this.#turnTimer);
    clearTimeout(this.#lookTimer);
    this.#unseen = null;
    [this.#lookTimer, this.#isLooking] = [undefined, false];
  }

  /** What the server told may have been lost: it is asked who is there. */
  #look() {
    this.#lookTimer ??= setTimeout(() => {
      this.#lookTimer = undefined;
      if (!this.#isOnline) return;
      this.#isLooking = true;
      this.#connection.ask("room_join", { roomId: this.#id, ...this.#guest.publicKeys }).catch((error) => {
        this.#isLooking = false;
        if (error.code === "NOT_FOUND") this.#isRefused(error);
      });
    }, lookPause);
  }

  #end(state, reason) {
    this.#isOver = true;
    this.#connection.stop();
    this.#closeAll();
    // The room goes on in another tab, and may come back to this one.
    if (state !== "replaced") this.#talk.seen([]);
    clearTimeout(this.#wakeTimer);
    this.#audience.changed(state, reason);
  }

  // MARK: What the server says

  async #received({ type, requestId, payload }) {
    switch (type) {
      case "room_joined":
        this.#id = payload.roomId;
        this.#isIn = this.#isOnline = true;
        this.#connection.settled();
        this.#takeCode(payload);
        if (payload.turn) this.#takeRelays(payload.turn);
        else this.#turn = undefined;
        await this.#see(payload, this.#isLooking ? { event: "looked" } : null);
        this.#isLooking = false;
        return;
      case "room_event":
        if (payload.roomId !== this.#id) return;
        if (payload.event === "closed") return this.#end("ended", "closed");
        if (payload.event === "removed" && payload.participant === this.#guest.id) return this.#end("ended", "removed");
        return this.#see(payload.room, payload);
      case "room_signal":
        return this.#signalled(payload);
      case "room_left":
        // Unasked: the seat has gone, and what said so was lost. The next `room_join` says whether it is so.
        if (requestId === undefined && payload.roomId === this.#id) this.#connection.again();
        return;
      case "error":
        // Of a signal: the server does not know this connection any more.
        if (requestId === undefined && payload.code === "FORBIDDEN") this.#connection.again();
    }
  }

  #takeCode({ code, codeExpiresAt }) {
    this.#code = code ? { code, until: codeExpiresAt - this.#connection.now + Date.now() } : null;
  }

  #takeRelays({ urls, username, credential, ttl }) {
    this.#turn = { urls, username, credential };
    clearTimeout(this.#turnTimer);
    // A page that is alone by then gets none, and asks again when somebody comes.
    this.#turnTimer = setTimeout(() => this.#renewRelays().catch(() => (this.#turn = undefined)), relaysShare * 1000 * ttl);
  }

  async #renewRelays() {
    this.#takeRelays((await this.#connection.ask("room_turn", { roomId: this.#id })).payload);
  }

  /** A page that was alone has no relays yet. The first to come is seen once they are here, or cannot be had. */
  #see(room, change) {
    if (!this.#unseen && (this.#turn || room.participants.length < 2)) return this.#learn(room, change);
    if (this.#unseen) return void this.#unseen.push([room, change]);
    const unseen = (this.#unseen = [[room, change]]);
    this.#renewRelays().catch(() => {}).then(async () => {
      if (unseen !== this.#unseen) return;
      try {
        for (const [room, change] of unseen) if (unseen === this.#unseen) await this.#learn(room, change);
      } finally {
        if (unseen === this.#unseen) this.#unseen = null;
      }
    });
  }

  async #learn(room, change) {
    const own = room.participants.find(({ participant }) => participant === this.#guest.id);
    // We too may have left and come in again by another way, and hear of it only now.
    if (own && own.seat > this.#ownSeat) this.#keys.clear();
    this.#ownSeat = own?.seat ?? this.#ownSeat;
    for (const participant of room.participants) {
      // Whoever has left and come in again, to a later seat, may have come without the link's secret.
      const seat = this.#keys.get(participant.participant)?.seat ?? 0;
      if (participant !== own && participant.seat > seat) await this.#know(participant);
    }
    // Whose keys are not its own does not exist.
    const participants = room.participants.filter(({ participant: id }) => id === own?.participant || this.#keys.has(id));
    const isFull = room.participants.length >= room.participantsMax;
    if (this.#isOver) return;
    if (isFull) this.#code = null;
    this.#shown = { isHost: room.host === this.#guest.id, isFull };
    const actions = this.#mesh.seen({ ...room, participants }, change, now());
    this.#talk.seen(this.#mesh.peers.values());
    this.#act(actions);
  }

  /**
   * The link's secret vouches for whoever has it; with all others the safety number has to be compared. Whether we have it is
   * known here, whatever the server says. The first seat is that of the room's creator, who has it always.
   */
  async #know({ participant: id, seat, via, signPublicKey, encPublicKey }) {
    const [sign, enc] = [fromBase64(signPublicKey, 32), fromBase64(encPublicKey, 32)];
    if (!sign || !enc || !(await isIDOf(id, sign, enc))) return;
    const own = { sign: fromBase64(this.#guest.publicKeys.signPublicKey), enc: this.#guest.encPublicKey };
    const hasSecret = via === "creator" || via === "link" || seat === 1;
    this.#keys.set(id, {
      seat, verify: await verifyingKey(sign), enc, number: await safetyNumber(this.#id, own, { sign, enc }),
      salt: this.#secret && hasSecret ? roomSalt(this.#secret) : undefined,
    });
  }

  async #signalled(frame) {
    const keys = this.#keys.get(frame.from);
    if (frame.roomId !== this.#id || frame.to !== this.#guest.id) return;
    if (!this.#mesh.peers.get(frame.from)?.isConnected || frame.kind === "bye") this.#look();
    if (!keys) return;
    const digest = await signedDigest("room_signal", this.#id, frame.to, frame);
    if (!(await isSigned(keys.verify, frame.sig, digest))) return;
    const { pairs, encPublicKey } = this.#guest;
    const signal = await unbox(frame, "room_signal", this.#id, pairs.enc.privateKey, encPublicKey, keys.salt);
    if (signal?.kind === frame.kind) this.#act(this.#mesh.signalled(frame.from, signal, now()));
  }

  /** In the order of the calls. */
  #signal(to, kind, fields) {
    const keys = this.#keys.get(to);
    const roomId = this.#id;
    this.#outgoing = this.#outgoing.then(async () => {
      const sealed = await box({ kind, ...fields }, keys.enc, "room_signal", roomId, keys.salt);
      const frame = { roomId, kind, to, from: this.#guest.id, timestamp: this.#connection.now, ...sealed };
      const sig = await this.#guest.sign(await signedDigest("room_signal", roomId, to, frame));
      this.#connection.send("room_signal", { ...frame, sig });
    }).catch((error) => console.warn("a signal was not sent", error));
  }

  // MARK: Peers

  /** @param {import("./mesh.js").Action[]} actions */
  #act(actions) {
    if (this.#isOver) return;
    for (const action of actions) {
      const { peer } = action;
      if (action.do === "start") this.#open(action);
      else if (action.do === "close") this.#close(peer);
      else if (action.do === "ask") this.#signal(peer, "restart", {});
      else this.#step(peer, action);
    }
    this.#sleep();
    this.#show();
  }

  #sleep() {
    clearTimeout(this.#wakeTimer);
    const wake = Math.min(this.#mesh?.nextWake ?? Infinity, this.#talk.nextWake);
    const fire = () => {
      this.#talk.timerFired(now());
      this.#act(this.#mesh.timerFired(now()));
    };
    if (wake < Infinity) this.#wakeTimer = setTimeout(fire, wake - now());
  }

  /** The messages of this visit. They go with this page, and the server has none of them. */
  #newTalk() {
    const left = (id) => {
      this.#act(this.#mesh.signalled(id, { kind: "bye" }, now()));
      this.#look();
    };
    const broke = (id) => {
      const link = this.#links.get(id);
      link.pc.close();
      this.#mesh.broke(id, link.session, now());
    };
    const write = (id, name, texts) => {
      const channel = this.#links.get(id)?.[name];
      if (channel?.readyState !== "open" || channel.bufferedAmount > bufferedMax) return false;
      for (const text of texts) channel.send(text);
      return true;
    };
    const heard = (seat, { text, id, re }) => this.#audience.message(seat, text, id, re);
    const changed = (said) => this.#audience.delivered(said);
    return new Talk({ left, broke, write, heard, changed }, toBase64(crypto.getRandomValues(new Uint8Array(8))));
  }

  /** One after the other: each of them changes what the next may do. */
  #step(peer, action) {
    const link = this.#links.get(peer);
    if (!link) return;
    link.steps = link.steps.then(() => this.#perform(peer, link, action)).catch((error) => {
      if (link !== this.#links.get(peer)) return;
      console.warn("a step failed", error);
      this.#mesh.broke(peer, link.session, now());
      this.#act([]);
    });
  }

  async #perform(peer, { pc, session }, action) {
    const describe = async (kind) => {
      await pc.setLocalDescription();
      this.#signal(peer, kind, { session, sdp: pc.localDescription.sdp });
    };
    switch (action.do) {
      case "offer":
        return describe(action.kind);
      case "describe":
        await pc.setRemoteDescription(action.description);
        return action.description.type === "offer" && describe("answer");
      case "candidate":
        // One of an offer that did not stand fits nothing.
        return pc.addIceCandidate(action.candidate).catch(() => {});
      case "restartIce":
        return pc.restartIce();
    }
  }

  #open({ peer, session, offers }) {
    this.#close(peer);
    const pc = new RTCPeerConnection({ iceServers: this.#turn ? [this.#turn] : [], iceTransportPolicy: this.#policy });
    const { seat } = this.#mesh.peers.get(peer);
    const link = { pc, session, seat, steps: Promise.resolve() };
    this.#links.set(peer, link);
    const mesh = this.#mesh;
    /** Does something if the session still is the one. */
    const on = (work) => (event) => link === this.#links.get(peer) && this.#act(work(event) ?? []);
    pc.onnegotiationneeded = on(() => mesh.negotiationNeeded(peer, session, now()));
    pc.onconnectionstatechange = on(() => mesh.connection(peer, session, pc.connectionState, now()));
    pc.onicecandidate = on(({ candidate }) => {
      if (!candidate?.candidate) return;
      const { candidate: line, sdpMLineIndex, sdpMid } = candidate;
      this.#signal(peer, "candidate", { session, candidate: { candidate: line, sdpMLineIndex, sdpMid } });
    });
    pc.ontrack = on(({ streams: [stream] }) => {
      if (!stream) return;
      this.#audience.media(seat, stream);
      stream.onremovetrack = on(() => {
        if (stream.getTracks().length === 0) this.#audience.media(seat, null);
      });
    });
    const use = (channel) => {
      const name = channel.label;
      if (name !== plain && (name !== talk || channel.protocol !== protocol)) return;
      link[name] = channel;
      channel.bufferedAmountLowThreshold = bufferedLow;
      channel.onopen = on(() => {
        if (name === plain) mesh.opened(peer, session);
        this.#talk.opened(peer, name, now());
      });
      channel.onbufferedamountlow = on(() => this.#talk.drained(peer));
      channel.onclose = on(() => mesh.broke(peer, session, now()));
      channel.onmessage = on(({ data }) => {
        if (name === talk) this.#talk.heard(peer, data, now());
        else if (typeof data === "string") this.#audience.message(seat, data.slice(0, plainMax));
      });
    };
    if (offers) for (const [name, options] of [[plain], [talk, { protocol }]]) use(pc.createDataChannel(name, options));
    else pc.ondatachannel = on(({ channel }) => use(channel));
    this.#addTracks(pc);
  }

  #addTracks(pc) {
    for (const track of this.#stream?.getTracks() ?? []) pc.addTrack(track, this.#stream);
  }

  #close(peer) {
    const link = this.#links.get(peer);
    if (!link) return;
    this.#links.delete(peer);
    link.pc.close();
    this.#talk.cut(peer);
    this.#audience.media(link.seat, null);
  }

  #closeAll() {
    for (const peer of [...this.#links.keys()]) this.#close(peer);
  }

  // MARK: What is shown

  #show() {
    if (!this.#isIn) return this.#audience.changed(this.#isOnline ? "connecting" : "offline");
    const people = [...this.#mesh.peers.values()].map(({ id, seat, state }) => {
      const { number, salt } = this.#keys.get(id);
      const { name, isPlain } = this.#talk.people.get(id) ?? {};
      return { id, seat, state, number, isVouched: salt !== undefined, name, isPlain };
    });
    const { seat } = this.#mesh;
    this.#audience.seen({ id: this.#id, seat, people, code: this.#code, ...this.#shown });
    const isAnybody = (state) => people.some((person) => person.state === state);
    if (isAnybody("connected")) this.#audience.changed("connected", this.#isOnline ? undefined : "unseen");
    else if (!this.#isOnline) this.#audience.changed("offline");
    else this.#audience.changed(isAnybody("connecting") ? "connecting" : "waiting", "room");
  }
}
