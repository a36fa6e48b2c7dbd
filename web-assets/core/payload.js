import { DamagedReport, reasonOf } from './damage.js';
import { gunzip } from './inflate.js';

/**
 * @param {string} text
 * @returns {Uint8Array}
 */
export function decodeBase64(text) {
  const native = /** @type {any} */ (Uint8Array).fromBase64;
  if (typeof native === 'function') return native.call(Uint8Array, text);
  const binary = atob(text);
  const out = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) out[i] = binary.charCodeAt(i);
  return out;
}

/**
 * Decodes a section: base64 parts that together are one gzip stream.
 * @param {string} tag name of the section, for the error
 * @param {Iterable<string>} parts
 * @param {number} length of the section before compression
 * @param {boolean} [fallback] use our own decoder even if the browser has one
 * @returns {Promise<Uint8Array>}
 */
export async function inflateSection(tag, parts, length, fallback = false) {
  const native = !fallback && typeof DecompressionStream === 'function';
  try {
    return native ? await inflateNatively(parts, length) : gunzip(joinParts(parts), length);
  } catch (error) {
    throw new DamagedReport('section ' + tag + ': ' + reasonOf(error));
  }
}

/**
 * @param {Iterable<string>} parts
 * @param {number} length
 * @returns {Promise<Uint8Array>}
 */
async function inflateNatively(parts, length) {
  const stream = new DecompressionStream('gzip');
  const writer = stream.writable.getWriter();
  const fed = feed(writer, parts);
  // The reader meets the same error first; this only keeps it from being reported twice.
  fed.catch(() => {});
  const out = new Uint8Array(length);
  const reader = stream.readable.getReader();
  let at = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (at + value.length > length) throw new DamagedReport('too long');
    out.set(value, at);
    at += value.length;
  }
  await fed;
  if (at !== length) throw new DamagedReport('too short');
  return out;
}

/**
 * @param {WritableStreamDefaultWriter<BufferSource>} writer
 * @param {Iterable<string>} parts
 */
async function feed(writer, parts) {
  try {
    for (const part of parts) await writer.write(/** @type {Uint8Array<ArrayBuffer>} */ (decodeBase64(part)));
    await writer.close();
  } catch (error) {
    await writer.abort(error);
    throw error;
  }
}

/**
 * @param {Iterable<string>} parts
 * @returns {Uint8Array}
 */
function joinParts(parts) {
  const decoded = Array.from(parts, decodeBase64);
  const out = new Uint8Array(decoded.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of decoded) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
