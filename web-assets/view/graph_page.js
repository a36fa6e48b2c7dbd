import { FrameNames } from '../core/names.js';
import { Search } from '../core/search.js';
import { Stepper } from './stepper.js';

/** @typedef {import('../core/names.js').FrameNames} Names */
/** @typedef {import('./palette.js').Palette} Palette */
/** @typedef {import('./pane.js').Pane} Pane */
/** @typedef {{query: string, zoom: number[]}} GraphState */

// Browsers limit how often the address may change.
const SAVE_DELAY_MS = 200;

/**
 * What pages with a flame graph have in common: a state that the address keeps, the frames that a search finds, and
 * a way around in the graph.
 * @template {GraphState} S
 */
export class GraphPage {
  /**
   * @param {import('../core/decode.js').Tree} tree
   * @param {import('../core/groups.js').FrameGroups} groups
   * @param {S} state
   * @param {(names: Names) => Pane} makePane
   */
  constructor(tree, groups, state, makePane) {
    this.state = state;
    this.search = new Search(tree);
    this.names = new FrameNames(tree, groups);
    this.main = makePane(this.names);
    this.stepper = new Stepper(this);
    this.framePending = false;
    this.settledPending = false;
    this.saveTimer = 0;
    /** @type {(() => void)[]} called after every change of the state */
    this.listeners = [];
  }

  /**
   * Asks, and shows the answer.
   * @param {boolean} _settled false while a drag goes on
   */
  refresh(_settled) {}

  /** Tells assistive technology where the focus is. */
  announce() {}

  /** @returns {string} what the search matches */
  matched() {
    return '';
  }

  /** @returns {string} the part of the address behind `#` */
  hash() {
    return '';
  }

  /**
   * Shows the state with the next frame.
   * @param {boolean} settled false while a drag goes on
   */
  refreshSoon(settled) {
    this.settledPending = this.settledPending || settled;
    if (this.framePending) return;
    this.framePending = true;
    requestAnimationFrame(() => {
      const done = this.settledPending;
      this.framePending = this.settledPending = false;
      this.refresh(done);
    });
  }

  /**
   * @param {Pane} pane
   * @param {number} v view node
   */
  zoomTo(pane, v) {
    this.state.zoom = pane.view === null ? [] : pane.view.framesTo(v);
    pane.focus = v;
    this.refresh(true);
    pane.graph.reveal(this.depth(pane, v));
  }

  /**
   * Moves the focus. A frame that is not laid out, since it is too thin or outside the zoomed one, is brought into sight.
   * @param {Pane} pane
   * @param {number} v view node
   */
  focusOn(pane, v) {
    const { graph, focusFrame, view } = pane;
    pane.focus = v;
    if (view !== null && !graph.outline(focusFrame, v)) {
      this.zoomTo(pane, Math.max(0, view.parent[v]));
      pane.focus = v;
      // Among thousands of siblings it can still be too thin.
      if (!graph.outline(focusFrame, v)) this.zoomTo(pane, v);
    }
    graph.reveal(this.depth(pane, v));
    this.announce();
  }

  /**
   * @param {Pane} pane
   * @param {number} v view node
   * @returns {number}
   */
  depth(pane, v) {
    return pane.view === null ? 0 : pane.view.depth[v];
  }

  /**
   * What Shift does with a frame.
   * @param {Pane} pane
   * @param {number} v view node
   */
  selectNode(pane, v) {
    this.zoomTo(pane, v);
  }

  saveAddress() {
    clearTimeout(this.saveTimer);
    this.saveTimer = window.setTimeout(() => {
      this.saveTimer = 0;
      const hash = this.hash();
      if (hash !== location.hash) history.replaceState(null, '', location.href.split('#')[0] + hash);
    }, SAVE_DELAY_MS);
  }
}
