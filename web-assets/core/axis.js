/** @typedef {{left: number, right: number}} AxisLimits ms since the start */

// Slices at the ends are often a few ms long; this share of the axis keeps them visible.
const MIN_END = 0.004;

/**
 * Where slices lie on the time axis. Clocks may run backwards: edges are a running maximum of the snapshots' times.
 */
export class TimeAxis {
  /**
   * @param {Float64Array} snapshotTime ms since the start
   * @param {number} duration ms from start to end
   * @param {AxisLimits} [limits] what the axis reaches over, if that is more than this run
   */
  constructor(snapshotTime, duration, limits) {
    const snapshots = snapshotTime.length;
    this.slices = snapshots + 1;
    /** Times of the slices' edges: the start, the snapshots, the end. */
    this.times = new Float64Array(snapshots + 2);
    for (let i = 0; i < snapshots; i++) this.times[i + 1] = Math.max(this.times[i], snapshotTime[i]);
    this.times[snapshots + 1] = Math.max(this.times[snapshots], duration);
    const own = this.ownLimits();
    /** @type {AxisLimits} */
    this.limits = limits ?? own;
    /** Where the edges are drawn, in 0..1. */
    this.edges = this.times.map((time) => this.position(time));
    this.edges[0] = 0;
    this.edges[this.slices] = this.position(own.right);
  }

  /** @returns {number} ms from the start to the end */
  get span() {
    return this.times[this.slices];
  }

  /** @returns {AxisLimits} */
  ownLimits() {
    const { times, slices, span } = this;
    const least = Math.max(1, MIN_END * span);
    return { left: Math.min(0, times[1] - least), right: Math.max(span, times[slices - 1] + least) };
  }

  /**
   * @param {number} time ms since the start
   * @returns {number} 0..1
   */
  position(time) {
    const { left, right } = this.limits;
    return (time - left) / (right - left);
  }

  /**
   * @param {number} x 0..1
   * @returns {number} the slice there
   */
  sliceAt(x) {
    let low = 0;
    let high = this.slices - 1;
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (this.edges[mid] <= x) low = mid;
      else high = mid - 1;
    }
    return low;
  }

  /**
   * Moves a range of slices by a distance on the axis; it keeps its width as far as the slices' edges allow.
   * @param {number} lo
   * @param {number} hi
   * @param {number} by
   * @returns {{lo: number, hi: number}}
   */
  shift(lo, hi, by) {
    const left = this.edges[lo];
    const right = this.edges[hi + 1];
    const moved = Math.max(-left, Math.min(this.edges[this.slices] - right, by));
    if (lo === hi) {
      const only = this.sliceAt((left + right) / 2 + moved);
      return { lo: only, hi: only };
    }
    // Half of the outermost slices must be inside, else rounding would widen the range now and then.
    const first = this.sliceAt((left + this.edges[lo + 1]) / 2 + moved);
    const last = this.sliceAt((this.edges[hi] + right) / 2 + moved);
    return { lo: first, hi: Math.max(first, last) };
  }
}
