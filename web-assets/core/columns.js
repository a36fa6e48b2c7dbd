/** @typedef {Uint8Array | Uint16Array | Uint32Array | Float64Array} Column whole numbers from 0 up */

/**
 * @param {Uint32Array | Float64Array} column
 * @returns {Column} the same numbers in as few bytes each as the largest needs
 */
export function compact(column) {
  let max = 0;
  for (let i = 0, n = column.length; i < n; i++) if (column[i] > max) max = column[i];
  if (max < 2 ** 8) return Uint8Array.from(column);
  if (max < 2 ** 16) return Uint16Array.from(column);
  return max < 2 ** 32 ? Uint32Array.from(column) : column;
}

/**
 * A curve with at most two points per pixel column: its lowest and highest value there, in the order in which they come.
 * The curve's extremes are always kept, however many points there are.
 * @param {number} n points
 * @param {(i: number) => number} columnOf pixel column of a point; never decreasing
 * @param {Float64Array} values
 * @returns {{column: number, value: number}[]}
 */
export function reduceCurve(n, columnOf, values) {
  const out = [];
  for (let i = 0; i < n; ) {
    const column = columnOf(i);
    let low = i;
    let high = i;
    for (; i < n && columnOf(i) === column; i++) {
      if (values[i] < values[low]) low = i;
      if (values[i] > values[high]) high = i;
    }
    out.push({ column, value: values[Math.min(low, high)] });
    if (low !== high) out.push({ column, value: values[Math.max(low, high)] });
  }
  return out;
}

/**
 * The highest slice peak in each pixel column. A slice fills at least `least` columns, so that a spike can be seen.
 * @param {Float64Array} edges of the slices, in 0..1
 * @param {Float64Array} peaks
 * @param {number} width columns
 * @param {number} least
 * @returns {Float64Array}
 */
export function peakColumns(edges, peaks, width, least) {
  return Float64Array.from(highestSlices(edges, peaks, width, least), (s) => (s < 0 ? 0 : peaks[s]));
}

/**
 * The slice with the highest peak in each pixel column.
 * @param {Float64Array} edges of the slices, in 0..1
 * @param {Float64Array} peaks
 * @param {number} width columns
 * @param {number} least columns that a slice fills
 * @returns {Int32Array} -1 where no peak is above 0
 */
export function highestSlices(edges, peaks, width, least) {
  const out = new Int32Array(width).fill(-1);
  for (let s = 0; s < peaks.length; s++) {
    const first = Math.max(0, Math.min(width - least, Math.floor(edges[s] * width)));
    const behind = Math.min(width, Math.max(first + least, Math.ceil(edges[s + 1] * width)));
    for (let c = first; c < behind; c++) if (peaks[s] > (out[c] < 0 ? 0 : peaks[out[c]])) out[c] = s;
  }
  return out;
}

/**
 * @template {Int32Array | Uint32Array | Float64Array} T
 * @param {T} column
 * @returns {T} the same with room for twice as many
 */
export function doubled(column) {
  const out = new /** @type {any} */ (column.constructor)(2 * column.length);
  out.set(column);
  return out;
}

/**
 * @param {Float64Array} values
 * @returns {number} where the largest value is first reached; 0 if there is none
 */
export function argmax(values) {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
  return best;
}
