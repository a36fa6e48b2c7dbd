import { DamagedReport } from './damage.js';

// Base values and extra bits of lengths and distances, RFC 1951, 3.2.5.
const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_EXTRA = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASE = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
const DISTANCE_EXTRA = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
const CODE_LENGTH_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** @typedef {{table: Uint32Array, bits: number}} Codes a table from the next `bits` bits to (symbol << 4) | length */

/**
 * Decodes one gzip member: for browsers without `DecompressionStream`.
 * @param {Uint8Array} source
 * @param {number} size bytes expected
 * @returns {Uint8Array}
 */
export function gunzip(source, size) {
  const bits = new BitReader(source, skipHeader(source));
  const out = new Uint8Array(size);
  let at = 0;
  for (let last = 0; last === 0; ) {
    last = bits.take(1);
    const type = bits.take(2);
    if (type === 0) at = copyStored(bits, out, at);
    else if (type === 1) at = inflateBlock(bits, fixedCodes(), out, at);
    else if (type === 2) at = inflateBlock(bits, readCodes(bits), out, at);
    else throw new DamagedReport('unknown kind of deflate block');
  }
  bits.align();
  const crc = bits.word();
  const length = bits.word();
  if (at !== size || length !== size >>> 0) throw new DamagedReport('wrong length');
  if (crc !== crc32(out)) throw new DamagedReport('wrong checksum');
  return out;
}

/**
 * CRC-32 as gzip uses it.
 * @param {Uint8Array} bytes
 * @returns {number}
 */
export function crc32(bytes) {
  const table = new Uint32Array(256);
  for (let n = 0; n < 256; n++) {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
    table[n] = c;
  }
  let crc = -1;
  for (let i = 0, n = bytes.length; i < n; i++) crc = (crc >>> 8) ^ table[(crc ^ bytes[i]) & 255];
  return (crc ^ -1) >>> 0;
}

/** Bits of a byte array, lowest first. Past the end come zeros; `align` and `word` notice that. */
class BitReader {
  /**
   * @param {Uint8Array} source
   * @param {number} pos
   */
  constructor(source, pos) {
    this.source = source;
    this.pos = pos;
    this.hold = 0;
    this.held = 0;
  }

  /** @param {number} n bits to hold at least, at most 16 */
  need(n) {
    while (this.held < n) {
      this.hold |= this.source[this.pos++] << this.held;
      this.held += 8;
    }
  }

  /**
   * @param {number} n at most 16
   * @returns {number}
   */
  take(n) {
    this.need(n);
    const value = this.hold & ((1 << n) - 1);
    this.hold >>>= n;
    this.held -= n;
    return value;
  }

  /**
   * @param {Codes} codes
   * @returns {number}
   */
  symbol(codes) {
    this.need(codes.bits);
    const entry = codes.table[this.hold & (codes.table.length - 1)];
    const length = entry & 15;
    if (length === 0) throw new DamagedReport('unknown code');
    this.hold >>>= length;
    this.held -= length;
    return entry >> 4;
  }

  /** Drops the rest of the current byte and gives back whole bytes that were read ahead. */
  align() {
    this.pos -= this.held >> 3;
    this.hold = 0;
    this.held = 0;
    if (this.pos > this.source.length) throw new DamagedReport('cut off');
  }

  /** @returns {number} a 32 bit number, lowest byte first; only after `align` */
  word() {
    const s = this.source;
    const p = this.pos;
    this.pos += 4;
    if (this.pos > s.length) throw new DamagedReport('cut off');
    return (s[p] | (s[p + 1] << 8) | (s[p + 2] << 16) | (s[p + 3] << 24)) >>> 0;
  }
}

/**
 * @param {Uint8Array} source
 * @returns {number} where the deflate stream begins
 */
function skipHeader(source) {
  if (source[0] !== 0x1f || source[1] !== 0x8b || source[2] !== 8) throw new DamagedReport('not gzip');
  const flags = source[3];
  let pos = 10;
  if (flags & 4) pos += 2 + source[pos] + 256 * source[pos + 1];
  for (const flag of [8, 16]) if (flags & flag) while (pos < source.length && source[pos++] !== 0);
  return flags & 2 ? pos + 2 : pos;
}

/**
 * @param {BitReader} bits
 * @param {Uint8Array} out
 * @param {number} at
 * @returns {number} the new `at`
 */
function copyStored(bits, out, at) {
  bits.align();
  const length = bits.word() & 0xffff;
  if (bits.pos + length > bits.source.length || at + length > out.length) throw new DamagedReport('cut off');
  out.set(bits.source.subarray(bits.pos, bits.pos + length), at);
  bits.pos += length;
  return at + length;
}

/**
 * @param {BitReader} bits
 * @param {{literals: Codes, distances: Codes}} codes
 * @param {Uint8Array} out
 * @param {number} at
 * @returns {number} the new `at`
 */
function inflateBlock(bits, codes, out, at) {
  const { literals, distances } = codes;
  for (;;) {
    const symbol = bits.symbol(literals);
    if (symbol < 256) {
      if (at >= out.length) throw new DamagedReport('wrong length');
      out[at++] = symbol;
      continue;
    }
    if (symbol === 256) return at;
    const length = LENGTH_BASE[symbol - 257] + bits.take(LENGTH_EXTRA[symbol - 257]);
    const code = bits.symbol(distances);
    const distance = DISTANCE_BASE[code] + bits.take(DISTANCE_EXTRA[code]);
    if (!(distance <= at) || !(at + length <= out.length)) throw new DamagedReport('reference out of range');
    if (distance >= length) out.copyWithin(at, at - distance, at - distance + length);
    else for (let i = 0; i < length; i++) out[at + i] = out[at + i - distance];
    at += length;
  }
}

/** @returns {{literals: Codes, distances: Codes}} */
function fixedCodes() {
  const lengths = new Uint8Array(288);
  lengths.fill(8, 0, 144);
  lengths.fill(9, 144, 256);
  lengths.fill(7, 256, 280);
  lengths.fill(8, 280, 288);
  return { literals: codesOf(lengths), distances: codesOf(new Uint8Array(30).fill(5)) };
}

/**
 * @param {BitReader} bits
 * @returns {{literals: Codes, distances: Codes}}
 */
function readCodes(bits) {
  const nLiterals = bits.take(5) + 257;
  const nDistances = bits.take(5) + 1;
  const nLengths = bits.take(4) + 4;
  const lengthLengths = new Uint8Array(19);
  for (let i = 0; i < nLengths; i++) lengthLengths[CODE_LENGTH_ORDER[i]] = bits.take(3);
  const lengthCodes = codesOf(lengthLengths);
  const lengths = new Uint8Array(nLiterals + nDistances);
  for (let i = 0; i < lengths.length; ) {
    const symbol = bits.symbol(lengthCodes);
    if (symbol < 16) lengths[i++] = symbol;
    else if (symbol === 16) {
      const previous = lengths[i - 1];
      for (let n = 3 + bits.take(2); n > 0; n--) lengths[i++] = previous;
    } else i += symbol === 17 ? 3 + bits.take(3) : 11 + bits.take(7);
  }
  return { literals: codesOf(lengths.subarray(0, nLiterals)), distances: codesOf(lengths.subarray(nLiterals)) };
}

/**
 * @param {Uint8Array} lengths code length of each symbol; 0 = not used
 * @returns {Codes}
 */
function codesOf(lengths) {
  let bits = 1;
  const count = new Uint16Array(17);
  for (const length of lengths) {
    if (length > bits) bits = length;
    count[length]++;
  }
  count[0] = 0;
  const next = new Uint16Array(17);
  for (let i = 1, code = 0; i <= bits; i++) {
    code = (code + count[i - 1]) << 1;
    next[i] = code;
  }
  const table = new Uint32Array(1 << bits);
  for (let symbol = 0; symbol < lengths.length; symbol++) {
    const length = lengths[symbol];
    if (length === 0) continue;
    let reversed = 0;
    for (let i = 0, code = next[length]++; i < length; i++, code >>= 1) reversed = (reversed << 1) | (code & 1);
    for (let i = reversed; i < table.length; i += 1 << length) table[i] = (symbol << 4) | length;
  }
  return { table, bits };
}
