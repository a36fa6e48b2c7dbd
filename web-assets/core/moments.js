import { argmax } from './columns.js';

/** @typedef {import('./decode.js').History} History */

/**
 * @param {History} model
 * @param {number} slice
 * @returns {number} the heap where a slice starts, in bytes
 */
export function heapBefore({ snapshotHeap }, slice) {
  return slice === 0 ? 0 : snapshotHeap[slice - 1];
}

/**
 * @param {History} model
 * @param {number} slice
 * @returns {number} the heap where a slice ends, in bytes
 */
export function heapAfter({ snapshotHeap, meta }, slice) {
  return slice === snapshotHeap.length ? meta.leaked_bytes : snapshotHeap[slice];
}

/**
 * @param {History} model
 * @returns {number} the slice over which the heap grew most; the first one of several
 */
export function largestGrowth(model) {
  return argmax(model.slicePeak.map((_, slice) => heapAfter(model, slice) - heapBefore(model, slice)));
}

/**
 * @param {History} model
 * @returns {number} the slice that ends where RSS was first highest
 */
export function peakRss(model) {
  return argmax(model.snapshotRss);
}
