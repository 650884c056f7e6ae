// Bytes and their spellings in frames and links.

/** @param {string} text @returns {Uint8Array} */
export const utf8 = (text) => new TextEncoder().encode(text);

/** @param {...Uint8Array} parts @returns {Uint8Array} */
export function concat(...parts) {
  const bytes = new Uint8Array(parts.reduce((count, part) => count + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

/** @param {Uint8Array} one @param {Uint8Array} other */
export const isEqual = (one, other) => one.length === other.length && one.every((byte, place) => byte === other[place]);

/** @param {Uint8Array} bytes */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param {Uint8Array} bytes @returns {string} */
export const toBase64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));

/**
 * @param {unknown} text
 * @param {number} [count] of bytes, if it is fixed
 * @returns {Uint8Array | null} null if it is no base64 in its one canonical spelling
 */
export function fromBase64(text, count) {
  if (typeof text !== "string") return null;
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return toBase64(bytes) === text && (count === undefined || bytes.length === count) ? bytes : null;
  } catch {
    return null;
  }
}

/** Without padding, as in links (RFC 4648 §5). @param {Uint8Array} bytes */
export const toBase64URL = (bytes) => toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

/** @returns {Uint8Array | null} */
export function fromBase64URL(text, count) {
  if (!/^[\w-]*$/.test(text)) return null;
  const standard = text.replaceAll("-", "+").replaceAll("_", "/");
  return fromBase64(standard.padEnd(Math.ceil(standard.length / 4) * 4, "="), count);
}
