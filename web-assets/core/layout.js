import { doubled } from './columns.js';

/** @typedef {import('./view.js').View} View */

const MIN_WIDTH = 0.5;

/** Stands for a run of siblings that are each too thin to be shown. */
export const SLIVER = -1;

/** Rectangles of a flame graph in CSS pixels, level by level from the root, each level from left to right. */
export class FlameLayout {
  constructor() {
    this.n = 0;
    this.x = new Float64Array(4096);
    this.width = new Float64Array(4096);
    this.node = new Int32Array(4096);
    this.level = new Int32Array(4096);
    /** @type {number[]} first rectangle of each level, and one more entry: the number of rectangles */
    this.first = [0];
  }

  /** @returns {number} */
  get levels() {
    return this.first.length - 1;
  }

  /**
   * Lays out what is `MIN_WIDTH` wide or wider. The zoomed node and all above it are as wide as the graph.
   * @param {View} view
   * @param {number} zoom view node
   * @param {number} width
   */
  update(view, zoom, width) {
    this.n = 0;
    const path = view.path(zoom);
    for (const [level, v] of path.entries()) this.push(0, width, level, v);
    const total = view.weight(zoom);
    if (total > 0) for (let i = path.length - 1; i < this.n; i++) if (this.node[i] >= 0) this.addChildren(view, i, width / total);
    this.first = [];
    for (let i = 0; i < this.n; i++) while (this.first.length <= this.level[i]) this.first.push(i);
    this.first.push(this.n);
  }

  /**
   * @param {View} view
   * @param {number} parent rectangle
   * @param {number} scale pixels per byte, or per allocation
   */
  addChildren(view, parent, scale) {
    const level = this.level[parent] + 1;
    let x = this.x[parent];
    let sliver = x;
    for (let v = view.children(this.node[parent]); v >= 0; v = view.next[v]) {
      const width = view.weight(v) * scale;
      if (width >= MIN_WIDTH) {
        if (x - sliver >= MIN_WIDTH) this.push(sliver, x - sliver, level, SLIVER);
        this.push(x, width, level, v);
        sliver = x + width;
      }
      x += width;
    }
    if (x - sliver >= MIN_WIDTH) this.push(sliver, x - sliver, level, SLIVER);
  }

  /**
   * @param {number} x
   * @param {number} width
   * @param {number} level
   * @param {number} v
   */
  push(x, width, level, v) {
    if (this.n === this.x.length) this.grow();
    const i = this.n++;
    this.x[i] = x;
    this.width[i] = width;
    this.level[i] = level;
    this.node[i] = v;
  }

  grow() {
    this.x = doubled(this.x);
    this.width = doubled(this.width);
    this.level = doubled(this.level);
    this.node = doubled(this.node);
  }

  /**
   * @param {number} v view node
   * @param {number} level
   * @returns {number} its rectangle, or -1 if it is not laid out
   */
  find(v, level) {
    if (level >= this.levels) return -1;
    for (let i = this.first[level], end = this.first[level + 1]; i < end; i++) if (this.node[i] === v) return i;
    return -1;
  }

  /**
   * @param {number} x
   * @param {number} level
   * @returns {number} the rectangle there, or -1
   */
  hit(x, level) {
    if (level < 0 || level >= this.levels) return -1;
    let low = this.first[level];
    let high = this.first[level + 1] - 1;
    while (low <= high) {
      const mid = (low + high) >> 1;
      if (x < this.x[mid]) high = mid - 1;
      else if (x >= this.x[mid] + this.width[mid]) low = mid + 1;
      else return mid;
    }
    return -1;
  }
}
