// Draws a QR code (ISO/IEC 18004): bytes, error correction M, versions 1 to 20.

/** Codewords of correction in a block, and blocks, by version. */
const corrections = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26];
const blocksOf = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16];
const quiet = 4;
const masks = [
  (x, y) => (x + y) % 2, (x, y) => y % 2, (x) => x % 3, (x, y) => (x + y) % 3, (x, y) => ((x / 3 | 0) + (y / 2 | 0)) % 2,
  (x, y) => x * y % 2 + x * y % 3, (x, y) => (x * y % 2 + x * y % 3) % 2, (x, y) => ((x + y) % 2 + x * y % 3) % 2,
];

/** Modules of a version that are neither patterns nor its own description. */
function room(version) {
  const align = version > 1 ? Math.floor(version / 7) + 2 : 0;
  const patterns = version > 1 ? (25 * align - 10) * align - 55 : 0;
  return (16 * version + 128) * version + 64 - patterns - (version > 6 ? 36 : 0);
}

/** Product in the field of 256 elements, modulo x^8 + x^4 + x^3 + x^2 + 1. */
function times(a, b) {
  let product = 0;
  for (let bit = 7; bit >= 0; bit -= 1) product = (product << 1) ^ ((product >> 7) * 0x11D) ^ ((b >> bit & 1) * a);
  return product;
}

function correction(data, count) {
  const divisor = new Uint8Array(count);
  divisor[count - 1] = 1;
  for (let power = 0, root = 1; power < count; power += 1, root = times(root, 2)) {
    for (let at = 0; at < count; at += 1) divisor[at] = times(divisor[at], root) ^ (divisor[at + 1] ?? 0);
  }
  const rest = new Uint8Array(count);
  for (const byte of data) {
    const factor = byte ^ rest[0];
    rest.copyWithin(0, 1);
    rest[count - 1] = 0;
    for (let at = 0; at < count; at += 1) rest[at] ^= times(divisor[at], factor);
  }
  return rest;
}

/** The text as codewords, in blocks whose bytes take turns. */
function codewords(bytes, version) {
  const [count, blocks] = [corrections[version - 1], blocksOf[version - 1]];
  const total = room(version) >> 3;
  const capacity = total - count * blocks;
  const bits = [0, 1, 0, 0];
  const put = (value, length) => {
    for (let bit = length - 1; bit >= 0; bit -= 1) bits.push(value >> bit & 1);
  };
  put(bytes.length, version < 10 ? 8 : 16);
  for (const byte of bytes) put(byte, 8);
  put(0, Math.min(4, capacity * 8 - bits.length));
  put(0, (8 - bits.length % 8) % 8);
  for (let pad = 0xEC; bits.length < capacity * 8; pad ^= 0xFD) put(pad, 8);
  const data = Array.from({ length: capacity }, (_, at) => parseInt(bits.slice(8 * at, 8 * at + 8).join(""), 2));
  const long = total % blocks;
  const parts = [];
  for (let block = 0, start = 0; block < blocks; block += 1) {
    const length = Math.floor(total / blocks) - count + (block < blocks - long ? 0 : 1);
    const part = data.slice(start, start += length);
    parts.push([part, correction(part, count)]);
  }
  const words = [];
  for (const half of [0, 1]) {
    const longest = Math.max(...parts.map((part) => part[half].length));
    for (let at = 0; at < longest; at += 1) {
      for (const part of parts) if (at < part[half].length) words.push(part[half][at]);
    }
  }
  return words;
}

/** A remainder of two polynomials, behind the value. */
function checked(value, divisor, length) {
  let rest = value;
  for (let at = 0; at < length; at += 1) rest = (rest << 1) ^ ((rest >> length - 1) * divisor);
  return value << length | rest;
}

/** @returns {(0 | 1 | undefined)[][]} with the places of text still undefined */
function patterns(version, mask) {
  const size = 4 * version + 17;
  const grid = Array.from({ length: size }, () => new Array(size));
  const square = (x, y, radius, isDark) => {
    for (let dy = -radius; dy <= radius; dy += 1) {
      for (let dx = -radius; dx <= radius; dx += 1) {
        if (grid[y + dy] && x + dx >= 0 && x + dx < size) grid[y + dy][x + dx] = isDark(Math.max(Math.abs(dx), Math.abs(dy)));
      }
    }
  };
  for (let at = 0; at < size; at += 1) grid[6][at] = grid[at][6] = 1 - at % 2;
  for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) square(x, y, 4, (far) => Number(far !== 2 && far !== 4));
  const align = version > 1 ? Math.floor(version / 7) + 2 : 0;
  const step = Math.ceil((4 * version + 4) / (2 * align - 2)) * 2;
  const places = Array.from({ length: align }, (_, at) => at === 0 ? 6 : size - 7 - (align - 1 - at) * step);
  const ends = [6, size - 7];
  for (const x of places) {
    for (const y of places) {
      const isFinder = ends.includes(x) && ends.includes(y) && !(x === size - 7 && y === size - 7);
      if (!isFinder) square(x, y, 2, (far) => Number(far !== 1));
    }
  }
  // Correction M is 0.
  const format = checked(mask, 0x537, 10) ^ 0x5412;
  for (let bit = 0; bit < 15; bit += 1) {
    const value = format >> bit & 1;
    grid[bit < 6 ? bit : bit < 8 ? bit + 1 : size - 15 + bit][8] = value;
    grid[8][bit < 8 ? size - 1 - bit : bit < 9 ? 7 : 14 - bit] = value;
  }
  grid[size - 8][8] = 1;
  if (version > 6) {
    const bits = checked(version, 0x1F25, 12);
    for (let bit = 0; bit < 18; bit += 1) {
      const [a, b] = [size - 11 + bit % 3, bit / 3 | 0];
      grid[a][b] = grid[b][a] = bits >> bit & 1;
    }
  }
  return grid;
}

function filled(version, words, mask) {
  const grid = patterns(version, mask);
  const size = grid.length;
  let bit = 0;
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step += 1) {
      const y = (right + 1 & 2) === 0 ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        if (grid[y][x] !== undefined) continue;
        const value = words[bit >> 3] >> 7 - (bit & 7) & 1;
        grid[y][x] = value ^ Number(masks[mask](x, y) === 0);
        bit += 1;
      }
    }
  }
  return grid;
}

/** Runs of one colour, which cameras do not like. */
function cost(grid) {
  const lines = [...grid, ...grid.map((_, x) => grid.map((row) => row[x]))];
  return lines.reduce((sum, line) => sum + (line.join("").match(/0{5,}|1{5,}/gu) ?? []).reduce((a, run) => a + run.length - 2, 0), 0);
}

/** @returns {(0 | 1)[][] | null} rows of modules; null for a text that is too long */
export function modules(text) {
  const bytes = new TextEncoder().encode(text);
  for (let version = 1; version <= corrections.length; version += 1) {
    const capacity = (room(version) >> 3) - corrections[version - 1] * blocksOf[version - 1];
    if (bytes.length > capacity - (version < 10 ? 2 : 3)) continue;
    const words = codewords(bytes, version);
    const grids = masks.map((_, mask) => filled(version, words, mask));
    const costs = grids.map(cost);
    return grids[costs.indexOf(Math.min(...costs))];
  }
  return null;
}

/** @returns {SVGElement | null} black on white, with its quiet zone */
export function picture(text) {
  const grid = modules(text);
  if (!grid) return null;
  const dark = grid.flatMap((row, y) => row.map((module, x) => module ? `M${x + quiet} ${y + quiet}h1v1h-1z` : ""));
  const size = grid.length + 2 * quiet;
  const make = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const svg = make("svg", { viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": "The link as a QR code" });
  svg.append(make("path", { fill: "#fff", d: `M0 0h${size}v${size}H0z` }), make("path", { fill: "#000", d: dark.join("") }));
  return svg;
}
