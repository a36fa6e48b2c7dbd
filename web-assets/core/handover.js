/** @typedef {import('./decode.js').Meta} Meta */

/**
 * What boot.js has read for main.js.
 *
 * @typedef {object} Payload
 * @property {Meta} meta
 * @property {Map<string, Uint8Array>} sections the binary ones, decompressed
 */

/** @type {{memreportPayload?: Payload}} the two are scripts of their own, and have only the global object in common */
const shared = /** @type {any} */ (globalThis);

/** @param {Payload} payload */
export function handOver(payload) {
  shared.memreportPayload = payload;
}

/** @returns {Payload} what was handed over; once, so that its bytes can go */
export function takeOver() {
  const payload = shared.memreportPayload;
  if (payload === undefined) throw new Error('nothing was read');
  delete shared.memreportPayload;
  return payload;
}
