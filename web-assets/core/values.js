/** @typedef {'bytes' | 'count'} Metric what the width of a frame stands for */

/** @typedef {import('./columns.js').Column} Column */

/** What each location holds, in the order of the call tree, with filters applied. */
export class Values {
  /** @param {number} locations */
  constructor(locations) {
    /** @type {Column} */
    this.bytes = new Float64Array(0);
    /** @type {Column} */
    this.count = new Float64Array(0);
    /** Running sums: what the locations before one hold. */
    this.sumBytes = new Float64Array(locations + 1);
    this.sumCount = new Float64Array(locations + 1);
  }

  /**
   * @param {Column} bytes
   * @param {Column} count
   * @param {Uint8Array | null} keep 1 for each location that counts; null = all
   */
  set(bytes, count, keep) {
    this.bytes = keep === null ? bytes : Float64Array.from(bytes, (b, i) => b * keep[i]);
    this.count = keep === null ? count : Float64Array.from(count, (c, i) => c * keep[i]);
    addUp(this.bytes, this.sumBytes);
    addUp(this.count, this.sumCount);
  }

  /** @returns {number} bytes of all locations that count */
  get wholeBytes() {
    return this.sumBytes[this.sumBytes.length - 1];
  }

  /** @returns {number} allocations of all locations that count */
  get wholeCount() {
    return this.sumCount[this.sumCount.length - 1];
  }
}

/**
 * @param {import('./decode.js').Tree} model
 * @param {number} node base node
 * @param {Float64Array} sum a running sum over the locations
 * @returns {number} what the node and all below it hold
 */
export function subtreeSum({ firstLocation, nodeEnd }, node, sum) {
  return sum[firstLocation[nodeEnd[node]]] - sum[firstLocation[node]];
}

/**
 * @param {Column} values
 * @param {Float64Array} out the sum of what comes before each value, and of all
 */
export function addUp(values, out) {
  let sum = 0;
  out[0] = 0;
  for (let i = 0, n = values.length; i < n; i++) out[i + 1] = sum += values[i];
}
