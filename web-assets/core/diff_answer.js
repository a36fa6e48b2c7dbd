import { FLAG_IRRELEVANT } from './decode.js';
import { DiffView } from './diff_view.js';
import { functionRows } from './functions.js';
import { FrameGroups } from './groups.js';
import { RowStore } from './rows.js';
import { Shape } from './shape.js';
import { timed } from './timing.js';
import { Values, addUp } from './values.js';

/** @typedef {import('./columns.js').Column} Column */
/** @typedef {import('./diff_model.js').DiffModel} DiffModel */
/** @typedef {import('./diff_model.js').Side} Side */
/** @typedef {import('./diff_state.js').DiffState} DiffState */
/** @typedef {import('./diff_state.js').Range} Range */
/** @typedef {import('./diff_state.js').Width} Width */
/** @typedef {import('./diff_view.js').Pair} Pair */
/** @typedef {Pick<DiffState, 'hideIrrelevant' | 'foldImports'>} Shown which frames can be seen */

/**
 * What a function has in base and in new.
 *
 * @typedef {object} ChangedFunction
 * @property {number} frame that stands for it; 0 = what no visible frame holds
 * @property {Pair} ownBytes
 * @property {Pair} ownCount
 * @property {Pair} bytes with all that it calls
 * @property {Pair} count the same
 */

/** The answer to what the reader asked last: what each stack has in base and in new. */
export class DiffAnswer {
  /** @param {DiffModel} model */
  constructor(model) {
    this.model = model;
    this.stores = [new RowStore(model.sides[0]), new RowStore(model.sides[1])];
    this.groups = new FrameGroups(model.tree);
    const { nodes } = model.meta.counts;
    /** What base and new have, by node. */
    this.values = [new Values(nodes), new Values(nodes)];
    this.widths = new Float64Array(nodes);
    /** Running sums: how wide the nodes before one are. */
    this.widthSum = new Float64Array(nodes + 1);
    this.visible = [new Float64Array(nodes), new Float64Array(nodes)];
    /** The slices whose peaks are shown; -1 in other modes. */
    this.slices = [-1, -1];
    /** @type {Map<string, DiffView>} */
    this.views = new Map();
    const runs = model.sides.map(({ slicePeak }) => /** @type {Range} */ ([0, slicePeak.length - 1]));
    this.askPeaks(runs);
    this.setValues(this.stores);
    this.setWidths(null, 'bytes', 'larger');
    /** Running sum over the nodes by which siblings are ordered; it does not depend on the ranges. */
    this.order = this.widthSum.slice();
    const usual = { hideIrrelevant: true, foldImports: false };
    this.view = this.viewFor(usual);
    this.tableShape = this.shapeFor(usual, 'function');
  }

  /** @param {DiffState} state */
  ask({ mode, ranges, metric, width, ...shown }) {
    const { sides } = this.model;
    this.slices = [-1, -1];
    timed('query', () => {
      if (mode === 'peak') this.askPeaks(ranges);
      else if (mode === 'leaks') this.stores.forEach((store, side) => store.askLeftOver(...this.rangeOf(side, ranges)));
    });
    timed('values', () => {
      this.setValues(mode === 'temporary' || mode === 'made' ? sides.map((side) => side[mode]) : this.stores);
      this.view = this.viewFor(shown);
      this.setWidths(this.view.shape, metric, width);
      this.view.setSides(this.values, this.widthSum);
    });
  }

  /**
   * @param {number} side
   * @param {Range[]} ranges
   * @returns {Range} sums alone have no part of the run
   */
  rangeOf(side, ranges) {
    const { meta, slicePeak } = this.model.sides[side];
    return meta.aggregated ? [0, slicePeak.length - 1] : ranges[side];
  }

  /** @param {Range[]} ranges */
  askPeaks(ranges) {
    this.slices = this.stores.map((store, side) => store.peakSlice(...this.rangeOf(side, ranges)));
    this.stores.forEach((store, side) => store.askPeak(this.slices[side]));
  }

  /** @param {{bytes: Column, count: Column}[]} sums of base and new, by node */
  setValues(sums) {
    this.values.forEach((values, side) => values.set(sums[side].bytes, sums[side].count, null));
  }

  /**
   * Widths add up: that of a frame is the sum over all stacks through it, each as wide as the larger of what it has itself
   * in base and in new, or as what changed.
   * @param {Shape | null} shape what a frame that cannot be seen has belongs to the nearest one that can; null = all can
   * @param {import('./values.js').Metric} metric
   * @param {Width} width
   */
  setWidths(shape, metric, width) {
    const { widths } = this;
    const [base, next] = this.values.map((values, side) => (shape === null || shape.isPlain ? values[metric] : addVisible(values[metric], shape.near, this.visible[side])));
    if (width === 'larger') for (let i = 0, n = widths.length; i < n; i++) widths[i] = base[i] > next[i] ? base[i] : next[i];
    else for (let i = 0, n = widths.length; i < n; i++) widths[i] = Math.abs(next[i] - base[i]);
    addUp(widths, this.widthSum);
  }

  /**
   * @param {Shown} shown
   * @returns {DiffView}
   */
  viewFor(shown) {
    const key = [shown.hideIrrelevant, shown.foldImports].join();
    let view = this.views.get(key);
    if (view === undefined) {
      view = new DiffView(this.shapeFor(shown, 'line'), this.order);
      this.views.set(key, view);
    }
    return view;
  }

  /**
   * @param {Shown} shown
   * @param {import('./groups.js').Group} group
   * @returns {Shape}
   */
  shapeFor({ hideIrrelevant, foldImports }, group) {
    return new Shape(this.model.tree, this.groups, { hideIrrelevant, foldImports, collapse: false, group });
  }

  /** @returns {Pair} bytes of all that is shown */
  get bytes() {
    return [this.values[0].wholeBytes, this.values[1].wholeBytes];
  }

  /** @returns {Pair} allocations of all that is shown */
  get count() {
    return [this.values[0].wholeCount, this.values[1].wholeCount];
  }

  /** @returns {boolean} whether no frame can be seen although there is something to show */
  get allHidden() {
    const { view } = this;
    return view.weight(0) > 0 && !view.shape.isPlain && view.filledChildren(0).length === 0;
  }

  /**
   * @param {number[]} frames
   * @returns {number} the view node at the end of a path of frames
   */
  follow(frames) {
    return this.view.follow(frames, (frame) => (this.model.tree.frameFlags[frame] & FLAG_IRRELEVANT) !== 0);
  }

  /**
   * @returns {{shape: Shape, changed: ChangedFunction[], unchanged: number}} functions that changed, whichever their lines, and
   *   the number of others
   */
  functions() {
    const { options } = this.view.shape;
    const { hideIrrelevant, foldImports } = this.tableShape.options;
    if (hideIrrelevant !== options.hideIrrelevant || foldImports !== options.foldImports) this.tableShape = this.shapeFor(options, 'function');
    const shape = this.tableShape;
    const all = bothSides(functionRows(shape, this.values[0]), functionRows(shape, this.values[1]));
    const changed = all.filter((row) => [row.ownBytes, row.ownCount, row.bytes, row.count].some(([base, next]) => base !== next));
    return { shape, changed, unchanged: all.length - changed.length };
  }
}

/**
 * @param {Column} values by node
 * @param {Uint32Array} near the visible node that each one's belongs to
 * @param {Float64Array} out what each visible node has
 * @returns {Float64Array}
 */
function addVisible(values, near, out) {
  out.fill(0);
  for (let i = 0, n = values.length; i < n; i++) out[near[i]] += values[i];
  return out;
}

/**
 * @param {import('./functions.js').FunctionRow[]} base
 * @param {import('./functions.js').FunctionRow[]} next
 * @returns {ChangedFunction[]}
 */
function bothSides(base, next) {
  /** @type {Map<number, ChangedFunction>} */
  const rows = new Map();
  for (const [side, row] of [...base.map((r) => /** @type {const} */ ([0, r])), ...next.map((r) => /** @type {const} */ ([1, r]))]) {
    let both = rows.get(row.frame);
    if (both === undefined) rows.set(row.frame, (both = { frame: row.frame, ownBytes: [0, 0], ownCount: [0, 0], bytes: [0, 0], count: [0, 0] }));
    for (const key of /** @type {const} */ (['ownBytes', 'ownCount', 'bytes', 'count'])) both[key][side] = row[key];
  }
  return [...rows.values()];
}

/**
 * @param {ChangedFunction[]} rows
 * @param {import('./diff_state.js').DiffColumn} column
 * @returns {ChangedFunction[]} a copy, the largest first, whatever its sign
 */
export function sortedChanges(rows, column) {
  const size = (/** @type {Pair} */ [base, next]) => Math.abs(next - base);
  /** @type {Record<typeof column, (row: ChangedFunction) => number>} */
  const keys = {
    change: (row) => size(row.ownBytes),
    base: (row) => row.ownBytes[0],
    next: (row) => row.ownBytes[1],
    total: (row) => size(row.bytes),
    count: (row) => size(row.ownCount),
  };
  const key = keys[column];
  return rows.slice().sort((a, b) => key(b) - key(a) || keys.change(b) - keys.change(a) || keys.count(b) - keys.count(a) || keys.total(b) - keys.total(a) || a.frame - b.frame);
}
