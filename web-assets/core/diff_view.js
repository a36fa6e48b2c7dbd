import { CallersFirst } from './callers_first.js';

/** @typedef {import('./values.js').Values} Values */
/** @typedef {[base: number, next: number]} Pair of base and new */
/** @typedef {'new' | 'gone' | 'grown' | 'shrank' | 'same'} Status what became of something from base to new */

/** The call tree that two captures have in common. A node's weight is its width in the picture. */
export class DiffView extends CallersFirst {
  /**
   * @param {import('./shape.js').Shape} shape
   * @param {Float64Array} order running sum over the nodes by which siblings are ordered
   */
  constructor(shape, order) {
    super(shape, order, true);
    /** @type {Values[]} what base and new have, by node of the tree */
    this.sides = [];
  }

  /**
   * @param {Values[]} sides
   * @param {Float64Array} widthSum running sum over the nodes
   */
  setSides(sides, widthSum) {
    this.sides = sides;
    this.sumBytes = this.sumCount = widthSum;
  }

  /**
   * @param {number} v view node
   * @returns {Pair} bytes of it and all below
   */
  bothBytes(v) {
    return [this.total(v, this.sides[0].sumBytes), this.total(v, this.sides[1].sumBytes)];
  }

  /**
   * @param {number} v view node
   * @returns {Pair} allocations of it and all below
   */
  bothCounts(v) {
    return [this.total(v, this.sides[0].sumCount), this.total(v, this.sides[1].sumCount)];
  }

  /**
   * @param {number} v view node
   * @returns {Status}
   */
  status(v) {
    return statusOf(this.bothBytes(v), this.bothCounts(v));
  }
}

/**
 * By its bytes or, if those are the same, by its allocations.
 * @param {Pair} bytes
 * @param {Pair} count
 * @returns {Status}
 */
export function statusOf(bytes, count) {
  const change = bytes[1] - bytes[0] || count[1] - count[0];
  if (change === 0) return 'same';
  if (bytes[0] === 0 && count[0] === 0) return 'new';
  if (bytes[1] === 0 && count[1] === 0) return 'gone';
  return change > 0 ? 'grown' : 'shrank';
}
