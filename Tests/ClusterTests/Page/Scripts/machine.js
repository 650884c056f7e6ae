// The listener's machine in worlds made from seeds: a whisperer types, a gateway passes on and remembers, links lose, repeat
// and delay, connections break. Order is kept on each link, as sockets keep it. At the end every listener has the
// whisperer's text and each line once (contract §14.10). `args` are the folder of the modules, the first seed, and how many.
const [folder, firstSeed, count] = args;
const { ListenerMachine, resyncInterval } = await import(`${folder}/machine.js`);
const { scalars } = await import(`${folder}/content.js`);

/** Mulberry32. */
const generator = (seed) => () => {
  seed = (seed + 0x6d2b79f5) | 0;
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
};

const tick = 10;
const troubleUntil = 5_000;
const lastWordAt = 16_000;
const restUntil = 24_000;
const rememberedPackets = 64;
const rememberedLines = 64;
const alphabet = scalars("abc \"\\|é😀👩👧\u200d\u0301");

class World {
  faults = [];
  now = 0;
  // The whisperer.
  text = "";
  shown = "";
  line = 0;
  epoch = 0;
  seq = 0;
  diffs = 0;
  content = "stream-0";
  streams = 1;
  generation = 1;
  nextTyping = 0;
  snapshotAt = null;
  said = { "stream-0": new Map() };
  texts = new Set([""]);
  cues = 0;
  // The gateway's memory.
  snapshot = null;
  behind = [];
  lines = new Map();
  wantedAt = -Infinity;
  /** A snapshot before the newest. */
  old = null;

  constructor(seed) {
    this.random = generator(seed);
    const part = (most) => this.random() * most;
    this.loss = part(0.3);
    this.repetition = part(0.2);
    this.unreadable = part(0.01);
    this.delay = part(400);
    this.reconnects = part(0.002);
    this.interruptions = part(0.001);
    this.rotations = part(0.001);
    this.newStreams = part(0.0005);
    this.ears = [0, 1, 2].map((number) => ({
      id: `gst-${number}`, machine: new ListenerMachine(`gst-${number}`), link: [], isJoined: false,
      joinsAt: this.random() < 0.5 ? 0 : part(3_000), generation: 0, lines: new Map(), before: 0, missing: new Set(),
      text: "", cues: new Set(), lastResync: -Infinity, linesWantedAt: -Infinity, seats: {},
      at: { epoch: 0, seq: 0 },
    }));
    this.begin();
  }

  get isQuiet() {
    return this.now >= troubleUntil;
  }

  happens(chance) {
    return !this.isQuiet && this.random() < chance;
  }

  fault(words) {
    this.faults.push(`${Math.round(this.now)} ms: ${words}`);
  }

  play() {
    let wasSaid = false;
    while (this.now < restUntil && this.faults.length === 0) {
      this.now += tick;
      this.disturb();
      if (!this.isQuiet && this.now >= this.nextTyping) this.type();
      // Nobody can know that the very last packet is lost, until there is one more.
      if (this.now >= lastWordAt && !wasSaid) {
        wasSaid = true;
        this.edit(`${this.text}.`);
      }
      if (this.snapshotAt !== null && this.now >= this.snapshotAt) this.sendSnapshot();
      for (const ear of this.ears) this.listen(ear);
    }
    for (const ear of this.ears) this.judge(ear);
    return this.faults;
  }

  judge(ear) {
    if (ear.machine.content !== this.content) this.fault(`${ear.id} follows another stream`);
    if (ear.text !== this.text || ear.machine.text !== this.text) this.fault(`${ear.id} has “${ear.text}”, not “${this.text}”`);
    for (const [number, text] of this.said[this.content]) {
      if (number > ear.before && ear.lines.get(number) !== text) this.fault(`${ear.id} has not line ${number}`);
    }
  }

  // MARK: Trouble

  begin() {
    this.epoch += 1;
    this.seq = 0;
    const stream = { state: "live", content: this.content, epoch: this.epoch };
    for (const ear of this.ears) {
      if (!ear.isJoined) continue;
      ear.seats[this.content] ??= 0;
      this.send(ear, { state: stream });
    }
    this.sendSnapshot();
  }

  disturb() {
    if (this.happens(this.interruptions)) this.begin();
    if (this.happens(this.newStreams)) {
      this.content = `stream-${(this.streams += 1)}`;
      this.said[this.content] = new Map();
      [this.line, this.snapshot, this.behind, this.lines, this.old] = [0, null, [], new Map(), null];
      [this.text, this.shown] = ["", ""];
      this.begin();
    }
    if (this.happens(this.rotations)) {
      this.generation += 1;
      for (const ear of this.ears) if (ear.isJoined) this.send(ear, { key: this.generation });
      this.sendSnapshot();
    }
    for (const ear of this.ears) {
      if (ear.isJoined && this.happens(this.reconnects)) {
        ear.isJoined = false;
        ear.link = [];
        ear.machine.disconnected();
        ear.joinsAt = this.now + this.random() * 2_000;
      }
      if (ear.joinsAt !== null && ear.joinsAt <= this.now) this.join(ear);
    }
  }

  join(ear) {
    ear.joinsAt = null;
    ear.isJoined = true;
    const after = ear.machine.joining();
    if (after) this.isAt(ear, after);
    ear.seats[this.content] ??= this.line;
    this.send(ear, { key: this.generation });
    const stream = { state: "live", content: this.content, epoch: this.epoch };
    this.send(ear, { joined: stream, seq: this.seq, line: this.line });
    const known = after?.contentId === this.content ? after : { epoch: 0, seq: 0, line: this.line };
    this.catchUp(ear, known);
    // A server that gives away what it must not: the machine does not take it.
    const forbidden = this.lines.get(ear.seats[this.content]);
    if (forbidden && this.happens(0.5)) this.send(ear, { packet: forbidden, of: this.content });
    if (this.old && this.happens(0.5)) this.send(ear, { packet: this.old, of: this.content });
  }

  // MARK: Whisperer

  type() {
    this.nextTyping = this.now + 5 + this.random() * 245;
    const dice = this.random();
    const letters = (most) => Array.from({ length: 1 + Math.floor(this.random() * most) }, () => alphabet[Math.floor(this.random() * alphabet.length)]).join("");
    if (dice < 0.7) this.edit(this.text + letters(3));
    else if (dice < 0.8) this.edit(scalars(this.text).slice(0, -1).join(""));
    else if (dice < 0.85) this.edit(letters(40));
    else if (dice < 0.95) this.complete();
    else this.packet({ kind: "cue", cue: { say: `cue ${(this.cues += 1)}` } });
  }

  edit(text) {
    const [from, to] = [scalars(this.shown), scalars(text)];
    this.text = text;
    this.texts.add(text);
    let same = 0;
    while (same < from.length && same < to.length && from[same] === to[same]) same += 1;
    if (same === from.length && same === to.length) return;
    if (this.diffs >= 32) return this.sendSnapshot();
    this.diffs += 1;
    this.snapshotAt ??= this.now + 5_000;
    this.shown = text;
    this.packet({ kind: "diff", edits: [{ offset: same, text: to.slice(same).join("") }], count: to.length });
  }

  complete() {
    this.line += 1;
    this.said[this.content].set(this.line, this.text);
    this.packet({ kind: "line", text: this.text });
    this.text = "";
    this.sendSnapshot();
  }

  sendSnapshot() {
    [this.shown, this.diffs, this.snapshotAt] = [this.text, 0, null];
    this.packet({ kind: "snapshot", text: this.text, count: scalars(this.text).length });
  }

  /** To all, by way of the gateway. */
  packet(content) {
    this.seq += 1;
    const packet = this.made(content, this.line, this.seq);
    if (content.kind === "snapshot") [this.old, this.snapshot, this.behind] = [this.snapshot, packet, []];
    else this.behind = [...this.behind, packet].slice(-rememberedPackets);
    if (content.kind === "line") {
      this.lines.set(this.line, packet);
      this.lines.delete(this.line - rememberedLines);
    }
    for (const ear of this.ears) if (ear.isJoined) this.send(ear, { packet, of: this.content });
  }

  made(content, line, seq, to) {
    const header = { epoch: this.epoch, seq, kind: content.kind, line, generation: this.generation, to };
    return { header, content };
  }

  // MARK: Gateway to listener

  catchUp(ear, { epoch, seq, line }) {
    const first = Math.max(line, ear.seats[this.content] ?? 0) + 1;
    const isMissing = [];
    for (let number = first; number <= this.line; number += 1) {
      const packet = this.lines.get(number);
      if (packet) this.send(ear, { packet, of: this.content });
      else isMissing.push(number);
    }
    if (isMissing.length > 0 && this.now >= ear.linesWantedAt + 1_000) {
      ear.linesWantedAt = this.now;
      for (const number of isMissing) {
        const packet = this.made({ kind: "line", text: this.said[this.content].get(number) }, number, this.seq, ear.id);
        this.send(ear, { packet, of: this.content });
      }
    }
    const isNewer = ({ header }) => header.epoch > epoch || (header.epoch === epoch && header.seq > seq);
    for (const packet of [this.snapshot, ...this.behind]) if (packet && isNewer(packet)) this.send(ear, { packet, of: this.content });
    if (this.now >= this.wantedAt + 250 && this.snapshot?.header.epoch !== this.epoch) {
      this.wantedAt = this.now;
      this.sendSnapshot();
    }
  }

  send(ear, what) {
    if (what.packet && this.happens(this.loss)) return;
    const times = what.packet && !what.packet.header.to && this.happens(this.repetition) ? 2 : 1;
    for (let time = 0; time < times; time += 1) {
      const delay = this.isQuiet ? 0 : this.delay * this.random();
      ear.link.push({ at: Math.max(ear.link.at(-1)?.at ?? 0, this.now + delay), ...what });
    }
  }

  listen(ear) {
    while (ear.link.length > 0 && ear.link[0].at <= this.now) this.take(ear, ear.link.shift());
    const wake = ear.machine.nextWake;
    if (wake === null || wake > this.now) return;
    this.act(ear, ear.machine.timerFired(this.now));
    if (ear.machine.nextWake !== null && ear.machine.nextWake <= this.now) this.fault(`${ear.id} spins`);
  }

  take(ear, { joined, seq, line, state, key, packet, of }) {
    const { machine } = ear;
    if (joined) {
      const actions = machine.joined(joined, seq, line, this.now);
      if (actions.some((action) => action.do === "began")) ear.before = line;
      this.act(ear, actions);
    } else if (state) {
      const actions = machine.changed(state, this.now);
      if (actions.length > 0) ear.before = 0;
      this.act(ear, actions);
    } else if (key) {
      ear.generation = Math.max(ear.generation, key);
      this.act(ear, machine.keyArrived(key, this.now));
    } else {
      let opened = packet.content;
      if (this.happens(this.unreadable)) opened = "unreadable";
      else if (opened.kind === "snapshot" && this.happens(0.01)) opened = { ...opened, text: `${opened.text}?` };
      else if (packet.header.generation > ear.generation) opened = "keyMissing";
      else if (packet.header.kind === "line" && of !== machine.content) opened = "unreadable";
      this.act(ear, machine.received(packet.header, opened, this.now));
    }
  }

  /** A listener says where it is: never before where it was. */
  isAt(ear, { epoch, seq }) {
    if (epoch < ear.at.epoch || (epoch === ear.at.epoch && seq < ear.at.seq)) this.fault(`${ear.id} went back`);
    ear.at = { epoch, seq };
  }

  act(ear, actions) {
    for (const action of actions) {
      switch (action.do) {
        case "began":
          [ear.lines, ear.missing, ear.text, ear.at] = [new Map(), new Set(), "", { epoch: 0, seq: 0 }];
          break;
        case "text":
          if (!this.texts.has(action.text)) this.fault(`nobody has typed “${action.text}”`);
          ear.text = action.text;
          break;
        case "line":
          if (ear.lines.has(action.number)) this.fault(`line ${action.number} came twice`);
          if (action.number <= ear.before) this.fault(`line ${action.number} is from before joining`);
          ear.lines.set(action.number, action.text);
          break;
        case "missing":
          for (let number = action.from; number <= action.to; number += 1) ear.missing.add(number);
          break;
        case "cue":
          if (ear.cues.has(action.cue.say)) this.fault(`${action.cue.say} was played twice`);
          ear.cues.add(action.cue.say);
          break;
        case "resync":
          if (this.now < ear.lastResync + resyncInterval) this.fault("a resync too early");
          ear.lastResync = this.now;
          this.isAt(ear, action);
          this.catchUp(ear, action);
      }
    }
  }
}

const faults = {};
for (let seed = firstSeed; seed < firstSeed + count; seed += 1) {
  const found = new World(seed).play();
  if (found.length > 0) faults[seed] = found.slice(0, 5);
}
return faults;
