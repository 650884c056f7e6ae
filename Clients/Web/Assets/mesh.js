// Who in a room connects to whom, and when again. Holds no connection, socket or clock: times are arguments, in milliseconds.
//
// Of each pair the lower seat opens a session: one RTCPeerConnection on each side, and the data channel in it. The higher seat
// waits for its offer, and asks for a session if none comes. Within a session both may offer, as tracks come and go: of two
// offers that cross, the lower seat's stands. Descriptions and candidates name their session; those of another are dropped.

/** A session opens, and an offer is answered, within this. The next one gets twice as long. */
export const patience = 15_000;
export const patienceMax = 60_000;
/** An interrupted connection may come back by itself within this. */
export const interruptionMax = 5_000;
/** After a channel was closed or a step failed. Whoever has left says so meanwhile. */
export const retryPause = 1_000;
/** Candidates of one peer that wait for its description (contract §15.2). */
export const candidatesMax = 64;

/**
 * @typedef {{participant: string, seat: number, isConnected: boolean}} Participant
 * @typedef {{kind: string, session?: string, sdp?: string, candidate?: object}} Signal without an `sdp`, `restart` asks for a session
 * @typedef {{do: "start", peer: string, session: string, offers: boolean} | {do: "offer", peer: string, kind: string}
 *   | {do: "describe", peer: string, description: {type: "offer" | "answer", sdp: string}}
 *   | {do: "candidate", peer: string, candidate: object} | {do: "restartIce", peer: string} | {do: "ask", peer: string}
 *   | {do: "close", peer: string}} Action `describe` of an offer answers it
 */

class Peer {
  isConnected = false;
  /** When it came last, when its session began, and when something has to be done about it. */
  cameAt = 0;
  startedAt = 0;
  /** @type {number | null} */
  deadline = null;
  attempts = 0;
  /** @type {Signal[]} candidates that have come before their description */
  held = [];

  constructor(id, seat) {
    this.id = id;
    this.seat = seat;
    this.begin(null);
  }

  /** @param {string | null} session */
  begin(session) {
    this.session = session;
    /** The data channel is open. */
    this.isOpen = false;
    /** Nothing comes through; another way is looked for. */
    this.isInterrupted = this.isRestarting = false;
    /** An own offer waits for its answer. */
    this.isOffering = false;
    /** The other side's description is here. */
    this.isDescribed = false;
  }

  get isSettled() {
    return this.isOpen && !this.isOffering && !this.isInterrupted;
  }

  settle() {
    if (this.isSettled) [this.deadline, this.attempts, this.isRestarting] = [null, 0, false];
  }

  /** @returns {"connected" | "connecting" | "away"} */
  get state() {
    return this.isOpen && !this.isInterrupted ? "connected" : this.isConnected ? "connecting" : "away";
  }
}

export class Mesh {
  /** @type {Map<string, Peer>} */
  peers = new Map();
  seat = 0;
  #own;
  #draw;
  #revision = 0;
  /** @type {Participant[]} as of this revision */
  #participants = [];
  #isOnline = false;

  /** @param {string} own participant @param {() => string} draw a new name for a session */
  constructor(own, draw) {
    this.#own = own;
    this.#draw = draw;
  }

  // MARK: What the server says

  /**
   * @param {{revision: number, participants: Participant[]}} room
   * @param {{event: string, participant?: string} | null} change null: we have come, on a new connection. What was told of a
   *   later revision stands
   * @returns {Action[]}
   */
  seen({ revision, participants }, change, now) {
    const isOld = revision < this.#revision;
    if (!change) this.#isOnline = true;
    else if (isOld) return [];
    if (isOld) participants = this.#participants;
    else [this.#revision, this.#participants] = [revision, participants];
    const actions = [];
    const gone = new Set(this.peers.keys());
    for (const { participant: id, seat } of participants) {
      if (id === this.#own) this.seat = seat;
      // A participant that left and came in again has another seat, and none of its connections.
      else if (this.peers.get(id)?.seat === seat) gone.delete(id);
    }
    for (const peer of gone) {
      this.peers.delete(peer);
      actions.push({ do: "close", peer });
    }
    for (const { participant: id, seat } of participants) {
      if (id !== this.#own && !this.peers.has(id)) this.peers.set(id, new Peer(id, seat));
    }
    for (const { participant: id, isConnected } of participants) {
      const peer = this.peers.get(id);
      if (!peer) continue;
      const isMeant = change?.participant === id && /^(joined|back)$/.test(change.event);
      const comes = isConnected && (!change || isMeant || !peer.isConnected);
      peer.isConnected = isConnected;
      if (!comes) continue;
      [peer.cameAt, peer.attempts] = [now, 0];
      if (!peer.isSettled) actions.push(this.#renew(peer, now));
    }
    return actions;
  }

  /** Nothing goes out, and nobody is seen. */
  offline() {
    this.#isOnline = false;
  }

  /** @param {string} id of the sender @param {Signal} signal @returns {Action[]} */
  signalled(id, signal, now) {
    const peer = this.peers.get(id);
    if (!peer) return [];
    const isOurs = [undefined, peer.session].includes(signal.session);
    switch (signal.kind) {
      case "offer":
      case "restart":
        return signal.sdp ? this.#offered(peer, signal, isOurs, now) : this.#asked(peer, now);
      case "answer":
        if (!peer.isOffering || !isOurs) return [];
        peer.isOffering = false;
        return this.#describe(peer, "answer", signal.sdp);
      case "candidate":
        if (peer.isDescribed && isOurs) return [{ do: "candidate", peer: id, candidate: signal.candidate }];
        peer.held = [...peer.held, signal].slice(-candidatesMax);
        return [];
      case "bye":
        peer.begin(null);
        peer.deadline = null;
        return [{ do: "close", peer: id }];
      default:
        return [];
    }
  }

  #opens(peer) {
    return this.seat < peer.seat;
  }

  /** A session that has just begun is what the higher seat wants. */
  #asked(peer, now) {
    const isFresh = peer.session && !peer.isOpen && peer.startedAt >= peer.cameAt;
    return this.#opens(peer) && !isFresh ? [this.#renew(peer, now)] : [];
  }

  #offered(peer, { kind, session, sdp }, isOurs, now) {
    const actions = [];
    if (this.#opens(peer)) {
      if (!isOurs || peer.isOffering) return [];
    } else if (!isOurs || !peer.session || (!session && kind === "restart")) {
      // In the midst of a session that an earlier life of this page was in. What this one asked for is on its way.
      if (session && kind === "offer") return [];
      peer.deadline = now + patience;
      actions.push(this.#start(peer, session ?? "unnamed", now));
    }
    peer.isOffering = false;
    return [...actions, ...this.#describe(peer, "offer", sdp)];
  }

  #describe(peer, type, sdp) {
    const held = peer.held.filter(({ session }) => [undefined, peer.session].includes(session));
    [peer.held, peer.isDescribed] = [[], true];
    peer.settle();
    const candidates = held.map(({ candidate }) => ({ do: "candidate", peer: peer.id, candidate }));
    return [{ do: "describe", peer: peer.id, description: { type, sdp } }, ...candidates];
  }

  // MARK: Sessions

  /** @returns {Action} */
  #renew(peer, now) {
    peer.deadline = now + Math.min(patience * 2 ** peer.attempts, patienceMax);
    peer.attempts += 1;
    return this.#opens(peer) ? this.#start(peer, this.#draw(), now) : { do: "ask", peer: peer.id };
  }

  /** @returns {Action} */
  #start(peer, session, now) {
    peer.begin(session);
    peer.startedAt = now;
    return { do: "start", peer: peer.id, session, offers: this.#opens(peer) };
  }

  /** The browser wants to offer something. @returns {Action[]} */
  negotiationNeeded(id, session, now) {
    const peer = this.#in(id, session);
    if (!peer || peer.isOffering || !(peer.isDescribed || this.#opens(peer))) return [];
    peer.isOffering = true;
    peer.deadline ??= now + patience;
    return [{ do: "offer", peer: id, kind: peer.isDescribed ? "offer" : "restart" }];
  }

  /** The data channel is open. */
  opened(id, session) {
    const peer = this.#in(id, session);
    if (!peer) return;
    peer.isOpen = true;
    peer.settle();
  }

  /** @param {RTCPeerConnectionState} state */
  connection(id, session, state, now) {
    const peer = this.#in(id, session);
    if (!peer || !/^(connected|disconnected|failed)$/.test(state)) return;
    peer.isInterrupted = state !== "connected";
    peer.settle();
    if (!peer.isInterrupted) return;
    // The lower seat acts first.
    const pause = (state === "failed" ? 0 : interruptionMax) + (this.#opens(peer) ? 0 : patience);
    peer.deadline = Math.min(peer.deadline ?? Infinity, now + pause);
  }

  /** The channel was closed by the other side, or a step failed. */
  broke(id, session, now) {
    const peer = this.#in(id, session);
    if (!peer) return;
    peer.isOpen = peer.isOffering = false;
    peer.deadline = now + Math.min(retryPause * 2 ** peer.attempts, patienceMax);
  }

  /** @returns {Peer | null} null if the session is over */
  #in(id, session) {
    const peer = this.peers.get(id);
    return peer?.session === session ? peer : null;
  }

  // MARK: Time

  get #waiting() {
    return this.#isOnline ? [...this.peers.values()].filter((peer) => peer.isConnected && peer.deadline !== null) : [];
  }

  /** When `timerFired` has something to do next. @returns {number} Infinity: never */
  get nextWake() {
    return Math.min(...this.#waiting.map(({ deadline }) => deadline));
  }

  /** @returns {Action[]} */
  timerFired(now) {
    return this.#waiting.filter(({ deadline }) => deadline <= now).map((peer) => {
      const keeps = peer.isOpen && peer.isInterrupted && !peer.isRestarting && !peer.isOffering && this.#opens(peer);
      if (!keeps) return this.#renew(peer, now);
      // Another way between the same two: the channel stays.
      [peer.isRestarting, peer.deadline] = [true, now + patience];
      return { do: "restartIce", peer: peer.id };
    });
  }
}
