// Worlds for the machine of rooms: seats that come, go, load their page again and lose their connections, and a network that
// loses, delays and holds back. Whatever happened, all are connected with each other some time after it ended.
// `args` are the folder of the modules, the first seed and how many follow. Returns what went wrong, by seed.
const [folder, first, count] = args;
const { Mesh, candidatesMax, interruptionMax, patience, retryPause } = await import(`${folder}/mesh.js`);

/** Uniform in 0..<1, from a seed (mulberry32, public domain). */
const randomFrom = (seed) => () => {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};

const chaos = 120_000;
const calm = 240_000;

/** One world. @returns {string[]} */
function play(seed) {
  const random = randomFrom(seed);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const faults = [];
  let now = 0;
  let names = 0;
  /** @type {{at: number, order: number, work: () => void}[]} */
  const due = [];
  let order = 0;
  const later = (delay, work) => due.push({ at: now + delay, order: (order += 1), work });
  const isCalm = () => now > chaos;

  const room = { revision: 1, participants: [] };
  /** @type {Map<string, object>} */
  const seats = new Map();
  /** Events and signals reach a seat in order. */
  const deliver = (seat, work) => {
    seat.arrives = Math.max(seat.arrives, now + 5 + random() * (isCalm() ? 50 : 800));
    const life = seat.life;
    later(seat.arrives - now, () => seat.isOnline && seat.life === life && work());
  };
  const state = () => structuredClone(room);
  const tell = (event, participant) => {
    room.revision += 1;
    for (const seat of seats.values()) {
      const shown = state();
      if (seat.isOnline && seat.id !== participant) {
        deliver(seat, () => perform(seat, seat.mesh.seen(shown, { event, participant }, now)));
      }
    }
  };

  /** What a browser does with an RTCPeerConnection, as far as it matters. */
  const open = (seat, { peer, session, offers }) => {
    seat.pcs.get(peer)?.close();
    const pc = {
      id: (names += 1), session, peer, remote: null, signaling: "stable", isClosed: false, isOpen: false, fresh: false,
      close() {
        this.isClosed = true;
        const other = this.isOpen && otherOf(seat, this);
        this.isOpen = false;
        // Sometimes the other side hears of it, sometimes it only sees that nothing comes any more.
        if (!other) return;
        const heard = random() < 0.5;
        later(heard ? 20 : 6_000, () => {
          if (other.isClosed || seats.get(peer).pcs.get(seat.id) !== other) return;
          other.isOpen = !heard && other.isOpen;
          if (heard) seats.get(peer).mesh.broke(seat.id, other.session, now);
          else seats.get(peer).mesh.connection(seat.id, other.session, "disconnected", now);
        });
      },
    };
    seat.pcs.set(peer, pc);
    if (offers) needs(seat, pc);
  };
  const otherOf = (seat, pc) => {
    const other = seats.get(pc.peer)?.pcs.get(seat.id);
    return other && !other.isClosed && other.id === pc.remote && other.remote === pc.id ? other : null;
  };
  const needs = (seat, pc) => later(1, () => {
    if (pc.isClosed || seat.pcs.get(pc.peer) !== pc) return;
    if (pc.signaling !== "stable") return (pc.fresh = true);
    perform(seat, seat.mesh.negotiationNeeded(pc.peer, pc.session, now));
  });
  const describe = (seat, pc, kind) => {
    send(seat, pc.peer, { kind, session: pc.session, sdp: `${pc.id}` });
    for (let n = 0; n < 3; n += 1) send(seat, pc.peer, { kind: "candidate", session: pc.session, candidate: { of: pc.id } });
  };
  const settle = (seat, pc) => {
    pc.signaling = "stable";
    if (pc.fresh) {
      pc.fresh = false;
      needs(seat, pc);
    }
    later(100, () => {
      const other = otherOf(seat, pc);
      if (!other || pc.isClosed || pc.signaling !== "stable" || other.signaling !== "stable") return;
      for (const [one, it] of [[seat, pc], [seats.get(pc.peer), other]]) {
        it.isOpen = true;
        one.mesh.opened(it.peer, it.session);
        one.mesh.connection(it.peer, it.session, "connected", now);
      }
    });
  };
  const send = (seat, to, signal) => {
    if (!seat.isOnline || (!isCalm() && random() < 0.1)) return;
    const peer = seats.get(to);
    if (peer) deliver(peer, () => perform(peer, peer.mesh.signalled(seat.id, signal, now)));
  };
  const perform = (seat, actions) => {
    for (const action of actions) {
      const pc = seat.pcs.get(action.peer);
      if (action.do === "start") open(seat, action);
      else if (action.do === "ask") send(seat, action.peer, { kind: "restart" });
      else if (action.do === "close") {
        pc?.close();
        seat.pcs.delete(action.peer);
      } else if (!pc || pc.isClosed) {
        faults.push(`${action.do} without a connection`);
      } else if (action.do === "offer") {
        if (pc.signaling !== "stable") faults.push("an offer before the last one was answered");
        pc.signaling = "have-local-offer";
        describe(seat, pc, action.kind);
      } else if (action.do === "describe") {
        const { type, sdp } = action.description;
        if (type === "answer" && pc.signaling !== "have-local-offer") faults.push("an answer to nothing");
        if (pc.remote !== null && pc.remote !== Number(sdp)) faults.push("one connection with two others");
        pc.remote = Number(sdp);
        if (type === "offer") describe(seat, pc, "answer");
        settle(seat, pc);
      } else if (action.do === "candidate") {
        if (pc.remote === null) faults.push("a candidate before its description");
        if (action.candidate.of !== pc.remote) faults.push("a candidate of another connection");
      } else if (action.do === "restartIce") {
        needs(seat, pc);
      }
    }
  };

  const come = (seat) => {
    if (seat.isOnline) return;
    seat.isOnline = true;
    seat.life += 1;
    room.participants.find(({ participant }) => participant === seat.id).isConnected = true;
    tell("back", seat.id);
    const shown = state();
    deliver(seat, () => perform(seat, seat.mesh.seen(shown, null, now)));
  };
  const go = (seat) => {
    if (!seat.isOnline) return;
    seat.isOnline = false;
    seat.life += 1;
    seat.mesh.offline();
    room.participants.find(({ participant }) => participant === seat.id).isConnected = false;
    later(random() * 15_000, () => seat.isOnline || tell("away", seat.id));
  };
  const fresh = (seat) => {
    seat.mesh = new Mesh(seat.id, () => `s${(names += 1)}`);
    for (const pc of seat.pcs.values()) pc.close();
    seat.pcs = new Map();
  };

  const size = 2 + Math.floor(random() * 3);
  for (let number = 1; number <= size; number += 1) {
    later(random() * 5_000, () => {
      const id = `p${number}`;
      const seat = { id, pcs: new Map(), isOnline: true, life: 0, arrives: 0 };
      fresh(seat);
      seats.set(id, seat);
      room.participants.push({ participant: id, seat: room.participants.length + 1, isConnected: true });
      tell("joined", id);
      const shown = state();
      deliver(seat, () => perform(seat, seat.mesh.seen(shown, null, now)));
    });
  }
  const disturb = () => {
    if (now > chaos - 10_000) return;
    const seat = pick([...seats.values()]);
    if (seat) {
      const what = random();
      if (what < 0.3) go(seat);
      else if (what < 0.6) {
        go(seat);
        fresh(seat);
      } else if (what < 0.8) {
        const pc = pick([...seat.pcs.values()]);
        if (pc?.isOpen) {
          seat.mesh.connection(pc.peer, pc.session, pick(["disconnected", "failed"]), now);
          // Another way is found by a new offer alone.
        }
      } else {
        const pc = pick([...seat.pcs.values()]);
        if (pc?.isOpen) needs(seat, pc);
      }
      if (!seat.isOnline) later(random() * 20_000, () => come(seat));
    }
    later(random() * 6_000, disturb);
  };
  later(6_000, disturb);

  for (let steps = 0; now < chaos + calm; steps += 1) {
    if (steps > 500_000) return [...faults, "endless"];
    const wakes = [...seats.values()].map((seat) => [seat.mesh.nextWake, seat]).sort(([a], [b]) => a - b);
    due.sort((a, b) => a.at - b.at || a.order - b.order);
    const [wake, seat] = wakes[0] ?? [Infinity];
    if (wake < (due[0]?.at ?? Infinity)) {
      now = Math.max(now, wake);
      perform(seat, seat.mesh.timerFired(now));
    } else if (due.length > 0) {
      const { at, work } = due.shift();
      now = Math.max(now, at);
      work();
    } else break;
    if (isCalm()) for (const each of seats.values()) come(each);
  }
  for (const seat of seats.values()) {
    for (const peer of seat.mesh.peers.values()) {
      const pc = seat.pcs.get(peer.id);
      if (peer.state !== "connected" || !pc?.isOpen || !otherOf(seat, pc)) faults.push(`${seat.id} with ${peer.id}: ${peer.state}`);
    }
    if (seat.mesh.peers.size !== size - 1) faults.push(`${seat.id} sees ${seat.mesh.peers.size}`);
  }
  return [...new Set(faults)];
}

/** Single steps that worlds reach too seldom. */
function steps() {
  const faults = [];
  const same = (what, one, other) => {
    if (JSON.stringify(one) !== JSON.stringify(other)) faults.push(`${what}: ${JSON.stringify(one)}, not ${JSON.stringify(other)}`);
  };
  const kinds = (actions) => actions.map((action) => action.do);
  const pair = (own) => {
    const mesh = new Mesh(own, () => "one");
    const participants = ["low", "high"].map((participant, at) => ({ participant, seat: at + 1, isConnected: true }));
    const actions = mesh.seen({ revision: 5, participants }, null, 0);
    return { mesh, participants, actions, peer: mesh.peers.get(own === "low" ? "high" : "low") };
  };

  // The lower seat opens and offers, the higher asks and keeps candidates until the offer is there.
  const low = pair("low");
  same("low", low.actions, [{ do: "start", peer: "high", session: "one", offers: true }]);
  same("first offer", low.mesh.negotiationNeeded("high", "one", 0), [{ do: "offer", peer: "high", kind: "restart" }]);
  same("once", low.mesh.negotiationNeeded("high", "one", 0), []);
  same("an answer from before", low.mesh.signalled("high", { kind: "answer", session: "zero", sdp: "x" }, 1), []);
  same("asked while it begins", low.mesh.signalled("high", { kind: "restart" }, 1), []);
  same("the answer", kinds(low.mesh.signalled("high", { kind: "answer", session: "one", sdp: "x" }, 1)), ["describe"]);
  low.mesh.opened("high", "one");
  same("open", [low.peer.state, low.mesh.nextWake], ["connected", Infinity]);
  same("an older state", low.mesh.seen({ revision: 4, participants: [] }, { event: "left" }, 2), []);
  // What was told meanwhile has overtaken the answer.
  const late = pair("low");
  late.mesh.seen({ revision: 6, participants: [...late.participants, { participant: "third", seat: 3, isConnected: true }] }, { event: "joined", participant: "third" }, 1);
  const before = late.mesh.seen({ revision: 5, participants: late.participants }, null, 2);
  same("an older answer", [[...late.mesh.peers.keys()], before.map(({ peer }) => peer)], [["high", "third"], ["high", "third"]]);
  // A look at who is there leaves sessions that begin as they are.
  same("a look", late.mesh.seen({ revision: 6, participants: late.participants }, { event: "looked" }, 3), [{ do: "close", peer: "third" }]);
  same("it is back, and nothing is lost", low.mesh.seen({ revision: 6, participants: low.participants }, { event: "back", participant: "high" }, 2), []);
  same("asked by a page that was loaded again", kinds(low.mesh.signalled("high", { kind: "restart" }, 3)), ["start"]);

  const high = pair("high");
  same("high", high.actions, [{ do: "ask", peer: "low" }]);
  for (let n = 0; n <= candidatesMax; n += 1) same("kept", high.mesh.signalled("low", { kind: "candidate", session: "one", candidate: n }, 1), []);
  same("in the midst", high.mesh.signalled("low", { kind: "offer", session: "one", sdp: "x" }, 1), []);
  const offered = high.mesh.signalled("low", { kind: "restart", session: "one", sdp: "x" }, 1);
  same("kept candidates", [kinds(offered.slice(0, 2)), offered.slice(2).map(({ candidate }) => candidate)],
    [["start", "describe"], Array.from({ length: candidatesMax }, (_, at) => at + 1)]);
  // Offers that cross: the lower seat's stands.
  high.mesh.opened("low", "one");
  same("a track", high.mesh.negotiationNeeded("low", "one", 2), [{ do: "offer", peer: "low", kind: "offer" }]);
  same("polite", kinds(high.mesh.signalled("low", { kind: "offer", session: "one", sdp: "x" }, 2)), ["describe"]);
  low.mesh.negotiationNeeded("high", "one", 3);
  same("impolite", low.mesh.signalled("high", { kind: "offer", session: "one", sdp: "x" }, 3), []);

  // An interrupted connection gets another way first, and then another session.
  const broken = pair("low");
  broken.mesh.negotiationNeeded("high", "one", 0);
  broken.mesh.signalled("high", { kind: "answer", session: "one", sdp: "x" }, 1);
  broken.mesh.opened("high", "one");
  broken.mesh.connection("high", "one", "disconnected", 10);
  same("waits", broken.mesh.nextWake, 10 + interruptionMax);
  same("another way", kinds(broken.mesh.timerFired(10 + interruptionMax)), ["restartIce"]);
  same("another session", kinds(broken.mesh.timerFired(10 + interruptionMax + patience)), ["start"]);
  broken.mesh.broke("high", "one", 100_000);
  same("tries again", broken.mesh.nextWake, 100_000 + 2 * retryPause);
  broken.mesh.offline();
  same("not while nobody hears it", broken.mesh.nextWake, Infinity);
  same("bye", [kinds(low.mesh.signalled("high", { kind: "bye" }, 4)), low.mesh.nextWake], [["close"], Infinity]);
  // Clients that do not name sessions.
  const plain = pair("high");
  same("unnamed", kinds(plain.mesh.signalled("low", { kind: "offer", sdp: "x" }, 1)), ["start", "describe"]);
  same("unnamed again", kinds(plain.mesh.signalled("low", { kind: "offer", sdp: "x" }, 1)), ["describe"]);
  same("unnamed anew", kinds(plain.mesh.signalled("low", { kind: "restart", sdp: "x" }, 1)), ["start", "describe"]);
  same("gone", kinds(plain.mesh.seen({ revision: 7, participants: plain.participants.slice(1) }, { event: "left" }, 2)), ["close"]);
  return faults;
}

const found = {};
const wrong = steps();
if (wrong.length > 0) found.steps = wrong;
for (let seed = first; seed < first + count; seed += 1) {
  const faults = play(seed);
  if (faults.length > 0) found[seed] = faults;
}
return found;
