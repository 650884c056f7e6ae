// Notices of the system: what comes while the window is not before the person. Loaded once they are wanted.
import { rpc } from "./door.js";
import { chatOf } from "./model.js";
import { called, gist, words } from "./text.js";

const callTag = "call";

export class Notices {
  /** By chats, with the message that each shows. @type {Map<string, {notice: Notification, messageId?: string}>} */
  #open = new Map();
  #model;
  #go;
  #shows;

  /**
   * @param {import("./model.js").Model} model @param {(place: string) => void} go opens a chat or the call
   * @param {string} shows `text`, `name` or `nothing`; without it there are none
   */
  constructor(model, go, shows) {
    [this.#model, this.#go, this.#shows] = [model, go, shows];
  }

  /** @param {string} shows @returns {Promise<boolean>} whether the browser does as was chosen */
  async choose(shows) {
    const may = !shows || (await Notification.requestPermission()) === "granted";
    this.#shows = may ? shows : "";
    await rpc("host_set", { key: "notices", value: this.#shows });
    return may;
  }

  /** @param {any} event */
  take(event) {
    switch (event.type) {
      case "messageReceived": return this.#message(event);
      case "messageChanged": return this.#withdraw(({ messageId }) => messageId === event.message.messageId);
      case "messagesExpired": return this.#withdraw(({ messageId }) => event.messages.some((each) => each.messageId === messageId));
      case "callIncoming": return this.#show(callTag, event.chat, words.rings);
      case "callNoted": return event.note.outcome === "missed" && this.#show(event.chat, event.chat, called(event.note));
      case "callTaken":
      case "callEnded": return this.#close(callTag);
    }
  }

  #message({ message, isSilent }) {
    if (isSilent || message.kind === "deleted") return;
    const chat = chatOf(message);
    const contact = this.#model.contacts.get(message.chat);
    // A stranger's words, and the title of their group, are not to stand on the screen unasked.
    if (!contact || contact.isStranger) return this.#show(chat, null, message.groupId ? words.oneNew : words.oneRequest);
    const author = message.groupId ? `${this.#model.nameOf(message.chat)}: ` : "";
    const isShown = this.#shows === "text" && !message.expires;
    const body = author + (message.kind === "text" ? gist(message) : words.other);
    this.#show(chat, chat, isShown ? body : words.oneNew, message.messageId);
  }

  #show(tag, from, body, messageId) {
    if (!this.#shows || Notification.permission !== "granted" || document.hasFocus()) return;
    const title = from && this.#shows !== "nothing" ? this.#model.nameOf(from) : words.appName;
    const plain = (text) => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");
    const notice = new Notification(plain(title), { tag, renotify: true, body: plain(body), icon: new URL("icon.svg", import.meta.url).href });
    notice.onclick = () => {
      focus();
      this.#go(tag);
      this.#close(tag);
    };
    this.#open.set(tag, { notice, messageId });
  }

  /** The person looks here: what was told of this chat, and of a call, is seen. */
  seen() {
    if (!document.hasFocus()) return;
    this.#close(callTag);
    this.#close(this.#model.open?.chat);
  }

  /** What was changed, deleted or has disappeared is not to stand there any longer. */
  #withdraw(isIt) {
    for (const [tag, shown] of this.#open) if (shown.messageId && isIt(shown)) this.#close(tag);
  }

  #close(tag) {
    this.#open.get(tag)?.notice.close();
    this.#open.delete(tag);
  }

  /** Another window has taken over. */
  end() {
    for (const tag of [...this.#open.keys()]) this.#close(tag);
  }

  get shows() {
    return this.#shows;
  }
}
