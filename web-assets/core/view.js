import { doubled } from './columns.js';

/** @typedef {import('./decode.js').Model} Model */

const NOT_LOOKED_INTO = -2;

/**
 * The call tree as it is shown, callers first: hidden frames are looked through, and nodes that then have the same
 * frames above them are one. View nodes are made when first looked into; 0 is the root.
 *
 * Values do not live in nodes. A running sum over the locations gives the bytes of a subtree as one subtraction,
 * because the locations of a subtree are neighbours.
 */
export class View {
  /**
   * @param {Model} model
   * @param {Uint8Array} hidden 1 for each frame that is looked through
   * @param {Float64Array} order running sum of bytes over the locations, by which merged siblings are ordered
   */
  constructor(model, hidden, order) {
    const locations = model.meta.counts.locations;
    this.model = model;
    this.hidden = hidden;
    this.order = order;
    this.sumBytes = new Float64Array(locations + 1);
    this.sumCount = new Float64Array(locations + 1);
    /** @type {number[]} base nodes of merged view nodes */
    this.pool = [];
    this.n = 0;
    this.frame = new Uint32Array(1024);
    this.parent = new Int32Array(1024);
    this.depth = new Int32Array(1024);
    this.first = new Int32Array(1024);
    this.next = new Int32Array(1024);
    // What a view node stands for: base node `base`, or if that is -1 the `size` entries of `pool` from `start` on.
    this.base = new Int32Array(1024);
    this.start = new Int32Array(1024);
    this.size = new Int32Array(1024);
    this.add(-1, 0, 0, 0, 0);
  }

  /**
   * @param {number} parent
   * @param {number} frame
   * @param {number} base
   * @param {number} start
   * @param {number} size
   * @returns {number}
   */
  add(parent, frame, base, start, size) {
    if (this.n === this.frame.length) this.grow();
    const v = this.n++;
    this.frame[v] = frame;
    this.parent[v] = parent;
    this.depth[v] = parent < 0 ? 0 : this.depth[parent] + 1;
    this.first[v] = NOT_LOOKED_INTO;
    this.next[v] = -1;
    this.base[v] = base;
    this.start[v] = start;
    this.size[v] = size;
    return v;
  }

  grow() {
    this.frame = doubled(this.frame);
    this.parent = doubled(this.parent);
    this.depth = doubled(this.depth);
    this.first = doubled(this.first);
    this.next = doubled(this.next);
    this.base = doubled(this.base);
    this.start = doubled(this.start);
    this.size = doubled(this.size);
  }

  /**
   * Sets what each location holds.
   * @param {Float64Array} bytes
   * @param {Float64Array} count
   * @param {Uint8Array | null} keep 1 for each location that counts; null = all
   */
  setValues(bytes, count, keep) {
    const { sumBytes, sumCount } = this;
    let b = 0;
    let c = 0;
    for (let i = 0, n = bytes.length; i < n; i++) {
      if (keep === null || keep[i] !== 0) {
        b += bytes[i];
        c += count[i];
      }
      sumBytes[i + 1] = b;
      sumCount[i + 1] = c;
    }
  }

  /**
   * @param {number} v view node
   * @returns {number} bytes of it and all below
   */
  bytes(v) {
    return this.total(v, this.sumBytes);
  }

  /**
   * @param {number} v view node
   * @returns {number} allocations of it and all below
   */
  count(v) {
    return this.total(v, this.sumCount);
  }

  /**
   * @param {number} v
   * @param {Float64Array} sum
   * @returns {number}
   */
  total(v, sum) {
    const base = this.base[v];
    if (base >= 0) return subtreeSum(this.model, base, sum);
    let total = 0;
    for (let i = this.start[v], end = i + this.size[v]; i < end; i++) total += subtreeSum(this.model, this.pool[i], sum);
    return total;
  }

  /**
   * @param {number} v view node
   * @returns {number[]} its children that hold something
   */
  filledChildren(v) {
    const out = [];
    for (let c = this.children(v); c >= 0; c = this.next[c]) if (this.bytes(c) > 0) out.push(c);
    return out;
  }

  /**
   * @param {number} v view node
   * @returns {number} its first child, or -1; `next` leads to the others
   */
  children(v) {
    const first = this.first[v];
    if (first !== NOT_LOOKED_INTO) return first;
    this.first[v] = -1;
    const base = this.base[v];
    if (base >= 0 && this.hasPlainChildren(base)) this.addPlainChildren(v, base);
    else this.addMergedChildren(v);
    return this.first[v];
  }

  /**
   * @param {number} node
   * @returns {boolean} whether none of its children is hidden
   */
  hasPlainChildren(node) {
    const { nodeEnd, nodeFrame } = this.model;
    for (let c = node + 1, end = nodeEnd[node]; c < end; c = nodeEnd[c]) if (this.hidden[nodeFrame[c]] !== 0) return false;
    return true;
  }

  /**
   * @param {number} v
   * @param {number} node
   */
  addPlainChildren(v, node) {
    const { nodeEnd, nodeFrame } = this.model;
    let last = -1;
    for (let c = node + 1, end = nodeEnd[node]; c < end; c = nodeEnd[c]) last = this.link(v, last, this.add(v, nodeFrame[c], c, 0, 0));
  }

  /** @param {number} v */
  addMergedChildren(v) {
    const groups = [...this.childrenByFrame(v)].map(([frame, nodes]) => ({ frame, nodes, rank: this.rank(nodes) }));
    groups.sort((a, b) => b.rank - a.rank || a.frame - b.frame);
    let last = -1;
    for (const { frame, nodes } of groups) {
      const one = nodes.length === 1;
      const child = one ? this.add(v, frame, nodes[0], 0, 0) : this.add(v, frame, -1, this.pool.length, nodes.length);
      if (!one) for (const node of nodes) this.pool.push(node);
      last = this.link(v, last, child);
    }
  }

  /**
   * Base nodes right below a view node once hidden ones are looked through.
   * @param {number} v
   * @returns {Map<number, number[]>}
   */
  childrenByFrame(v) {
    const { nodeEnd, nodeFrame } = this.model;
    const todo = this.nodes(v);
    /** @type {Map<number, number[]>} */
    const groups = new Map();
    for (let node = todo.pop(); node !== undefined; node = todo.pop()) {
      for (let c = node + 1, end = nodeEnd[node]; c < end; c = nodeEnd[c]) {
        const frame = nodeFrame[c];
        const group = groups.get(frame);
        if (this.hidden[frame] !== 0) todo.push(c);
        else if (group !== undefined) group.push(c);
        else groups.set(frame, [c]);
      }
    }
    return groups;
  }

  /**
   * @param {number[]} nodes
   * @returns {number} bytes that do not depend on the range, so that siblings never change places
   */
  rank(nodes) {
    return nodes.reduce((sum, node) => sum + subtreeSum(this.model, node, this.order), 0);
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
   * @returns {number[]} the base nodes it stands for
   */
  nodes(v) {
    const base = this.base[v];
    return base >= 0 ? [base] : this.pool.slice(this.start[v], this.start[v] + this.size[v]);
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
   * Follows a path of frames as far as it exists. A path from a view with other hidden frames leads to the same
   * place: frames hidden here are skipped, and frames hidden there (marked in `skippable`) are looked through.
   * @param {number[]} frames
   * @param {(frame: number) => boolean} skippable
   * @returns {number} view node
   */
  follow(frames, skippable) {
    let v = 0;
    for (const frame of frames) {
      if (this.hidden[frame] !== 0) continue;
      const found = this.findBelow(v, frame, skippable);
      if (found < 0) break;
      v = found;
    }
    return v;
  }

  /**
   * @param {number} v
   * @param {number} frame
   * @param {(frame: number) => boolean} skippable
   * @returns {number} view node, or -1
   */
  findBelow(v, frame, skippable) {
    const todo = [v];
    for (let at = todo.pop(); at !== undefined; at = todo.pop()) {
      for (let c = this.children(at); c >= 0; c = this.next[c]) {
        if (this.frame[c] === frame) return c;
        if (skippable(this.frame[c])) todo.push(c);
      }
    }
    return -1;
  }
}

/**
 * @param {Model} model
 * @param {number} node base node
 * @param {Float64Array} sum a running sum over the locations
 * @returns {number} what the node and all below it hold
 */
export function subtreeSum({ firstLocation, nodeEnd }, node, sum) {
  return sum[firstLocation[nodeEnd[node]]] - sum[firstLocation[node]];
}
