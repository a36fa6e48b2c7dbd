import { formatBytes, formatCount, formatNumberOf, formatPercent } from '../core/format.js';
import { make } from './dom.js';
import { TipBox } from './tipbox.js';

/** @typedef {import('./page.js').Page} Page */
/** @typedef {import('./pane.js').Pane} Pane */

/** All that is known about the frame under the pointer or the keyboard. */
export class Tooltip extends TipBox {
  /** @param {Page} page */
  constructor(page) {
    super();
    this.page = page;
  }

  /**
   * @param {Pane} pane
   * @param {number} v view node
   */
  fill(pane, v) {
    const { view, zoom, rootLabel } = pane;
    if (view === null) return;
    const { units } = this.page.state;
    const bytes = view.bytes(v);
    const whole = formatPercent(view.weight(v), view.weight(0)) + ' of all shown';
    const zoomed = zoom === 0 ? '' : ' · ' + formatPercent(view.weight(v), view.weight(zoom)) + ' of the zoomed frame';
    const own = view.ownBytes(v);
    const hasOwn = this.page.state.direction === 'callers' && pane === this.page.main && own > 0 && own < bytes;
    this.show([
      ...(v === 0 && view.rootFrame === 0 ? [make('div', rootLabel, 'name')] : this.nameLines(pane, view.frame[v])),
      make('div', formatBytes(bytes, units) + ' (' + formatCount(bytes) + ' bytes)' + (hasOwn ? ' · ' + formatBytes(own, units) + ' of it its own' : '')),
      make('div', whole + zoomed),
      make('div', formatNumberOf(view.count(v), 'allocation') + this.threadText(pane, v)),
    ]);
  }

  /**
   * @param {Pane} pane
   * @param {number} frame
   * @returns {HTMLElement[]}
   */
  nameLines(pane, frame) {
    const { names } = this.page;
    const group = pane.view?.shape.options.group ?? 'line';
    const place = names.place(frame, group);
    const source = group === 'line' ? names.source(frame) : '';
    const kind = names.kind(frame);
    const out = [make('div', names.title(frame, group), 'name')];
    if (place !== '') out.push(make('div', place, 'place'));
    if (source !== '') out.push(make('div', source, 'code'));
    if (kind !== '') out.push(make('div', kind, names.isNative(frame) ? 'native' : 'place'));
    return out;
  }

  /**
   * @param {Pane} pane
   * @param {number} v view node
   * @returns {string}
   */
  threadText({ view }, v) {
    const { answer } = this.page;
    const { threads } = answer.model.meta;
    const thread = threads.length > 1 && view !== null ? answer.onlyThread(view, v) : -1;
    return thread < 0 ? '' : ' · thread ' + threads[thread];
  }
}
