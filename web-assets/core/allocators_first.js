import { doubled } from './columns.js';
import { View, largestFirst } from './view.js';

/** @typedef {import('./shape.js').Shape} Shape */
/** @typedef {import('./values.js').Metric} Metric */
/** @typedef {import('./values.js').Values} Values */
/** @typedef {{frame: number, rank: number, at: number[]}} Sibling a view node to be, and the entries it takes */

/**
 * From the frames that allocate up to their callers, or who calls one function.
 *
 * A view node is a run of entries, one for each location, that a permutation holds next to each other. Opening a node
 * sorts its run by the next caller; entries whose stack ends there come last and belong to no child.
 */
export class AllocatorsFirst extends View {
  /**
   * @param {Shape} shape
   * @param {Float64Array} order running sum of bytes over the locations, by which siblings are ordered
   * @param {Uint32Array} locationNode base node of each location
   * @param {number[] | null} [roots] base nodes of one function, none above another: the view's root is that function
   */
  constructor(shape, order, locationNode, roots = null) {
    super(shape, roots !== null && roots.length > 0 ? shape.frameOf(roots[0]) : 0);
    this.order = order;
    const entries = roots === null ? ofAll(shape, locationNode) : ofFunction(shape, roots);
    /** Location of each entry. */
    this.location = entries.location;
    /** For each entry the base node that the next level shows; 0 = its stack ends. */
    this.caller = entries.caller;
    const n = this.location.length;
    this.sumBytes = new Float64Array(n + 1);
    this.sumCount = new Float64Array(n + 1);
    /** @type {Values | null} */
    this.values = null;
    this.start = new Uint32Array(1024);
    this.end = new Uint32Array(1024);
    this.add(-1, this.rootFrame, 0, n);
  }

  /**
   * @param {number} parent
   * @param {number} frame
   * @param {number} start first entry
   * @param {number} end entry behind the last
   * @returns {number}
   */
  add(parent, frame, start, end) {
    const v = this.addNode(parent, frame);
    this.start[v] = start;
    this.end[v] = end;
    return v;
  }

  grow() {
    super.grow();
    this.start = doubled(this.start);
    this.end = doubled(this.end);
  }

  /**
   * @param {Values} values
   * @param {Metric} metric
   */
  setValues(values, metric) {
    super.setValues(values, metric);
    this.values = values;
    this.addUp(0, this.location.length);
  }

  /**
   * Renews the running sums of some entries, whose total has not changed.
   * @param {number} start
   * @param {number} end
   */
  addUp(start, end) {
    const { location, sumBytes, sumCount, values } = this;
    if (values === null) return;
    const { bytes, count } = values;
    for (let i = start; i < end; i++) {
      sumBytes[i + 1] = sumBytes[i] + bytes[location[i]];
      sumCount[i + 1] = sumCount[i] + count[location[i]];
    }
  }

  /** @param {number} v */
  bytes(v) {
    return this.sumBytes[this.end[v]] - this.sumBytes[this.start[v]];
  }

  /** @param {number} v */
  count(v) {
    return this.sumCount[this.end[v]] - this.sumCount[this.start[v]];
  }

  /**
   * @param {number} v
   * @param {(location: number) => boolean} visit
   */
  everyLocation(v, visit) {
    for (let i = this.start[v], end = this.end[v]; i < end; i++) if (!visit(this.location[i])) return;
  }

  /** @param {number} v */
  open(v) {
    const { start, end, location, caller } = this;
    const first = start[v];
    const behind = end[v];
    const { siblings, ended } = this.group(first, behind);
    const locations = location.slice(first, behind);
    const callers = caller.slice(first, behind);
    let to = first;
    let last = -1;
    for (const { frame, at } of largestFirst(siblings)) {
      last = this.link(v, last, this.add(v, frame, to, to + at.length));
      for (const i of at) {
        location[to] = locations[i - first];
        caller[to++] = this.above(callers[i - first]);
      }
    }
    for (const i of ended) {
      location[to] = locations[i - first];
      caller[to++] = 0;
    }
    this.addUp(first, behind);
  }

  /**
   * @param {number} first entry
   * @param {number} behind the last entry
   * @returns {{siblings: Sibling[], ended: number[]}} entries by the frame of their next level
   */
  group(first, behind) {
    const { caller, location, order } = this;
    /** @type {Map<number, Sibling>} */
    const byFrame = new Map();
    const ended = [];
    for (let i = first; i < behind; i++) {
      if (caller[i] === 0) {
        ended.push(i);
        continue;
      }
      const frame = this.shape.frameOf(caller[i]);
      let sibling = byFrame.get(frame);
      if (sibling === undefined) byFrame.set(frame, (sibling = { frame, rank: 0, at: [] }));
      sibling.at.push(i);
      sibling.rank += order[location[i] + 1] - order[location[i]];
    }
    return { siblings: [...byFrame.values()], ended };
  }

  /**
   * @param {number} node base node
   * @returns {number} the nearest visible node above it; 0 if there is none
   */
  above(node) {
    return this.shape.near[this.model.nodeParent[node]];
  }
}

/**
 * @param {Shape} shape
 * @param {Uint32Array} locationNode
 */
function ofAll(shape, locationNode) {
  return { location: Uint32Array.from(locationNode, (_, i) => i), caller: Uint32Array.from(locationNode, (node) => shape.near[node]) };
}

/**
 * @param {Shape} shape
 * @param {number[]} roots
 */
function ofFunction(shape, roots) {
  const { firstLocation, nodeEnd, nodeParent } = shape.model;
  const of = (/** @type {number} */ node) => firstLocation[nodeEnd[node]] - firstLocation[node];
  const n = roots.reduce((sum, node) => sum + of(node), 0);
  const location = new Uint32Array(n);
  const caller = new Uint32Array(n);
  let to = 0;
  for (const node of roots) {
    caller.fill(shape.near[nodeParent[node]], to, to + of(node));
    for (let i = firstLocation[node], end = firstLocation[nodeEnd[node]]; i < end; i++) location[to++] = i;
  }
  return { location, caller };
}
