// What the window knows: the chats, the messages of the open one, and the connection. The core has everything else.
import { lastly, rpc } from "./door.js";

const pageSize = 50;
/** Messages in the document; beyond it the far end goes, in whole pages. */
const messagesMax = 200;
/** Chats of one page of the list, and pages that are read. */
const listSize = 200;
const listPagesMax = 25;
/** The list is read once for many events. */
const listPause = 100;
const draftPause = 400;
/** As the core has it: somebody silent for so long has stopped. */
const typingFor = 6_000;

/** Names and texts of others move no text of ours. */
export const invisible = /[\p{Cc}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

/** @param {any} message */
export const keyOf = (message) => `${message.direction} ${message.chat} ${message.messageId}`;
export const chatOf = (message) => message.groupId ?? message.chat;

/** A caller meanwhile gets the next reading. @param {() => Promise<void>} read @returns {() => Promise<void>} */
export function oneAtATime(read) {
  let reading = Promise.resolve();
  let next;
  return () => {
    next ??= reading.then(() => {
      next = undefined;
      const now = read();
      reading = now.catch(() => {});
      return now;
    });
    return next;
  };
}

export class Model {
  /** @type {{hasIdentity: boolean, whisperId?: string, likelyId?: string}} */
  me = { hasIdentity: true };
  /** @type {any[]} */
  chats = [];
  /** @type {any[]} rows of groups and contacts in which nobody has written */
  others = [];
  /** @type {Map<string, any>} */
  contacts = new Map();
  /** @type {Map<string, any>} also those that were left */
  groups = new Map();
  hasRead = false;
  /** @type {{state: string, reason?: string, retryInMs?: number, bannedUntil?: number, since: number}} */
  connection = { state: "connecting", since: Date.now() };
  /** @type {Open | null} */
  open = null;
  /** @type {Map<string, number>} who types, until when */
  typing = new Map();
  /** @type {Map<string, any>} */
  presence = new Map();
  /** How far files are, by the ids of their messages. @type {Map<string, number>} */
  progress = new Map();
  /** Keys that were refused, by the person. @type {Map<string, any>} */
  alarms = new Map();
  /** What was typed here, until the list has it. @type {Map<string, string>} */
  drafts = new Map();
  /** Somebody calls. */
  rings = false;
  /** Our part in a live conversation, in words. */
  live = "";
  #changed;
  #timer;
  /** No older list takes the place of a newer one. */
  readList = oneAtATime(() => this.#readList());
  /** Events about the connection so far. */
  #connections = 0;

  /** @param {() => void} changed */
  constructor(changed) {
    this.#changed = changed;
  }

  changed() {
    this.#changed();
  }

  row(chat) {
    return this.chats.find((row) => row.chat === chat);
  }

  /** Without signs that nobody sees. */
  nameOf(chat) {
    const name = this.row(chat)?.name ?? this.contacts.get(chat)?.name ?? (this.groups.get(chat)?.title || chat);
    return name?.replace(invisible, "") || chat;
  }

  get unread() {
    return this.chats.reduce((sum, row) => sum + (row.isMuted ? 0 : row.unread), 0);
  }

  async readAll() {
    this.me = await rpc("identity_show");
    await this.readStatus();
    await Promise.all([this.readList(), this.#readPresence(), this.open?.readAgain()]);
  }

  /** Events that come meanwhile are newer. */
  async #readPresence() {
    this.typing.clear();
    this.presence.clear();
    for (let bounds = {}; bounds;) {
      const { presences } = await rpc("presence_list", { limit: listSize, ...bounds });
      for (const each of presences) if (!this.presence.has(each.whisperId)) this.presence.set(each.whisperId, each);
      bounds = presences.length === listSize && { after: presences.at(-1).whisperId };
    }
  }

  async readStatus() {
    const count = this.#connections;
    const status = await rpc("session_status");
    // An event that came meanwhile is newer.
    if (count !== this.#connections) return;
    const state = status.isOnline ? "online" : status.isConnecting ? "connecting" : "unconnected";
    if (state !== this.connection.state) this.connection = { state, since: Date.now() };
    if (status.isBanned && !status.isOnline) {
      this.connection = { state: "stopped", reason: "banned", bannedUntil: status.bannedUntil, since: Date.now() };
    }
    this.changed();
  }

  /** Reads the list soon. */
  readListSoon() {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.readList().catch(() => {});
    }, listPause);
  }

  async #readList() {
    const [chats, { contacts }, { groups }] = await Promise.all([this.#readChats(), rpc("contact_list"), rpc("group_list")]);
    const pinned = (row) => (row.isPinned ? 0 : 1);
    for (const { chat, draft } of chats) if (this.drafts.get(chat) === (draft ?? "")) this.drafts.delete(chat);
    this.chats = chats.sort((a, b) => pinned(a) - pinned(b));
    this.contacts = new Map(contacts.map((contact) => [contact.whisperId, contact]));
    this.groups = new Map(groups.map((group) => [group.groupId, group]));
    const known = new Set(chats.map((row) => row.chat));
    this.others = [
      ...groups.filter(({ isMember }) => isMember).map(({ groupId, title }) => ({ chat: groupId, kind: "group", name: title, unread: 0 })),
      ...contacts.map((contact) => ({ ...contact, chat: contact.whisperId, kind: "person", unread: 0 })),
    ].filter(({ chat }) => !known.has(chat));
    this.hasRead = true;
    this.changed();
  }

  /** A chat that moves to the front between two pages comes with the next reading. */
  async #readChats() {
    const chats = new Map();
    let bounds = {};
    for (let count = 0; bounds && count < listPagesMax; count += 1) {
      const page = await rpc("chat_list", { limit: listSize, ...bounds });
      for (const row of page.chats) if (!chats.has(row.chat)) chats.set(row.chat, row);
      bounds = page.cursor && { cursor: page.cursor };
    }
    return [...chats.values()];
  }

  /** @param {any} event */
  take(event) {
    switch (event.type) {
      case "connection":
        this.#connections += 1;
        if (event.state === "online") rpc("identity_show").then((me) => { this.me = me; this.changed(); }, () => {});
        if (event.state !== "online") {
          this.presence.clear();
          this.typing.clear();
        }
        // The time of the first loss counts: attempts in between are part of it.
        this.connection = { ...event, since: this.connection.state === "online" || event.state === "online" ? Date.now() : this.connection.since };
        break;
      case "messageReceived":
        this.typing.delete(event.message.chat);
        this.readListSoon();
        if (chatOf(event.message) === this.open?.chat) this.open.readNewer().catch(() => {});
        break;
      case "fileProgress":
        this.progress.set(event.messageId, event.bytes / event.total);
        break;
      case "messageChanged":
        this.progress.delete(event.message.messageId);
        this.readListSoon();
        if (chatOf(event.message) === this.open?.chat) this.open.take(event.message);
        break;
      case "timerChanged":
        if (event.chat === this.open?.chat) this.open.time(event).catch(() => {});
        break;
      case "callNoted":
        this.readListSoon();
        if (event.chat === this.open?.chat) this.open.note(event.note);
        break;
      case "messagesExpired":
        this.readListSoon();
        if (event.chat === this.open?.chat) this.open.forget(event.messages);
        break;
      case "typing":
        if (event.isTyping) {
          this.typing.set(event.chat, Date.now() + typingFor);
          setTimeout(() => this.#endTyping(event.chat), typingFor + 50);
        } else {
          this.typing.delete(event.chat);
        }
        break;
      case "presence":
        this.presence.set(event.whisperId, event);
        break;
      case "alarm":
        if (event.kind.endsWith("Keys")) this.alarms.set(event.whisperId, event);
        break;
      case "eventsLost":
        this.readAll().catch(() => {});
        break;
      case "contactChanged":
      case "requestReceived":
      case "groupChanged":
        if (event.group && event.group.groupId === this.open?.chat) this.open.readNotes().catch(() => {});
        // falls through
      case "chatChanged":
      case "backup":
        this.readListSoon();
    }
    this.changed();
  }

  #endTyping(chat) {
    if ((this.typing.get(chat) ?? 0) > Date.now()) return;
    this.typing.delete(chat);
    this.changed();
  }
}

const noteKey = ({ number, from, seconds, kind, time, members, title }) => JSON.stringify([kind, number, from, seconds, time, members, title]);

/** The open chat: a part of its messages without a gap. Reads are done one after the other. */
export class Open {
  /** @type {any[]} */
  messages = [];
  hasOlder = false;
  hasNewer = false;
  hasRead = false;
  /** Seconds after which new messages disappear; 0 if they stay. */
  timer = 0;
  /** Changes of the timer and the group, and calls, each behind the message of its number. @type {any[]} */
  notes = [];
  /** Where reading had ended when the chat was opened. @type {number | undefined} */
  firstUnread;
  /** Messages that came while the end was not in sight. */
  unseen = 0;
  #model;
  #turn = Promise.resolve();
  #isReading = false;
  /** Messages that have changed during a read. @type {Map<string, any>} */
  #stale = new Map();
  /** Numbers of messages that have disappeared during a read. @type {Set<number>} */
  #gone = new Set();
  /** Calls noted during a read. @type {any[]} */
  #noted = [];
  /** Changes of the timer so far. */
  #timers = 0;
  #draftTimer;
  /** The draft that the daemon was told last. */
  #told;
  /** What is being sent, or was not sent, and its id. */
  #sending = "";
  #clientId = "";
  /** The number of the newest message that the daemon was told is read. */
  #readTo = 0;

  /** @param {Model} model @param {string} chat @param {number} [wanted] the number of a message */
  constructor(model, chat, wanted) {
    this.chat = chat;
    this.#model = model;
    const row = model.row(chat);
    this.firstUnread = row?.firstUnread;
    this.wanted = wanted;
    this.#told = row?.draft ?? "";
    this.draft = model.drafts.get(chat) ?? this.#told;
  }

  get row() {
    return this.#model.row(this.chat);
  }

  get isOpen() {
    return this.#model.open === this;
  }

  get isStranger() {
    return this.row?.isStranger ?? false;
  }

  /** The Whisper ID of a message's author. */
  authorOf(message) {
    return message.direction === "out" ? this.#model.me.whisperId : message.chat;
  }

  /** A message that is here, by its id and author. */
  find(messageId, author) {
    return this.messages.find((message) => message.messageId === messageId && this.authorOf(message) === author);
  }

  /** Where it was asked for, or reading ended, else the end. @param {number} [number] of a message */
  readFirst(number = this.firstUnread) {
    return this.#read(() => (number ? { around: number } : {}), (page) => this.#replace(page));
  }

  /** What is in sight, after events were missed. */
  readAgain() {
    let first;
    return this.#read(() => {
      first = this.messages[0]?.number;
      return first ? { after: first - 1, limit: messagesMax } : {};
    }, (page) => this.#replace(first ? { ...page, hasOlder: this.hasOlder } : page));
  }

  readOlder() {
    return this.#read(() => this.hasOlder && this.messages.length > 0 && { before: this.messages[0].number }, (page) => {
      this.messages.unshift(...page.messages);
      this.hasOlder = page.hasOlder;
      if (this.messages.length > messagesMax) {
        const [gone] = this.messages.splice(-pageSize);
        this.hasNewer = true;
        this.#trimNotes(gone.number);
      }
    });
  }

  /** @param {boolean} [all] also if the end is not here */
  readNewer(all = false) {
    return this.#read(() => (all || !this.hasNewer) && { after: this.messages.at(-1)?.number ?? 0 }, (page) => {
      // What came while the person was elsewhere begins behind a line.
      const first = page.messages.find(({ direction }) => direction === "in");
      if (first && !document.hasFocus() && !(this.firstUnread > this.#readTo)) this.firstUnread = first.number;
      this.messages.push(...page.messages);
      this.hasNewer = page.hasNewer;
      if (this.messages.length > messagesMax) {
        this.messages.splice(0, this.messages.length - messagesMax + pageSize);
        this.hasOlder = true;
        this.#trimNotes();
      }
    });
  }

  readEnd() {
    return this.#read(() => ({}), (page) => this.#replace(page));
  }

  #replace(page) {
    this.messages = page.messages;
    this.hasOlder = page.hasOlder;
    this.hasNewer = page.hasNewer;
  }

  /** @param {() => any} place the bounds at the time of the reading, if it is still wanted @param {(page: any) => void} use */
  #read(place, use) {
    const read = this.#turn.then(async () => {
      const bounds = place();
      if (!bounds) return;
      this.#isReading = true;
      const timers = this.#timers;
      try {
        const page = await rpc("chat_get", { chat: this.chat, limit: pageSize, ...bounds });
        if (timers === this.#timers) this.timer = page.timer ?? 0;
        if (bounds.after === undefined && bounds.before === undefined) this.notes = [];
        const known = new Set(this.notes.map(noteKey));
        this.notes.push(...(page.notes ?? []).filter((note) => !known.has(noteKey(note))));
        use({ ...page, messages: page.messages.filter(({ number }) => !this.#gone.has(number)) });
        this.hasRead = true;
      } finally {
        // The page may be older than events that came meanwhile. Events come in their order, so that the newest stays.
        this.#isReading = false;
        this.#gone.clear();
        for (const message of this.#stale.values()) this.#put(message);
        this.#stale.clear();
        for (const note of this.#noted.splice(0)) this.note(note);
        this.#model.changed();
      }
    });
    this.#turn = read.catch(() => {});
    return read;
  }

  /** A message has changed. */
  take(message) {
    if (this.#isReading) this.#stale.set(keyOf(message), message);
    else this.#put(message);
  }

  /** Somebody has set the timer. The core knows where that stands. */
  time({ seconds }) {
    this.timer = seconds;
    this.#timers += 1;
    return this.readNotes();
  }

  /** What happened behind the latest message. */
  readNotes() {
    return this.#read(() => !this.hasNewer && { after: (this.messages.at(-1)?.number ?? 1) - 1, limit: 1 }, () => {});
  }

  /** Something happened behind the latest message. */
  note(note) {
    if (this.#isReading) this.#noted.push(note);
    else if (!this.hasNewer && !this.notes.some((each) => noteKey(each) === noteKey(note))) this.notes.push(note);
  }

  /** Notes go with the messages around them. */
  #trimNotes(firstGone = Infinity) {
    const first = this.hasOlder ? this.messages[0]?.number ?? 0 : 0;
    this.notes = this.notes.filter(({ number }) => number >= first && number < firstGone);
  }

  /** The time of these messages is over. @param {{number: number}[]} messages */
  forget(messages) {
    const numbers = new Set(messages.map(({ number }) => number));
    this.messages = this.messages.filter(({ number }) => !numbers.has(number));
    if (this.#isReading) numbers.forEach((number) => this.#gone.add(number));
  }

  #put(message) {
    const place = this.messages.findIndex((each) => keyOf(each) === keyOf(message));
    if (place < 0) return;
    this.messages[place] = { ...message, number: this.messages[place].number };
  }

  /** Marks what is in sight as read. Strangers are told nothing. */
  async markRead() {
    const last = this.messages.at(-1);
    if (!last || this.isStranger || last.number <= this.#readTo || !this.messages.some(({ isRead }) => isRead === false)) return;
    const before = this.#readTo;
    this.#readTo = last.number;
    try {
      await rpc("chat_read", { chat: this.chat, upTo: last.number });
    } catch (error) {
      this.#readTo = before;
      throw error;
    }
  }

  /** Sends, once: the same text after a break has the same id. @param {string} text @param {any} [answered] a message */
  async send(text, answered) {
    const sending = JSON.stringify([text, answered?.messageId]);
    if (sending !== this.#sending) [this.#sending, this.#clientId] = [sending, crypto.randomUUID()];
    clearTimeout(this.#draftTimer);
    const reply = answered ? { replyTo: answered.messageId, replyFrom: this.authorOf(answered) } : {};
    await rpc("message_send", { to: this.chat, text, clientId: this.#clientId, ...reply });
    this.#sending = "";
    // The composer was emptied, and may have other text by now.
    this.flushDraft();
    // It is sent, whatever becomes of the reading.
    await this.wrote().catch(() => {});
  }

  /** Sends a file that the daemon has. @param {any} fields of `attachment_send` */
  async attach(fields) {
    await rpc("attachment_send", { chat: this.chat, clientId: crypto.randomUUID(), ...fields });
    // It is sent, whatever becomes of the reading.
    await this.wrote().catch(() => {});
  }

  /** A message of ours is on its way. */
  wrote() {
    this.firstUnread = undefined;
    this.#model.readListSoon();
    return this.hasNewer ? this.readEnd() : this.readNewer();
  }

  /** @param {string} text */
  keepDraft(text) {
    this.draft = text;
    this.#model.drafts.set(this.chat, text);
    clearTimeout(this.#draftTimer);
    this.#draftTimer = setTimeout(() => this.flushDraft(), draftPause);
  }

  flushDraft() {
    clearTimeout(this.#draftTimer);
    if (this.draft === this.#told) return;
    this.#told = this.draft;
    return lastly("chat_draft", { chat: this.chat, text: this.draft }).catch(() => { this.#told = undefined; });
  }
}
