import { bytesChange, countChange, inBrackets } from '../core/diff_words.js';
import { formatBytes, formatNumberOf } from '../core/format.js';
import { make } from './dom.js';
import { TipBox } from './tipbox.js';

/** @typedef {import('../core/diff_view.js').DiffView} DiffView */
/** @typedef {import('../core/diff_view.js').Status} Status */
/** @typedef {import('./pane.js').Pane} Pane */

/** @type {Record<Status, string>} */
const WORDS = {
  new: 'New: it is not in base',
  gone: 'Gone: it is not in new',
  grown: 'Grew',
  shrank: 'Shrank',
  same: 'Unchanged',
};

/** What base and new have of the frame under the pointer or the keyboard. */
export class DiffTip extends TipBox {
  /** @param {import('./diff_report.js').DiffReport} page */
  constructor(page) {
    super();
    this.page = page;
  }

  /**
   * @param {Pane} pane
   * @param {number} v view node
   */
  fill(pane, v) {
    const view = /** @type {DiffView | null} */ (pane.view);
    if (view === null) return;
    const { names, state } = this.page;
    const bytes = view.bothBytes(v);
    const count = view.bothCounts(v);
    const side = (/** @type {0 | 1} */ i, /** @type {string} */ name) => make('div', `${name} ${formatBytes(bytes[i], state.units)} (${formatNumberOf(bytes[i], 'byte')}) in ${formatNumberOf(count[i], 'allocation')}`);
    const place = v === 0 ? '' : names.place(view.frame[v], view.shape.options.group);
    const kind = v !== 0 && names.isNative(view.frame[v]) ? 'native' : '';
    this.show([
      make('div', v === 0 ? pane.rootLabel : names.title(view.frame[v], view.shape.options.group), 'name'),
      ...(place === '' ? [] : [make('div', place, 'place')]),
      ...(kind === '' ? [] : [make('div', kind, 'native')]),
      make('div', WORDS[view.status(v)], 'status'),
      side(0, 'base'),
      side(1, 'new'),
      make('div', `change ${bytesChange(bytes, state.units)}${inBrackets(bytes)}, ${countChange(bytes)} bytes, ${countChange(count)} allocations`, 'change'),
    ]);
  }
}
