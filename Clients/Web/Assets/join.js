// The page of rooms: come in by a code or a link, or start a room, and talk with those who are there.
import { toBase64URL } from "./bytes.js";
import { roomSecret } from "./crypto.js";
import { Guest } from "./guest.js";
import { messageMax, Room } from "./room.js";
import { bindAppearance, loadSettings } from "./settings.js";
import { turnTo } from "./stage.js";
import { Place } from "./tabs.js";

/** On the page. The oldest go first. */
const messagesMax = 1_000;
const urgent = ["ended", "replaced", "full", "notfound"];

const find = (selector) => document.querySelector(selector);
const make = (name, text, data = {}) => {
  const element = document.createElement(name);
  element.textContent = text;
  Object.assign(element.dataset, data);
  return element;
};
const person = (seat) => `Person ${seat}`;

/** By state, or by state and reason. */
const words = {
  entry: "",
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
  bindAppearance(loadSettings());
  addEventListener("hashchange", () => location.reload());
  const [, , id] = location.pathname.split("/");
  let secret = id ? roomSecret(location.hash) : null;
  let own = 0;
  const place = new Place();
  /** Seats of others, and who of them has gone. */
  let [here, gone] = [[], ""];

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
    find("#send").disabled = state !== "connected";
  };
  const add = (seat, text) => {
    const list = find("#messages");
    const message = make("p", "", { seat });
    message.append(make("strong", seat === own ? "You" : person(seat)), make("bdi", text));
    list.append(message);
    if (list.childElementCount > messagesMax) list.firstElementChild.remove();
    list.scrollTop = list.scrollHeight;
  };
  const room = new Room(await Guest.ofThisBrowser("room"), {
    changed: show,
    message: add,
    media: (seat, stream) => showMedia(seat, stream, false),
    seen: (seen) => {
      own = seen.seat;
      const seats = seen.people.map(({ seat }) => seat);
      const left = here.filter((seat) => !seats.includes(seat));
      if (left.length > 0) gone = `${left.map(person).join(", ")} left. `;
      else if (seats.length > here.length) gone = "";
      here = seats;
      find("#alone").textContent = gone ? "You're alone here." : words.waiting;
      // Loading the page again brings one back to one's seat. What leads there stands in the address alone.
      const fragment = secret ? `#${toBase64URL(secret)}` : "";
      const path = `/join/${seen.id}`;
      if (!history.state?.isIn) history.replaceState({ isIn: true }, "", path + location.search + fragment);
      place.know(seen.id, seen.code?.code);
      showRoom(seen, fragment && location.origin + path + fragment);
    },
  }, new URLSearchParams(location.search).has("relay"));

  // MARK: Coming and going

  /** A second tab would take the first one's seat away. */
  const come = async (key, work) => {
    const other = await place.take(key);
    if (other) show("entry", other);
    else work();
  };
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
  find("#say").onsubmit = (event) => {
    event.preventDefault();
    const text = find("#message").value;
    if (text.trim() === "" || !room.say(text)) return;
    add(own, text);
    find("#message").value = "";
  };
  find("#message").maxLength = messageMax;

  // MARK: Voice and video

  let stream = null;
  const stop = () => {
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
    find("#denied").hidden = true;
    if (!wasOn) {
      try {
        stream = await navigator.mediaDevices.getUserMedia({ audio: true, video });
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

/** @param {string} link empty if this browser has none */
function showRoom({ seat, isHost, isFull, people, code }, link) {
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
  const rows = people.map(({ seat, state, number, isVouched }) => {
    const row = make("li", "", { seat, state });
    row.append(make("span", `${person(seat)}: ${state}. `), make("code", number.replace(/.{4}(?=.)/g, "$& ")));
    row.append(make("small", isVouched ? "came by the link" : "compare this code"));
    return row;
  });
  // People who hear the page are told of changes alone.
  if (list.textContent !== rows.map((row) => row.textContent).join("")) list.replaceChildren(...rows);
}
