import { describeNode } from '../core/explain.js';
import { formatBytes, formatNumberOf } from '../core/format.js';
import { setAria } from './dom.js';
import { FlameGraph } from './flame.js';
import { showTreeItems } from './treeitems.js';

/** @typedef {import('../core/names.js').FrameNames} FrameNames */
/** @typedef {import('../core/format.js').Units} Units */
/** @typedef {{units: Units, metric: import('../core/values.js').Metric, direction?: import('../core/state.js').Direction}} PaneState */
/** @typedef {import('../core/view.js').View} View */
/** @typedef {import('./palette.js').Palette} Palette */

/** A flame graph with its zoom and focus, and the words for those who cannot see it. */
export class Pane {
  /**
   * @param {HTMLElement} tree
   * @param {FrameNames} names
   * @param {FlameGraph} [graph]
   */
  constructor(tree, names, graph = new FlameGraph(tree, names)) {
    this.tree = tree;
    this.names = names;
    this.graph = graph;
    this.hoverFrame = /** @type {HTMLElement} */ (tree.querySelector('.hover-frame'));
    this.focusFrame = /** @type {HTMLElement} */ (tree.querySelector('.focus-frame'));
    /** @type {View | null} */
    this.view = null;
    /** View nodes: what the graph is zoomed to, and where the keyboard is. */
    this.zoom = 0;
    this.focus = 0;
    this.rootLabel = '';
    this.describe = '';
  }

  /**
   * @param {View} view
   * @returns {boolean} whether it is another one than before; nodes of one view mean nothing in another
   */
  setView(view) {
    if (view === this.view) return false;
    this.view = view;
    this.zoom = this.focus = 0;
    return true;
  }

  /** @param {number} v view node */
  zoomTo(v) {
    if (v !== this.zoom) this.focus = v;
    this.zoom = v;
  }

  /**
   * @param {Palette} palette
   * @param {PaneState} state
   * @param {Uint8Array | null} match
   * @param {string} rootLabel
   * @param {boolean} rootAtBottom
   * @param {boolean} settled false while a drag goes on
   */
  draw(palette, state, match, rootLabel, rootAtBottom, settled) {
    const { view, graph } = this;
    if (view === null) return;
    const turned = graph.picture !== null && graph.picture.rootAtBottom !== rootAtBottom;
    this.rootLabel = rootLabel;
    graph.palette = palette;
    graph.draw({ view, metric: state.metric, zoom: this.zoom, rootAtBottom, match, rootLabel, sizeOf: (v) => this.sizeOf(view, v, state) }, settled);
    if (turned) graph.showRoot();
    graph.outline(this.hoverFrame, -1);
    graph.outline(this.focusFrame, this.focus);
  }

  /**
   * @param {number} v view node
   * @returns {string} what it is called, in full
   */
  fullName(v) {
    const { view, names } = this;
    if (view === null || (v === 0 && view.rootFrame === 0)) return this.rootLabel;
    const { group } = view.shape.options;
    const frame = view.frame[v];
    const place = names.place(frame, group);
    const kind = names.kind(frame);
    return names.title(frame, group) + (place === '' ? '' : ', ' + place) + (kind === '' ? '' : ', ' + kind);
  }

  /**
   * Tells assistive technology where the focus is.
   * @param {PaneState} state
   */
  announce(state) {
    const { view, tree, focus } = this;
    if (view === null) return;
    showTreeItems(tree, view, focus, (v) => this.describeNode(view, v, state));
    const label = this.title(view, state) + '. Arrow keys move, Enter zooms, Escape zooms out.';
    if (label !== this.describe) setAria(tree, { label });
    this.describe = label;
  }

  /**
   * @param {View} view
   * @param {PaneState} state
   * @returns {string} what the graph is
   */
  title(view, state) {
    return view.rootFrame === 0 ? 'Flame graph, ' + state.direction + ' first' : 'Flame graph of ' + this.rootLabel;
  }

  /**
   * @param {View} view
   * @param {number} v view node
   * @param {PaneState} state
   * @returns {string} a view node in one sentence, for those who cannot see the picture
   */
  describeNode(view, v, state) {
    return describeNode(this.fullName(v), view, v, state);
  }

  /**
   * @param {View} view
   * @param {number} v view node
   * @param {PaneState} state
   * @returns {string} what the width of a node stands for
   */
  sizeOf(view, v, state) {
    return state.metric === 'bytes' ? formatBytes(view.bytes(v), state.units) : formatNumberOf(view.count(v), 'allocation');
  }
}
