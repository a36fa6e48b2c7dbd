import { doubled } from './columns.js';
import { subtreeSum } from './values.js';
import { View, largestFirst } from './view.js';

/** @typedef {import('./shape.js').Shape} Shape */
/** @typedef {import('./values.js').Metric} Metric */
/** @typedef {import('./values.js').Values} Values */

/**
 * The call tree from the outermost frame down, or what is below all calls of one function.
 *
 * Values do not live in nodes. A running sum over the locations gives the bytes of a subtree as one subtraction,
 * because the locations of a subtree are neighbours.
 */
export class CallersFirst extends View {
  /**
   * @param {Shape} shape
   * @param {Float64Array} order running sum of bytes over the locations, by which siblings are ordered
   * @param {boolean} isTreeOrder whether that is also the order of the tree's own siblings
   * @param {number[]} [roots] base nodes, none above another, that the view's root stands for
   */
  constructor(shape, order, isTreeOrder, roots = [0]) {
    super(shape, roots.length > 0 ? shape.frameOf(roots[0]) : 0);
    this.order = order;
    this.usesTree = isTreeOrder && shape.options.group === 'line';
    // Until values are set.
    this.sumBytes = this.sumCount = order;
    /** @type {number[]} base nodes of merged view nodes */
    this.pool = [];
    // What a view node stands for: base node `base`, or if that is -1 the `size` entries of `pool` from `start` on.
    this.base = new Int32Array(1024);
    this.start = new Int32Array(1024);
    this.size = new Int32Array(1024);
    this.add(-1, this.rootFrame, roots);
  }

  /**
   * @param {number} parent
   * @param {number} frame
   * @param {number[]} nodes base nodes
   * @returns {number}
   */
  add(parent, frame, nodes) {
    const v = this.addNode(parent, frame);
    const one = nodes.length === 1;
    this.base[v] = one ? nodes[0] : -1;
    this.start[v] = this.pool.length;
    this.size[v] = one ? 0 : nodes.length;
    if (!one) for (const node of nodes) this.pool.push(node);
    return v;
  }

  grow() {
    super.grow();
    this.base = doubled(this.base);
    this.start = doubled(this.start);
    this.size = doubled(this.size);
  }

  /**
   * @param {Values} values
   * @param {Metric} metric
   */
  setValues(values, metric) {
    super.setValues(values, metric);
    this.sumBytes = values.sumBytes;
    this.sumCount = values.sumCount;
  }

  /** @param {number} v */
  bytes(v) {
    return this.total(v, this.sumBytes);
  }

  /** @param {number} v */
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
   * @param {number} v
   * @param {(location: number) => boolean} visit
   */
  everyLocation(v, visit) {
    const { firstLocation, nodeEnd } = this.model;
    for (const node of this.nodes(v)) {
      for (let i = firstLocation[node], end = firstLocation[nodeEnd[node]]; i < end; i++) if (!visit(i)) return;
    }
  }

  /** @param {number} v */
  open(v) {
    const base = this.base[v];
    if (base >= 0 && this.usesTree && this.hasPlainChildren(base)) this.addPlainChildren(v, base);
    else this.addMergedChildren(v);
  }

  /**
   * @param {number} node
   * @returns {boolean} whether all of its children are visible
   */
  hasPlainChildren(node) {
    const { nodeEnd } = this.model;
    const { near } = this.shape;
    for (let c = node + 1, end = nodeEnd[node]; c < end; c = nodeEnd[c]) if (near[c] !== c) return false;
    return true;
  }

  /**
   * @param {number} v
   * @param {number} node
   */
  addPlainChildren(v, node) {
    const { nodeEnd, nodeFrame } = this.model;
    let last = -1;
    for (let c = node + 1, end = nodeEnd[node]; c < end; c = nodeEnd[c]) last = this.link(v, last, this.add(v, nodeFrame[c], [c]));
  }

  /** @param {number} v */
  addMergedChildren(v) {
    const groups = [...this.childrenByFrame(v)].map(([frame, nodes]) => ({ frame, nodes, rank: this.rank(nodes) }));
    let last = -1;
    for (const { frame, nodes } of largestFirst(groups)) last = this.link(v, last, this.add(v, frame, nodes));
  }

  /**
   * Base nodes right below a view node once those that cannot be seen are looked through.
   * @param {number} v
   * @returns {Map<number, number[]>}
   */
  childrenByFrame(v) {
    const { nodeEnd } = this.model;
    const { near } = this.shape;
    const todo = this.nodes(v);
    /** @type {Map<number, number[]>} */
    const groups = new Map();
    for (let node = todo.pop(); node !== undefined; node = todo.pop()) {
      for (let c = node + 1, end = nodeEnd[node]; c < end; c = nodeEnd[c]) {
        if (near[c] !== c) {
          todo.push(c);
          continue;
        }
        const frame = this.shape.frameOf(c);
        const group = groups.get(frame);
        if (group !== undefined) group.push(c);
        else groups.set(frame, [c]);
      }
    }
    return groups;
  }

  /**
   * @param {number[]} nodes
   * @returns {number} bytes that do not depend on the range
   */
  rank(nodes) {
    return nodes.reduce((sum, node) => sum + subtreeSum(this.model, node, this.order), 0);
  }

  /**
   * @param {number} v view node
   * @returns {number[]} the base nodes it stands for
   */
  nodes(v) {
    const base = this.base[v];
    return base >= 0 ? [base] : this.pool.slice(this.start[v], this.start[v] + this.size[v]);
  }
}
