// The page of rooms: come in by a code or a link, or start a room, and talk with those who are there.
import { toBase64URL } from "./bytes.js";
import { roomSecret } from "./crypto.js";
import { forget } from "./forget.js";
import { Guest } from "./guest.js";
import { Room } from "./room.js";
import { bindAppearance, loadSettings, storeSettings } from "./settings.js";
import { foreign, put, turnTo } from "./stage.js";
import { Place } from "./tabs.js";
import { nameOf, textMax } from "./talk.js";

/** On the page. The oldest go first. */
const messagesMax = 1_000;
/** Most messages arrive sooner. A person who lacks one for longer is named. */
const deliveryPause = 1_000;
const urgent = ["ended", "replaced", "full", "notfound"];

const find = (selector) => document.querySelector(selector);
const make = (name, text, data = {}) => {
  const element = document.createElement(name);
  element.textContent = text;
  Object.assign(element.dataset, data);
  return element;
};
const person = (seat) => `Person ${seat}`;
const counted = (count) => (count === 1 ? "1 message" : `${count} messages`);

/** By state, or by state and reason. */
const words = {
  entry: "",
  "entry kept": "You aren't forgotten yet. Try again in a minute.",
  forgotten: "You're forgotten: the server has erased you, and this browser has no name and keys of yours. Reload the page to start anew.",
  "entry limited": "Too many codes were tried. Wait a minute.",
  "entry same": "You are already in this room in another tab.",
  "entry other": "You are in another room in another tab. Leave it there first.",
  waiting: "Nobody else is here yet.",
  connecting: "Connecting…",
  "connecting room": "Connecting to the others…",
  connected: "Connected.",
  "connected unseen": "Connected. Can't reach the server: nobody new can come until it is back.",
  full: "This room takes nobody else.",
  notfound: "That code doesn't open a room. It may be mistyped, already used or expired.",
  "notfound link": "This link is incomplete or has expired. Ask for a new one.",
  ended: "This room has ended.",
  "ended removed": "You were removed from this room.",
  "ended banned": "This browser may not enter rooms any more.",
  replaced: "You are in this room in another tab or window now.",
  offline: "Can't reach the server. Trying again…",
};

export async function run() {
  const settings = loadSettings();
  bindAppearance(settings);
  addEventListener("hashchange", () => location.reload());
  const [, , id] = location.pathname.split("/");
  let secret = id ? roomSecret(location.hash) : null;
  let own = 0;
  const place = new Place();
  /** Seats of others, and who of them has gone. */
  let [here, gone] = [[], ""];
  /** By seat, also of those who have gone. @type {Map<number, import("./room.js").Person>} */
  const people = new Map();
  /** Safety numbers that were compared here. */
  const compared = new Set();
  /** Everybody may take any name, at any time: the seat stands beside it. */
  const label = (seat) => {
    const { name } = people.get(seat) ?? {};
    return name ? [foreign(name), ` (${person(seat)})`] : [person(seat)];
  };

  const show = (state, reason) => {
    // Nothing of a room stays when one has left it.
    if (state === "entry") find("#messages").replaceChildren();
    if (state === "notfound" && id) reason = "link";
    if (["entry", "full", "notfound", "ended"].includes(state)) {
      [here, gone] = [[], ""];
      stop();
      place.leave();
      find("#videos").replaceChildren();
    }
    const text = state === "waiting" && gone ? "You're alone here." : words[`${state} ${reason}`] ?? words[state];
    turnTo(state, gone + text, urgent.includes(state), "h1");
  };
  /** @param {import("./talk.js").Said} [said] ours */
  const add = (seat, text, said, id, re) => {
    const list = find("#messages");
    const message = make("p", "", { seat });
    const author = make("strong", said ? "You" : "");
    if (!said) author.append(...label(seat));
    const answered = re && [...list.children].find((one) => re === (one.id || one.dataset.said));
    if (answered) message.append(make("q", answered.querySelector(":scope > bdi").textContent));
    message.append(author, make("bdi", text));
    if (id) message.dataset.said = id;
    if (said) {
      message.id = said.id;
      const state = make("small", "");
      // It changes too often to be read aloud each time: `#delivery` says it once.
      state.ariaLive = "off";
      message.append(state);
    }
    list.append(message);
    if (list.childElementCount > messagesMax) list.firstElementChild.remove();
    list.scrollTop = list.scrollHeight;
    if (said) delivered(said);
  };

  // MARK: Who has what

  /** Messages of ours that somebody lacks. @type {Map<string, import("./talk.js").Said>} */
  const lacked = new Map();
  /** By seat, how many were lost and not told of yet. */
  let missed = new Map();
  /** What was told last is that somebody lacks messages; and whether everybody who did has them now. */
  let [isLacking, hasAll] = [false, true];
  let deliveryTimer;
  const names = (seats) => seats.flatMap((seat, at) => [...(at > 0 ? [", "] : []), ...label(seat)]);
  const delivered = (said) => {
    const having = (...states) => [...said.states].filter(([, state]) => states.includes(state)).map(([seat]) => seat);
    const [late, lost, plain] = [having("waiting", "sent"), having("lost"), having("plain")];
    const parts = [late.length + lost.length + plain.length === 0 ? ["everybody"] : []];
    if (lost.length + plain.length > 0) hasAll = false;
    for (const [word, seats] of [["not yet: ", late], ["never: ", lost], ["sent, without a receipt: ", plain]]) {
      if (seats.length > 0) parts.push([word, ...names(seats)]);
    }
    const line = document.getElementById(said.id)?.querySelector("small");
    if (line) put(line, parts.filter((part) => part.length > 0).flatMap((part, at) => [...(at > 0 ? ["; "] : []), ...part]));
    for (const seat of lost) {
      if (said.isTold?.has(seat)) continue;
      (said.isTold ??= new Set()).add(seat);
      missed.set(seat, (missed.get(seat) ?? 0) + 1);
    }
    if (late.length > 0) lacked.set(said.id, said);
    else lacked.delete(said.id);
    deliveryTimer ??= setTimeout(tellDelivery, deliveryPause);
  };
  const tellDelivery = () => {
    deliveryTimer = undefined;
    const counts = new Map();
    for (const { states } of lacked.values()) {
      for (const [seat, state] of states) if (/waiting|sent/.test(state)) counts.set(seat, (counts.get(seat) ?? 0) + 1);
    }
    const text = [
      ...[...counts].flatMap(([seat, count]) => [...label(seat), ` lacks ${counted(count)}. `]),
      ...[...missed].flatMap(([seat, count]) => [...label(seat), ` never got ${counted(count)}. `]),
    ];
    missed = new Map();
    const line = find("#delivery");
    if (text.length > 0) put(line, text);
    else if (isLacking) put(line, hasAll ? "Everybody has your messages." : "");
    if (counts.size === 0) hasAll = true;
    isLacking = counts.size > 0;
    // A page that is loaded again knows by this that it has lost something.
    const isOwing = room.isOwing;
    if (history.state?.isIn && isOwing !== Boolean(history.state.isOwing)) {
      history.replaceState(isOwing ? { isIn: true, isOwing } : { isIn: true }, "");
    }
  };
  let latest;
  const guest = await Guest.ofThisBrowser("room");
  const room = new Room(guest, {
    changed: show,
    message: (seat, text, id, re) => add(seat, text, null, id, re),
    delivered,
    media: (seat, stream) => showMedia(seat, stream, false),
    seen: (seen) => {
      [own, latest] = [seen.seat, seen];
      const seats = seen.people.map(({ seat }) => seat);
      const left = here.filter((seat) => !seats.includes(seat));
      if (left.length > 0) gone = `${left.map(person).join(", ")} left. `;
      else if (seats.length > here.length) gone = "";
      here = seats;
      for (const one of seen.people) people.set(one.seat, one);
      find("#send").disabled = seats.length === 0;
      find("#alone").textContent = gone ? "You're alone here." : words.waiting;
      // Loading the page again brings one back to one's seat. What leads there stands in the address alone.
      const fragment = secret ? `#${toBase64URL(secret)}` : "";
      const path = `/join/${seen.id}`;
      if (!history.state?.isIn) history.replaceState({ isIn: true }, "", path + location.search + fragment);
      place.know(seen.id, seen.code?.code);
      const compare = (number, seat) => {
        if (!compared.delete(number)) compared.add(number);
        showRoom(latest, link, compared, compare);
        find(`#people [data-seat="${seat}"] button`).focus();
      };
      const link = fragment && location.origin + path + fragment;
      showRoom(seen, link, compared, compare);
    },
  }, new URLSearchParams(location.search).has("relay"));

  // MARK: Coming and going

  /** A second tab would take the first one's seat away. */
  const come = async (key, work) => {
    const other = await place.take(key);
    if (other) return show("entry", other);
    settings.name = find("#name").value;
    storeSettings(settings);
    room.name = nameOf(settings.name);
    work();
  };
  find("#name").value = settings.name;
  const hasLink = id !== undefined && secret !== null;
  find("#by-code").hidden = hasLink;
  find("#invited").hidden = !hasLink;
  find("#code").required = !hasLink;
  find("#enter").onsubmit = (event) => {
    event.preventDefault();
    const [code, pin] = ["#code", "#pin"].map((field) => find(field).value.replaceAll(" ", ""));
    find("#pin").value = "";
    if (hasLink) come(id, () => room.enter(id, secret));
    else come(code, () => room.enterCode(code, pin));
  };
  find("#create").onclick = () => {
    const id = crypto.randomUUID();
    come(id, () => {
      secret = roomSecret();
      room.create(id, secret, Math.min(8, Math.max(2, Math.trunc(find("#seats").value))));
    });
  };
  find("#forget").onclick = async () => {
    show("connecting");
    const isDone = await forget("room", settings, guest);
    show(isDone ? "forgotten" : "entry", "kept");
  };
  find("#use-here").onclick = () => room.useHere();
  find("#leave").onclick = async () => {
    await room.leave();
    // With a link in the address one may come back.
    if (!hasLink) history.replaceState(null, "", `/join${location.search}`);
    else history.replaceState(null, "");
    location.reload();
  };
  find("#renew").onclick = () => room.renewCode().catch(() => {});
  find("#copy").onclick = async ({ target }) => {
    await navigator.clipboard.writeText(find("#link").textContent);
    target.dataset.sent = "";
  };
  let refused;
  /** Full ones whom the person has agreed to leave out: until they take messages again, nobody is asked once more. */
  let leftOut = [];
  find("#say").onsubmit = (event) => {
    event.preventDefault();
    const text = find("#message").value;
    if (text.trim() === "") return;
    let said = room.say(text, false);
    if (said.full && (text === refused || said.full.every((seat) => leftOut.includes(seat)))) {
      leftOut = said.full;
      said = room.say(text, true);
    } else if (!said.full) {
      leftOut = [];
    }
    refused = said.full && text;
    if (said.isLong) return put(find("#delivery"), "This message is too long.");
    if (said.full) return put(find("#delivery"), ["Too much waits for ", ...names(said.full), ". Send again, and the others get it."]);
    add(own, text, said);
    find("#message").value = "";
  };
  find("#message").maxLength = textMax;

  // MARK: Voice and video

  let stream = null;
  /** The latest wish for a device. */
  let wish;
  const stop = () => {
    wish = {};
    for (const track of stream?.getTracks() ?? []) track.stop();
    stream = null;
    showMedia(own, null, true);
    for (const button of ["#voice", "#media", "#mute"]) find(button).ariaPressed = "false";
    find("#mute").hidden = true;
  };
  const turn = (video) => async ({ target }) => {
    const wasOn = target.ariaPressed === "true";
    // With another device a muted microphone stays muted.
    const isMuted = !wasOn && find("#mute").ariaPressed === "true";
    stop();
    const mine = wish;
    find("#denied").hidden = true;
    if (!wasOn) {
      try {
        const got = await navigator.mediaDevices.getUserMedia({ audio: true, video });
        if (mine !== wish) return got.getTracks().forEach((track) => track.stop());
        stream = got;
        for (const track of stream.getAudioTracks()) track.enabled = !isMuted;
        find("#mute").ariaPressed = String(isMuted);
        target.ariaPressed = "true";
        find("#mute").hidden = false;
        if (video) showMedia(own, stream, true);
      } catch {
        find("#denied").hidden = false;
      }
    }
    room.share(stream);
  };
  find("#voice").onclick = turn(false);
  find("#media").onclick = turn(true);
  // The picture stays, and so does the connection.
  find("#mute").onclick = ({ target }) => {
    const isMuted = target.ariaPressed !== "true";
    target.ariaPressed = String(isMuted);
    for (const track of stream.getAudioTracks()) track.enabled = !isMuted;
  };

  if (history.state?.isOwing) {
    put(find("#delivery"), "This page was loaded again. Messages that somebody lacked are lost.");
    history.replaceState({ isIn: true }, "");
  }
  if (id !== undefined && history.state?.isIn) come(id, () => room.enter(id, secret));
  else show(id === undefined || hasLink ? "entry" : "notfound");
}

/** @param {boolean} isOwn one does not hear oneself */
function showMedia(seat, stream, isOwn) {
  const present = find(`#videos [data-seat="${seat}"]`);
  if (!stream) return present?.remove();
  const video = present ?? make("video", "", { seat });
  Object.assign(video, { srcObject: stream, autoplay: true, playsInline: true, muted: isOwn, controls: !isOwn });
  video.ariaLabel = isOwn ? "You" : person(seat);
  if (!present) find("#videos").append(video);
}

/**
 * @param {string} link empty if this browser has none
 * @param {Set<string>} compared safety numbers
 * @param {(number: string, seat: number) => void} compare turns it to compared, and back
 */
function showRoom({ seat, isHost, isFull, people, code }, link, compared, compare) {
  find("#invitation").hidden = isFull || !(isHost || link);
  find("#has-link").hidden = !link;
  find("#link").textContent = link;
  find("#has-code").hidden = !isHost;
  find("#shown-code").replaceChildren(...(code?.code.match(/\d{1,3}/g) ?? []).map((part) => make("span", part)));
  find("#until").textContent = code ? `until ${new Date(code.until).toLocaleTimeString([], { timeStyle: "short" })}` : "";
  find("#own").textContent = person(seat);
  find("#alone").hidden = people.length > 0;
  find("#safety").hidden = people.length === 0;
  const list = find("#people");
  const rows = people.map(({ seat, state, number, isVouched, name, isPlain }) => {
    const row = make("li", "", { seat, state });
    const isCompared = compared.has(number);
    const called = name ? [" ", foreign(name)] : [];
    row.append(make("span", person(seat)), ...called, `: ${state}. `);
    row.append(make("code", number.replace(/.{4}(?=.)/g, "$& ")));
    row.append(make("small", isCompared ? "compared" : isVouched ? "came by the link" : "compare this code"));
    if (isPlain) row.append(make("small", "on an older page: it tells nobody what it has"));
    const button = make("button", "Codes match");
    button.ariaPressed = String(isCompared);
    button.onclick = () => compare(number, seat);
    row.append(button);
    return row;
  });
  // People who hear the page are told of changes alone.
  if (list.textContent !== rows.map((row) => row.textContent).join("")) list.replaceChildren(...rows);
}
