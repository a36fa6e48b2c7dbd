import { FLAG_IRRELEVANT } from './decode.js';
import { RowStore } from './rows.js';
import { timed } from './timing.js';
import { View } from './view.js';

/** @typedef {import('./decode.js').Model} Model */
/** @typedef {import('./state.js').State} State */

/** The answer to what the reader asked last: the tree with its values, and the slice it stands for. */
export class Answer {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    this.store = new RowStore(model);
    /** The slice whose peak is shown; -1 in left-over mode. */
    this.slice = -1;
    /** @type {Map<boolean, View>} by `hideIrrelevant` */
    this.views = new Map();
    this.keepThread = -1;
    /** @type {Uint8Array | null} 1 for each location of the chosen thread; null = all threads */
    this.keep = null;
    this.order = this.sumWholePeak();
    this.view = this.viewFor(true);
  }

  /** @returns {Float64Array} running sum over the locations of the bytes at the whole run's peak */
  sumWholePeak() {
    const { store, model } = this;
    store.askPeak(store.peakSlice(0, model.slicePeak.length - 1));
    const sum = new Float64Array(store.bytes.length + 1);
    for (let i = 0; i < store.bytes.length; i++) sum[i + 1] = sum[i] + store.bytes[i];
    return sum;
  }

  /** @param {State} state */
  ask(state) {
    const { store } = this;
    timed('query', () => {
      this.slice = state.mode === 'peak' ? store.peakSlice(state.lo, state.hi) : -1;
      if (state.mode === 'peak') store.askPeak(this.slice);
      else store.askLeftOver(state.lo, state.hi);
    });
    this.chooseThread(state.thread);
    this.view = this.viewFor(state.hideIrrelevant);
    timed('values', () => this.view.setValues(store.bytes, store.count, this.keep));
  }

  /** @returns {number} bytes shown, with the thread filter applied */
  get bytes() {
    return this.view.bytes(0);
  }

  /** @returns {number} allocations shown, with the thread filter applied */
  get count() {
    return this.view.count(0);
  }

  /** @returns {number} bytes of all threads */
  get wholeBytes() {
    return this.keep === null ? this.bytes : this.store.bytes.reduce((sum, b) => sum + b, 0);
  }

  /** @returns {boolean} whether the view hides every frame although there is something to show */
  get allHidden() {
    const { view } = this;
    return view.bytes(0) > 0 && view.hidden.includes(1) && view.filledChildren(0).length === 0;
  }

  /**
   * @param {number} v view node
   * @returns {number} the thread if all it holds belongs to one, else -1
   */
  onlyThread(v) {
    const { firstLocation, nodeEnd, locationThread } = this.model;
    const { bytes, count } = this.store;
    let only = -1;
    for (const node of this.view.nodes(v)) {
      for (let i = firstLocation[node], end = firstLocation[nodeEnd[node]]; i < end; i++) {
        if ((bytes[i] === 0 && count[i] === 0) || locationThread[i] === only) continue;
        if (this.keep !== null && this.keep[i] === 0) continue;
        if (only >= 0) return -1;
        only = locationThread[i];
      }
    }
    return only;
  }

  /** @param {number} thread index, or -1 for all */
  chooseThread(thread) {
    if (thread === this.keepThread) return;
    this.keepThread = thread;
    this.keep = thread < 0 ? null : Uint8Array.from(this.model.locationThread, (t) => (t === thread ? 1 : 0));
  }

  /**
   * @param {boolean} hideIrrelevant
   * @returns {View}
   */
  viewFor(hideIrrelevant) {
    let view = this.views.get(hideIrrelevant);
    if (view === undefined) {
      const hidden = this.model.frameFlags.map((flags) => (hideIrrelevant && (flags & FLAG_IRRELEVANT) !== 0 ? 1 : 0));
      hidden[0] = 0;
      view = new View(this.model, hidden, this.order);
      this.views.set(hideIrrelevant, view);
    }
    return view;
  }

  /**
   * @param {number[]} frames
   * @returns {number} the view node at the end of a path of frames
   */
  follow(frames) {
    return this.view.follow(frames, (frame) => (this.model.frameFlags[frame] & FLAG_IRRELEVANT) !== 0);
  }
}
