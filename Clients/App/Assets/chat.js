// One chat: its messages as a feed, and the composer.
import * as actions from "./actions.js";
import { rpc } from "./door.js";
import { invisible, keyOf } from "./model.js";
import { called, dayOf, gist, sameDay, timeOf, timeSpan, wholeTime, words } from "./text.js";
import { bdi, button, el, keyed, say, sentence, set, signButton, write } from "./view.js";

/** One author within so long is one group. */
const groupFor = 300_000;
const textBytesMax = 8_000;
const countedFrom = 7_500;
/** From here on the end is in sight. */
const endWithin = 48;
/** More news than these in a second are counted, not read out. */
const toldMax = 3;

/** A group behind the first page of them. */
const unlisted = { isMember: true, members: 0 };

/** Files have a module of their own, loaded with the first of them. @type {typeof import("./files.js") | undefined} */
let filing;
/** And so have polls. @type {typeof import("./polls.js") | undefined} */
let polls;

const bytesOf = (text) => new TextEncoder().encode(text).length;

export class ChatView {
  #model;
  #open;
  #pane;
  #feed;
  #scroll;
  #composer;
  #text;
  #count;
  #fault;
  #title;
  #status;
  #end;
  #bar;
  #isAtEnd = true;
  #isPlaced = false;
  #isSending = false;
  #told = [];
  /** The message that is answered or edited. @type {{message: any, isEdit: boolean} | null} */
  #about = null;
  #context;
  #act;
  #none;
  /** What happened before the first message. */
  #early;
  #shownTo = 0;
  #files;
  #picker;

  #calls;

  /** @param {import("./model.js").Model} model @param {import("./model.js").Open} open @param {() => void} back @param {(isVideo: boolean) => void} call */
  constructor(model, open, pane, back, call) {
    [this.#model, this.#open, this.#pane] = [model, open, pane];
    this.#title = el("span", { class: "title" });
    this.#status = el("span", { class: "status", role: "status" });
    this.#feed = el("div", { role: "feed", class: "feed", keydown: (event) => this.#keyInFeed(event), mouseover: (event) => this.#offer(event), focusin: (event) => this.#offer(event), "aria-busy": "false" });
    this.#act = signButton("more", words.actions, () => this.#openMenu(this.#act.closest("article")), { class: "sign act", "aria-haspopup": "dialog" });
    this.#none = el("p", { class: "none", hidden: true }, words.noMessages);
    this.#early = el("div");
    this.#scroll = el("div", { class: "scroll", scroll: () => this.#scrolled() }, this.#none, this.#early, this.#feed);
    new ResizeObserver(() => {
      if (this.#isAtEnd) this.#scroll.scrollTop = this.#scroll.scrollHeight;
    }).observe(this.#scroll);
    this.#end = signButton("down", words.toEnd(0), () => this.#toEnd().catch((error) => this.#refuse(error.message)), { class: "sign to-end", hidden: true });
    this.#end.append(el("span", { "aria-hidden": "true" }));
    this.#bar = el("div", { class: "bar" });
    this.#calls = ["phone", "video"].map((sign) => signButton(sign, words.call[sign], () => call(sign === "video"), { id: sign, hidden: true }));
    this.#buildComposer();
    const about = async () => {
      if (this.#group) (await import("./groups.js")).group(model, open.chat, back);
      else if (!this.#open.isStranger) (await import("./about.js")).person(model, open.chat, back);
    };
    pane.replaceChildren(
      el("header", {}, signButton("back", words.backToChats, back, { class: "sign back" }),
        el("h1", {}, el("button", { type: "button", class: "who", click: about }, this.#title, this.#status)), this.#calls),
      el("div", { class: "middle" }, this.#scroll, this.#end), this.#bar, this.#composer);
    open.readFirst(open.wanted ?? open.firstUnread).catch((error) => this.#refuse(error.message));
  }

  /** What is known of the group, if it is one. */
  get #group() {
    return this.#model.groups.get(this.#open.chat) ?? (this.#open.row?.kind === "group" ? unlisted : undefined);
  }

  #buildComposer() {
    this.#text = el("textarea", {
      id: "text", rows: 1, autocomplete: "off", enterkeyhint: "enter", "aria-describedby": "text-fault",
      input: () => this.#typed(), keydown: (event) => this.#keyInComposer(event),
      paste: (event) => this.take(event.clipboardData) && event.preventDefault(),
    });
    this.#text.value = this.#open.draft;
    this.#count = el("p", { class: "hint", hidden: true });
    this.#fault = el("p", { class: "fault", id: "text-fault", role: "alert" });
    this.#context = el("div", { class: "context", hidden: true });
    this.#picker = el("input", { type: "file", multiple: true, hidden: true, id: "picker", "aria-label": words.attach, change: () => {
      this.#offerFiles([...this.#picker.files]);
      this.#picker.value = "";
    } });
    const submit = (event) => {
      event.preventDefault();
      this.#send();
    };
    this.#composer = el(
      "form", { class: "composer", submit }, this.#context, this.#fault, this.#count,
      el("div", {}, this.#picker, signButton("attach", words.attach, () => this.pick(), { id: "attach", "aria-keyshortcuts": "Alt+Shift+A" }), this.#text,
        signButton("mic", words.voiceNote, () => this.#record(), { id: "voice" }), signButton("send", words.send, () => this.#send(), { class: "sign main", id: "send" })));
  }

  close() {
    this.#open.flushDraft();
    this.#typing(false);
    this.#files?.draw([]);
  }

  /** @param {string} [place] */
  focus(place = "composer") {
    if (place === "messages") (this.#feed.querySelector("[tabindex='0']") ?? this.#feed.lastElementChild)?.focus();
    else if (!this.#composer.hidden) this.#text.focus({ preventScroll: true });
    else this.#pane.querySelector("button")?.focus();
  }

  /** Back to the composer first. @returns {boolean} whether that was something to do */
  escape() {
    if (this.#about) {
      this.#write(null);
      return true;
    }
    if (!this.#feed.contains(document.activeElement)) return false;
    this.focus();
    return true;
  }

  // MARK: Drawing

  draw() {
    const { row, chat } = this.#open;
    const name = this.#model.nameOf(chat);
    const contact = this.#model.contacts.get(chat);
    const look = JSON.stringify([name, contact?.isVerified]);
    if (this.#title.look !== look) {
      this.#title.look = look;
      this.#title.replaceChildren(bdi(name), contact?.isVerified ? el("span", { class: "mark", title: words.verified }, "✓") : "");
      set(this.#feed, "aria-label", words.messagesWith.replace("{name}", name));
      set(this.#text, "aria-label", words.writeTo(name));
      set(this.#text, "placeholder", words.writeTo(name));
    }
    const presence = this.#model.presence.get(chat);
    const status = this.#model.typing.has(chat) ? words.typing : this.#group ? words.members(this.#group.members) : presence?.status === "online" ? words.here : "";
    const { timer } = this.#open;
    write(this.#status, timer ? [status, words.disappear(timeSpan(timer))].filter(Boolean).join(" · ") : status);
    this.#drawBar(row, contact);
    this.#drawMessages();
    this.#read();
  }

  #drawBar(row, contact) {
    const newcomers = this.#group?.isMember ? this.#group.newcomers ?? [] : [];
    const what = row?.isStranger ? "stranger" : this.#group && !this.#group.isMember ? "left" : newcomers.length > 0 ? "newcomers" : row?.isBlocked ? "blocked" : contact?.isBanned ? "banned" : contact?.isGone ? "gone" : "";
    this.#composer.hidden = !["", "newcomers"].includes(what);
    for (const each of this.#calls) each.hidden = Boolean(this.#group || what);
    const look = `${what} ${newcomers}`;
    if (this.#bar.look === look) return;
    this.#bar.look = look;
    const whisperId = this.#open.chat;
    const order = (verb) => async () => {
      await rpc(verb, { whisperId });
      await this.#model.readList();
    };
    const bars = {
      stranger: () => [el("p", {}, words.stranger), el("p", { class: "code" }, whisperId), el("div", { class: "buttons" },
        button(words.accept, order("request_accept"), { class: "main", id: "accept" }),
        button(words.reject, () => order("request_reject")().then(() => this.#open.isOpen && this.#pane.querySelector(".back").click())),
        button(words.block, order("contact_block")),
        button(words.blockAndReport, async () => {
          const latest = this.#open.messages.findLast(({ direction }) => direction === "in");
          (await import("./about.js")).report(this.#model, whisperId, latest?.messageId, order("contact_block"));
        }, { id: "block-and-report" }))],
      left: () => [el("p", {}, words.left)],
      // A server that lies about members reads nothing before a person has seen them.
      newcomers: () => [
        el("p", {}, ...sentence(words.newcomers, { names: newcomers.map((each) => this.#model.nameOf(each)).join(", ") })),
        button(words.admit, async () => {
          await rpc("group_admit", { groupId: this.#open.chat, members: newcomers, isAgreed: true });
          await this.#model.readList();
        }, { id: "admit" })],
      blocked: () => [el("p", {}, words.blockedText), button(words.unblock, order("contact_unblock"))],
      banned: () => [el("p", {}, words.bannedText)],
      gone: () => [el("p", {}, words.gone)],
    };
    this.#bar.replaceChildren(...(bars[what]?.() ?? []));
  }

  #drawMessages() {
    const { messages, hasRead, firstUnread } = this.#open;
    if (!hasRead) return;
    const anchor = this.#isAtEnd && this.#isPlaced ? null : this.#anchor();
    const lastOwn = messages.findLast(({ direction }) => direction === "out");
    const rows = messages.map((message, place) => {
      const before = messages[place - 1];
      const isNewDay = !before || !sameDay(before.time, message.time);
      const isFirstNew = message.number === firstUnread;
      const isFirst = isNewDay || isFirstNew || authorOf(before) !== authorOf(message) || message.time - before.time > groupFor;
      const notes = this.#open.notes.filter(({ number }) => number >= message.number && !(number >= messages[place + 1]?.number));
      return { message, isNewDay, isFirstNew, isFirst, isLastOwn: message === lastOwn, notes };
    });
    const items = rows.map((row) => ({ key: keyOf(row.message), ...row }));
    keyed(this.#feed, items, ({ key }) => key, () => el("article", { tabindex: -1, "aria-setsize": -1 }), (element, item) => this.#update(element, item));
    this.#files?.draw(messages);
    const early = this.#open.notes.filter(({ number }) => !(number >= messages[0]?.number));
    const look = JSON.stringify(early);
    if (this.#early.look !== look) {
      this.#early.look = look;
      this.#early.replaceChildren(...early.map((note) => this.#event(note)));
    }
    this.#none.hidden = items.length + early.length > 0;
    this.#feed.hidden = items.length === 0;
    this.#keepTabStop();
    this.#place(anchor);
  }

  #update(element, item) {
    const { message } = item;
    set(element, "aria-posinset", this.#open.messages.indexOf(message) + 1);
    const answered = message.replyTo && this.#open.find(message.replyTo, message.replyFrom);
    const look = JSON.stringify([message, item.isFirst, item.isLastOwn, item.isNewDay && dayOf(message.time), item.isFirstNew, item.notes, this.#model.nameOf(message.chat), answered?.text, message.attachment && Boolean(this.#files), message.poll && Boolean(polls)]);
    if (element.look === look) return;
    element.look = look;
    const { activeElement } = document;
    const choice = element.contains(activeElement) && activeElement.dataset.choice;
    set(element, "data-direction", message.direction);
    set(element, "data-first", item.isFirst);
    set(element, "data-state", message.state);
    element.replaceChildren(
      item.isNewDay ? el("h2", { class: "day" }, dayOf(message.time)) : "",
      item.isFirstNew ? el("p", { class: "new" }, words.newMessages) : "",
      el("div", { class: "bubble" }, ...this.#parts(message, item)),
      ...item.notes.map((note) => this.#event(note)));
    if (choice) element.querySelector(`[data-choice="${choice}"]`)?.focus();
  }

  #event(note) {
    return el("p", { class: "event" }, ...this.#happened(note));
  }

  /** A change of the timer or of the group, or a call, as a sentence. */
  #happened(note) {
    if (note.kind === "call") {
      return [el("time", { datetime: new Date(note.time).toISOString() }, wholeTime(note.time)), ` · ${called(note, note.from === this.#model.me.whisperId)}`];
    }
    const { from, seconds, members, title } = note;
    const isOurs = from === this.#model.me.whisperId;
    if (members || title) {
      const whose = !from ? "none" : members?.every((each) => each === from) ? "self" : isOurs ? "own" : "theirs";
      const name = from && this.#model.nameOf(from);
      const more = note.count > members?.length ? words.groupNotes.andMore(note.count - members.length) : "";
      const people = (members ?? []).map((id) => (id !== this.#model.me.whisperId ? this.#model.nameOf(id) : whose === "self" || !from ? words.you.replace(":", "") : words.object));
      return sentence(words.groupNotes[note.kind][whose], { name, people: people.join(", ") + more, title });
    }
    const text = words.timerSet[isOurs ? "own" : "theirs"][seconds ? "on" : "off"];
    return sentence(text, { name: this.#model.nameOf(from), time: timeSpan(seconds) });
  }

  /** Author, text, edited, time, state: in the order in which they are read out. */
  #parts(message, { isLastOwn }) {
    const isOwn = message.direction === "out";
    const author = isOwn ? words.you : `${this.#model.nameOf(message.chat)}:`;
    const body = this.#body(message);
    const [mark, name] = words.states[message.state] ?? [];
    const isShown = isLastOwn || message.failedMembers || ["expired", "failed"].includes(message.state);
    return [
      el("span", { class: !isOwn && message.groupId ? "author" : "unseen" }, bdi(author)), " ", message.replyTo ? this.#quote(message) : "", body, " ",
      el("footer", {},
        message.isEdited && el("span", {}, words.edited), " ",
        el("time", { datetime: new Date(message.time).toISOString(), title: wholeTime(message.time) }, timeOf(message.time)), " ",
        isOwn && mark && el("span", { class: "state", "data-state": message.state, role: "img", "aria-label": name }, mark)),
      message.reactions ? this.#reactions(message.reactions) : "",
      isOwn && isShown && name ? el("p", { class: "outcome" }, this.#outcome(message, name)) : "",
    ].filter((part) => part !== false);
  }

  #body(message) {
    switch (message.kind) {
      case "text": {
        if (message.poll) return [el("p", { class: "text", dir: "auto" }, ...linked(message.text)), this.#poll(message)];
        if (message.attachment) return [this.#file(message), message.text && el("p", { class: "text", dir: "auto" }, ...linked(message.text))];
        const isEmoji = /^(\p{RGI_Emoji}){1,3}$/v.test(message.text);
        return el("p", { class: isEmoji ? "text emoji" : "text", dir: "auto" }, ...linked(message.text));
      }
      case "deleted": return el("p", { class: "note" }, words.deleted);
      case "unreadable": return el("p", { class: "note" }, words.unreadable);
      default: return el("p", { class: "note" }, words.other);
    }
  }

  #poll(message) {
    if (!polls) {
      import("./polls.js").then((module) => {
        polls = module;
        this.#model.changed();
      }, () => {});
      return "";
    }
    return polls.answers(message, { chat: this.#open.chat, me: this.#model.me.whisperId, nameOf: (id) => this.#model.nameOf(id), refuse: (error) => this.#refuse(error.message) });
  }

  #file(message) {
    if (this.#files) return this.#files.element(message);
    this.#filing().then(() => this.#model.changed(), () => {});
    return el("p", { class: "note" }, gist({ ...message, text: "" }));
  }

  async #filing() {
    filing ??= await import("./files.js");
    this.#files ??= new filing.Files(this.#model, this.#open);
    return filing;
  }

  #quote(message) {
    const answered = this.#open.find(message.replyTo, message.replyFrom);
    const jump = () => this.#jump(message.replyTo, message.replyFrom).catch((error) => this.#refuse(error.code === "notFound" ? words.notHere : error.message));
    const text = !answered ? words.earlier : answered.kind === "text" ? gist(answered) : words.deleted;
    return el("button", { type: "button", class: "quote", click: jump }, el("span", { class: "unseen" }, `${words.inReply} `), bdi(text));
  }

  /** Shows a message of this chat, which may stand far from what is here. */
  async #jump(messageId, author) {
    const open = this.#open;
    if (!open.find(messageId, author)) {
      const { message } = await rpc("message_info", { messageId, ...(author !== this.#model.me.whisperId && { from: author }) });
      // A quote is its writer's word.
      if ((message.groupId ?? message.chat) !== open.chat) throw new Error(words.notHere);
      await open.readFirst(message.number);
      if (open !== this.#model.open) return;
      open.wanted = message.number;
      this.#isPlaced = false;
      this.#drawMessages();
    }
    const answered = open.find(messageId, author);
    if (!answered) throw new Error(words.notHere);
    const target = this.#feed.querySelector(`[data-key="${CSS.escape(keyOf(answered))}"]`);
    target?.scrollIntoView({ block: "center" });
    target?.focus({ preventScroll: true });
  }

  #reactions(all) {
    const byText = Map.groupBy(all, ({ reaction }) => reaction);
    const nameOf = ({ from }) => (from === this.#model.me.whisperId ? words.you.replace(":", "") : this.#model.nameOf(from));
    return el("p", { class: "reactions" }, [...byText].map(([reaction, each]) => {
      const label = words.reactionOf(reaction, each.map(nameOf));
      return el("span", { role: "img", "aria-label": label, title: label }, reaction, each.length > 1 && ` ${each.length}`);
    }));
  }

  #outcome(message, name) {
    if (message.state === "expired") {
      return [...sentence(words.expired, { name: this.#model.nameOf(this.#open.chat) }), " ", !message.attachment && button(words.sendAgain, () => this.#again(message))];
    }
    if (message.state !== "failed" && message.failedMembers) return `${name} · ${words.notForAll(message.failedMembers)}`;
    if (message.state !== "failed") return el("span", { "aria-hidden": "true" }, name);
    const retry = button(words.tryAgain, () => rpc("message_retry", { chat: this.#open.chat }).catch((error) => this.#refuse(error.message)));
    return [name, ": ", words.reasons[message.reason] ?? message.reason, " ", message.reason !== "cancelled" && retry];
  }

  #again(message) {
    this.#open.send(message.text).catch((error) => this.#refuse(error.message));
  }

  // MARK: Place

  /** The message nearest to the middle, and where it is: it does not move when others come or go. */
  #anchor() {
    const { top, height } = this.#scroll.getBoundingClientRect();
    let best = null;
    for (const element of this.#feed.querySelectorAll("article")) {
      const place = element.getBoundingClientRect().top - top;
      if (!best || Math.abs(place - height / 2) < Math.abs(best.place - height / 2)) best = { element, place };
    }
    return best;
  }

  #place(anchor) {
    if (!this.#isPlaced) {
      this.#isPlaced = true;
      const wanted = this.#open.messages.find(({ number }) => number === this.#open.wanted);
      const start = wanted ? this.#feed.querySelector(`[data-key="${CSS.escape(keyOf(wanted))}"]`) : this.#feed.querySelector(".new");
      if (wanted) set(start, "data-found", true);
      if (start) start.scrollIntoView({ block: "center" });
      else this.#scroll.scrollTop = this.#scroll.scrollHeight;
      return this.#scrolled();
    }
    if (!anchor) this.#scroll.scrollTop = this.#scroll.scrollHeight;
    else if (anchor.element.isConnected) {
      const { top } = this.#scroll.getBoundingClientRect();
      const moved = anchor.element.getBoundingClientRect().top - top - anchor.place;
      if (Math.abs(moved) >= 1) this.#scroll.scrollTop += moved;
    }
    // A short chat never scrolls, and may be at its end all the same.
    this.#scrolled();
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroll;
    this.#isAtEnd = scrollHeight - scrollTop - clientHeight <= endWithin && !this.#open.hasNewer;
    if (this.#isAtEnd) this.#open.unseen = 0;
    if (scrollTop < clientHeight && this.#open.hasOlder) this.#load("readOlder");
    else if (scrollHeight - scrollTop - clientHeight < clientHeight && this.#open.hasNewer) this.#load("readNewer");
    this.#drawEnd();
    this.#read();
  }

  #isLoading = false;

  async #load(what) {
    if (this.#isLoading) return;
    this.#isLoading = true;
    set(this.#feed, "aria-busy", "true");
    await this.#open[what](true).catch((error) => this.#refuse(error.message));
    set(this.#feed, "aria-busy", "false");
    this.#isLoading = false;
  }

  #drawEnd() {
    this.#end.hidden = this.#isAtEnd;
    const { unseen } = this.#open;
    set(this.#end, "aria-label", words.toEnd(unseen));
    this.#end.lastElementChild.textContent = unseen > 0 ? unseen : "";
  }

  async #toEnd() {
    if (this.#open.hasNewer) await this.#open.readEnd();
    if (!this.#open.isOpen) return;
    this.#isAtEnd = true;
    this.#scroll.scrollTop = this.#scroll.scrollHeight;
    this.#scrolled();
    this.focus();
  }

  /** A person has the window before them, and the end in sight. */
  #read() {
    if (!this.#isPlaced || !this.#isAtEnd || document.hidden || !document.hasFocus()) return;
    this.#open.markRead().catch(() => {});
  }

  /** A message came: said to screen readers if it belongs here. */
  told(message) {
    if ((message.groupId ?? message.chat) !== this.#open.chat) return;
    if (!this.#isAtEnd) this.#open.unseen += 1;
    this.#told.push(`${this.#model.nameOf(message.chat)}: ${message.kind === "text" ? gist(message) : words.other}`);
    if (this.#told.length > 1) return;
    setTimeout(() => {
      const news = this.#told.splice(0);
      if (news.length > toldMax) say(`${words.several(news.length)}: ${this.#model.nameOf(this.#open.chat)}`);
      else news.forEach(say);
    }, 1_000);
  }

  // MARK: Actions

  get #orders() {
    return {
      me: this.#model.me.whisperId, reply: (message) => this.#write({ message, isEdit: false }),
      edit: (message) => this.#write({ message, isEdit: true }), model: this.#model, refuse: (error) => this.#refuse(error.message),
      isClosed: this.#composer.hidden,
    };
  }

  /** One button serves all messages: it stands in the one that has the pointer or the focus. */
  #offer({ target }) {
    const article = target.closest("article");
    const bubble = article?.querySelector(".bubble");
    if (bubble && this.#act.parentElement !== bubble) bubble.append(this.#act);
  }

  #messageOf(article) {
    return this.#open.messages.find((message) => keyOf(message) === article?.dataset.key);
  }

  #openMenu(article) {
    const message = this.#messageOf(article);
    article?.focus();
    if (message) actions.open(message, this.#open.chat, this.#orders);
  }

  /** Begins an answer or an edit, or ends it. */
  #write(about) {
    const wasEdit = this.#about?.isEdit;
    this.#about = about;
    this.#context.hidden = !about;
    if (about?.isEdit) this.#text.value = about.message.text;
    else if (wasEdit) this.#text.value = this.#open.draft;
    if (about) {
      const name = this.#model.nameOf(about.message.chat);
      const label = about.isEdit ? [words.editing] : about.message.direction === "out" ? [words.reply] : sentence(words.replyTo, { name });
      this.#context.replaceChildren(el("p", {}, el("strong", {}, ...label), " ", bdi(gist(about.message))), signButton("close", words.cancel, () => this.#write(null)));
    }
    this.focus();
  }

  // MARK: Keys

  #keepTabStop() {
    const articles = [...this.#feed.querySelectorAll("article")];
    const stop = articles.find((article) => article === document.activeElement) ?? articles.at(-1);
    for (const article of articles) set(article, "tabindex", article === stop ? 0 : -1);
  }

  /** @param {KeyboardEvent} event */
  #keyInFeed(event) {
    const article = event.target.closest("article");
    if (!article || event.altKey || event.ctrlKey || event.metaKey) return;
    const articles = [...this.#feed.querySelectorAll("article")];
    const here = articles.indexOf(article);
    const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -5, PageDown: 5, Home: -here, End: articles.length - 1 - here };
    const step = steps[event.key];
    if (event.target === article && step === undefined) {
      if (actions.key(event, this.#messageOf(article), this.#open.chat, this.#orders)) event.preventDefault();
      return;
    }
    if (step === undefined) return;
    event.preventDefault();
    const next = articles[Math.max(0, Math.min(articles.length - 1, here + step))];
    set(article, "tabindex", -1);
    set(next, "tabindex", 0);
    next.focus();
  }

  /** @param {KeyboardEvent} event */
  #keyInComposer(event) {
    if (event.key === "ArrowUp" && this.#text.value === "") {
      const latest = this.#open.messages.findLast(({ direction, kind, attachment }) => direction === "out" && kind === "text" && !attachment);
      if (latest) this.#write({ message: latest, isEdit: true });
      return event.preventDefault();
    }
    if (event.key !== "Enter" || event.isComposing) return;
    if (event.shiftKey && !event.ctrlKey) return;
    event.preventDefault();
    this.#send();
  }

  // MARK: Files

  /** The person chooses files to send. */
  pick() {
    if (!this.#composer.hidden) this.#picker.click();
  }

  /** Files that were dropped or pasted. @param {DataTransfer} given @returns {boolean} whether there are any */
  take(given) {
    const items = [...given.items].filter(({ kind }) => kind === "file");
    if (items.length === 0 || this.#composer.hidden || given.types.includes("text/plain")) return false;
    const isFolder = (item) => item.webkitGetAsEntry?.()?.isDirectory;
    this.#offerFiles(items.filter((item) => !isFolder(item)).map((item) => item.getAsFile()), items.some(isFolder));
    return true;
  }

  async #offerFiles(files, hasFolder = false) {
    if (files.length === 0 && !hasFolder) return;
    this.#isAtEnd = true;
    await (await this.#filing()).offer(this.#open, files, hasFolder, this.#model.nameOf(this.#open.chat)).catch((error) => this.#refuse(error.message));
  }

  async #record() {
    const { give } = await this.#filing();
    const { record } = await import("./voice.js");
    this.#isAtEnd = true;
    await record((note) => give(this.#open, note), () => this.#open.isOpen).catch((error) => this.#refuse(error.message));
  }

  // MARK: Writing

  #typed() {
    const text = this.#text.value;
    this.#fault.replaceChildren();
    if (!this.#about?.isEdit) this.#open.keepDraft(text);
    this.#typing(text !== "");
    const bytes = bytesOf(text);
    this.#count.hidden = bytes < countedFrom;
    this.#count.textContent = words.length(bytes);
    set(this.#text, "aria-invalid", bytes > textBytesMax ? "true" : null);
  }

  #isAsking = false;
  #isTyping = false;
  #wanted = false;

  /** One request under way; the newest word waits. */
  async #typing(isTyping) {
    this.#wanted = isTyping;
    if (this.#group || this.#isAsking || !isTyping && !this.#isTyping) return;
    this.#isAsking = true;
    this.#isTyping = isTyping;
    await rpc("typing", { chat: this.#open.chat, isTyping }).catch(() => {});
    this.#isAsking = false;
    if (this.#wanted !== isTyping) this.#typing(this.#wanted);
  }

  async #send() {
    const text = this.#text.value.trim();
    if (!text || this.#isSending) return;
    const bytes = bytesOf(text);
    if (bytes > textBytesMax) return this.#refuse(words.tooLong(bytes));
    this.#isSending = true;
    const about = this.#about;
    this.#text.value = "";
    this.#typed();
    this.#write(null);
    try {
      if (about?.isEdit) {
        await rpc("message_edit", { messageId: about.message.messageId, text });
      } else {
        this.#isAtEnd = true;
        await this.#open.send(text, about?.message);
      }
    } catch (error) {
      // It is still an answer, or an edit: sent again as it stands, it would be a message of its own.
      // The composer may have something else by now: then it waits in the draft.
      const isFree = this.#open.isOpen && !this.#about;
      const typed = isFree ? this.#text.value : this.#open.draft;
      // What was typed meanwhile stays behind it.
      const both = typed ? `${text}\n${typed}` : text;
      if (isFree && about) this.#write(about);
      if (isFree) this.#text.value = both;
      if (!about?.isEdit) this.#open.keepDraft(both);
      this.#refuse(`${words.notSent} ${error.message}`);
    }
    this.#isSending = false;
  }

  #refuse(text) {
    this.#fault.replaceChildren(text);
  }
}

const authorOf = (message) => (message.direction === "out" ? "out" : message.chat);

/** Links of `http` and `https` alone, shown as they were written. */
function linked(text) {
  return text.split(/(https?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)\]])/u).map((part, place) => {
    const shown = part.replace(invisible, (sign) => (sign === "\n" || sign === "\t" ? sign : ""));
    if (place % 2 === 0 || !URL.canParse(part)) return shown;
    return el("a", { href: part, target: "_blank", rel: "noreferrer noopener" }, shown);
  });
}
