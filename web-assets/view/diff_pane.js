import { bytesChange, countChange, describeChange } from '../core/diff_words.js';
import { DiffGraph } from './diff_graph.js';
import { Pane } from './pane.js';

/** @typedef {import('../core/diff_view.js').DiffView} DiffView */
/** @typedef {import('../core/view.js').View} View */
/** @typedef {import('./pane.js').PaneState} PaneState */

/** The flame graph of what changed, and the words for those who cannot see it. */
export class DiffPane extends Pane {
  /**
   * @param {HTMLElement} tree
   * @param {import('../core/names.js').FrameNames} names
   */
  constructor(tree, names) {
    super(tree, names, new DiffGraph(tree, names));
  }

  title() {
    return 'Flame graph of what changed, callers first';
  }

  /**
   * @param {View} view
   * @param {number} v view node
   * @param {PaneState} state
   */
  describeNode(view, v, state) {
    return describeChange(this.fullName(v), /** @type {DiffView} */ (view), v, state.units);
  }

  /**
   * @param {View} view
   * @param {number} v view node
   * @param {PaneState} state
   */
  sizeOf(view, v, state) {
    const diff = /** @type {DiffView} */ (view);
    return state.metric === 'bytes' ? bytesChange(diff.bothBytes(v), state.units) : countChange(diff.bothCounts(v));
  }
}
