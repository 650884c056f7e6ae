// The window: list at one side, chat at the other, and what must be said about the connection.
import { ChatView } from "./chat.js";
import { about, leave, lock, read, rpc, seated } from "./door.js";
import { applyLooks } from "./looks.js";
import { chatOf, Model, Open } from "./model.js";
import { called, gist, timeInList, words } from "./text.js";
import { alarm, bdi, button, draw, el, field, keyed, page, say, sentence, set, signButton, write } from "./view.js";

/** A short loss of the server is nobody's business. */
const bannerAfter = 2_000;
const searchPause = 150;
/** People and groups that a search shows. */
const foundMax = 20;
/** They stand for live conversations and the call where chats have their ids. */
const livePlace = "live";
const roomPlace = "rooms";
const callPlace = "call";

const dialogs = () => import("./dialogs.js");

/** A page with one sentence, when there is nothing else to do. */
export function stopped(text, ...more) {
  document.title = words.appName;
  page(el("h1", {}, words.appName), el("p", {}, text), more.length > 0 && el("div", { class: "buttons" }, ...more));
}

/** The whole window. @param {boolean} connects whether the daemon is to connect */
export async function open(state, connects) {
  const looks = await applyLooks();
  await new Shell(state, connects, looks.notices, minutesOf(state, looks)).run();
}

/** After which the window locks itself; none without a passphrase. */
const minutesOf = (state, looks) => (state.seal === "passphrase" ? looks.lock : "");

class Shell {
  #state;
  #connects;
  #model = new Model(() => draw(this.#draw));
  #main;
  #list;
  #found;
  #search;
  #searchTimer;
  #backedUp;
  #requests;
  #others;
  #empty;
  #banner;
  #pane;
  /** What the pane shows: a chat, or live conversations. @type {any} */
  #chat = null;
  #liveRow;
  /** Loaded when there is a live conversation, or somebody wants one. @type {Promise<import("./live.js").Live> | undefined} */
  #live;
  #rooms;
  #roomRow;
  /** Loaded with the first call. @type {Promise<import("./call.js").Calls> | undefined} */
  #calls;
  #callBar;
  #bannerTimer;
  /** After which the window locks itself. @type {string} */
  #minutes;
  /** Loaded once they are wanted. @type {Promise<import("./notices.js").Notices> | undefined} */
  #notices;

  /** @param {string} [notices] what notices show */
  constructor(state, connects, notices, minutes) {
    this.#state = state;
    this.#minutes = minutes;
    this.#connects = connects;
    this.#build();
    if (notices) this.#loadNotices(notices);
    addEventListener("popstate", () => this.#show(history.state?.chat));
    addEventListener("keydown", (event) => this.#key(event));
    document.addEventListener("visibilitychange", () => this.#model.changed());
    addEventListener("pagehide", () => this.#model.open?.flushDraft());
    addEventListener("focus", () => this.#model.changed());
    // A file that is dropped beside the chat would take the window's place.
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      if (!document.querySelector("dialog[open]")) this.#chat?.take?.(event.dataTransfer);
    });
  }

  #build() {
    const myID = async () => (await dialogs()).myID(this.#model);
    this.#list = el("ul", { class: "chats" });
    this.#found = el("ul", { class: "chats", id: "found", hidden: true });
    this.#search = el("input", { type: "search", "aria-label": words.search, placeholder: words.search, input: () => this.#searchSoon(), keydown: (event) => this.#keyInSearch(event) });
    this.#requests = el("section", { hidden: true }, el("h2", {}, words.requests), el("ul", { class: "chats" }));
    this.#others = el("section", { hidden: true }, el("h2", {}, words.contacts), el("ul", { class: "chats" }));
    this.#empty = el(
      "div", { class: "empty", hidden: true }, el("p", { class: "large" }, words.empty), el("p", {}, words.emptyText),
      el("div", { class: "buttons" }, button(words.add, () => this.#add(), { class: "main" }), button(words.myCode, myID)));
    this.#liveRow = button(words.live, () => this.#go(livePlace), { id: "live" });
    this.#roomRow = button(words.rooms, () => this.#go(roomPlace), { id: "rooms" });
    this.#banner = el("div", { class: "banner", role: "status", hidden: true });
    this.#callBar = el("div", { class: "banner", id: "call-bar", hidden: true });
    this.#pane = el("section", { id: "pane", "aria-label": words.chat });
    const menu = signButton("more", words.menu, () => this.#openMenu(), { "aria-haspopup": "dialog", id: "menu" });
    this.#main = el(
      "main", { class: "window" }, el("div", { class: "top" }, this.#banner, this.#callBar),
      el("nav", { id: "list", "aria-label": words.chats },
        el("header", {}, el("h1", {}, words.appName), signButton("people", words.myCode, myID),
          signButton("add", words.add, () => this.#add(), { id: "add" }), menu),
        el("div", { class: "search" }, this.#search), el("div", { class: "scroll" }, this.#found, this.#requests, this.#list, this.#others, this.#empty),
        el("footer", {}, this.#liveRow, this.#roomRow)),
      this.#pane);
    document.getElementById("app").replaceChildren(this.#main);
  }

  async run(takes = false) {
    if (this.#connects) await rpc("connect");
    const reader = {
      began: () => {
        // Events that are not kept may be missing.
        this.#model.readAll().then(() => {
          if (!this.#chat) this.#show(history.state?.chat);
        }, () => {});
        this.#readLive();
        this.#readRoom();
        this.#readCalls();
        if (this.#minutes) this.lockAfter(this.#minutes);
      },
      came: (events) => events.forEach((event) => this.#take(event)),
      lost: () => {
        this.#model.connection = { state: "gone", since: this.#model.connection.state === "gone" ? this.#model.connection.since : Date.now() };
        this.#model.changed();
      },
      over: (why) => this.#end(why),
    };
    read(reader, takes);
  }

  async #end(why) {
    this.#chat?.close?.();
    this.#calls?.then((calls) => calls.close());
    this.#rooms?.then((rooms) => rooms.quit());
    const shows = await this.#notices?.then((notices) => {
      notices.end();
      return notices.shows;
    });
    if (why === "locked") return;
    // A quiet window does not lock the one that is used.
    if (this.#minutes) (await import("./lock.js")).lockAfter();
    if (why === "ended") return stopped(words.stopped);
    const here = button(words.useHere, async () => {
      // The other window may have changed both.
      const [state, looks] = await Promise.all([about(), applyLooks()]);
      [this.#state, this.#minutes] = [state, minutesOf(state, looks)];
      this.#chat = null;
      this.#live = this.#calls = this.#rooms = undefined;
      this.#model = new Model(() => draw(this.#draw));
      this.#notices = undefined;
      if (shows) this.#loadNotices(shows);
      this.#build();
      this.run(true);
    }, { class: "main", id: "use-here" });
    if (why === "taken") return stopped(words.taken, here);
    const { calls } = await rpc("call_list").catch(() => ({ calls: [] }));
    stopped(calls.some(({ sdp }) => sdp === undefined) ? `${words.busy} ${words.callEnds}` : words.busy, here);
  }

  #take(event) {
    this.#model.take(event);
    this.#live?.then((live) => live.take(event));
    this.#rooms?.then((rooms) => rooms.take(event));
    this.#notices?.then((notices) => notices.take(event));
    if (this.#calls || event.type === "callIncoming") this.#loadCalls().then((calls) => calls.take(event));
    if (event.type === "eventsLost") this.#readCalls();
    if (event.type === "messageReceived") this.#chat?.told?.(event.message);
    if (event.type === "alarm" && event.kind.endsWith("Keys")) {
      alarm(words.alarm.replaceAll("{name}", () => this.#model.nameOf(event.whisperId)));
    }
    if (event.type === "backup") this.#backedUp?.(event);
    if (event.type === "backup" && event.state === "restored" && event.added > 0) say(words.came(event.added, event.missing));
  }

  // MARK: What is open

  /** Goes to a chat, as to a page. */
  #go(chat, wanted) {
    if (history.state?.chat !== chat) history[history.state?.chat && innerWidth >= 640 ? "replaceState" : "pushState"]({ chat }, "", "/");
    this.#show(chat, wanted);
    this.#chat?.focus();
  }

  #show(chat, wanted) {
    this.#chat?.close?.();
    this.#chat = null;
    set(this.#main, "data-view", chat ? "chat" : "list");
    if (!chat) {
      this.#model.open = null;
      this.#pane.replaceChildren(el("p", { class: "choose" }, words.choose));
      return this.#model.changed();
    }
    if (chat === livePlace) return this.#showLive();
    if (chat === roomPlace) return this.#showRoom();
    if (chat === callPlace) return this.#showCall();
    this.#model.open = new Open(this.#model, chat, wanted);
    this.#chat = new ChatView(this.#model, this.#model.open, this.#pane, () => this.#back(), async (isVideo) => (await this.#loadCalls()).start(chat, isVideo));
    this.#model.changed();
  }

  #back() {
    const chat = this.#model.open?.chat;
    const row = history.state?.chat === roomPlace ? this.#roomRow : this.#liveRow;
    history.replaceState({}, "", "/");
    this.#show(undefined);
    if (chat) this.#main.querySelector(`[data-key="${CSS.escape(chat)}"] button`)?.focus();
    else row.focus();
  }

  #loadLive() {
    this.#live ??= import("./live.js").then(({ Live }) => new Live(this.#model));
    return this.#live;
  }

  /** After a reload a live conversation goes on. */
  async #readLive() {
    if (!this.#live && !(await seated("live_get").catch(() => null))) return;
    (await this.#loadLive()).read().catch(() => {});
  }

  async #showLive() {
    this.#model.open = null;
    this.#pane.replaceChildren();
    const live = await this.#loadLive();
    await live.read().catch(() => {});
    if (history.state?.chat !== livePlace || this.#chat) return;
    this.#chat = live.view(this.#pane, () => this.#back());
    this.#model.changed();
  }

  #loadRooms() {
    this.#rooms ??= import("./rooms.js").then(({ Rooms }) => new Rooms(this.#model));
    return this.#rooms;
  }

  /** After a reload the seat in a room is kept for a moment. */
  async #readRoom() {
    const { values } = await rpc("host_get").catch(() => ({ values: [] }));
    const { value } = values.find(({ key }) => key === "room") ?? {};
    const rooms = value ? await this.#loadRooms() : await this.#rooms;
    if (rooms?.now) return rooms.read();
    if (!value) return;
    await rooms.goOn(value).catch(async (error) => {
      if (error.code !== "notFound") return;
      rooms.lost();
      await rpc("host_set", { key: "room", value: "" }).catch(() => {});
    });
  }

  async #showRoom() {
    this.#model.open = null;
    this.#pane.replaceChildren();
    const rooms = await this.#loadRooms();
    if (history.state?.chat !== roomPlace || this.#chat) return;
    this.#chat = rooms.view(this.#pane, () => this.#back());
    this.#model.changed();
  }

  #loadNotices(shows = "") {
    this.#notices ??= import("./notices.js").then(({ Notices }) => new Notices(this.#model, (place) => this.#go(place), shows));
    return this.#notices;
  }

  #loadCalls() {
    this.#calls ??= import("./call.js").then(({ Calls }) => new Calls(this.#model, {
      bar: this.#callBar, go: () => this.#go(callPlace),
      left: (chat) => {
        if (history.state?.chat !== callPlace) return;
        history.replaceState({ chat }, "", "/");
        this.#show(chat);
        this.#chat.focus();
      },
    }));
    return this.#calls;
  }

  async #readCalls() {
    if (!this.#calls && (await seated("call_list").catch(() => ({ calls: [] }))).calls.length === 0) return;
    (await this.#loadCalls()).read();
  }

  async #showCall() {
    this.#model.open = null;
    const calls = await this.#calls;
    if (history.state?.chat !== callPlace || this.#chat) return;
    this.#chat = calls?.view(this.#pane, () => this.#back());
    if (!this.#chat) return this.#back();
    this.#chat.focus();
    this.#model.changed();
  }

  // MARK: Search

  #searchSoon() {
    clearTimeout(this.#searchTimer);
    this.#searchTimer = setTimeout(() => this.#find(), searchPause);
  }

  async #find() {
    const text = this.#search.value.trim();
    const { messages } = text ? await rpc("search", { text }).catch(() => ({ messages: [] })) : { messages: [] };
    if (text !== this.#search.value.trim()) return;
    set(this.#main, "data-searching", text ? true : null);
    this.#found.hidden = !text;
    const wanted = text.toLocaleLowerCase();
    const named = [...this.#model.chats, ...this.#model.others].filter(({ chat }) => wanted && this.#model.nameOf(chat).toLocaleLowerCase().includes(wanted)).slice(0, foundMax);
    if (text) say(words.found(messages.length + named.length));
    const row = (message) => {
      const chat = chatOf(message);
      const name = this.#model.nameOf(chat);
      return el("li", {}, el("button", { type: "button", click: () => this.#go(chat, message.number) },
        picture(name), el("span", { class: "name" }, bdi(name)), el("span", { class: "time" }, timeInList(message.time)), el("span", { class: "last" }, bdi(message.text))));
    };
    const place = ({ chat }) => {
      const name = this.#model.nameOf(chat);
      return el("li", {}, el("button", { type: "button", class: "named", click: () => this.#go(chat) }, picture(name), el("span", { class: "name" }, bdi(name))));
    };
    this.#found.replaceChildren(...named.map(place), ...messages.map(row), ...(text && messages.length + named.length === 0 ? [el("li", { class: "none" }, words.found(0))] : []));
  }

  /** @param {KeyboardEvent} event */
  #keyInSearch(event) {
    if (event.key === "Escape" && this.#search.value) {
      event.preventDefault();
      this.#search.value = "";
      this.#find();
    } else if (event.key === "ArrowDown") {
      event.preventDefault();
      this.#main.querySelector("#list .chats:not([hidden]) button")?.focus();
    }
  }

  async #add() {
    (await dialogs()).addPerson(this.#model, async (id) => {
      await this.#model.readList();
      this.#go(id);
    });
  }

  async #openMenu() {
    (await dialogs()).settings(this.#state, this.#model, {
      notices: async (shows) => (await this.#loadNotices()).choose(shows),
      lock: () => this.#lock(),
      lockAfter: (minutes) => this.lockAfter(minutes),
      backups: (listener) => { this.#backedUp = listener; },
      hush: () => this.#hush(),
      close: async () => {
        await this.#hush();
        await leave(false);
        stopped(words.closed);
      },
      quit: async () => {
        await this.#hush();
        await leave(true);
        stopped(words.closed);
      },
    });
  }

  /** No camera and no microphone of this window stays open. */
  async #hush() {
    await this.#calls?.then((calls) => calls.close(), () => {});
    await this.#rooms?.then((rooms) => rooms.quit(), () => {});
  }

  async lockAfter(minutes) {
    this.#minutes = minutes;
    (await import("./lock.js")).lockAfter(minutes, () => this.#lock(false));
  }

  /** Time locks no call away, and nothing that is live. @param {boolean} [isAsked] */
  async #lock(isAsked = true) {
    const calls = await this.#calls;
    if (!isAsked && (calls?.now || this.#model.rings || this.#model.live || this.#model.room)) return;
    await this.#model.open?.flushDraft();
    sessionStorage.setItem("whisper.notices", (await this.#notices)?.shows ? "yes" : "");
    await lock();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && this.#chat && !event.defaultPrevented) {
      if (!this.#chat.escape?.()) this.#back();
    }
    if (event.ctrlKey && event.key === "k") {
      event.preventDefault();
      if (this.#chat && innerWidth < 640) this.#back();
      this.#search.focus();
    }
    if (!event.altKey) return;
    const places = { Digit1: "list", Digit2: "messages", Digit3: "composer" };
    if (event.shiftKey && event.code === "KeyA") {
      event.preventDefault();
      this.#chat?.pick?.();
    } else if (event.shiftKey && places[event.code]) {
      event.preventDefault();
      if (places[event.code] === "list") this.#list.querySelector("button")?.focus();
      else this.#chat?.focus(places[event.code]);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const rows = this.#rows().filter((row) => !event.shiftKey || row.unread > 0);
      const here = rows.findIndex(({ chat }) => chat === this.#model.open?.chat);
      const next = rows.at(event.key === "ArrowDown" ? (here + 1) % rows.length : here < 0 ? -1 : here - 1);
      if (next) this.#go(next.chat);
    }
  }

  #rows() {
    return this.#model.chats.filter((row) => !row.isStranger);
  }

  // MARK: Drawing

  #draw = () => {
    if (!this.#main.isConnected) return;
    const { chats, others, hasRead, unread } = this.#model;
    const strangers = chats.filter((row) => row.isStranger);
    document.title = words.title(unread, this.#model.rings);
    const live = this.#model.live ? `${words.live}: ${this.#model.live}` : words.live;
    if (this.#liveRow.textContent !== live) this.#liveRow.textContent = live;
    set(this.#liveRow, "aria-current", history.state?.chat === livePlace ? "true" : null);
    write(this.#roomRow, this.#model.room ? `${words.rooms}: ${this.#model.room}` : words.rooms);
    set(this.#roomRow, "aria-current", history.state?.chat === roomPlace ? "true" : null);
    this.#rowsIn(this.#list, this.#rows());
    this.#requests.hidden = strangers.length === 0;
    this.#rowsIn(this.#requests.lastElementChild, strangers);
    this.#others.hidden = others.length === 0;
    this.#rowsIn(this.#others.lastElementChild, others);
    this.#empty.hidden = !hasRead || chats.length + others.length > 0;
    this.#drawBanner();
    this.#chat?.draw();
    this.#calls?.then((calls) => calls.draw());
    this.#notices?.then((notices) => notices.seen());
  };

  #rowsIn(list, rows) {
    const make = (row) => el("li", {}, el("button", { type: "button", click: () => this.#go(row.chat), contextmenu: (event) => this.#menuOf(event, row.chat) }));
    keyed(list, rows, ({ chat }) => chat, make, (item, row) => this.#drawRow(item.firstElementChild, row));
  }

  /** A right click, or the menu key: what one sees behind the chat's name. */
  async #menuOf(event, chat) {
    event.preventDefault();
    const left = () => this.#model.open?.chat === chat && this.#back();
    if (this.#model.groups.has(chat)) (await import("./groups.js")).group(this.#model, chat, left);
    else if (!this.#model.row(chat)?.isStranger) (await import("./about.js")).person(this.#model, chat, left);
  }

  #drawRow(element, row) {
    set(element, "aria-current", this.#model.open?.chat === row.chat ? "true" : null);
    const isTyping = this.#model.typing.has(row.chat);
    const isVerified = this.#model.contacts.get(row.chat)?.isVerified;
    const name = this.#model.nameOf(row.chat);
    const look = JSON.stringify([row, name, isTyping, isVerified]);
    if (element.look === look) return;
    element.look = look;
    element.replaceChildren(
      picture(name), el("span", { class: "name" }, bdi(name), isVerified && el("span", { class: "mark", title: words.verified }, "✓")),
      el("span", { class: "time" }, row.latest ? timeInList((row.note?.kind === "call" ? row.note : row.latest).time) : ""),
      el("span", { class: "last" }, isTyping ? el("em", {}, words.typing) : lastLine(row)),
      el("span", { class: "signs" },
        row.isPinned && sign("⚲", words.pinned), row.isMuted && sign("∅", words.muted), row.isBlocked && sign("⊘", words.blocked),
        row.unread > 0 && el("span", { class: "count" }, el("span", { "aria-hidden": "true" }, String(row.unread)), el("span", { class: "unseen" }, `, ${words.unread(row.unread)}`))));
  }

  #drawBanner() {
    const { connection } = this.#model;
    clearTimeout(this.#bannerTimer);
    const age = Date.now() - connection.since;
    const isQuiet = connection.state === "online" || age < bannerAfter && !["stopped", "unconnected"].includes(connection.state);
    if (isQuiet && connection.state !== "online") this.#bannerTimer = setTimeout(() => this.#model.changed(), bannerAfter - age + 10);
    const [alarmed] = this.#model.alarms.values();
    const look = JSON.stringify([isQuiet, connection, alarmed]);
    if (this.#banner.look === look) return;
    this.#banner.look = look;
    const parts = isQuiet ? [] : this.#words(connection);
    if (alarmed) {
      parts.push(el("p", {}, ...sentence(words.alarm, { name: this.#model.nameOf(alarmed.whisperId) })),
        button(words.close, () => { this.#model.alarms.delete(alarmed.whisperId); this.#model.changed(); }));
    }
    this.#banner.hidden = parts.length === 0;
    set(this.#banner, "data-loud", connection.state === "stopped" || alarmed ? true : null);
    this.#banner.replaceChildren(...parts);
  }

  /** @returns {Element[]} */
  #words(connection) {
    const connect = (label) => button(label, () => rpc("connect").then(() => this.#model.readAll()));
    switch (connection.state) {
      case "gone": return [el("p", {}, words.stopped)];
      case "unconnected": return [el("p", {}, words.notConnected), connect(words.connect)];
      case "stopped": return this.#wordsOfEnd(connection, connect);
      default: {
        const seconds = Math.ceil((connection.retryInMs ?? 0) / 1_000);
        return [el("p", {}, words.offline, seconds > 1 && el("span", { class: "soft" }, ` ${words.retry(seconds)}`))];
      }
    }
  }

  #wordsOfEnd({ reason, bannedUntil }, connect) {
    switch (reason) {
      case "replaced": return [el("p", {}, words.replaced), connect(words.useDevice)];
      case "banned": return [el("p", {}, words.banned(bannedUntil && new Date(bannedUntil).toLocaleString(undefined, { dateStyle: "long", timeStyle: "short" })))];
      case "storeFailed": return [el("p", {}, words.storeFailed), connect(words.tryAgain)];
      case "closed": return [el("p", {}, words.notConnected), connect(words.connect)];
      case "loginRefused": return [el("p", {}, words.loginRefused), connect(words.tryAgain)];
      case "erased": return [el("p", {}, words.ends.erased)];
      default: return /invitation/i.test(reason) ? [this.#invitation()] : [el("p", {}, words.ends[reason] ?? words.refused), connect(words.tryAgain)];
    }
  }

  #invitation() {
    const { box, input, refuse } = field(words.invitationField, { required: true });
    const submit = async (event) => {
      event.preventDefault();
      await rpc("connect", { invitation: input.value.trim() }).catch((error) => refuse(error.message));
    };
    return el("form", { novalidate: true, submit }, el("p", {}, words.invitation), box, el("button", { class: "main" }, words.next));
  }
}

const sign = (text, name) => el("span", { role: "img", "aria-label": name, title: name }, text);

/** The first letters of a name, on a colour of its own. */
export function picture(name) {
  const letters = name.replace(/^WSP-/, "").split(/\s+/).slice(0, 2).map((word) => [...word][0] ?? "").join("");
  const tone = [...name].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 6, 0);
  return el("span", { class: "picture", "data-tone": tone, "aria-hidden": "true" }, letters.toUpperCase());
}

function lastLine(row) {
  if (row.draft) return [el("em", {}, words.draft), " ", bdi(row.draft)];
  const { latest, note } = row;
  if (note?.kind === "call") return called(note);
  if (!latest) return "";
  const text = { text: gist(latest), deleted: words.deleted, unreadable: words.unreadable }[latest.kind] ?? words.other;
  if (latest.direction === "in") return bdi(text);
  const [mark, name] = words.states[latest.state] ?? ["", ""];
  return [el("span", { class: "state", "data-state": latest.state, role: "img", "aria-label": name }, mark), " ", bdi(text)];
}

