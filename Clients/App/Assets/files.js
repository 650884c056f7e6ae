// Files of a chat: their rows, pictures of their own, and how they are chosen, sent and saved. Loaded with the first of them.
import { about, raw, rpc } from "./door.js";
import { keyOf } from "./model.js";
import { words } from "./text.js";
import { bdi, button, dialog, el, icon, set, signButton, signs } from "./view.js";
import { Player } from "./voice.js";

Object.assign(signs, { save: "M10 3v9M6 8l4 4 4-4M4 16h12", page: "M6 3h6l3 3v11H6ZM12 3v3h3" });

/** Longer sides of a photo that is drawn anew, and of its thumbnail. */
const photoSide = 2_048;
const thumbnailSide = 160;
const thumbnailBytesMax = 8_192;
const widthMax = 320;
const atOnceMax = 20;
/** A file that does something when it is opened. */
const programs = /^(appimage|bat|cmd|com|deb|desktop|exe|hta|html?|jar|jnlp|js|lnk|mjs|msi|pl|ps1|py|rpm|run|scr|sh|svg|vbs|xhtml|xml)$/i;
const movable = /[\p{Cc}\p{Cf}]/gu;
/** How bytes begin that are shown or played. The sender's word does not count. */
const beginnings = [
  [/^\x89PNG\r\n\x1a\n/, "image/png"], [/^\xff\xd8\xff/, "image/jpeg"], [/^GIF8[79]a/, "image/gif"], [/^RIFF....WEBP/s, "image/webp"], [/^....ftypavif/s, "image/avif"],
  [/^OggS/, "audio/ogg"], [/^\x1aE\xdf\xa3/, "audio/webm"], [/^....ftyp/s, "audio/mp4"], [/^(ID3|\xff[\xf2\xf3\xfa\xfb])/, "audio/mpeg"], [/^\xff[\xf0\xf1\xf8\xf9]/, "audio/aac"],
];

const typeOf = (bytes) => beginnings.find(([start]) => start.test(String.fromCharCode(...bytes.subarray(0, 16))))?.[1];
const unit = (name, unitDisplay) => new Intl.NumberFormat(undefined, { style: "unit", unit: name, unitDisplay, maximumFractionDigits: 1 });
const [bytesIn, kilobytes, megabytes] = [unit("byte", "long"), unit("kilobyte"), unit("megabyte")];
const sizeOf = (bytes) => (bytes < 1_000 ? bytesIn.format(bytes) : bytes < 1_000_000 ? kilobytes.format(Math.round(bytes / 1_000)) : megabytes.format(bytes / 1_000_000));

/** A name without folders, without signs that move other letters or are not seen, and without dots at its ends. @returns {[string, string]} and its ending */
function parts(name) {
  const safe = (name ?? "").replace(movable, "").split(/[/\\]/).at(-1).replace(/^[.\s]+|[.\s]+$/g, "") || words.file;
  const dot = safe.lastIndexOf(".");
  return dot > 0 ? [safe.slice(0, dot), safe.slice(dot + 1)] : [safe, ""];
}

const label = (name) => {
  const [start, ending] = parts(name);
  return el("span", { class: "file-name" }, bdi(start), ending && el("span", { class: "ending" }, `.${ending}`));
};

let bounds;
const readBounds = async () => (bounds ??= (await about()).files);

// MARK: Rows

/** The files of the messages that are shown. */
export class Files {
  /** @type {Map<string, Row>} */
  #rows = new Map();
  #model;
  #open;
  #seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) if (isIntersecting) this.#rowOf(target)?.see();
  });

  /** @param {import("./model.js").Model} model @param {import("./model.js").Open} open */
  constructor(model, open) {
    [this.#model, this.#open] = [model, open];
    readBounds();
  }

  #rowOf(element) {
    return [...this.#rows.values()].find((row) => row.element === element);
  }

  /** The element of a message's file, the same as before. */
  element(message) {
    const key = keyOf(message);
    let row = this.#rows.get(key);
    if (!row) {
      this.#rows.set(key, row = new Row(message, this.#open));
      this.#seen.observe(row.element);
    }
    row.update(message, this.#model.progress.get(message.messageId));
    return row.element;
  }

  /** Brings all in step. A file whose message is not here any more lets go of its bytes. */
  draw(messages) {
    const here = new Map(messages.filter(({ attachment }) => attachment).map((message) => [keyOf(message), message]));
    for (const [key, row] of this.#rows) {
      const message = here.get(key);
      if (message) {
        row.update(message, this.#model.progress.get(message.messageId));
      } else {
        row.end();
        this.#rows.delete(key);
      }
    }
  }
}

class Row {
  element = el("div", { class: "file" });
  #message;
  #open;
  #look;
  #progress = el("progress", { max: 1, "aria-label": words.progress });
  #picture;
  #player;
  #url;
  #isSeen = false;
  #isAsked = false;
  /** Whether the picture is more than its thumbnail. */
  #isWhole = false;
  #isCancelled = false;
  #isOver = false;
  #closeViewer = () => {};
  #waiting = [];
  #fault = el("p", { class: "fault", role: "alert" });

  constructor(message, open) {
    [this.#message, this.#open] = [message, open];
  }

  get #file() {
    return this.#message.attachment;
  }

  get #isOwn() {
    return this.#message.direction === "out";
  }

  /** Whether the daemon has it. */
  get #isHere() {
    return this.#file.state === "kept" || this.#isOwn && this.#file.state === "waiting";
  }

  update(message, progress) {
    this.#message = message;
    const { state } = this.#file;
    if (progress === undefined) this.#progress.removeAttribute("value");
    else this.#progress.value = progress;
    const look = JSON.stringify([this.#file, this.#open.isStranger, message.state]);
    if (look === this.#look) return;
    this.#look = look;
    if (this.#isHere) this.#waiting.splice(0).forEach(({ resolve }) => resolve());
    else if (state !== "waiting") this.#waiting.splice(0).forEach(({ reject }) => reject(new Error(words.fileFailed[this.#file.reason] ?? words.fileGone)));
    this.#draw();
    if (this.#isSeen) this.see();
  }

  #draw() {
    const { image, voice, name, size, state, reason } = this.#file;
    const isClosed = this.#open.isStranger && !this.#isOwn;
    set(this.element, "data-kind", isClosed ? "file" : voice ? "voice" : image ? "photo" : "file");
    const isWaiting = state === "waiting" && (!this.#isOwn || this.#message.state === "queued");
    const cancel = button(words.cancel, () => {
      this.#isCancelled = true;
      return this.#do(rpc("attachment_cancel", { messageId: this.#message.messageId, ...this.#from }));
    });
    const line = isWaiting && el("div", { class: "moving" }, this.#progress, cancel);
    const failed = state === "failed" && !this.#isOwn && el("p", { class: "fault" }, words.fileFailed[reason] ?? words.fileGone);
    const rest = [line, failed, this.#fault];
    if (isClosed) {
      this.element.replaceChildren(el("p", {}, label(name), " ", sizeOf(size)), el("p", { class: "hint" }, words.closedFile));
    } else if (voice) {
      this.#player ??= new Player(voice, async () => this.#blob(await this.#bytes()));
      this.element.replaceChildren(this.#player.element, ...rest.filter(Boolean));
    } else if (image) {
      this.element.replaceChildren(this.#drawPhoto(image, name), ...rest.filter(Boolean));
    } else {
      this.element.replaceChildren(el("div", { class: "file-row" }, icon("page"),
        el("p", {}, label(name), el("span", { class: "hint" }, sizeOf(size))),
        !isWaiting && signButton("save", words.saveFile(parts(name).filter(Boolean).join(".")), () => this.#save())), ...rest.filter(Boolean));
    }
  }

  /** Its place is kept before it is there. */
  #drawPhoto({ width, height }, name) {
    if (!this.#picture) {
      this.#picture = el("button", { type: "button", class: "photo", "aria-label": words.photo, click: () => this.#view() });
      this.#picture.style.aspectRatio = `${width} / ${height}`;
      this.#picture.style.width = `${Math.min(width, widthMax, Math.max(88, Math.round(widthMax * width / height)))}px`;
      const { thumbnail } = this.#file;
      try {
        if (thumbnail) this.#show(Uint8Array.from(atob(thumbnail), (letter) => letter.charCodeAt(0)));
      } catch {
        // One that is no picture is none.
      }
    }
    if (name) set(this.#picture, "title", parts(name).filter(Boolean).join("."));
    return this.#picture;
  }

  /** It is in sight: photos and voice notes of friends come by themselves if they are small. */
  async see() {
    this.#isSeen = true;
    const { image, voice, size, state } = this.#file;
    const { unasked } = await readBounds();
    if (!image && !voice || this.#open.isStranger || this.#isAsked || this.#isCancelled) return;
    if (this.#isHere && image) {
      this.#isAsked = true;
      await this.#do(this.#whole().catch((error) => {
        this.#isAsked = false;
        throw error;
      }));
    } else if (!this.#isOwn && state === "offered" && size <= unasked) {
      await this.#do(this.#keep());
    }
  }

  get #from() {
    return this.#isOwn ? {} : { from: this.#message.chat };
  }

  #keep() {
    return rpc("attachment_keep", { messageId: this.#message.messageId, ...this.#from });
  }

  #do(promise) {
    this.#fault.replaceChildren();
    return promise.catch((error) => this.#fault.replaceChildren(error.message));
  }

  /** The plain bytes, which the daemon fetches first if they are elsewhere. */
  async #bytes() {
    if (!this.#isHere) {
      if (this.#isOwn) throw new Error(words.fileGone);
      const here = new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
      await Promise.all([here, this.#keep()]);
    }
    const answer = await raw(`/files?${new URLSearchParams({ messageId: this.#message.messageId, ...this.#from })}`);
    if (!answer.ok) throw new Error(words.fileGone);
    return new Uint8Array(await answer.arrayBuffer());
  }

  #blob(bytes) {
    const type = typeOf(bytes);
    if (!type) throw new Error(words.notShown);
    return new Blob([bytes], { type });
  }

  #show(bytes) {
    const blob = this.#blob(bytes);
    if (!blob.type.startsWith("image/")) throw new Error(words.notShown);
    if (this.#isOver) return;
    const old = this.#url;
    this.#url = URL.createObjectURL(blob);
    this.#picture.replaceChildren(el("img", { src: this.#url, alt: "" }));
    if (old) URL.revokeObjectURL(old);
  }

  async #whole() {
    this.#show(await this.#bytes());
    this.#isWhole = true;
  }

  #view() {
    if (!this.#isWhole) return this.#do(this.#whole());
    const { element, close } = dialog(words.photo, el("img", { src: this.#url, alt: parts(this.#file.name).filter(Boolean).join(".") }), el("div", { class: "buttons" }, button(words.save, () => this.#save(), { class: "main" })));
    set(element, "class", "viewer");
    this.#closeViewer = close;
  }

  async #save() {
    const name = parts(this.#file.name);
    if (programs.test(name[1])) {
      const sure = await new Promise((resolve) => {
        const { element, close } = dialog(words.save, el("p", {}, label(this.#file.name)), el("p", { class: "care" }, words.program),
          el("div", { class: "buttons" }, button(words.saveAnyway, () => { resolve(true); close(); })));
        element.addEventListener("close", () => resolve(false));
      });
      if (!sure) return;
    }
    await this.#do(this.#bytes().then((bytes) => {
      const url = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
      el("a", { href: url, download: name.filter(Boolean).join(".") }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    }));
  }

  end() {
    this.#isOver = true;
    this.#closeViewer();
    this.#player?.end();
    if (this.#url) URL.revokeObjectURL(this.#url);
    this.#waiting.splice(0).forEach(({ reject }) => reject(new Error(words.fileGone)));
  }
}

// MARK: Sending

const blobOf = (canvas, type, quality) => new Promise((resolve) => canvas.toBlob(resolve, type, quality));

function drawn(bitmap, side) {
  const scale = Math.min(1, side / Math.max(bitmap.width, bitmap.height));
  const [width, height] = [bitmap.width, bitmap.height].map((length) => Math.max(1, Math.round(length * scale)));
  const canvas = el("canvas", { width, height });
  canvas.getContext("2d").drawImage(bitmap, 0, 0, width, height);
  return canvas;
}

/** A photo drawn anew: nothing is in it but what is seen. A drawing that moves stays as it is. */
async function photo(file) {
  const bitmap = await createImageBitmap(file);
  const canvas = drawn(bitmap, photoSide);
  const type = ["image/png", "image/webp"].includes(file.type) ? file.type : "image/jpeg";
  const blob = file.type === "image/gif" ? file : await blobOf(canvas, type, 0.88);
  let thumbnail;
  for (const quality of [0.6, 0.3, 0.1]) {
    const small = await blobOf(drawn(bitmap, thumbnailSide), "image/webp", quality);
    if (small.size > thumbnailBytesMax) continue;
    thumbnail = btoa(String.fromCharCode(...new Uint8Array(await small.arrayBuffer())));
    break;
  }
  return { blob, type: blob.type, thumbnail, image: { width: canvas.width, height: canvas.height } };
}

async function prepare(file) {
  const name = parts(file.name).filter(Boolean).join(".").slice(0, 80);
  const type = /^[\x21-\x7e]{1,100}$/.test(file.type) ? file.type : "application/octet-stream";
  if (!type.startsWith("image/")) return { name, type, blob: file };
  const made = /^image\/(png|jpeg|gif|webp|avif)$/.test(type) && await photo(file).catch(() => undefined);
  // It may say where it was taken.
  if (!made) return { name, type, blob: file, fault: words.notAPicture, original: { name, type, blob: file, fault: undefined } };
  const start = name.replace(/\.[^.]*$/, "");
  return { ...made, name: made.type === type ? name : `${start}.jpg`, original: made.blob === file ? undefined : { name, type, blob: file } };
}

/** @param {{type: string, blob: Blob}} item @returns {string | undefined} why it cannot be sent */
function tooLarge({ type, blob }) {
  const kind = type.startsWith("image/") ? "image" : type.startsWith("audio/") ? "audio" : "file";
  return blob.size > bounds[kind] ? words.tooLarge(sizeOf(bounds[kind])) : undefined;
}

/** Seals bytes in the daemon, and sends them. @param {import("./model.js").Open} open @param {AbortSignal} [signal] */
export async function give(open, { blob, name, type, ...more }, signal) {
  const answer = await raw("/files", { method: "POST", body: blob, headers: { "Content-Type": "application/octet-stream" }, signal });
  if (!answer.ok) throw new Error(answer.status === 413 ? words.tooLarge(sizeOf(bounds?.file ?? 0)) : answer.status === 507 ? words.storeFailed : words.notSent);
  const { file } = await answer.json();
  const known = Object.entries({ clientId: more.clientId, thumbnail: more.thumbnail, image: more.image, voice: more.voice }).filter(([, value]) => value);
  await open.attach({ file, name, mimeType: type, ...Object.fromEntries(known) });
}

/** Shows what was chosen, and sends it when the person says so. @param {import("./model.js").Open} open @param {File[]} files @param {string} to */
export async function offer(open, files, hasFolder, to) {
  await readBounds();
  const cut = new AbortController();
  const items = [];
  const list = el("ul", { class: "chosen" });
  const original = el("input", { type: "checkbox" });
  const asIs = el("label", { class: "row", hidden: true }, el("span", {}, words.original), original);
  const fault = el("p", { class: "fault", role: "alert" }, [hasFolder && words.noFolders, files.length > atOnceMax && words.tooMany(atOnceMax)].filter(Boolean).join(" "));
  const chosen = (item) => (original.checked && item.original ? { ...item, ...item.original } : item);
  let isPreparing = true;
  const drop = (item) => {
    if (!items.includes(item)) return;
    items.splice(items.indexOf(item), 1);
    if (item.url) URL.revokeObjectURL(item.url);
    draw();
  };
  const draw = () => {
    list.replaceChildren(...items.map((item) => {
      const why = chosen(item).fault ?? tooLarge(chosen(item));
      return el("li", {}, item.url && el("img", { src: item.url, alt: "" }), el("p", {}, label(chosen(item).name), el("span", { class: "hint" }, sizeOf(chosen(item).blob.size)), why && el("span", { class: "fault" }, why)),
        signButton("close", words.leaveOut(item.name), () => drop(item)));
    }));
    asIs.hidden = !items.some((item) => item.original);
    set(go, "aria-disabled", isPreparing || sendable().length === 0 ? "true" : null);
  };
  const sendable = () => items.filter((item) => !chosen(item).fault && !tooLarge(chosen(item)));
  const send = async () => {
    if (isPreparing || sendable().length === 0 || go.ariaBusy) return;
    set(go, "aria-busy", "true");
    try {
      for (let item; (item = sendable()[0]); drop(item)) await give(open, chosen(item), cut.signal);
      close();
    } catch (error) {
      set(go, "aria-busy", null);
      fault.replaceChildren(error.message);
    }
  };
  const go = button(words.send, send, { class: "main", id: "send-files" });
  original.addEventListener("change", draw);
  const { element, close } = dialog(words.sendTo(to), fault, list, asIs, el("div", { class: "buttons" }, go));
  element.addEventListener("close", () => {
    cut.abort();
    for (const { url } of items) if (url) URL.revokeObjectURL(url);
  });
  for (const file of files.slice(0, atOnceMax)) {
    const item = await prepare(file);
    if (cut.signal.aborted) return;
    if (item.image) item.url = URL.createObjectURL(item.blob);
    // A second try after a break is the same message.
    items.push({ ...item, clientId: crypto.randomUUID() });
    draw();
  }
  isPreparing = false;
  draw();
  go.focus();
}
