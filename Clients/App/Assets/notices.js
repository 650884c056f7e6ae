// Notices of the system: what comes while the window is not before the person. Loaded once they are wanted.
import { rpc } from "./door.js";
import { chatOf } from "./model.js";
import { gist, words } from "./text.js";

const callTag = "call";

export class Notices {
  /** @type {Map<string, Notification>} */
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
      case "callIncoming": return this.#show(callTag, event.chat, words.rings);
      case "callTaken":
      case "callEnded": return this.#close(callTag);
    }
  }

  #message({ message, isSilent }) {
    if (isSilent || message.kind === "deleted") return;
    const chat = chatOf(message);
    const contact = this.#model.contacts.get(message.chat);
    // A stranger's words are not to stand on the screen unasked.
    const isStranger = !this.#model.groups.has(chat) && (!contact || contact.isStranger);
    if (isStranger) return this.#show(chat, null, words.oneRequest);
    const author = message.groupId ? `${this.#model.nameOf(message.chat)}: ` : "";
    this.#show(chat, chat, this.#shows === "text" ? author + (message.kind === "text" ? gist(message) : words.other) : words.oneNew);
  }

  #show(tag, from, body) {
    if (!this.#shows || Notification.permission !== "granted" || document.hasFocus()) return;
    const title = from && this.#shows !== "nothing" ? this.#model.nameOf(from) : words.appName;
    const notice = new Notification(title, { tag, body, icon: new URL("icon.svg", import.meta.url).href });
    notice.onclick = () => {
      focus();
      this.#go(tag);
      this.#close(tag);
    };
    this.#open.set(tag, notice);
  }

  /** The person looks here: what was told of this chat, and of a call, is seen. */
  seen() {
    if (!document.hasFocus()) return;
    this.#close(callTag);
    this.#close(this.#model.open?.chat);
  }

  #close(tag) {
    this.#open.get(tag)?.close();
    this.#open.delete(tag);
  }
}
