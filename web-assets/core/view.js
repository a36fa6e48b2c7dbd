import { doubled } from './columns.js';

/** @typedef {import('./shape.js').Shape} Shape */
/** @typedef {import('./values.js').Metric} Metric */
/** @typedef {import('./values.js').Values} Values */

const NOT_LOOKED_INTO = -2;
const MAX_CANDIDATES = 50;

/**
 * A tree of frames as it is shown. View nodes are made when first looked into; 0 is the root. Siblings have distinct
 * frames, and their order does not depend on the range, so that the picture never jumps.
 *
 * How its nodes get their children and values is up to `CallersFirst` and `AllocatorsFirst`.
 */
export class View {
  /**
   * @param {Shape} shape
   * @param {number} rootFrame 0 = none
   */
  constructor(shape, rootFrame) {
    this.shape = shape;
    this.model = shape.model;
    /** @type {Metric} */
    this.metric = 'bytes';
    this.n = 0;
    this.frame = new Uint32Array(1024);
    this.parent = new Int32Array(1024);
    this.depth = new Int32Array(1024);
    this.first = new Int32Array(1024);
    this.next = new Int32Array(1024);
    this.rootFrame = rootFrame;
  }

  /**
   * @param {number} parent
   * @param {number} frame
   * @returns {number} the new view node
   */
  addNode(parent, frame) {
    if (this.n === this.frame.length) this.grow();
    const v = this.n++;
    this.frame[v] = frame;
    this.parent[v] = parent;
    this.depth[v] = parent < 0 ? 0 : this.depth[parent] + 1;
    this.first[v] = NOT_LOOKED_INTO;
    this.next[v] = -1;
    return v;
  }

  grow() {
    this.frame = doubled(this.frame);
    this.parent = doubled(this.parent);
    this.depth = doubled(this.depth);
    this.first = doubled(this.first);
    this.next = doubled(this.next);
  }

  /**
   * Sets what each location holds.
   * @param {Values} _values
   * @param {Metric} metric
   */
  setValues(_values, metric) {
    this.metric = metric;
  }

  /**
   * @param {number} _v view node
   * @returns {number} bytes of it and all below
   */
  bytes(_v) {
    return 0;
  }

  /**
   * @param {number} _v view node
   * @returns {number} allocations of it and all below
   */
  count(_v) {
    return 0;
  }

  /**
   * @param {number} v view node
   * @returns {number} what its width stands for
   */
  weight(v) {
    return this.metric === 'bytes' ? this.bytes(v) : this.count(v);
  }

  /**
   * Adds the children of a node that was never looked into.
   * @param {number} _v view node
   */
  open(_v) {}

  /**
   * Calls `visit` for each location that a view node stands for, until it returns false.
   * @param {number} _v view node
   * @param {(location: number) => boolean} _visit
   */
  everyLocation(_v, _visit) {}

  /**
   * @param {number} v view node
   * @returns {number} its first child, or -1; `next` leads to the others
   */
  children(v) {
    if (this.first[v] === NOT_LOOKED_INTO) {
      this.first[v] = -1;
      this.open(v);
    }
    return this.first[v];
  }

  /**
   * @param {number} v view node
   * @returns {number[]} its children that hold something
   */
  filledChildren(v) {
    const out = [];
    for (let c = this.children(v); c >= 0; c = this.next[c]) if (this.weight(c) > 0) out.push(c);
    return out;
  }

  /**
   * @param {number} v view node
   * @returns {number} bytes of it that none of its children holds
   */
  ownBytes(v) {
    let own = this.bytes(v);
    for (let c = this.children(v); c >= 0; c = this.next[c]) own -= this.bytes(c);
    return own;
  }

  /**
   * @param {number} v
   * @param {number} last child so far, or -1
   * @param {number} child
   * @returns {number} the child
   */
  link(v, last, child) {
    if (last < 0) this.first[v] = child;
    else this.next[last] = child;
    return child;
  }

  /**
   * @param {number} v view node
   * @returns {number[]} from the root to it
   */
  path(v) {
    const out = [];
    for (let i = v; i >= 0; i = this.parent[i]) out.push(i);
    return out.reverse();
  }

  /**
   * @param {number} v view node
   * @returns {number[]} frames on the way to it, without the root's
   */
  framesTo(v) {
    return this.path(v).slice(1).map((i) => this.frame[i]);
  }

  /**
   * Follows a path of frames as far as it exists. A path from a view of another shape leads to the same place:
   * frames that are nowhere to be seen here are skipped, and frames that may have been hidden there, or part of the
   * one above them, are looked through.
   * @param {number[]} frames
   * @param {(frame: number) => boolean} mayBeHidden
   * @returns {number} view node
   */
  follow(frames, mayBeHidden) {
    const { key, options, merges } = this.shape;
    // Where frames are looked through, a path can fit several nodes, of which only some go on as it does.
    let at = [0];
    for (const frame of frames) {
      const wanted = key[frame];
      if (options.hideIrrelevant && mayBeHidden(frame)) continue;
      if (merges && at[0] !== 0 && this.frame[at[0]] === wanted) continue;
      let found = at.flatMap((v) => this.findBelow(v, wanted, mayBeHidden));
      if (found.length === 0) found = at.flatMap((v) => this.findBelow(v, wanted, (other) => mayBeHidden(other) || other === this.frame[v]));
      if (found.length === 0) break;
      at = found.slice(0, MAX_CANDIDATES);
    }
    return at[0];
  }

  /**
   * @param {number} v
   * @param {number} frame
   * @param {(frame: number) => boolean} mayBeHidden
   * @returns {number[]} view nodes, the nearest first
   */
  findBelow(v, frame, mayBeHidden) {
    const todo = [v];
    const out = [];
    for (let i = 0; i < todo.length; i++) {
      for (let c = this.children(todo[i]); c >= 0; c = this.next[c]) {
        if (this.frame[c] === frame) out.push(c);
        else if (mayBeHidden(this.frame[c])) todo.push(c);
      }
    }
    return out;
  }
}

/**
 * Sorts groups of siblings.
 * @template {{frame: number, rank: number}} T
 * @param {T[]} groups
 * @returns {T[]} largest first
 */
export function largestFirst(groups) {
  return groups.sort((a, b) => b.rank - a.rank || a.frame - b.frame);
}
