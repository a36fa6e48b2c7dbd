import { NEVER } from './decode.js';
import { breather } from './timing.js';

/** @typedef {import('./decode.js').Model} Model */

const ROWS_PER_STEP = 1 << 17;
const STEP_MS = 8;

/**
 * Memory over time of groups of locations, in one pass over the rows.
 * @param {Model} model
 * @param {Int16Array} groupOf group of each location; below 0 = none
 * @param {Uint8Array | null} keep 1 for each location that counts; null = all
 * @param {number} groups
 * @param {() => boolean} [isStale] asked between steps: true gives up
 * @returns {Promise<Float64Array[] | null>} for each group, bytes at the peak of each slice; null if given up
 */
export async function seriesOf(model, groupOf, keep, groups, isStale = () => false) {
  const { rowStart, rowLocation, rowEnd, rowBytes, slicePeak } = model;
  const slices = slicePeak.length;
  const out = Array.from({ length: groups }, () => new Float64Array(slices));
  const pause = breather(STEP_MS);
  for (let tick = 0, checked = 0; tick < 2 * slices; tick++) {
    // A slice's peak sees what starts in its first tick; what starts in its second is first seen in the next slice.
    const first = (tick + 1) >> 1;
    for (let i = rowStart[tick], end = rowStart[tick + 1]; i < end; i++) {
      const location = rowLocation[i];
      const group = groupOf[location];
      if (group < 0 || (keep !== null && keep[location] === 0)) continue;
      const series = out[group];
      if (first < slices) series[first] += rowBytes[i];
      const behind = rowEnd[i] === NEVER ? slices : (rowEnd[i] + 1) >> 1;
      if (behind < slices) series[behind] -= rowBytes[i];
    }
    if (rowStart[tick + 1] - checked < ROWS_PER_STEP) continue;
    checked = rowStart[tick + 1];
    await pause();
    if (isStale()) return null;
  }
  for (const series of out) for (let s = 1; s < slices; s++) series[s] += series[s - 1];
  return out;
}
