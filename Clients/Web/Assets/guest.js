// Who listens: two pairs of keys that never leave the browser, and the id that is made from them.
import { fromBase64, toBase64 } from "./bytes.js";
import { guestID, sign } from "./crypto.js";

const database = "whisper";
const store = "keys";

const challengePrefix = "whisper-guest-v1";
const challengeBytes = 32;

/** Of a step with the database, in milliseconds. A page that is left while it makes one may hold it up. */
const storedWithin = 4_000;
/** Whoever gives up is another guest from then on: its seats and what it was let into are lost. */
const attemptsMax = 3;

/** @typedef {{sign: CryptoKeyPair, enc: CryptoKeyPair}} Pairs */

export class Guest {
  /** @param {Pairs} pairs */
  constructor(pairs, id, signPublicKey, encPublicKey) {
    this.pairs = pairs;
    this.id = id;
    /** base64, as frames have them */
    this.publicKeys = { signPublicKey: toBase64(signPublicKey), encPublicKey: toBase64(encPublicKey) };
    this.encPublicKey = encPublicKey;
  }

  /**
   * The guest of this browser, the same at each visit; for the page's life if the browser stores nothing.
   * @param {"guest" | "room"} [entry] under which its keys are stored. A guest has one connection at a time, so who listens in
   *   one tab and talks in another is two guests, whom the server cannot tell to be one person.
   * @param {boolean} isNew somebody else than before: what others were let into is not theirs
   */
  static async ofThisBrowser(entry = "guest", isNew = false) {
    const fresh = await freshPairs();
    const pairs = (await storedPairs(entry, fresh, isNew)) ?? fresh;
    const raw = async (key) => new Uint8Array(await crypto.subtle.exportKey("raw", key));
    const signPublicKey = await raw(pairs.sign.publicKey);
    const encPublicKey = await raw(pairs.enc.publicKey);
    return new Guest(pairs, await guestID(signPublicKey, encPublicKey), signPublicKey, encPublicKey);
  }

  /** How many guests have keys here: one or none. @returns {Promise<number | undefined>} undefined if the store does not say */
  static stored(entry) {
    return inStore((objects) => result(objects.count(entry)));
  }

  /** The next visitor is another guest. @returns {Promise<true | undefined>} undefined if the keys may still be there */
  static forget(entry) {
    return inStore((objects) => result(objects.delete(entry)).then(() => true));
  }

  /** Signs 32 bytes or a digest. @returns {Promise<string>} base64 */
  sign(bytes) {
    return sign(this.pairs.sign.privateKey, bytes);
  }

  /**
   * Other signatures are made with the same key over 32 bytes, too: only a challenge is signed as one.
   * @returns {Promise<string | null>} null if it is none
   */
  async answer(challenge) {
    const bytes = fromBase64(challenge, challengeBytes);
    if (!bytes || !new TextDecoder().decode(bytes).startsWith(challengePrefix)) return null;
    return this.sign(bytes);
  }
}

/** @returns {Promise<Pairs>} */
const freshPairs = async () => ({
  sign: await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]),
  enc: await crypto.subtle.generateKey("X25519", false, ["deriveBits"]),
});

/** The stored pairs, or `fresh`, which are then stored. Tabs that open together get the same, if nobody `isNew`. @param {Pairs} fresh */
const storedPairs = (entry, fresh, isNew) =>
  inStore(async (objects) => {
    const stored = isNew ? undefined : await result(objects.get(entry));
    if (!stored) await result(objects.put(fresh, entry));
    return stored ?? fresh;
  });

/** @template T @param {(objects: IDBObjectStore) => Promise<T>} work @returns {Promise<T | undefined>} undefined if nothing is stored */
const inStore = (work) =>
  // A page that holds a lock is not frozen when one leaves it. Frozen in a step, it would keep the database from all others.
  navigator.locks.request(database, async () => {
    for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
      try {
        const opening = indexedDB.open(database, 1);
        opening.onupgradeneeded = () => opening.result.createObjectStore(store);
        const opened = await result(opening);
        const done = await work(opened.transaction(store, "readwrite").objectStore(store));
        opened.close();
        return done;
      } catch {
        // Tried again, or not stored at all.
      }
    }
  });

/** @param {IDBRequest} request */
const result = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error("another page holds the database"));
    setTimeout(reject, storedWithin);
  });
