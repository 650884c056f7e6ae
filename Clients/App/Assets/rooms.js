// Rooms: up to eight people, with Whisper or with a browser alone, write, talk and show each other pictures. The core says who connects
// with whom and seals what goes through the server; this makes the connections. Loaded with the first of them.
import { ask, rpc, seated } from "./door.js";
import { formsOf, nameField, valueOf } from "./forms.js";
import { twice } from "./groups.js";
import { words } from "./roomstext.js";
import { timeOf } from "./text.js";
import { alarm, button, el, field, icon, keyed, say, sentence, set, signButton, signs, write } from "./view.js";

Object.assign(signs, { camera: "M3 6h9v8H3ZM12 9l5-3v8l-5-3", microphone: "M8 3h4v8H8ZM5 10a5 5 0 0 0 10 0M10 15v3", screen: "M3 4h14v9H3ZM7 16h6" });
const protocol = "whisper-talk-1";
/** Bytes that wait in a channel. */
const bufferedLow = 262_144;
/** A longer message is none, as the core has it. */
const messageMax = 16_384;
/** Messages of one participant that the core has not taken yet. */
const heardMax = 256;
/** An answer to a change of what is shown. */
const answeredWithin = 20_000;
/** Of their life, after which credentials for relays are renewed. */
const relaysShare = 0.75;
/** Lines in the document; the oldest go first. */
const saidMax = 400;
const participantsMax = 8;
const codeWish = { codeDigits: 6, codeTtlSeconds: 600 };
const endWithin = 48;

const { reasonOf, formOf } = formsOf(words.refusals);
const { reasonOf: reasonInside } = formsOf(words.inside);

/** A connection to one participant, as the core has ordered it. */
class Link {
  /** Their sound and picture. @type {MediaStream | null} */
  stream = null;
  /** It plays wherever one looks. */
  #sound = new Audio();
  #pc;
  #room;
  /** Of each: one after the other. */
  #steps = Promise.resolve();
  #told = Promise.resolve();
  /** @type {Record<string, RTCDataChannel>} */
  #channels = {};
  /** Texts that wait for their channels. @type {Record<string, string[]>} */
  #held = { chat: [], talk: [] };
  #isUp = false;
  #isOver = false;
  /** Something is to be told that the other side does not know. */
  #wants = false;
  /** Whether the first offer was ours: then ours stands if both offer at once. */
  #offers = false;
  #waits = 0;
  #answer;

  /** @param {Rooms} room @param {MediaStream} own @param {boolean} isRelayed others do not learn this browser's address */
  constructor(room, to, number, own, relays, isRelayed) {
    Object.assign(this, { to, number });
    this.#room = room;
    const pc = (this.#pc = new RTCPeerConnection({ iceServers: relays ? [relays] : [], iceTransportPolicy: isRelayed ? "relay" : "all", bundlePolicy: "max-bundle" }));
    pc.onnegotiationneeded = () => this.#negotiate();
    pc.onicecandidate = ({ candidate }) => {
      const { candidate: line, sdpMLineIndex, sdpMid } = candidate ?? {};
      if (line) this.#tell("candidate", { candidate: line, sdpMLineIndex, sdpMid });
    };
    pc.onconnectionstatechange = () => ["failed", "closed"].includes(pc.connectionState) && this.#broke();
    pc.ondatachannel = ({ channel }) => this.#use(channel);
    pc.ontrack = ({ streams: [stream] }) => {
      if (!stream) return;
      this.stream = stream;
      this.#sound.srcObject = stream;
      this.#sound.play().catch(() => {});
      stream.onremovetrack = () => {
        if (stream.getTracks().length === 0 && this.stream === stream) this.stream = this.#sound.srcObject = null;
        room.changed();
      };
      room.changed();
    };
    this.share(own);
  }

  /** What they see and hear from now on. @param {MediaStream} own */
  share(own) {
    const pc = this.#pc;
    // It broke, and the core has not dropped it yet.
    if (pc.signalingState === "closed") return;
    for (const sender of pc.getSenders()) if (sender.track && !own.getTracks().includes(sender.track)) pc.removeTrack(sender);
    const sent = pc.getSenders().map(({ track }) => track);
    for (const track of own.getTracks()) {
      if (sent.includes(track)) continue;
      // A sender that has sent is not used again by itself: each description would be longer than the one before.
      const free = pc.getTransceivers().find(({ sender, receiver, stopped }) => !stopped && !sender.track && receiver.track.kind === track.kind);
      if (!free) {
        pc.addTrack(track, own);
        continue;
      }
      free.sender.setStreams(own);
      free.direction = "sendrecv";
      free.sender.replaceTrack(track).catch(() => this.#broke());
    }
  }

  offer() {
    this.#offers = true;
    this.#use(this.#pc.createDataChannel("chat"));
    this.#use(this.#pc.createDataChannel("talk", { protocol }));
    this.#step(() => this.#describe());
  }

  /** @param {"offer" | "answer"} type of their description */
  take(type, sdp) {
    this.#step(async () => {
      if (type === "offer" && this.#offers && this.#pc.signalingState !== "stable") return;
      await this.#pc.setRemoteDescription({ type, sdp });
      if (type === "offer") await this.#describe();
    });
  }

  /** One of a description that did not stand fits nothing. */
  reach({ candidate, sdpMLineIndex, sdpMid }) {
    this.#step(() => this.#pc.addIceCandidate({ candidate, sdpMLineIndex, sdpMid }).catch(() => {}));
  }

  write(channel, text) {
    this.#held[channel].push(text);
    this.#flush();
  }

  close() {
    this.#isOver = true;
    clearTimeout(this.#answer);
    this.#sound.srcObject = null;
    this.#pc.close();
  }

  // MARK: In its order

  #step(work) {
    this.#steps = this.#steps.then(() => this.#isOver || work()).catch(() => this.#broke());
  }

  #tell(kind, fields = {}) {
    this.#told = this.#told.then(() => this.#isOver || this.#room.order("room_signal", { to: this.to, link: this.number, kind, ...fields })).catch(() => {});
  }

  /** @param {Record<string, string>} message */
  #heard(channel, message) {
    if (this.#waits === heardMax) return this.#broke();
    this.#waits += 1;
    this.#told = this.#told.then(() => this.#isOver || this.#room.order("room_data", { to: this.to, link: this.number, channel, ...message })).catch(() => {}).finally(() => {
      this.#waits -= 1;
    });
  }

  async #describe() {
    await this.#pc.setLocalDescription();
    const { type, sdp } = this.#pc.localDescription;
    this.#tell(type, { sdp });
  }

  /** The first offer is ordered; others may be made once the connection is up. */
  #negotiate() {
    this.#wants = true;
    this.#step(async () => {
      if (!this.#wants || !this.#isUp || this.#pc.signalingState !== "stable") return;
      this.#wants = false;
      await this.#describe();
      // The offer or its answer may be lost, and neither is sent again.
      clearTimeout(this.#answer);
      this.#answer = setTimeout(() => this.#pc.signalingState === "have-local-offer" && this.#broke(), answeredWithin);
    });
  }

  #broke() {
    if (this.#isOver) return;
    // The core drops it, and says what comes instead.
    this.#tell("failed");
    this.#pc.onconnectionstatechange = null;
    this.#pc.close();
  }

  #use(channel) {
    const { label } = channel;
    if (label !== "chat" && (label !== "talk" || channel.protocol !== protocol)) return channel.close();
    this.#channels[label] = channel;
    channel.bufferedAmountLowThreshold = bufferedLow;
    channel.onopen = () => {
      if (label === "chat") {
        this.#isUp = true;
        this.#tell("connected");
        if (this.#wants) this.#negotiate();
      }
      this.#flush();
    };
    channel.onbufferedamountlow = () => this.#flush();
    channel.onclose = () => this.#broke();
    channel.onmessage = ({ data }) => this.#heard(label, typeof data === "string" && new Blob([data]).size <= messageMax ? { text: data } : { base64: "" });
  }

  /** Writes what can be written. Whether all of it was, the core waits to hear. */
  #flush() {
    let isWritten = false;
    for (const [name, texts] of Object.entries(this.#held)) {
      const channel = this.#channels[name];
      while (texts.length > 0 && channel?.readyState === "open" && channel.bufferedAmount <= bufferedLow) {
        channel.send(texts.shift());
        isWritten = true;
      }
    }
    // An older page has one channel alone: what waits for the other is as good as written.
    if (isWritten && Object.entries(this.#held).every(([name, texts]) => texts.length === 0 || this.#isUp && !this.#channels[name])) this.#tell("low");
  }
}

/** The room in which this window is. The core has it; this is what is shown of it, and its connections. */
export class Rooms {
  /** As `room_get` has it. @type {any} */
  now = null;
  /** What was said and what happened, oldest first. @type {any[]} */
  said = [];
  /** @type {Map<string, Link>} */
  links = new Map();
  own = new MediaStream();
  /** @type {"" | "camera" | "screen"} */
  shows = "";
  isHeard = false;
  /** How the last room ended. */
  end = "";
  #model;
  /** How far a message of ours is, by its id and participant. @type {Map<string, Map<string, string>>} */
  states = new Map();
  /** Also those who have left: what they said stands there. @type {Map<string, {name?: string, seat: number, isFull?: boolean}>} */
  #people = new Map();
  #count = 0;
  #leaves = "left";
  #relaysTimer;
  /** Another window has the stream. */
  #isQuiet = false;
  /** Events while a room is entered. @type {any[] | null} */
  #early = null;
  #isRelayed = false;
  /** Counts what was wished to be shown: the last wish stands. */
  #wish = 0;

  /** @param {import("./model.js").Model} model */
  constructor(model) {
    this.#model = model;
  }

  changed() {
    this.#model.room = this.now ? this.isHeard ? words.rowHeard : words.row : "";
    this.#model.changed();
  }

  /** Does a verb in this room. */
  order(verb, fields = {}, way = rpc) {
    return way(verb, { roomId: this.now.roomId, ...fields });
  }

  nameOf(participant) {
    if (participant === this.now?.own) return words.you;
    if (this.#model.contacts.has(participant)) return this.#model.nameOf(participant);
    // Nobody vouches for the name that somebody gives oneself.
    const { name, seat } = this.#people.get(participant) ?? {};
    const id = participant.startsWith("WSP-") ? participant : words.guest(seat);
    return name ? `${name} · ${id}` : id;
  }

  /** Those for whom too much waits. */
  fullOnes() {
    return [...this.#people].filter(([, { isFull }]) => isFull).map(([id]) => this.nameOf(id)).join(", ");
  }

  get isHost() {
    return this.now?.host === this.now?.own;
  }

  // MARK: Coming and going

  create(name) {
    return this.#enter(name, async () => {
      const roomId = crypto.randomUUID();
      await seated("room_hold", { roomId });
      return ask("room_create", { roomId, participantsMax, ...codeWish });
    });
  }

  /** @param {string} text a code or a link @param {string} pin */
  join(name, text, pin) {
    return this.#enter(name, async () => {
      const digits = text.replace(/[\s-]/g, "");
      const way = /^\d+$/.test(digits) ? { code: digits, ...(pin && { pin }) } : { link: text };
      const { room } = await ask("room_join", way);
      const { roomId } = room;
      await seated("room_hold", { roomId, isEntered: true }).catch((error) => {
        // Nobody would leave it.
        if (error.code !== "busy") ask("room_leave", { roomId }).catch(() => {});
        throw error;
      });
      return { room };
    });
  }

  /** Its first orders come before the answer that says which room it is. @param {() => Promise<any>} work */
  async #enter(name, work) {
    const early = (this.#early = []);
    [this.end, this.#leaves] = ["", "left"];
    try {
      await rpc("room_name", name ? { name } : {});
      this.#isRelayed = (await rpc("settings_get")).settings.relayCalls;
      const { room } = await work();
      if (this.#isQuiet) return;
      [this.said, this.states, this.#people] = [[], new Map(), new Map()];
      this.#see(room);
    } finally {
      this.#early = null;
    }
    rpc("host_set", { key: "room", value: this.now.roomId }).catch(() => {});
    this.#renewRelays();
    early.forEach((event) => this.take(event));
    this.changed();
  }

  /** Credentials end; the core has the new ones for what it orders next. */
  #renewRelays() {
    const { roomId, turn } = this.now;
    clearTimeout(this.#relaysTimer);
    if (!turn) return;
    this.#relaysTimer = setTimeout(async () => {
      if (this.now?.roomId !== roomId) return;
      const fresh = await this.order("room_turn", {}, ask).catch(() => null);
      if (this.now?.roomId !== roomId) return;
      if (fresh) this.now.turn = fresh.turn;
      this.#renewRelays();
    }, relaysShare * 1_000 * turn.ttl);
  }

  /** After a stream was away: events of rooms are not kept. */
  async read() {
    const { roomId } = this.now;
    try {
      const { room } = await rpc("room_get", { roomId });
      if (this.now?.roomId !== roomId) return;
      this.#see(room);
      await this.#mend();
    } catch (error) {
      if (error.code === "notFound") this.#over("notFound", roomId);
    }
    this.changed();
  }

  /** Connections that are not those of the core are made anew. */
  async #mend() {
    const { participants, own } = this.now;
    for (const { participant, link } of participants) {
      const here = this.links.get(participant);
      if (participant === own || here?.number === link) continue;
      here?.close();
      this.links.delete(participant);
      if (link) await this.order("room_signal", { to: participant, link, kind: "failed" });
    }
  }

  /** After a reload the seat is kept, and the connections are gone: the core orders them anew. */
  async goOn(roomId) {
    await this.#enter(await valueOf("name"), () => rpc("room_get", { roomId }));
    if (this.now) await this.#mend();
  }

  /** The room of before is over. */
  lost() {
    this.end = words.over.notFound;
    this.changed();
  }

  /** @param {"room_leave" | "room_close"} verb */
  async leave(verb) {
    const { roomId } = this.now;
    // The core says that we have left, whichever it was.
    this.#leaves = verb === "room_close" ? "closed" : "left";
    await this.order(verb, {}, ask).catch((error) => {
      // A room that is not ended goes on, and we in it.
      if (verb === "room_close" && error.code !== "notFound") throw error;
    });
    this.#over("left", roomId);
  }

  /** This window is quiet: another one may go on. @param {boolean} [isForGood] */
  quit(isForGood = true) {
    this.#isQuiet ||= isForGood;
    clearTimeout(this.#relaysTimer);
    this.now = null;
    this.#wish += 1;
    [this.said, this.states, this.#people] = [[], new Map(), new Map()];
    for (const link of this.links.values()) link.close();
    this.links.clear();
    for (const track of this.own.getTracks()) this.#drop(track);
    // What was asked for here is given to no other room.
    this.own = new MediaStream();
    [this.shows, this.isHeard] = ["", false];
  }

  #over(reason, roomId) {
    if (this.now?.roomId !== roomId) return;
    this.end = words.over[reason === "left" ? this.#leaves : reason] ?? "";
    this.quit(false);
    rpc("host_set", { key: "room", value: "" }).catch(() => {});
    this.changed();
  }

  // MARK: What the core says

  /** @param {any} event */
  take(event) {
    if (event.type === "eventsLost") return void (this.now && this.read());
    if (this.#early && event.type.startsWith("room")) return void this.#early.push(event);
    if (event.type === "roomChanged" && event.room.roomId === this.now?.roomId) this.#see(event.room);
    else if (event.roomId !== this.now?.roomId || !event.type.startsWith("room")) return;
    switch (event.type) {
      case "roomSignal": return this.#signal(event);
      case "roomData": return this.links.get(event.to)?.number === event.link && this.links.get(event.to).write(event.channel, event.text);
      case "roomPerson":
        this.#know(event.participant, event);
        break;
      case "roomMessage":
        this.#add(event);
        break;
      case "roomMessageState":
        // It may come before the answer that says the id.
        if (!this.states.has(event.id)) this.states.set(event.id, new Map());
        this.states.get(event.id).set(event.to, event.state);
        if (this.states.size > saidMax) this.states.delete(this.states.keys().next().value);
        break;
      case "roomEvent": {
        const { participant: from } = event;
        if (from === this.now.own && event.event === "host") this.#add({ note: words.youHost, from });
        else if (from && from !== this.now.own && words.events[event.event]) this.#add({ note: words.events[event.event], from });
        break;
      }
      case "roomForged":
        alarm(words.forged.replace("{name}", () => this.nameOf(event.participant)));
        this.#add({ note: words.forged, from: event.participant, isLoud: true });
        break;
      case "roomEnded": return this.#over(event.reason, event.roomId);
    }
    this.changed();
  }

  #see(room) {
    // A code that was drawn since is newer than this.
    const { code, codeExpiresAt } = this.now ?? {};
    if (room.roomId === this.now?.roomId && codeExpiresAt > (room.codeExpiresAt ?? Infinity)) Object.assign(room, { code, codeExpiresAt });
    this.now = room;
    for (const { participant, seat, name } of room.participants) this.#know(participant, { seat, ...(name && { name }) });
  }

  #know(participant, facts) {
    this.#people.set(participant, { ...this.#people.get(participant), ...facts });
  }

  #add(line) {
    this.said.push({ key: (this.#count += 1), ...line });
    if (this.said.length > saidMax) this.said.shift();
  }

  #signal({ from, link: number, kind, sdp, isFresh, ...candidate }) {
    let link = this.links.get(from);
    if (kind === "offer" || kind === "accept" && isFresh) {
      link?.close();
      const { urls, username, credential } = this.now.turn ?? {};
      link = new Link(this, from, number, this.own, urls && { urls, username, credential }, this.#isRelayed);
      this.links.set(from, link);
    }
    if (link?.number !== number) return;
    switch (kind) {
      case "offer": return link.offer();
      case "accept": return link.take("offer", sdp);
      case "answer": return link.take("answer", sdp);
      case "candidate": return link.reach(candidate);
      case "drop":
        link.close();
        this.links.delete(from);
        this.changed();
    }
  }

  // MARK: What one does

  /** @param {boolean} isPartial those for whom too much waits do not get it */
  async say(text, isPartial) {
    const { id } = await this.order("room_say", { text, isPartial });
    this.#add({ id, from: this.now.own, at: Date.now(), text });
    this.changed();
  }

  async newCode() {
    const { roomId } = this.now;
    const { code, codeExpiresAt } = await this.order("room_code", codeWish, ask);
    if (this.now?.roomId === roomId) Object.assign(this.now, { code, codeExpiresAt });
    this.changed();
  }

  async listen(isOn) {
    if (!isOn) return this.#share(this.own.getAudioTracks(), []);
    const { own } = this;
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    if (!this.now || own !== this.own) return stream.getTracks().forEach((track) => track.stop());
    for (const track of stream.getTracks()) track.onended = () => this.own.getTracks().includes(track) && this.listen(false);
    this.#share(this.own.getAudioTracks(), stream.getTracks());
  }

  /** @param {"" | "camera" | "screen"} what */
  async show(what) {
    const wish = (this.#wish += 1);
    const media = navigator.mediaDevices;
    const stream = what === "camera" ? await media.getUserMedia({ video: true }) : what && await media.getDisplayMedia({ video: true });
    if (!this.now || wish !== this.#wish) return stream && stream.getTracks().forEach((track) => track.stop());
    this.shows = what;
    const tracks = stream ? stream.getVideoTracks() : [];
    // The browser's own button ends it, too.
    for (const track of tracks) track.onended = () => this.own.getTracks().includes(track) && this.show("");
    this.#share(this.own.getVideoTracks(), tracks);
  }

  #share(before, after) {
    for (const track of before) this.#drop(track);
    for (const track of after) this.own.addTrack(track);
    this.isHeard = this.own.getAudioTracks().length > 0;
    for (const link of this.links.values()) link.share(this.own);
    this.changed();
  }

  #drop(track) {
    track.onended = null;
    track.stop();
    this.own.removeTrack(track);
  }

  /** @param {Element} pane @param {() => void} back */
  view(pane, back) {
    return new RoomView(this, pane, back);
  }
}

/** What the window's pane shows of it: the way in, or the room. */
class RoomView {
  #room;
  #pane;
  #back;
  #shown = "";
  /** @type {Record<string, any>} */
  #parts = {};
  #isAtEnd = true;
  #newest;
  /** A text that was refused once, because too much waits for somebody. */
  #refused = "";
  #isSaying = false;

  constructor(room, pane, back) {
    [this.#room, this.#pane, this.#back] = [room, pane, back];
  }

  focus(place) {
    const { text, log } = this.#parts;
    const element = place === "messages" ? log : text;
    (element ?? this.#pane.querySelector(".middle input") ?? this.#pane.querySelector("button"))?.focus({ preventScroll: true });
  }

  draw() {
    const { now } = this.#room;
    const shown = now ? now.roomId : "start";
    if (this.#shown !== shown) {
      [this.#shown, this.#parts, this.#isAtEnd] = [shown, {}, true];
      if (now) this.#build();
      else this.#start();
      this.focus();
    }
    if (now) this.#update(now);
  }

  #put(title, more, ...rest) {
    this.#pane.replaceChildren(
      el("header", {}, signButton("back", words.back, this.#back, { class: "sign back" }), el("h1", {}, el("span", { class: "title" }, title), more[0]), ...more.slice(1)),
      ...rest);
  }

  async #start() {
    const box = el("div", { class: "scroll live-start" });
    const end = el("p", { class: "care", role: "status", hidden: !this.#room.end }, this.#room.end);
    this.#put(words.title, [""], el("div", { class: "middle" }, box));
    const name = await valueOf("name").catch(() => "");
    if (this.#shown !== "start") return;
    const [host, guest] = [nameField(words.yourName, name), nameField(words.yourName, name)];
    const code = field(words.code, { required: true, name: "code", inputmode: "url", autocomplete: "off" }, words.codeHint);
    const pin = field(words.pin, { name: "pin", inputmode: "numeric", autocomplete: "off", maxlength: 12 });
    box.append(
      end, el("h2", {}, words.join), formOf(words.joinNow, "join-room", code, async () => {
        await this.#room.join(await guest.keep(), code.input.value.trim(), pin.input.value.trim());
      }, code.box, pin.box, guest.box),
      el("h2", {}, words.open), el("p", { class: "hint" }, words.openText), formOf(words.openNow, "open-room", host, async () => {
        await this.#room.create(await host.keep());
      }, host.box));
    this.focus();
  }

  // MARK: The room

  #build() {
    const parts = this.#parts;
    const room = this.#room;
    parts.status = el("span", { class: "status", role: "status" });
    parts.stage = el("div", { class: "stage" });
    parts.code = el("div", { class: "room-code" });
    parts.log = el("div", { class: "room-said", role: "log", "aria-live": "polite", "aria-label": words.text, tabindex: 0 });
    parts.people = el("ul", { class: "members" });
    parts.count = el("summary");
    parts.fault = el("p", { class: "fault", id: "room-fault", role: "alert" });
    parts.text = el("textarea", { id: "room-text", rows: 1, autocomplete: "off", "aria-describedby": "room-fault", keydown: (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      if (!event.repeat) this.#say();
    } });
    parts.scroll = el("div", { class: "scroll room", scroll: ({ target }) => {
      this.#isAtEnd = target.scrollHeight - target.scrollTop - target.clientHeight <= endWithin;
    } }, parts.code, parts.stage, el("details", { open: true }, parts.count, parts.people), parts.log);
    parts.controls = Object.fromEntries([
      ["microphone", () => room.listen(!room.isHeard), words.noMicrophone],
      ["camera", () => room.show(room.shows === "camera" ? "" : "camera"), words.noCamera],
      ["screen", () => room.show(room.shows === "screen" ? "" : "screen"), words.noScreen],
    ].map(([name, act, refusal]) => [name, el("button", { type: "button", class: "control", id: name, click: () => {
      write(parts.fault, "");
      act().catch(() => write(parts.fault, refusal));
    } }, icon(name), words[name])]));
    const leave = button(words.leave, () => room.leave("room_leave"), { id: "leave-room" });
    parts.end = twice(words.close, words.closeSure, () => room.leave("room_close").catch((error) => write(parts.fault, reasonInside(error))), { id: "close-room" });
    this.#put(words.roomTitle, [parts.status, parts.end, leave], el("div", { class: "middle" }, parts.scroll),
      el("div", { class: "composer" }, parts.fault, el("div", { class: "controls" }, ...Object.values(parts.controls)),
        el("label", { for: "room-text" }, words.message), el("div", {}, parts.text, button(words.send, () => this.#say(), { id: "send-room" }))));
  }

  async #say() {
    const { text: area, fault } = this.#parts;
    const text = area.value.trim();
    if (!text || this.#isSaying) return;
    this.#isSaying = true;
    write(fault, "");
    try {
      await this.#room.say(text, this.#refused === text);
      if (area.value.trim() === text) area.value = "";
      this.#refused = "";
      this.#isAtEnd = true;
    } catch (error) {
      if (error.code === "tooMany") this.#refused = text;
      write(fault, error.code === "tooMany" ? words.full : reasonInside(error), { names: this.#room.fullOnes() || words.somebody });
    }
    this.#isSaying = false;
  }

  #update(now) {
    const parts = this.#parts;
    const room = this.#room;
    const others = now.participants.filter(({ participant }) => participant !== now.own);
    write(parts.status, words.people(now.participants.length));
    write(parts.count, others.length > 0 ? words.people(now.participants.length) : words.alone);
    parts.end.hidden = !room.isHost;
    set(parts.controls.microphone, "aria-pressed", String(room.isHeard));
    for (const what of ["camera", "screen"]) set(parts.controls[what], "aria-pressed", String(room.shows === what));
    this.#code(now);
    this.#people(others);
    this.#stage(others);
    keyed(parts.log, room.said, ({ key }) => String(key), () => el("p", { dir: "auto" }, el("b"), el("bdi"), el("small", { class: "hint", "aria-live": "off" })), (element, line) => this.#line(element, line));
    // Before anything is said, the code is what one looks at.
    const newest = room.said.at(-1)?.key;
    if (this.#isAtEnd && newest !== this.#newest) parts.scroll.scrollTop = parts.scroll.scrollHeight;
    this.#newest = newest;
  }

  /** The code is the largest thing on the screen of who opened the room. */
  #code({ code, codeExpiresAt, link }) {
    const { code: box } = this.#parts;
    const isGood = code && codeExpiresAt > Date.now();
    const look = JSON.stringify([isGood && code, link, this.#room.isHost]);
    if (box.look === look) return;
    box.look = look;
    const grouped = code?.replace(/(\d{3})(?=\d)/g, "$1 ").replace(/ (\d)$/, "$1");
    const copy = button(words.copyLink, async () => {
      await navigator.clipboard.writeText(link);
      write(copy, words.copied);
      say(words.copied);
    }, { id: "copy-room" });
    const fresh = button(words.newCode, () => this.#room.newCode().then(() => this.#parts.code?.querySelector("#new-code")?.focus(), (error) => this.#parts.fault && write(this.#parts.fault, reasonInside(error))), { id: "new-code" });
    const drawn = el("details", { toggle: async () => drawn.open && !drawn.querySelector("svg") && drawn.append(await (await import("./codes.js")).codeOf(link, words.codeName)) }, el("summary", {}, words.codeName));
    box.replaceChildren(...(this.#room.isHost ? [
      isGood ? el("p", { class: "code large" }, grouped) : el("p", { class: "hint" }, words.noCode),
      isGood ? el("p", { class: "hint" }, ...sentence(words.until, { time: timeOf(codeExpiresAt) })) : "",
      el("div", { class: "buttons" }, link ? copy : "", fresh), link ? drawn : "",
    ] : []));
    clearTimeout(box.timer);
    if (isGood) box.timer = setTimeout(() => this.#room.changed(), codeExpiresAt - Date.now() + 500);
  }

  #people(others) {
    const room = this.#room;
    keyed(this.#parts.people, others, ({ participant }) => participant, ({ participant, safetyNumber }) => el("li", { title: participant },
      el("div", { class: "row" }, el("bdi"), el("span", { class: "hint" }),
        twice("✕", words.removeSure, () => room.order("room_remove", { participant }, ask).catch((error) => write(this.#parts.fault, reasonInside(error))), { class: "sign" })),
      safetyNumber ? el("details", {}, el("summary", {}, words.safety),
        el("p", { class: "code number" }, safetyNumber.match(/.{4}/g).map((group) => [el("span", {}, group), " "])), el("p", { class: "hint" }, words.safetyText)) : ""),
    (row, { participant, isConnected, isLinked }) => {
      write(row.querySelector("bdi"), "{name}", { name: room.nameOf(participant) });
      write(row.querySelector(".hint"), words.states[isLinked ? "linked" : isConnected ? "connecting" : "away"]);
      const remove = row.querySelector(".sign");
      if (remove) remove.hidden = !room.isHost;
      if (remove) set(remove, "aria-label", words.remove(room.nameOf(participant)));
    });
  }

  /** Pictures: the sound plays without them. */
  #stage(others) {
    const room = this.#room;
    const shown = others.flatMap(({ participant }) => {
      const stream = room.links.get(participant)?.stream;
      return stream ? [{ key: participant, stream, name: room.nameOf(participant) }] : [];
    });
    if (room.shows) shown.push({ key: "own", stream: room.own, name: words.own });
    keyed(this.#parts.stage, shown, ({ key }) => key, ({ key }) => {
      const video = el("video", { playsinline: true, autoplay: true, class: key === "own" ? "own" : null });
      video.muted = true;
      return video;
    }, (video, { key, stream, name }) => {
      if (video.srcObject !== stream) video.srcObject = stream;
      set(video, "aria-label", key === "own" ? words.own : words.pictureOf(name));
      set(video, "data-shows", key === "own" ? room.shows : null);
      set(video, "data-silent", stream.getVideoTracks().length === 0 ? true : null);
    });
  }

  /** A line is read out once: its state stands apart. */
  #line(element, { id, from, at, text, note, isLoud }) {
    const room = this.#room;
    const name = room.nameOf(from);
    const [who, what, when] = element.children;
    if (note) {
      set(element, "class", isLoud ? "care" : "hint");
      return write(what, note, { name });
    }
    write(who, "{name}: ", { name });
    write(what, "{text}", { text });
    const states = from === room.now.own ? [...(room.states.get(id) ?? [])] : [];
    const those = (state) => states.filter(([, each]) => each === state).map(([to]) => room.nameOf(to)).join(", ");
    const [waiting, lost] = [those("waiting"), those("lost")];
    const state = states.length === 0 ? "" : lost ? words.lost : waiting ? words.waits : states.every(([, each]) => each === "got") ? words.got : words.sent;
    write(when, ` ${timeOf(at)}${state && " · "}${state}`, { names: lost || waiting });
  }
}
