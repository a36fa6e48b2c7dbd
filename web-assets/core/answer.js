import { AllocatorsFirst } from './allocators_first.js';
import { CallersFirst } from './callers_first.js';
import { FLAG_IRRELEVANT } from './decode.js';
import { functionRows } from './functions.js';
import { FrameGroups } from './groups.js';
import { RowStore } from './rows.js';
import { Shape } from './shape.js';
import { timed } from './timing.js';
import { Values, addUp } from './values.js';

/** @typedef {import('./columns.js').Column} Column */
/** @typedef {import('./decode.js').Model} Model */
/** @typedef {import('./functions.js').FunctionRow} FunctionRow */
/** @typedef {import('./state.js').State} State */
/** @typedef {import('./view.js').View} View */
/** @typedef {{frame: number, callees: View, callers: View}} Sandwich a function, and both directions from it */

// Each view holds what was looked into; those of options that are no longer used can go.
const MAX_VIEWS = 6;

/** The answer to what the reader asked last: the trees with their values, and the slice they stand for. */
export class Answer {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    this.store = new RowStore(model);
    this.groups = new FrameGroups(model);
    this.values = new Values(model.meta.counts.locations);
    /** The slice whose peak is shown; -1 in other modes. */
    this.slice = -1;
    /** All that the question is about, before filters. */
    this.wholeBytes = 0;
    this.wholeCount = 0;
    this.keepFor = '';
    /** @type {Uint8Array | null} 1 for each location that the filters leave; null = all */
    this.keep = null;
    /** @type {Map<string, Shape>} */
    this.shapes = new Map();
    /** @type {Map<string, View>} */
    this.views = new Map();
    /** @type {Sandwich | null} callers and callees of one function, if one is chosen */
    this.sandwich = null;
    this.sandwichFor = '';
    /** @type {Uint32Array | null} */
    this.locationNodeCache = null;
    /** @type {FunctionRow[] | null} of what was asked last */
    this.functionsCache = null;
    this.peakOrder = this.sumWholePeak();
    /** @type {Float64Array | null} */
    this.temporaryOrderCache = null;
    this.shape = this.shapeFor({ hideIrrelevant: true, foldImports: false, collapse: false, group: 'line' });
    /** @type {View} */
    this.view = new CallersFirst(this.shape, this.peakOrder, true);
  }

  /**
   * @param {State} state
   * @returns {Float64Array} running sum over the locations by which siblings are ordered; it does not depend on the range
   */
  orderFor({ mode }) {
    if (mode !== 'temporary') return this.peakOrder;
    return (this.temporaryOrderCache ??= runningSum(this.model.locationTemporaryBytes));
  }

  /** @returns {Uint32Array} base node of each location */
  get locationNode() {
    return (this.locationNodeCache ??= nodesOfLocations(this.model));
  }

  /** @returns {Float64Array} running sum over the locations of the bytes at the whole run's peak */
  sumWholePeak() {
    const { store, model } = this;
    store.askPeak(store.peakSlice(0, model.slicePeak.length - 1));
    return runningSum(store.bytes);
  }

  /** @param {State} state */
  ask(state) {
    const { store, model, values } = this;
    const { mode } = state;
    this.functionsCache = null;
    timed('query', () => {
      this.slice = mode === 'peak' ? store.peakSlice(state.lo, state.hi) : -1;
      if (mode === 'peak') store.askPeak(this.slice);
      else if (mode === 'leaks') store.askLeftOver(state.lo, state.hi);
    });
    this.filter(state);
    const temporary = mode === 'temporary';
    const bytes = temporary ? model.locationTemporaryBytes : store.bytes;
    const count = temporary ? model.locationTemporaryCount : store.count;
    timed('values', () => values.set(bytes, count, this.keep));
    this.wholeBytes = this.keep === null ? values.wholeBytes : sumOf(bytes);
    this.wholeCount = this.keep === null ? values.wholeCount : sumOf(count);
    this.shape = this.shapeFor(state);
    this.view = this.viewFor(state);
    this.sandwich = this.sandwichOf(state);
    timed('values', () => {
      for (const view of this.shownViews) view.setValues(values, state.metric);
    });
  }

  /** @returns {View[]} */
  get shownViews() {
    const { view, sandwich } = this;
    return sandwich === null ? [view] : [sandwich.callees, sandwich.callers];
  }

  /** @returns {View} the one that zooming and searching are about */
  get mainView() {
    return this.sandwich?.callees ?? this.view;
  }

  /** @returns {number} bytes that the filters leave */
  get bytes() {
    return this.values.wholeBytes;
  }

  /** @returns {number} allocations that the filters leave */
  get count() {
    return this.values.wholeCount;
  }

  /** @returns {boolean} whether no frame can be seen although there is something to show */
  get allHidden() {
    return this.bytes > 0 && !this.shape.isPlain && this.sandwich === null && this.view.filledChildren(0).length === 0;
  }

  /**
   * @param {View} view
   * @param {number} v view node
   * @returns {number} the thread if all it holds belongs to one, else -1
   */
  onlyThread(view, v) {
    const { locationThread } = this.model;
    const { bytes, count } = this.values;
    let only = -1;
    let several = false;
    view.everyLocation(v, (location) => {
      const empty = bytes[location] === 0 && count[location] === 0;
      several = !empty && only >= 0 && locationThread[location] !== only;
      if (!empty) only = locationThread[location];
      return !several;
    });
    return several ? -1 : only;
  }

  /** @param {State} state */
  filter({ thread, allocator }) {
    const key = thread + '/' + allocator;
    if (key === this.keepFor) return;
    this.keepFor = key;
    const { locationThread, locationAllocator } = this.model;
    const kept = (/** @type {number} */ i) => (thread < 0 || locationThread[i] === thread) && (allocator < 0 || locationAllocator[i] === allocator);
    this.keep = thread < 0 && allocator < 0 ? null : Uint8Array.from(locationThread, (_, i) => (kept(i) ? 1 : 0));
  }

  /**
   * @param {import('./shape.js').ShapeOptions} options
   * @returns {Shape}
   */
  shapeFor({ hideIrrelevant, foldImports, collapse, group }) {
    const key = [hideIrrelevant, foldImports, collapse, group].join();
    let shape = this.shapes.get(key);
    if (shape === undefined) {
      shape = new Shape(this.model, this.groups, { hideIrrelevant, foldImports, collapse, group });
      remember(this.shapes, key, shape);
    }
    return shape;
  }

  /**
   * @param {State} state
   * @returns {Shape} the shape in which functions are added up: lines are always one
   */
  tableShape(state) {
    return this.shapeFor({ ...state, group: state.group === 'line' ? 'function' : state.group });
  }

  /**
   * @param {State} state what was asked last
   * @returns {FunctionRow[]} what each function holds
   */
  functions(state) {
    return (this.functionsCache ??= functionRows(this.tableShape(state), this.values));
  }

  /**
   * @param {State} state
   * @returns {View}
   */
  viewFor(state) {
    const temporary = state.mode === 'temporary';
    const { hideIrrelevant, foldImports, collapse, group, direction } = state;
    const key = [hideIrrelevant, foldImports, collapse, group, direction, temporary].join();
    let view = this.views.get(key);
    if (view === undefined) {
      const order = this.orderFor(state);
      view = direction === 'callers'
        ? new CallersFirst(this.shape, order, !temporary)
        : new AllocatorsFirst(this.shape, order, this.locationNode);
      remember(this.views, key, view);
    }
    return view;
  }

  /**
   * @param {State} state
   * @returns {Sandwich | null}
   */
  sandwichOf(state) {
    const temporary = state.mode === 'temporary';
    const shape = this.tableShape(state);
    const { hideIrrelevant, foldImports, collapse, group } = shape.options;
    const key = [hideIrrelevant, foldImports, collapse, group, state.selected, temporary].join();
    if (key === this.sandwichFor) return this.sandwich;
    this.sandwichFor = key;
    if (state.selected <= 0) return null;
    const frame = shape.key[state.selected];
    const roots = shape.nodesOf(frame);
    if (roots.length === 0) return null;
    const order = this.orderFor(state);
    return { frame, callees: new CallersFirst(shape, order, !temporary, roots), callers: new AllocatorsFirst(shape, order, this.locationNode, roots) };
  }

  /**
   * @param {number[]} frames
   * @returns {number} the node of the main view at the end of a path of frames
   */
  follow(frames) {
    return this.mainView.follow(frames, (frame) => (this.model.frameFlags[frame] & FLAG_IRRELEVANT) !== 0);
  }
}

/**
 * Keeps something by key; of many, the oldest is forgotten.
 * @template T
 * @param {Map<string, T>} kept
 * @param {string} key
 * @param {T} value
 */
function remember(kept, key, value) {
  kept.set(key, value);
  const [oldest] = kept.keys();
  if (kept.size > MAX_VIEWS) kept.delete(oldest);
}

/**
 * @param {Model} model
 * @returns {Uint32Array} base node of each location
 */
function nodesOfLocations({ firstLocation, nodeFrame, meta }) {
  const out = new Uint32Array(meta.counts.locations);
  for (let node = 0; node < nodeFrame.length; node++) {
    for (let i = firstLocation[node], end = firstLocation[node + 1]; i < end; i++) out[i] = node;
  }
  return out;
}

/**
 * @param {Column} values
 * @returns {Float64Array} one longer, starting with 0
 */
function runningSum(values) {
  const out = new Float64Array(values.length + 1);
  addUp(values, out);
  return out;
}

/**
 * @param {Column} values
 * @returns {number}
 */
function sumOf(values) {
  let sum = 0;
  for (let i = 0, n = values.length; i < n; i++) sum += values[i];
  return sum;
}
