// Keys, seals and signatures of live conversations (docs/protocol.md), by WebCrypto alone.
import { concat, fromBase64, fromBase64URL, hex, toBase64, utf8 } from "./bytes.js";

const subtle = crypto.subtle;

/** Bytes of AES-256-GCM's nonce, of a link's secret, and of any public key. */
const nonceBytes = 12;
const secretBytes = 16;
const keyBytes = 32;

/** What vouches and what is signed are lines, the first of which is the version. @param {...unknown} lines */
const lines = (...lines) => utf8(["v1", ...lines].map((line) => `${line}\n`).join(""));

/** @returns {Promise<Uint8Array>} */
export const sha256 = async (bytes) => new Uint8Array(await subtle.digest("SHA-256", bytes));

const plainSalt = utf8("whisper");

/**
 * HKDF-SHA256.
 * @param {Uint8Array} secret
 * @param {string | Uint8Array} info
 * @param {Uint8Array} [salt] `whisper` if there is no other
 * @returns {Promise<Uint8Array>} 32 bytes
 */
export async function derive(secret, info, salt = plainSalt) {
  const key = await subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const parameters = {
    name: "HKDF", hash: "SHA-256", salt, info: typeof info === "string" ? utf8(info) : info,
  };
  return new Uint8Array(await subtle.deriveBits(parameters, key, 8 * keyBytes));
}

const sealingKey = (bytes) => subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
const parameters = (nonce, data) => ({ name: "AES-GCM", iv: nonce, additionalData: data });

/** @returns {Promise<Uint8Array | null>} null if another key sealed it, or anything was changed or moved */
async function open(key, nonce, ciphertext, data) {
  try {
    return new Uint8Array(await subtle.decrypt(parameters(nonce, data), key, ciphertext));
  } catch {
    return null;
  }
}

// MARK: Ids

const uuid = (digest) => hex(digest.slice(0, 16)).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");

/** The id of a conversation vouches for its two public keys. */
export const conversationID = async (sign, enc) => uuid(await sha256(concat(utf8("whisper-live\n"), sign, enc)));

export const guestID = async (sign, enc) =>
  `gst-${hex((await sha256(concat(utf8("whisper-guest\n"), sign, enc))).slice(0, 16))}`;

const base32Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** The first bits of a digest, five for each symbol. */
function base32(digest, symbols) {
  const bits = [...digest].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return Array.from({ length: symbols }, (_, at) => base32Alphabet[parseInt(bits.slice(5 * at, 5 * at + 5), 2)]).join("");
}

const inFours = (text) => text.replace(/.{4}(?=.)/g, "$&-");

/** Whether these public keys are a participant's own: an id is made from them, that of an identity with a counter besides. */
export async function isIDOf(id, sign, enc) {
  if (id.startsWith("gst-")) return id === (await guestID(sign, enc));
  for (let counter = 0; counter < 256; counter += 1) {
    const digest = await sha256(concat(utf8("whisper-id\n"), sign, enc, Uint8Array.of(counter)));
    const payload = base32(digest, 10);
    const check = await sha256(utf8(`whisper-id-check\n${payload}`));
    if (id === `WSP-${inFours(payload + base32(check, 2))}`) return true;
  }
  return false;
}

// MARK: Links

/**
 * @typedef {object} Link
 * @property {string} id of the conversation
 * @property {Uint8Array} proof that one has the link
 * @property {Uint8Array} infoKey opens what `look` shows
 * @property {Uint8Array} knockKey
 */

/**
 * @param {string} path `/listen/{id}` or `/listen/{id}/{name}`
 * @param {string} fragment with its `#`
 * @returns {Promise<Link | null>} null if the link is not whole
 */
export async function readLink(path, fragment) {
  const [id, secret] = partsOfLink(path, fragment);
  if (!secret) return null;
  return {
    id,
    proof: await derive(secret, "whisper/live/proof"),
    infoKey: await derive(secret, "whisper/live/info"),
    knockKey: await derive(secret, "whisper/live/knock"),
  };
}

/**
 * @param {string} path `/transcript/{id}`
 * @param {string} fragment with its `#`
 * @returns {Promise<{id: string, proof: Uint8Array, key: Uint8Array} | null>} null if the link is not whole
 */
export async function readShareLink(path, fragment) {
  const [id, secret] = partsOfLink(path, fragment);
  if (!secret) return null;
  return { id, proof: await derive(secret, "whisper/live/share/proof"), key: await derive(secret, "whisper/live/share") };
}

const partsOfLink = (path, fragment) => [path.split("/")[2], fromBase64URL(fragment.slice(1), secretBytes)];

/**
 * What `look` answers, opened and checked.
 * @returns {Promise<{conversation: string, whisperer: string, admission: string, sign: Uint8Array, enc: Uint8Array} | null>}
 *   null if the keys are not the id's, or the link does not open it
 */
export function openInfo(link, answer) {
  return openNamed(link.infoKey, link.id, answer, lines("live_info", link.id));
}

/**
 * What is sealed for the readers of a transcript, opened and checked.
 * @returns {Promise<{conversation: string, whisperer: string, content: string, keys: PacketKeys} | null>} null if the keys are
 *   not the id's, or the link does not open it; `content` is the stream that the lines are signed for
 */
export async function openShare(link, answer) {
  const { conversationId: id, contentId: content } = answer;
  const share = await openNamed(link.key, id, answer, lines("live_share", id, content));
  if (!share) return null;
  const keys = new PacketKeys(id, await verifyingKey(share.sign));
  for (const [generation, text] of Object.entries(share.lineKeys ?? {})) {
    const key = fromBase64(text, keyBytes);
    if (key) await keys.addLineKey(Number(generation), key);
  }
  return { ...share, content, keys };
}

/** @returns {Promise<any>} the JSON inside, checked for names, with the conversation's public keys */
async function openNamed(key, id, answer, data) {
  const sign = fromBase64(answer.signPublicKey, keyBytes);
  const enc = fromBase64(answer.encPublicKey, keyBytes);
  const nonce = fromBase64(answer.nonce, nonceBytes);
  const ciphertext = fromBase64(answer.ciphertext);
  if (!sign || !enc || !nonce || !ciphertext || (await conversationID(sign, enc)) !== id) return null;
  const plain = await open(await sealingKey(key), nonce, ciphertext, data);
  if (!plain) return null;
  try {
    const info = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(plain));
    return isName(info.conversation) && isName(info.whisperer) ? { ...info, sign, enc } : null;
  } catch {
    return null;
  }
}

/** Names have 1 to 64 scalars and no control characters. @param {unknown} text */
export const isName = (text) =>
  typeof text === "string" && text.isWellFormed() && !/\p{Cc}/u.test(text) && text !== "" && [...text].length <= 64;

// MARK: Boxes

const x25519 = (bytes) => subtle.importKey("raw", bytes, "X25519", true, []);

/** @returns {Promise<CryptoKey>} throws if the other key is of low order */
async function boxKey(privateKey, other, sender, reader, salt) {
  const shared = await subtle.deriveBits({ name: "X25519", public: await x25519(other) }, privateKey, 8 * keyBytes);
  const bytes = new Uint8Array(shared);
  if (bytes.every((byte) => byte === 0)) throw new Error("a key of low order");
  return sealingKey(await derive(bytes, concat(utf8("whisper/seal\n"), sender, reader), salt));
}

/**
 * For the owner of one key, from anybody.
 * @param {object} value becomes JSON
 * @param {Uint8Array} [salt] of HKDF, as in `derive`
 * @param {CryptoKeyPair} [ephemeral] for tests; fresh otherwise
 * @param {Uint8Array} [nonce] likewise
 */
export async function box(value, reader, type, id, salt, ephemeral, nonce = crypto.getRandomValues(new Uint8Array(nonceBytes))) {
  const pair = ephemeral ?? (await subtle.generateKey("X25519", false, ["deriveBits"]));
  const sender = new Uint8Array(await subtle.exportKey("raw", pair.publicKey));
  const key = await boxKey(pair.privateKey, reader, sender, reader, salt);
  const sealed = await subtle.encrypt(parameters(nonce, lines(type, id)), key, utf8(JSON.stringify(value)));
  return { nonce: toBase64(nonce), ciphertext: toBase64(concat(sender, new Uint8Array(sealed))) };
}

/** @returns {Promise<any>} the JSON inside; null if it is not for this reader */
export async function unbox(frame, type, id, privateKey, reader, salt) {
  const nonce = fromBase64(frame.nonce, nonceBytes);
  const ciphertext = fromBase64(frame.ciphertext);
  if (!nonce || !ciphertext || ciphertext.length <= keyBytes) return null;
  try {
    const sender = ciphertext.slice(0, keyBytes);
    const key = await boxKey(privateKey, sender, sender, reader, salt);
    const plain = await open(key, nonce, ciphertext.slice(keyBytes), lines(type, id));
    return plain && JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(plain));
  } catch {
    return null;
  }
}

// MARK: Signatures

/** The digest that signatures of frames cover. */
export const signedDigest = (type, id, about, frame) =>
  sha256(lines(type, id, frame.from, about, frame.timestamp, frame.nonce, frame.ciphertext));

export const verifyingKey = (bytes) => subtle.importKey("raw", bytes, "Ed25519", true, ["verify"]);

/** @param {CryptoKey} key @param {unknown} signature base64 */
export async function isSigned(key, signature, bytes) {
  const raw = fromBase64(signature, 64);
  return raw !== null && subtle.verify("Ed25519", key, raw, bytes);
}

export const sign = async (key, bytes) => toBase64(new Uint8Array(await subtle.sign("Ed25519", key, bytes)));

/** What shows the whisperer that a knock comes from somebody who has the link. */
export async function knockTag(link, listener, timestamp) {
  const key = await subtle.importKey("raw", link.knockKey, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return toBase64(new Uint8Array(await subtle.sign("HMAC", key, utf8(`${link.id}\n${listener}\n${timestamp}\n`))));
}

// MARK: Rooms

/** The secret in a room's link: fresh, or the one in a fragment. @returns {Uint8Array | null} null if the fragment has none */
export const roomSecret = (fragment) =>
  fragment === undefined ? crypto.getRandomValues(new Uint8Array(secretBytes)) : fromBase64URL(fragment.slice(1), secretBytes);

export const roomProof = (secret) => derive(secret, "whisper/room/proof");

/** The salt of boxes between two who have the room's secret. @param {Uint8Array} secret */
export const roomSalt = (secret) => concat(plainSalt, secret);

/** 120 bits. */
const safetyNumberSymbols = 24;

/**
 * Two people compare it by voice, to know that nobody stands between them.
 * @typedef {{sign: Uint8Array, enc: Uint8Array}} PublicKeys
 * @param {PublicKeys} own @param {PublicKeys} other
 */
export async function safetyNumber(room, own, other) {
  const both = [own, other].map(({ sign, enc }) => concat(sign, enc)).sort((a, b) => (hex(a) < hex(b) ? -1 : 1));
  return base32(await sha256(concat(utf8(`whisper-room\n${room}`), ...both)), safetyNumberSymbols);
}

// MARK: Packets

/** Content keys of older generations than these are forgotten. */
const generationsMax = 16;

/** Opens the packets of one conversation. */
export class PacketKeys {
  #id;
  #verifier;
  /** @type {Map<number, {content: CryptoKey, line: CryptoKey}>} */
  #keys = new Map();

  /** @param {string} id of the conversation @param {CryptoKey} verifier its signing key */
  constructor(id, verifier) {
    this.#id = id;
    this.#verifier = verifier;
  }

  get newest() {
    return Math.max(0, ...this.#keys.keys());
  }

  /** @param {number} generation @param {Uint8Array} bytes 32 */
  async add(generation, bytes) {
    const line = await derive(bytes, "whisper/live/line");
    this.#keys.set(generation, { content: await sealingKey(bytes), line: await sealingKey(line) });
    if (this.#keys.size > generationsMax) this.#keys.delete(Math.min(...this.#keys.keys()));
  }

  /** Opens lines and nothing else. @param {number} generation @param {Uint8Array} bytes 32 */
  async addLineKey(generation, bytes) {
    this.#keys.set(generation, { line: await sealingKey(bytes) });
  }

  /** @returns {Promise<Uint8Array | "keyMissing" | "unreadable">} */
  async open(packet) {
    const keys = this.#keys.get(packet.generation);
    if (!keys) return "keyMissing";
    const nonce = fromBase64(packet.nonce, nonceBytes);
    const ciphertext = fromBase64(packet.ciphertext);
    if (!nonce || !ciphertext) return "unreadable";
    const { epoch, seq, kind, line, generation, to = "all" } = packet;
    const data = lines("live_packet", this.#id, epoch, seq, kind, line, generation, to);
    return (await open(kind === "line" ? keys.line : keys.content, nonce, ciphertext, data)) ?? "unreadable";
  }

  /** Whether the conversation signed this line of the stream `content`. */
  async isSigned(line, text, content, signature) {
    const digest = toBase64(await sha256(utf8(text)));
    return isSigned(this.#verifier, signature, await sha256(lines("live_line", this.#id, content, line, digest)));
  }
}

