// Calls between two people: how they ring, what is sent and heard, and the screen of a call. Loaded with the first of them.
import { words } from "./calltext.js";
import { choice } from "./dialogs.js";
import { ask, Refusal, rpc, seated } from "./door.js";
import { picture } from "./shell.js";
import { lengthOf, words as common } from "./text.js";
import { alarm, bdi, button, dialog, el, icon, say, sentence, set, signButton, signs, write } from "./view.js";

Object.assign(signs, { screen: "M3 4h14v9H3ZM7 16h6" });
const slash = "M4 3l13 14";

/** A path that is lost may come back. */
const patience = 20_000;
const lookEach = 500;
/** If both have called, the end of one call comes before the other one. */
const crossing = 1_500;
/** Nothing rings longer, also if the daemon is gone. */
const ringsMost = 60_000;
/** A picture that stands still for so long is hidden. */
const seenFor = 3_000;
/** Of paths that are heard before they can be used, and of their bytes in all. */
const heardMax = 256;
const heardBytesMax = 65_536;
/** Refusals of an answer that say that the call is no longer this window's. */
const taken = ["busy", "wrongStage", "notFound"];
/** Of the packets since the last look, or in seconds. */
const poorLoss = 0.08;
const poorTrip = 0.6;
/** Hertz, and seconds of sound and from one to the next. */
const tones = { rings: [[660, 880], 0.4, 2], ringing: [[440], 1, 4] };

const stop = (track) => track?.stop();

/** Keeps a path for later, unless there are too many. */
const keep = (list, candidate) => list.length < heardMax && new Blob([...list, candidate]).size <= heardBytesMax && list.push(candidate);

/** What the page itself has to say. */
class Fault extends Error {}

/** Sounds again and again. A page that nobody has touched stays silent: browsers want it so. @returns {() => void} ends it */
function ring([hertz, length, every]) {
  const context = new AudioContext();
  const play = () => context.state === "running" && hertz.forEach((frequency, place) => {
    const gain = new GainNode(context, { gain: 0.12 });
    const tone = new OscillatorNode(context, { frequency });
    const from = context.currentTime + place * length;
    gain.gain.setTargetAtTime(0, from + length - 0.1, 0.03);
    tone.connect(gain).connect(context.destination);
    tone.start(from);
    tone.stop(from + length);
  });
  context.onstatechange = play;
  const timer = setInterval(() => (context.state === "suspended" ? context.resume().catch(() => {}) : play()), every * 1_000);
  return () => {
    clearInterval(timer);
    context.close();
  };
}

/** A call that is made or talked in: its connection, and what goes through it. */
class Call {
  /** @type {keyof typeof words.states} */
  state = "asking";
  isMuted = false;
  /** What is shown to the other side. @type {"" | "camera" | "screen"} */
  shows = "";
  /** What is to be shown as soon as there is a picture. @type {"" | "camera" | "screen"} */
  wants = "";
  isOver = false;
  /** Whether this window has taken a call of theirs. */
  isHeld = false;
  isSeen = false;
  isRelayed = false;
  isPoor = false;
  isLost = false;
  loudness = 0;
  /** Since when they talk. */
  since = 0;
  /** Ends its sound, and the wait. @type {(() => void) | undefined} */
  hush;
  theirs = el("video", { playsinline: true });
  own = el("video", { playsinline: true, class: "own", "aria-label": words.ownPicture });
  #sound = new Audio();
  #changed;
  #failed;
  #pc;
  #relays;
  /** Ours, by kind. @type {Record<string, MediaStreamTrack | undefined>} */
  #tracks = {};
  /** @type {Record<string, RTCRtpSender>} */
  #senders = {};
  /** Paths of ours until the other side knows the call, and of theirs until there is a description. @type {string[] | null} */
  #told = [];
  #heard = [];
  #patience;
  #timer;
  /** Counts what was wished to be shown: the last wish stands. */
  #wish = 0;
  /** The latest choice of a microphone. */
  #choice;
  /** When frames last came. */
  #grown = 0;
  #counts = { frames: 0, lost: 0, packets: 0 };

  /** @param {{chat: string, isVideo: boolean, isOwn: boolean, callId?: string}} facts */
  constructor(facts, changed, failed) {
    Object.assign(this, facts);
    [this.#changed, this.#failed] = [changed, failed];
    this.theirs.muted = this.own.muted = true;
  }

  /** Microphone, camera and connection. */
  async open() {
    await this.#take("audio", { audio: true }).catch(() => {
      throw new Fault(common.noMicrophone);
    });
    if (this.isOver) return;
    if (this.isVideo) await this.show("camera").catch(() => say(words.noCamera));
    const [{ settings }, relays] = await Promise.all([rpc("settings_get"), ask("call_turn").catch(() => null)]);
    if (settings.relayCalls && !relays) throw new Fault(words.noRelay);
    const iceServers = relays ? [{ urls: relays.urls, username: relays.username, credential: relays.credential }] : [];
    this.#relays = { iceServers, bundlePolicy: "max-bundle", iceTransportPolicy: settings.relayCalls ? "relay" : "all" };
  }

  #connect() {
    this.#pc?.close();
    [this.#senders, this.#told] = [{}, []];
    const pc = (this.#pc = new RTCPeerConnection(this.#relays));
    pc.onicecandidate = ({ candidate }) => candidate?.candidate && this.#tell(candidate.candidate);
    pc.onconnectionstatechange = () => pc === this.#pc && this.#turned(pc.connectionState);
    pc.ontrack = ({ track }) => {
      const element = track.kind === "audio" ? this.#sound : this.theirs;
      element.srcObject = new MediaStream([track]);
      element.play().catch(() => {});
    };
  }

  /** No description follows a first one: a camera that is turned on later has its line from the start. */
  async offer() {
    this.#connect();
    for (const kind of ["audio", "video"]) this.#pc.addTransceiver(kind);
    return this.#ours();
  }

  async answer(sdp) {
    this.#connect();
    await this.#theirs("offer", sdp);
    this.#wait();
    return this.#ours();
  }

  async answered(sdp) {
    this.#wait();
    await this.#theirs("answer", sdp);
  }

  async #ours() {
    for (const each of this.#pc.getTransceivers()) {
      const { kind } = each.receiver.track;
      if (this.#senders[kind]) continue;
      each.direction = "sendrecv";
      this.#senders[kind] = each.sender;
      await each.sender.replaceTrack(this.#tracks[kind] ?? null);
    }
    await this.#pc.setLocalDescription();
    return this.#pc.localDescription.sdp;
  }

  async #theirs(type, sdp) {
    await this.#pc.setRemoteDescription({ type, sdp });
    this.#heard.splice(0).forEach((candidate) => this.heard(candidate));
  }

  /** The other side knows the call: it can be told paths. */
  begin(callId) {
    this.callId = callId;
    const told = this.#told;
    this.#told = null;
    told.forEach((candidate) => this.#tell(candidate));
  }

  #tell(candidate) {
    if (this.#told) return this.#told.push(candidate);
    rpc("call_ice", { callId: this.callId, candidate }).catch(() => {});
  }

  /** All lines are one bundle. */
  heard(candidate) {
    if (!this.#pc?.remoteDescription) return keep(this.#heard, candidate);
    this.#pc.addIceCandidate({ candidate, sdpMLineIndex: 0 }).catch(() => {});
  }

  #wait() {
    this.#patience ??= setTimeout(() => this.#failed(), patience);
  }

  #turned(state) {
    if (this.isOver) return;
    if (state === "failed") return this.#failed();
    this.isLost = state === "disconnected";
    if (this.isLost) this.#wait();
    if (state === "connected") {
      clearTimeout(this.#patience);
      this.#patience = undefined;
      this.state = "talking";
      this.since ||= Date.now();
      this.#timer ??= setInterval(() => this.#look(), lookEach);
      say(words.states.talking);
    }
    this.#changed();
  }

  /** How it goes, by the stack's own figures. */
  async #look() {
    const reports = await this.#pc.getStats();
    const all = [...reports.values()];
    const sum = (type, name, kind) => all.reduce((count, each) => count + (each.type === type && (!kind || each.kind === kind) ? each[name] ?? 0 : 0), 0);
    const counts = { frames: sum("inbound-rtp", "framesReceived"), lost: sum("inbound-rtp", "packetsLost"), packets: sum("inbound-rtp", "packetsReceived") };
    const [lost, packets] = [counts.lost - this.#counts.lost, counts.packets - this.#counts.packets];
    if (counts.frames > this.#counts.frames) this.#grown = Date.now();
    this.isSeen = Date.now() - this.#grown < seenFor;
    this.#counts = counts;
    this.loudness = sum("media-source", "audioLevel", "audio");
    const pair = reports.get(all.find(({ type, selectedCandidatePairId }) => type === "transport" && selectedCandidatePairId)?.selectedCandidatePairId);
    this.isRelayed = [pair?.localCandidateId, pair?.remoteCandidateId].some((id) => reports.get(id)?.candidateType === "relay");
    this.isPoor = lost > poorLoss * (lost + packets) || pair?.currentRoundTripTime > poorTrip;
    this.#changed();
  }

  // MARK: What is sent

  get canShow() {
    return Boolean(this.#senders.video);
  }

  deviceOf(kind) {
    return this.#tracks[kind]?.getSettings().deviceId;
  }

  /** From another device, or from the first. */
  async #take(kind, wish, devices = "getUserMedia", isWanted = () => true) {
    if (this.isOver) return;
    const [track] = (await navigator.mediaDevices[devices](wish)).getTracks();
    if (this.isOver || !isWanted()) return stop(track);
    if (kind === "audio") track.enabled = !this.isMuted;
    stop(this.#tracks[kind]);
    this.#tracks[kind] = track;
    await this.#senders[kind]?.replaceTrack(track);
    return track;
  }

  async listen(deviceId) {
    const choice = (this.#choice = {});
    await this.#take("audio", { audio: { deviceId: { exact: deviceId } } }, undefined, () => this.#choice === choice);
  }

  /** @param {"" | "camera" | "screen"} what @param {string} [deviceId] */
  async show(what, deviceId) {
    const wish = (this.#wish += 1);
    this.wants = what;
    try {
      await this.#show(what, deviceId, () => this.#wish === wish);
    } finally {
      if (this.#wish === wish) this.wants = this.shows;
    }
  }

  async #show(what, deviceId, isWanted) {
    if (what) {
      const video = deviceId ? { deviceId: { exact: deviceId } } : true;
      const track = await this.#take("video", { video }, what === "screen" ? "getDisplayMedia" : "getUserMedia", isWanted);
      // It may be off again by now.
      if (!track || this.#tracks.video !== track) return;
      track.onended = () => this.show("");
      this.own.srcObject = new MediaStream([track]);
      this.own.play().catch(() => {});
      this.shows = what;
    } else {
      stop(this.#tracks.video);
      this.#tracks.video = undefined;
      this.shows = "";
      await this.#senders.video?.replaceTrack(null);
    }
    this.#changed();
  }

  mute() {
    this.isMuted = !this.isMuted;
    if (this.#tracks.audio) this.#tracks.audio.enabled = !this.isMuted;
    say(this.isMuted ? words.muted : words.unmuted);
    this.#changed();
  }

  close() {
    this.isOver = true;
    clearTimeout(this.#patience);
    clearInterval(this.#timer);
    this.#pc?.close();
    Object.values(this.#tracks).forEach(stop);
    this.#sound.srcObject = null;
  }
}

/** All calls of this window: one that is made or talked in, and one that rings. */
export class Calls {
  /** @type {any} */
  now = null;
  /** @type {any} */
  #rings = null;
  /** A sentence about the last one. @type {any} */
  #said = null;
  #screen = null;
  #model;
  #shell;
  #bar;
  /** Events and our own steps, one after the other. */
  #turn = Promise.resolve();
  /** Another window has taken over. */
  #isClosed = false;
  /** Calls that ended here, or were answered, since the last reading began. @type {Set<string>} */
  #over = new Set();
  #answered = new Set();

  /** @param {import("./model.js").Model} model @param {{bar: Element, go: () => void, left: (chat: string) => void}} shell */
  constructor(model, shell) {
    [this.#model, this.#shell, this.#bar] = [model, shell, shell.bar];
    addEventListener("beforeunload", (event) => this.now && event.preventDefault());
    addEventListener("keydown", (event) => this.#key(event));
  }

  #step(work) {
    return (this.#turn = this.#turn.then(() => this.#isClosed || work()).catch((error) => console.warn(error)));
  }

  /** After a reload a call still rings. One that this window was in has lost its media. */
  read() {
    return this.#step(async () => {
      this.#over.clear();
      this.#answered.clear();
      const listed = (await seated("call_list")).calls;
      if (this.#isClosed) return;
      const calls = listed.filter(({ callId }) => !this.#over.has(callId));
      const found = (call) => calls.find(({ callId }) => callId === call.callId);
      const { now } = this;
      // The answer to a call may have been missed, and is not told again.
      if (now?.callId && !found(now)) this.#end("cut");
      else if (["calling", "ringing"].includes(now?.state) && found(now)?.stage === "talking" && !this.#answered.has(now.callId)) this.#end("cut", true);
      // Another program has answered it, if it is there.
      if (this.#rings && found(this.#rings)?.stage !== "ringing") this.#missed(!found(this.#rings));
      for (const call of calls) {
        if (call.isHeld && call.callId !== this.now?.callId) {
          this.#drop(call);
          this.#tell("cut", call);
        } else if (call.sdp !== undefined && !this.now) {
          this.#ring(call);
        }
      }
    });
  }

  take(event) {
    if (event.type === "callAnswered") this.#answered.add(event.callId);
    this.#step(() => this.#take(event));
  }

  async #take(event) {
    const { callId, chat, reason } = event;
    const now = this.now?.callId === callId ? this.now : null;
    const rings = this.#rings?.callId === callId ? this.#rings : null;
    switch (event.type) {
      case "callIncoming": {
        if (now) return;
        const mine = this.now;
        if (mine?.chat === chat && ["calling", "ringing"].includes(mine.state)) {
          // Both have called: theirs is answered with what ours has asked for, unless it was given up meanwhile.
          if (mine.callId) await rpc("call_end", { callId: mine.callId }).catch(() => {});
          if (this.now === mine) return this.#answer(mine, event);
        }
        return this.#ring({ ...event, candidates: [] });
      }
      case "callRinging":
        return now && this.#turnTo(now, "ringing");
      case "callAnswered":
        if (!now) return;
        this.#turnTo(now, "connecting");
        return this.#try(now, () => now.answered(event.sdp));
      case "callCandidate":
        now?.heard(event.candidate);
        return rings && keep(rings.candidates, event.candidate);
      case "callTaken":
        return rings && this.#tell("taken", this.#stopRinging());
      case "callEnded":
        if (now?.isOwn && reason === "busy") this.#cross(now);
        else if (now) this.#end(!now.isOwn && !now.since ? "gone" : reason);
        if (rings) this.#missed(["cancelled", "timeout"].includes(reason));
    }
  }

  #cross(call) {
    call.callId = "";
    setTimeout(() => this.now === call && !call.callId && this.#end("busy"), crossing);
  }

  // MARK: From ringing to the end

  #ring({ callId, chat, isVideo, sdp, candidates }) {
    if (this.#rings) return;
    const rings = { callId, chat, isVideo, sdp, candidates };
    const accept = (label, withCamera, props) => button(label, () => this.#accept(withCamera), props);
    const about = el("p", { class: "ringing" });
    const { element, close } = dialog("", about, el("div", { class: "buttons" },
      button(words.decline, () => close(), { id: "decline" }), accept(words.accept, isVideo, { class: "main", id: "accept-call" }),
      isVideo && accept(words.acceptVoice, false, { id: "accept-voice" })));
    // Keys that are under way to a message answer nothing.
    element.querySelector(".sign").remove();
    const title = element.querySelector("h2");
    let shown;
    // After a reload names are read later.
    const draw = () => {
      const name = this.#model.nameOf(chat);
      if (name === shown) return;
      shown = name;
      write(title, words.calls, { name });
      about.replaceChildren(picture(name), words.calling(isVideo));
    };
    draw();
    title.tabIndex = -1;
    title.focus();
    element.addEventListener("cancel", (event) => event.preventDefault());
    // A second Escape would close it without being asked.
    element.addEventListener("keydown", (event) => event.key === "Escape" && event.preventDefault());
    element.addEventListener("close", () => {
      if (this.#rings === rings) this.#drop(this.#stopRinging());
    });
    this.#rings = Object.assign(rings, { close, draw });
    this.#sound(rings, tones.rings, () => this.#rings === rings && this.#missed());
    this.#model.rings = true;
    this.#model.changed();
  }

  /** For a call, or for what rings: each has its own. @param {number[] | undefined} tone @param {() => void} late nobody has answered */
  #sound(what, tone, late) {
    const end = tone && ring(tone);
    const timer = setTimeout(late, ringsMost);
    what.hush = () => {
      clearTimeout(timer);
      end?.();
    };
  }

  #quiet(what) {
    what.hush?.();
    what.hush = undefined;
  }

  #stopRinging() {
    const rings = this.#rings;
    this.#rings = null;
    this.#quiet(rings);
    rings.close();
    this.#model.rings = false;
    this.#model.changed();
    return rings;
  }

  #missed(isSaid = true) {
    const rings = this.#stopRinging();
    if (isSaid) this.#tell("missed", rings);
  }

  #begin(facts) {
    const failed = () => this.now === call && this.#end(call.since ? "lost" : "failed", true);
    const call = new Call(facts, () => this.draw(), failed);
    [this.now, this.#said] = [call, null];
    this.#shell.go();
    return call;
  }

  #turnTo(call, state) {
    if (call.state === state) return;
    call.state = state;
    this.#quiet(call);
    if (["calling", "ringing"].includes(state)) this.#sound(call, tones[state], () => this.now === call && this.#end("timeout", true));
    say(words.states[state]);
    this.draw();
  }

  /** Does what may fail, unless the call is over. What the browser says of a description of theirs is no sentence. */
  async #try(call, work, isAnswer = false) {
    try {
      if (this.now === call) await work();
    } catch (error) {
      if (this.now !== call) return;
      const text = error instanceof Fault || error instanceof Refusal ? error.message : "failed";
      this.#end(words.refusals[error.code] ?? text, !(isAnswer && taken.includes(error.code)));
    }
  }

  async start(chat, isVideo) {
    if (this.now) return this.#shell.go();
    const call = this.#begin({ chat, isVideo, isOwn: true });
    await this.#try(call, () => call.open());
    await this.#step(() => this.#try(call, async () => {
      // They were first.
      if (this.#rings?.chat === chat) return this.#answer(call, this.#stopRinging());
      this.#turnTo(call, "calling");
      const { callId } = await rpc("call_start", { chat, isVideo, sdp: await call.offer() });
      if (this.now !== call) return this.#drop({ callId, isOwn: true });
      call.begin(callId);
      // It may be over by now: an event says why.
      await seated("call_hold", { callId }).catch((error) => {
        if (error.code !== "notFound") throw error;
      });
    }));
  }

  async #accept(isVideo) {
    const rings = this.#stopRinging();
    if (this.now) this.hangUp();
    const call = this.#begin({ chat: rings.chat, callId: rings.callId, isVideo, isOwn: false });
    await this.#try(call, () => call.open());
    await this.#step(() => this.#answer(call, rings));
  }

  /** Its media are open. @param {any} rings what is answered */
  #answer(call, { callId, sdp, candidates = [] }) {
    return this.#try(call, async () => {
      Object.assign(call, { callId, isOwn: false });
      this.#turnTo(call, "connecting");
      candidates.forEach((each) => call.heard(each));
      const answer = await call.answer(sdp);
      await seated("call_hold", { callId });
      call.isHeld = true;
      await rpc("call_answer", { callId, sdp: answer });
      if (this.now !== call) return this.#drop(call);
      call.begin(callId);
    }, true);
  }

  hangUp() {
    this.#end("", true);
  }

  /** One of theirs that this window has not taken may be talked in by another program: it is declined only while it rings here. */
  async #drop({ callId, isOwn, isHeld }, reason) {
    if (!callId) return;
    this.#over.add(callId);
    const end = reason ? { callId, reason } : { callId };
    const ringsHere = async () => (await rpc("call_list")).calls.some((each) => each.callId === callId && each.stage === "ringing");
    try {
      if (isOwn || isHeld || await ringsHere()) await rpc("call_end", end);
    } catch {
      // It is over, or the daemon is gone.
    }
  }

  /** @param {string} what is said about it: a sentence, or its name @param {boolean} [isOurs] the other side does not know */
  #end(what, isOurs) {
    const call = this.now;
    this.now = null;
    call.close();
    this.#quiet(call);
    if (isOurs) this.#drop(call, call.state === "connecting" && what !== "" && "failed");
    if (what) this.#tell(what, call);
    this.#shell.left(call.chat);
    this.draw();
  }

  #tell(what, { chat, isVideo }) {
    const text = words.over[what] ?? what;
    this.#said = { text, chat, isVideo };
    alarm(text.replaceAll("{name}", () => this.#model.nameOf(chat)));
    this.draw();
  }

  /** Another window has taken over. */
  close() {
    this.#isClosed = true;
    if (this.#rings) this.#stopRinging();
    if (!this.now) return;
    this.#quiet(this.now);
    this.now.close();
    this.now = null;
  }

  // MARK: What is shown

  /** @param {Element} pane @param {() => void} back */
  view(pane, back) {
    if (!this.now) return null;
    this.#screen = new Screen(this, this.#model.nameOf(this.now.chat), pane, back);
    return this.#screen;
  }

  draw() {
    this.#rings?.draw();
    if (this.#screen?.isShown) this.#screen.draw();
    const name = this.#model.nameOf((this.now ?? this.#said)?.chat);
    const isAside = this.now && !this.#screen?.isShown;
    this.#bar.hidden = !isAside && !this.#said;
    const look = JSON.stringify([isAside, this.#said, name]);
    if (this.#bar.look !== look) {
      this.#bar.look = look;
      const line = el("p");
      const { text, chat, isVideo } = this.#said ?? {};
      const forget = () => {
        this.#said = null;
        this.draw();
      };
      this.#bar.replaceChildren(line, ...(isAside
        ? [button(words.toCall, () => this.#shell.go(), { class: "main", id: "to-call" }), button(words.hangUp, () => this.hangUp(), { "aria-keyshortcuts": "Alt+Shift+H" })]
        : text ? [button(words.again, () => this.start(chat, isVideo), { class: "main", id: "call-again" }), button(common.close, forget)] : []));
      if (text && !isAside) line.append(...sentence(text, { name }));
    }
    if (isAside) write(this.#bar.firstElementChild, `{name} · ${statusOf(this.now)}`, { name });
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const { now } = this;
    if (!now || event.repeat || event.ctrlKey || event.metaKey) return;
    const isEverywhere = event.altKey && event.shiftKey;
    if (!isEverywhere && (event.altKey || !this.#screen?.isShown || !event.target.closest("#pane") || event.target.closest("select"))) return;
    const letter = isEverywhere ? event.code.slice(3) : event.key.toUpperCase();
    if (letter === "M") now.mute();
    else if (letter === "H" && isEverywhere) this.hangUp();
    else if (letter === "V" && !isEverywhere) this.#screen.show("camera");
    else return;
    event.preventDefault();
  }
}

const statusOf = ({ state, since, isRelayed, isPoor, isLost }) => (state !== "talking" ? words.states[state]
  : [lengthOf(Date.now() - since), isRelayed && words.relayed, isLost ? words.lost : isPoor && words.poor].filter(Boolean).join(" · "));

/** The screen of a call, in the window's pane. */
class Screen {
  #calls;
  #call;
  #parts;
  #stage;
  #status = el("span", { class: "status" });
  #fault = el("p", { class: "fault", role: "alert" });
  #level = el("meter", { max: 1, "aria-label": words.level });

  constructor(calls, name, pane, back) {
    [this.#calls, this.#call] = [calls, calls.now];
    const { theirs, own } = this.#call;
    set(theirs, "aria-label", words.theirPicture.replace("{name}", () => name));
    const control = (sign, label, click, props) => el("button", { type: "button", class: "control", click, ...props }, icon(sign), el("span", {}, label));
    this.#parts = {
      mic: control("mic", words.mute, () => this.#call.mute(), { id: "mute", "aria-keyshortcuts": "M Alt+Shift+M" }),
      camera: control("video", words.camera, () => this.show("camera"), { id: "camera", "aria-keyshortcuts": "V" }),
      screen: control("screen", words.screen, () => this.show("screen"), { id: "screen" }),
    };
    const devices = el("details", { toggle: () => this.#choose(devices) }, el("summary", {}, words.devices));
    this.#stage = el("div", { class: "talk", role: "group", "aria-label": words.controls, tabindex: -1 }, picture(name), theirs, own);
    pane.replaceChildren(
      el("header", {}, signButton("back", common.backToChats, back, { class: "sign back" }), el("h1", {}, el("span", { class: "title" }, bdi(name)), this.#status)),
      el("div", { class: "middle" }, this.#stage),
      el("div", { class: "bar live-bar" }, this.#fault, el("div", { class: "controls" }, Object.values(this.#parts),
        control("phone", words.hangUp, () => calls.hangUp(), { class: "control hang", id: "hang-up", "aria-keyshortcuts": "Alt+Shift+H" })), this.#level, devices));
    for (const video of [theirs, own]) video.play().catch(() => {});
  }

  get isShown() {
    return this.#stage.isConnected;
  }

  focus() {
    this.#stage.focus();
  }

  draw() {
    const { state, isMuted, shows, isSeen, loudness, theirs, own, canShow } = this.#call;
    write(this.#status, statusOf(this.#call));
    this.#level.value = loudness;
    const { mic, camera, screen } = this.#parts;
    set(mic, "aria-pressed", String(isMuted));
    set(mic.querySelector("path"), "d", signs.mic + (isMuted ? slash : ""));
    for (const [part, what] of [[camera, "camera"], [screen, "screen"]]) {
      set(part, "aria-pressed", String(shows === what));
      part.hidden = !canShow;
    }
    theirs.hidden = !isSeen;
    own.hidden = !shows;
    set(own, "data-shows", shows);
    this.#level.hidden = state !== "talking";
  }

  /** @param {"camera" | "screen"} what */
  async show(what) {
    const next = [this.#call.shows, this.#call.wants].includes(what) ? "" : what;
    this.#fault.replaceChildren();
    try {
      await this.#call.show(next);
      if (what === "camera" && this.#call.shows === next) say(next ? words.cameraOn : words.cameraOff);
    } catch {
      this.#fault.replaceChildren(what === "screen" ? words.noScreen : words.noCamera);
    }
  }

  /** From the first opening on there are lists. */
  async #choose(devices) {
    if (!devices.open) return;
    const all = await navigator.mediaDevices.enumerateDevices();
    const list = (kind, label, current, change) => {
      const options = all.filter((each) => each.kind === `${kind}input`).map(({ deviceId, label: name }) => [deviceId, name]);
      return options.length > 0 && choice(label, options, current, (id) => change(id).catch(() => this.#fault.replaceChildren(kind === "audio" ? common.noMicrophone : words.noCamera)));
    };
    devices.replaceChildren(devices.firstElementChild, ...[
      list("audio", words.microphones, this.#call.deviceOf("audio"), (id) => this.#call.listen(id)),
      list("video", words.cameras, this.#call.deviceOf("video"), (id) => this.#call.show("camera", id)),
    ].filter(Boolean));
  }
}
