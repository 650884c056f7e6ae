// Live conversations: what one types is seen by others key by key, and the other way round.
import { ask, rpc, seated } from "./door.js";
import { formsOf, nameField, valueOf } from "./forms.js";
import { twice } from "./groups.js";
import { words } from "./livetext.js";
import { oneAtATime } from "./model.js";
import { bdi, button, dialog, el, field, keyed, say, sentence, set, signButton, write } from "./view.js";

/** Lines in the document; the oldest go first. */
const linesMax = 400;
/** What was typed last may take so long to go out. */
const lastWordsMs = 2_000;
/** The server takes six wishes of a listener in a minute. */
const wishPause = 10_000;
const sizes = ["100", "150", "200", "300"];
/** From here on the end is in sight. */
const endWithin = 48;

const { reasonOf, choice, formOf } = formsOf(words.refusals);

/** The conversation in which this window whispers or listens. The core has it; this is what is shown of it. */
export class Live {
  /** As `live_get` and `live_known` have it. @type {any} */
  now = null;
  roster = { callers: [], listeners: [] };
  /** The latest cue, or the latest wish of each listener. @type {Map<string, any>} */
  notes = new Map();
  #model;
  read = oneAtATime(() => this.#read());
  /** Text and lines that come during a read: they may be newer than its answer. @type {any[] | null} */
  #news = null;

  /** @param {import("./model.js").Model} model */
  constructor(model) {
    this.#model = model;
  }

  /** Does a verb in this conversation. */
  order(verb, fields = {}, way = rpc) {
    return way(verb, { conversationId: this.now.conversationId, ...fields });
  }

  async #read() {
    this.#news = [];
    try {
      const now = await seated("live_get").catch((error) => {
        if (error.code !== "notFound") throw error;
      });
      const isOwn = now?.role === "whisperer";
      const known = now && (await rpc("live_known"))[isOwn ? "own" : "heard"].find((each) => each.conversationId === now.conversationId);
      if (isOwn) this.roster = await rpc("live_roster", { conversationId: now.conversationId }).catch(() => this.roster);
      const { now: old } = this;
      this.now = now && { ...known, ...now };
      // Lines that were read before these stay, if none is missing in between.
      const isSame = now && old?.conversationId === now.conversationId && old.contentId === now.contentId;
      const early = isSame ? old.lines.filter(({ line }) => line < now.lines[0]?.line) : [];
      if (early.length > 0 && early.at(-1).line + 1 >= now.lines[0].line) Object.assign(this.now, { lines: [...early, ...now.lines], hasOlder: old.hasOlder });
    } finally {
      const news = this.#news;
      this.#news = null;
      news.forEach((event) => this.#apply(event));
      this.#model.live = this.now && this.now.state !== "over" ? words.row[this.now.role] : "";
      this.#model.changed();
    }
  }

  /** @param {any} event */
  take(event) {
    // The first events come before the first read has ended.
    const isOurs = event.type.startsWith("live") && (!this.now || event.conversationId === this.now.conversationId);
    if (!isOurs && !["eventsLost", "connection"].includes(event.type)) return;
    switch (event.type) {
      case "liveText":
      case "liveLine":
        if (this.#news) this.#news.push(event);
        else this.#apply(event);
        break;
      case "liveAttention":
      case "liveCue":
        this.notes.set(event.listener, event);
        break;
      default:
        if (event.type === "liveKnocked") say(words.asks.replace("{name}", () => event.name));
        this.read().catch(() => {});
    }
    this.#model.changed();
  }

  #apply({ type, line, text }) {
    if (!this.now) return;
    if (type === "liveText") return (this.now.text = text);
    const { lines } = this.now;
    const place = lines.findLastIndex((each) => each.line <= line);
    if (lines[place]?.line === line) return;
    lines.splice(place + 1, 0, { line, text });
    if (lines.length > linesMax) this.now.hasOlder = Boolean(lines.shift());
  }

  async readOlder() {
    const { contentId, lines: [first] } = this.now;
    const { lines, hasOlder } = await this.order("live_get", { before: first.line });
    // Another reading, or the end, may have come meanwhile.
    if (this.now?.contentId !== contentId || this.now.lines[0]?.line !== first.line) return;
    this.now.lines.unshift(...lines);
    this.now.hasOlder = hasOlder;
  }

  /** @param {"whisperer" | "listener"} role @param {() => Promise<any>} begin */
  async open(role, conversationId, begin) {
    await seated("live_hold", { conversationId, as: role });
    this.notes.clear();
    await begin();
    await this.read();
  }

  /** Without an answer of the server the core is out of it all the same. */
  async end() {
    const [verb, fields] = this.now.role === "whisperer" ? ["live_stop", { lastWordsMs }] : ["live_leave"];
    await this.order(verb, fields, ask).catch(() => {});
    await this.read();
  }

  /** @param {Element} pane @param {() => void} back */
  view(pane, back) {
    return new LiveView(this, this.#model, pane, back);
  }
}

/** What the window's pane shows of it: the beginning, the whisperer's screen or the listener's. */
class LiveView {
  #live;
  #model;
  #pane;
  #back;
  /** What is built. */
  #shown = "";
  /** Elements that are drawn into. @type {Record<string, any>} */
  #parts = {};
  #isAtEnd = true;
  /** The unfinished line, as the core has it. */
  #sent = "";
  #isTyping = false;

  constructor(live, model, pane, back) {
    [this.#live, this.#model, this.#pane, this.#back] = [live, model, pane, back];
  }

  focus(place) {
    const { text, log } = this.#parts;
    const element = place === "messages" ? log : text ?? log;
    (element ?? this.#pane.querySelector(".middle :is(input, .wide)") ?? this.#pane.querySelector("button"))?.focus({ preventScroll: true });
  }

  draw() {
    const { now } = this.#live;
    const shown = now ? `${now.role} ${now.conversationId}` : "start";
    if (this.#shown !== shown) {
      [this.#shown, this.#parts, this.#isAtEnd] = [shown, {}, true];
      if (now) this.#build(now);
      else this.#start();
      this.focus();
    }
    if (now) this.#update(now);
  }

  #put(title, ...parts) {
    const [head, ...rest] = parts;
    this.#pane.replaceChildren(
      el("header", {}, signButton("back", words.back, this.#back, { class: "sign back" }), el("h1", {}, el("span", { class: "title" }, bdi(title)), head[0]), ...head.slice(1)),
      ...rest);
  }

  // MARK: Beginning

  async #start() {
    const box = el("div", { class: "scroll live-start" });
    this.#put(words.title, [""], el("div", { class: "middle" }, box));
    const [{ own, heard }, name] = await Promise.all([rpc("live_known"), valueOf("name")]);
    if (this.#shown !== "start") return;
    box.append(...this.#whispers(own, name), ...this.#listens(heard, name));
    this.focus();
  }

  #whispers(own, name) {
    const begin = (conversationId) => this.#live.open("whisperer", conversationId, () => rpc("live_start", { conversationId }));
    const title = field(words.newTitle, { required: true, maxlength: 64, name: "title" });
    const called = nameField(words.yourName, name);
    const admission = el("select", { name: "admission" }, Object.entries(words.admissions).map(([value, text]) => el("option", { value }, text)));
    const form = formOf(words.begin, "begin", title, async () => {
      const wish = { name: title.input.value.trim(), admission: admission.value };
      const whisperer = await called.keep();
      if (whisperer) wish.whisperer = whisperer;
      const { conversation } = await rpc("live_create", wish);
      await begin(conversation.conversationId);
    }, title.box, called.box, el("label", { class: "row" }, el("span", {}, words.admission), admission));
    const rows = own.map((each) => choice(() => begin(each.conversationId), [bdi(each.title)]));
    return [el("h2", {}, words.whisper), el("p", { class: "hint" }, words.whisperText), ...rows,
      rows.length > 0 ? el("details", {}, el("summary", {}, words.another), form) : form];
  }

  #listens(heard, name) {
    const link = field(words.link, { required: true, name: "link", inputmode: "url" }, words.linkHint);
    const asked = el("div");
    const agree = (look) => {
      asked.replaceChildren(this.#consent(look, name));
      asked.querySelector("input").focus();
    };
    const form = formOf(words.look, "look", link, async () => {
      const text = link.input.value.trim();
      agree({ ...await ask("live_look", { link: text }), link: text });
    }, link.box);
    const rows = heard.map((each) => choice(() => agree({ ...each, link: undefined }), sentence(words.by, each)));
    return [el("h2", {}, words.listenTitle), form, asked, ...(rows.length > 0 ? [el("h3", {}, words.heard)] : []), ...rows];
  }

  /** A person agrees before the whisperer gets a name. */
  #consent({ conversationId, title, whisperer, link, isTranscribed, admission }, name) {
    const called = nameField(words.yourName, name);
    const passcode = admission === "passcode" ? field(words.passcode, { type: "password", name: "passcode" }) : null;
    return formOf(words.listen, "listen", called, async () => {
      const wish = { ...(link ? { link } : { conversationId }), name: (await called.keep()) || this.#model.me.whisperId };
      if (passcode?.input.value) wish.passcode = passcode.input.value;
      await this.#live.open("listener", conversationId, () => ask("live_listen", wish));
    }, el("p", { class: "care" }, ...sentence(words.looked, { title, whisperer }), isTranscribed && ` ${words.kept}`), called.box, passcode?.box);
  }

  // MARK: Screens

  #build(now) {
    const parts = this.#parts;
    const isOwn = now.role === "whisperer";
    parts.status = el("span", { class: "status", role: "status" });
    parts.older = button(words.earlier, () => this.#older(), { class: "wide" });
    parts.log = el("div", { class: "said", role: "log", "aria-live": isOwn ? "off" : "polite", "aria-label": words.text, tabindex: 0 });
    parts.notes = el("ul", { class: "callers", role: "log" });
    parts.line = el("p", { class: "now", dir: "auto", hidden: isOwn });
    parts.scroll = el("div", { class: "scroll live", scroll: ({ target }) => {
      this.#isAtEnd = target.scrollHeight - target.scrollTop - target.clientHeight <= endWithin;
    } }, parts.older, parts.log, parts.line);
    new ResizeObserver(() => this.#toEnd()).observe(parts.scroll);
    const end = button(isOwn ? words.end : words.leave, () => {
      set(end, "aria-disabled", "true");
      this.#live.end();
    }, { id: "end" });
    const invite = isOwn && button(words.invite, () => this.#invite(now.link), { id: "invite", "aria-haspopup": "dialog" });
    this.#put(now.title ?? "", [parts.status, invite, end].filter(Boolean), el("div", { class: "middle" }, parts.scroll), ...(isOwn ? this.#desk(now) : this.#ears()));
    valueOf("liveSize").then((size) => this.#resize(size), () => {});
  }

  /** Who asks, who wishes something, who listens; and the line under one's hands. */
  #desk(now) {
    const parts = this.#parts;
    for (const name of ["callers", "members"]) parts[name] = el("ul", { class: name });
    parts.count = el("summary");
    parts.fault = el("p", { class: "fault", id: "live-fault", role: "alert" });
    parts.text = el("textarea", { id: "live-text", rows: 2, autocomplete: "off", "aria-describedby": "live-fault", input: () => this.#type() });
    parts.text.value = this.#sent = now.text;
    return [
      el("div", { class: "bar live-bar" }, parts.callers, parts.notes, el("details", {}, parts.count, parts.members)),
      el("div", { class: "composer" }, parts.fault, el("label", { for: "live-text" }, words.yourLine), el("div", {}, parts.text)),
    ];
  }

  #ears() {
    const parts = this.#parts;
    parts.again = button(words.again, () => this.#live.end());
    parts.wants = Object.entries(words.wants).map(([want, text]) => {
      const pressed = button(text, async () => {
        if (pressed.ariaDisabled) return;
        pressed.ariaDisabled = "true";
        setTimeout(() => { pressed.ariaDisabled = null; }, wishPause);
        say(await this.#live.order("live_attention", { want }).then(() => words.sent, reasonOf));
      }, { "data-want": want });
      return pressed;
    });
    const size = button("Aa", () => {
      const next = sizes[(sizes.indexOf(this.#pane.dataset.liveSize ?? sizes[0]) + 1) % sizes.length];
      this.#resize(next);
      rpc("host_set", { key: "liveSize", value: next }).catch(() => {});
    }, { "aria-label": words.size, id: "live-size" });
    return [el("div", { class: "bar live-bar" }, parts.notes, el("div", { class: "buttons" }, parts.again, parts.wants, size))];
  }

  #resize(size) {
    set(this.#pane, "data-live-size", size);
    this.#toEnd();
  }

  // MARK: Drawing

  #update(now) {
    const { status, older, line, notes, again, wants } = this.#parts;
    const { roster } = this.#live;
    const name = now.whisperer ?? "";
    this.#lines(now);
    const told = [...this.#live.notes].map(([from, note]) => ({ from, name, ...note }));
    if (now.note) told.push({ name, say: now.note });
    keyed(notes, told, ({ from, want, say: said, sound, transcript }) => `${from} ${want ?? said ?? sound ?? transcript}`, (note) => el("li", {},
      el("p", {}, ...sentence(words.wishes[note.want] ?? words.told, { name: note.name, said: note.say ?? words.sounds[note.sound] ?? note.transcript })),
      button(words.seen, () => {
        this.#live.notes.delete(note.from);
        this.draw();
        this.focus();
      })));
    older.hidden = !now.hasOlder;
    if (now.role === "whisperer") {
      const present = roster.listeners.filter(({ isPresent }) => isPresent).length;
      write(status, words.states[now.state](present));
      this.#people(roster, present);
    } else {
      const isOver = now.state === "over";
      write(status, isOver ? words.over[now.reason] : words.heardStates[now.state] + (now.isTranscribed ? ` · ${words.kept}` : ""), { name });
      write(line, "{text}", { text: isOver ? "" : now.text });
      again.hidden = !isOver;
      for (const want of wants) want.hidden = !["live", "paused"].includes(now.state);
    }
    this.#toEnd();
  }

  #lines({ lines, waiting }) {
    let next = lines[0]?.line;
    const rows = lines.flatMap(({ line, text }) => {
      const missing = line - next;
      next = line + 1;
      const row = { key: line, text };
      return missing > 0 ? [{ key: `before ${line}`, text: words.missing(missing), isHint: true }, row] : [row];
    });
    rows.push(...waiting.map((text, place) => ({ key: `waiting ${place}`, text, title: words.waitsToGo })));
    keyed(this.#parts.log, rows, ({ key }) => String(key), () => el("p", { dir: "auto" }), (element, { text, title, isHint }) => {
      if (element.textContent !== text) element.textContent = text;
      set(element, "class", isHint && "hint");
      set(element, "title", title);
    });
  }

  #people({ callers, listeners }, present) {
    const parts = this.#parts;
    const order = (verb, listener) => async () => {
      await this.#live.order(verb, { listener }).catch(() => {});
      await this.#live.read();
      // The button goes.
      this.draw();
      (parts.callers.querySelector("button") ?? parts.text).focus();
    };
    const idOf = ({ listener }) => listener;
    keyed(parts.callers, callers, idOf, ({ listener, name, note }) => el("li", { title: listener },
      el("p", {}, ...sentence(words.asks, { name }), note && [": ", bdi(note)]),
      button(words.letIn, order("live_accept", listener), { class: "main" }), button(words.decline, order("live_refuse", listener))));
    write(parts.count, words.who(present));
    keyed(parts.members, listeners, idOf, ({ listener, name }) => el("li", { class: "row", title: listener },
      bdi(name), el("span", { class: "hint" }), twice("✕", words.remove(name), order("live_remove", listener), { class: "sign", "aria-label": words.remove(name) })),
    (row, { isPresent }) => write(row.querySelector(".hint"), isPresent ? "" : words.away));
  }

  /** The newest line stays in view, unless somebody reads further up. */
  #toEnd() {
    const { scroll } = this.#parts;
    if (scroll && this.#isAtEnd) scroll.scrollTop = scroll.scrollHeight;
  }

  async #older() {
    const { log, scroll } = this.#parts;
    const behind = scroll.scrollHeight - scroll.scrollTop;
    // Old lines are no news.
    set(log, "aria-busy", "true");
    this.#isAtEnd = false;
    await this.#live.readOlder().catch(() => {});
    this.draw();
    scroll.scrollTop = scroll.scrollHeight - behind;
    set(log, "aria-busy", null);
  }

  // MARK: Typing

  /** One request under way; the newest text waits. The core says what of it is the unfinished line. */
  async #type() {
    const { text: area, fault } = this.#parts;
    if (this.#isTyping) return;
    this.#isTyping = true;
    fault.replaceChildren();
    try {
      while (this.#sent !== area.value) {
        const text = area.value;
        this.#sent = (await this.#live.order("live_type", { text })).text;
        if (this.#sent === text) continue;
        // Keys of meanwhile stand behind what was sent.
        const behind = area.value.length - area.selectionEnd;
        if (area.value.startsWith(text)) area.value = this.#sent + area.value.slice(text.length);
        area.selectionStart = area.selectionEnd = Math.max(0, area.value.length - behind);
        this.#live.read().catch(() => {});
      }
    } catch (error) {
      write(fault, error.code === "tooMany" ? words.full : reasonOf(error));
    }
    this.#isTyping = false;
    if (this.#live.now) this.#live.now.text = area.value;
  }

  #invite(link) {
    const address = el("input", { readonly: true, value: link, "aria-label": words.link, id: "invitation", focus: () => address.select() });
    const copy = button(words.copy, async () => {
      await navigator.clipboard.writeText(link);
      write(copy, words.copied);
      say(words.copied);
    }, { class: "main" });
    const code = el("div");
    import("./codes.js").then(async ({ codeOf }) => code.append(await codeOf(link, words.code))).catch(() => {});
    dialog(words.invite, el("p", { class: "hint" }, words.inviteText), address, code, el("div", { class: "buttons" }, copy));
  }
}
