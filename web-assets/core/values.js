/** @typedef {'bytes' | 'count'} Metric what the width of a frame stands for */

/** What each location holds, in the order of the call tree, with filters applied. */
export class Values {
  /** @param {number} locations */
  constructor(locations) {
    this.bytes = new Float64Array(locations);
    this.count = new Float64Array(locations);
    /** Running sums: what the locations before one hold. */
    this.sumBytes = new Float64Array(locations + 1);
    this.sumCount = new Float64Array(locations + 1);
  }

  /**
   * @param {Float64Array} bytes
   * @param {Float64Array} count
   * @param {Uint8Array | null} keep 1 for each location that counts; null = all
   */
  set(bytes, count, keep) {
    const { sumBytes, sumCount } = this;
    let b = 0;
    let c = 0;
    for (let i = 0, n = bytes.length; i < n; i++) {
      const kept = keep === null || keep[i] !== 0;
      b += this.bytes[i] = kept ? bytes[i] : 0;
      c += this.count[i] = kept ? count[i] : 0;
      sumBytes[i + 1] = b;
      sumCount[i + 1] = c;
    }
  }

  /** @returns {number} bytes of all locations that count */
  get wholeBytes() {
    return this.sumBytes[this.bytes.length];
  }

  /** @returns {number} allocations of all locations that count */
  get wholeCount() {
    return this.sumCount[this.bytes.length];
  }
}

/**
 * @param {import('./decode.js').Model} model
 * @param {number} node base node
 * @param {Float64Array} sum a running sum over the locations
 * @returns {number} what the node and all below it hold
 */
export function subtreeSum({ firstLocation, nodeEnd }, node, sum) {
  return sum[firstLocation[nodeEnd[node]]] - sum[firstLocation[node]];
}
