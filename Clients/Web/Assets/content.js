// What is sealed in a packet: JSON `{"p": [...], "n": ..., "sig": ...}`, padded with spaces.
import { fromBase64URL, utf8 } from "./bytes.js";

/** Live text as it stands in JSON with the shortest escapes, in bytes. */
export const textBytesMax = 8000;
const editsMax = 64;

/**
 * @typedef {{offset: number, text: string}} Edit the first scalars stay, then comes the text
 * @typedef {{sound: string} | {say: string} | {share: string, secret: string}} Cue
 * @typedef {{kind: "snapshot", text: string, count: number}
 *   | {kind: "diff", edits: Edit[], count: number}
 *   | {kind: "line", text: string, sig: unknown}
 *   | {kind: "cue", cue: Cue}} Content
 */

/** Neither line ends nor control characters but tab. @param {string} text */
export const isLiveText = (text) =>
  text.isWellFormed() && !/[\p{Cc}\u2028\u2029]/u.test(text.replaceAll("\t", "")) && isShort(text);

const isShort = (text) => utf8(text).length + (text.match(/["\\\t]/g)?.length ?? 0) <= textBytesMax;

/** Unicode scalars, which offsets count. @param {string} text */
export const scalars = (text) => Array.from(text);

/** @param {string} text @param {Edit[]} edits @returns {string | null} null if they do not fit */
export function apply(text, edits) {
  let live = scalars(text);
  for (const edit of edits) {
    if (edit.offset > live.length) return null;
    live = live.slice(0, edit.offset).concat(scalars(edit.text));
    if (!isShort(live.join(""))) return null;
  }
  return live.join("");
}

/**
 * @param {Uint8Array} bytes
 * @param {string} kind as the header says
 * @returns {Content | null} null if the bytes are not what the contract allows
 */
export function readContent(bytes, kind) {
  let members;
  try {
    members = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
  if (!Array.isArray(members?.p) || members.p.length === 0) return null;
  const parts = members.p.map(split);
  if (parts.includes(null) || (kind !== "diff" && parts.length > 1)) return null;
  const count = Number.isSafeInteger(members.n) ? members.n : null;
  const [{ offset, text }] = parts;
  switch (kind) {
    case "diff":
      if (count === null || parts.length > editsMax) return null;
      if (parts.some((part) => part.offset < 0 || !isLiveText(part.text))) return null;
      return { kind, edits: parts, count };
    case "snapshot":
      return offset === -3 && count !== null && isLiveText(text) ? { kind, text, count } : null;
    case "line":
      return offset === -2 && isLiveText(text) ? { kind, text, sig: members.sig } : null;
    case "cue": {
      const cue = readCue(offset, text);
      return cue && { kind, cue };
    }
    default:
      return null;
  }
}

/** @param {unknown} packet `offset|data` @returns {Edit | null} */
function split(packet) {
  const parts = typeof packet === "string" ? /^(0|-?[1-9]\d{0,14})\|([^]*)$/.exec(packet) : null;
  return parts && { offset: Number(parts[1]), text: parts[2] };
}

/** @returns {Cue | null} */
function readCue(offset, text) {
  switch (offset) {
    case -7:
      return { sound: text };
    case -8:
      return isLiveText(text) ? { say: text } : null;
    case -50: {
      const [share, secret, ...more] = text.split("#");
      const isShare = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(share);
      return isShare && more.length === 0 && secret && fromBase64URL(secret, 16) ? { share, secret } : null;
    }
    default:
      return null;
  }
}
