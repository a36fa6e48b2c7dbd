import { subtreeSum } from './values.js';

/** @typedef {import('./shape.js').Shape} Shape */
/** @typedef {import('./values.js').Values} Values */

/**
 * What one function, module or package holds.
 *
 * @typedef {object} FunctionRow
 * @property {number} frame that stands for it; 0 = what no visible frame holds
 * @property {number} ownBytes of allocations that it made itself, or frames that cannot be seen made for it
 * @property {number} ownCount
 * @property {number} bytes with all that it called; recursion counts once
 * @property {number} count
 */

/** @typedef {'ownBytes' | 'ownCount' | 'bytes' | 'count'} FunctionColumn */

/**
 * Adds up by function. The own bytes of all rows together are all that is shown.
 * @param {Shape} shape grouped at least by function
 * @param {Values} values
 * @returns {FunctionRow[]} in the order of frames; rows that hold nothing are left out
 */
export function functionRows(shape, values) {
  const { model, near, outermost } = shape;
  const frames = shape.key.length;
  const ownBytes = new Float64Array(frames);
  const ownCount = new Float64Array(frames);
  const bytes = new Float64Array(frames);
  const count = new Float64Array(frames);
  const { firstLocation } = model;
  for (let i = 0, n = near.length; i < n; i++) {
    for (let l = firstLocation[i], end = firstLocation[i + 1]; l < end; l++) {
      const owner = shape.frameOf(near[i]);
      ownBytes[owner] += values.bytes[l];
      ownCount[owner] += values.count[l];
    }
    if (outermost[i] === 0) continue;
    const frame = shape.frameOf(i);
    bytes[frame] += subtreeSum(model, i, values.sumBytes);
    count[frame] += subtreeSum(model, i, values.sumCount);
  }
  bytes[0] = ownBytes[0];
  count[0] = ownCount[0];
  const out = [];
  for (let frame = 0; frame < frames; frame++) {
    if (bytes[frame] === 0 && count[frame] === 0) continue;
    out.push({ frame, ownBytes: ownBytes[frame], ownCount: ownCount[frame], bytes: bytes[frame], count: count[frame] });
  }
  return out;
}

/**
 * @param {FunctionRow[]} rows
 * @param {FunctionColumn} column
 * @returns {FunctionRow[]} a copy, largest first
 */
export function sortedRows(rows, column) {
  return rows.slice().sort((a, b) => b[column] - a[column] || b.ownBytes - a.ownBytes || b.bytes - a.bytes || a.frame - b.frame);
}

/**
 * Which locations are a function's own.
 * @param {Shape} shape
 * @param {number[]} frames that stand for functions
 * @param {number} rest group of all other locations; -1 = none
 * @returns {Int16Array} for each location the index in `frames`, or `rest`
 */
export function groupsByOwner(shape, frames, rest) {
  const { near, model } = shape;
  const { firstLocation } = model;
  const index = new Int16Array(shape.key.length).fill(rest);
  frames.forEach((frame, i) => (index[frame] = i));
  const out = new Int16Array(firstLocation[near.length]);
  for (let node = 0, n = near.length; node < n; node++) {
    const group = index[shape.frameOf(near[node])];
    for (let i = firstLocation[node], end = firstLocation[node + 1]; i < end; i++) out[i] = group;
  }
  return out;
}

/**
 * Which locations lie at or below some nodes.
 * @param {import('./decode.js').Model} model
 * @param {number[]} nodes none above another
 * @returns {Int16Array} for each location 0, or -1 if it lies elsewhere
 */
export function groupBelow({ firstLocation, nodeEnd }, nodes) {
  const out = new Int16Array(firstLocation[firstLocation.length - 1]).fill(-1);
  for (const node of nodes) out.fill(0, firstLocation[node], firstLocation[nodeEnd[node]]);
  return out;
}
