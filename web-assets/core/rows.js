import { NEVER } from './decode.js';
import { breather } from './timing.js';

/** @typedef {import('./decode.js').History} History */
/** @typedef {{at: number, bytes: Float64Array, count: Float64Array}} Checkpoint sums over all rows alive at a tick */

const CHECKPOINT_BYTES = 32 << 20;
const MAX_CHECKPOINTS = 32;
const ROWS_PER_STEP = 1 << 16;
const STEP_MS = 8;

/**
 * Live bytes and allocations of each location, for one pair of ticks `(from, at)`: sums of the rows that start in
 * `from..at` and end after `at`. Integers below 2^53, so adding and removing rows never drifts.
 */
class Sums {
  /** @param {History} model */
  constructor(model) {
    const locations = model.meta.counts.locations;
    this.model = model;
    this.bytes = new Float64Array(locations);
    this.count = new Float64Array(locations);
    this.from = 0;
    this.at = -1;
  }

  /**
   * Starts from nothing.
   * @param {number} from
   * @param {number} at
   */
  scan(from, at) {
    const { rowStart } = this.model;
    this.bytes.fill(0);
    this.count.fill(0);
    this.addStarted(rowStart[from], rowStart[at + 1], at, 1);
    this.from = from;
    this.at = at;
  }

  /**
   * Moves `at`, which must not come before `from`.
   * @param {number} to
   * @param {EndIndex} ends
   */
  moveAt(to, ends) {
    const { rowStart } = this.model;
    const { from, at } = this;
    const low = Math.min(at, to);
    const high = Math.max(at, to);
    const sign = to > at ? 1 : -1;
    // Rows that start in between and outlive it, and rows from before that end in between.
    this.addStarted(rowStart[Math.max(low + 1, from)], rowStart[high + 1], high, sign);
    this.addEnded(ends, low, high, rowStart[from], rowStart[low + 1], -sign);
    this.at = to;
  }

  /**
   * Moves `from`, which must not come after `at`.
   * @param {number} to
   */
  moveFrom(to) {
    const { rowStart } = this.model;
    const low = Math.min(to, this.from);
    const high = Math.max(to, this.from);
    this.addStarted(rowStart[low], rowStart[high], this.at, to < this.from ? 1 : -1);
    this.from = to;
  }

  /**
   * @param {number} first row
   * @param {number} behind the last row
   * @param {number} tick rows must end after it
   * @param {number} sign
   */
  addStarted(first, behind, tick, sign) {
    const { rowEnd, rowLocation, rowBytes, rowCount } = this.model;
    const { bytes, count } = this;
    for (let i = first; i < behind; i++) {
      if (rowEnd[i] <= tick) continue;
      const location = rowLocation[i];
      bytes[location] += sign * rowBytes[i];
      count[location] += sign * rowCount[i];
    }
  }

  /**
   * @param {EndIndex} ends
   * @param {number} low rows must end after this tick
   * @param {number} high and not after this
   * @param {number} first row
   * @param {number} behind the last row
   * @param {number} sign
   */
  addEnded(ends, low, high, first, behind, sign) {
    const { rowLocation, rowBytes, rowCount } = this.model;
    const { bytes, count } = this;
    const { rows, start } = ends;
    for (let k = start[low + 1], end = start[high + 1]; k < end; k++) {
      const i = rows[k];
      if (i < first || i >= behind) continue;
      const location = rowLocation[i];
      bytes[location] += sign * rowBytes[i];
      count[location] += sign * rowCount[i];
    }
  }
}

/** @typedef {{rows: Uint32Array, start: Uint32Array}} EndIndex rows by end tick, and the first of each tick */

/** Answers both questions, "live at a peak" and "left over from a range", as sums per location. */
export class RowStore {
  /** @param {History} model */
  constructor(model) {
    this.model = model;
    this.sums = new Sums(model);
    /** @type {EndIndex | null} null until `buildIndex` is done: every question is then a scan */
    this.ends = null;
    /** @type {Checkpoint[]} */
    this.checkpoints = [];
  }

  /** @returns {Float64Array} live bytes of each location, for the last question */
  get bytes() {
    return this.sums.bytes;
  }

  /** @returns {Float64Array} live allocations of each location, for the last question */
  get count() {
    return this.sums.count;
  }

  /**
   * The slice with the highest peak in `lo..hi`. Ties: the largest moment, then the smallest slice, so that the whole
   * run shows exactly the state at the high water mark, and a plateau is marked where it begins. An aggregated capture
   * knows the peak of one slice only, which is the answer for the whole run.
   * @param {number} lo
   * @param {number} hi
   * @returns {number}
   */
  peakSlice(lo, hi) {
    const { meta, slicePeak, sliceMoment } = this.model;
    if (meta.aggregated) return /** @type {number} */ (meta.peak_slice);
    let best = lo;
    for (let s = lo + 1; s <= hi; s++) {
      if (slicePeak[s] < slicePeak[best]) continue;
      if (slicePeak[s] > slicePeak[best] || sliceMoment[s] > sliceMoment[best]) best = s;
    }
    return best;
  }

  /**
   * Sums what is live at the peak of a slice.
   * @param {number} slice
   */
  askPeak(slice) {
    this.accumulate(0, 2 * slice);
  }

  /**
   * Sums what was allocated in slices `lo..hi` and not freed by the end of `hi`.
   * @param {number} lo
   * @param {number} hi
   */
  askLeftOver(lo, hi) {
    this.accumulate(2 * lo, 2 * hi + 1);
  }

  /**
   * Takes the cheapest way to the sums of `(from, at)`: move, start from a checkpoint, or scan.
   * @param {number} from
   * @param {number} at
   */
  accumulate(from, at) {
    const { sums, ends } = this;
    const { rowStart } = this.model;
    const scanned = rowStart[at + 1] - rowStart[from];
    if (ends === null) return sums.scan(from, at);
    let cost = this.distance(ends, sums.at, at) + Math.abs(rowStart[from] - rowStart[sums.from]);
    let origin = null;
    for (const checkpoint of this.checkpoints) {
      const other = this.distance(ends, checkpoint.at, at) + rowStart[from] + (sums.bytes.length >> 2);
      if (other >= cost) continue;
      cost = other;
      origin = checkpoint;
    }
    if (scanned <= cost) return sums.scan(from, at);
    if (origin !== null) this.restore(origin);
    if (from > sums.at) {
      sums.moveAt(at, ends);
      sums.moveFrom(from);
    } else {
      sums.moveFrom(from);
      sums.moveAt(at, ends);
    }
  }

  /** @param {Checkpoint} checkpoint */
  restore(checkpoint) {
    this.sums.bytes.set(checkpoint.bytes);
    this.sums.count.set(checkpoint.count);
    this.sums.from = 0;
    this.sums.at = checkpoint.at;
  }

  /**
   * @param {EndIndex} ends
   * @param {number} a tick, or -1
   * @param {number} b tick
   * @returns {number} rows that start or end between two ticks
   */
  distance(ends, a, b) {
    const { rowStart } = this.model;
    const low = Math.min(a, b) + 1;
    const high = Math.max(a, b) + 1;
    return rowStart[high] - rowStart[low] + ends.start[high] - ends.start[low];
  }

  /**
   * Builds the order by end and the checkpoints, in short steps. Questions may be asked meanwhile.
   * @returns {Promise<void>}
   */
  async buildIndex() {
    const pause = breather(STEP_MS);
    const ends = await this.sortByEnd(pause);
    this.ends = ends;
    await this.buildCheckpoints(ends, pause);
  }

  /**
   * A counting sort.
   * @param {() => Promise<void>} pause
   * @returns {Promise<EndIndex>}
   */
  async sortByEnd(pause) {
    const { rowStart, rowEnd } = this.model;
    const n = rowEnd.length;
    const start = new Uint32Array(rowStart.length + 1);
    for (let first = 0; first < n; first += ROWS_PER_STEP) {
      for (let i = first, end = Math.min(n, first + ROWS_PER_STEP); i < end; i++) if (rowEnd[i] !== NEVER) start[rowEnd[i] + 1]++;
      await pause();
    }
    for (let t = 1; t < start.length; t++) start[t] += start[t - 1];
    const rows = new Uint32Array(start[start.length - 1]);
    const next = start.slice();
    for (let first = 0; first < n; first += ROWS_PER_STEP) {
      for (let i = first, end = Math.min(n, first + ROWS_PER_STEP); i < end; i++) if (rowEnd[i] !== NEVER) rows[next[rowEnd[i]]++] = i;
      await pause();
    }
    return { rows, start };
  }

  /**
   * @param {EndIndex} ends
   * @param {() => Promise<void>} pause
   */
  async buildCheckpoints(ends, pause) {
    const { rowStart, rowEnd } = this.model;
    const rows = rowEnd.length;
    const affordable = Math.floor(CHECKPOINT_BYTES / (16 * Math.max(1, this.sums.bytes.length)));
    const wanted = Math.min(MAX_CHECKPOINTS, affordable, Math.floor(rows / ROWS_PER_STEP));
    const side = new Sums(this.model);
    for (let k = 1, at = 0; k <= wanted; k++) {
      while (rowStart[at + 1] <= (rows * k) / (wanted + 1)) at++;
      while (side.at < at) {
        let to = side.at + 1;
        while (to < at && rowStart[to + 1] - rowStart[side.at + 1] < ROWS_PER_STEP) to++;
        side.moveAt(to, ends);
        await pause();
      }
      this.checkpoints.push({ at, bytes: side.bytes.slice(), count: side.count.slice() });
    }
  }
}
