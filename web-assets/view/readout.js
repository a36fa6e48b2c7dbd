import { formatBytes, formatTime, timeDigits } from '../core/format.js';
import { heapAfter } from '../core/moments.js';
import { byId, make } from './dom.js';
import { TipBox } from './tipbox.js';

/** @typedef {import('./page.js').Page} Page */

/**
 * Shows the figures of the slice under the pointer.
 * @param {Page} page
 */
export function connectReadout(page) {
  const { axis, model, brush } = page;
  const tip = new TipBox();
  const track = byId('brush-track');
  track.addEventListener('pointermove', (event) => {
    if (brush.drag !== null) return tip.hide();
    const slice = axis.sliceAt(brush.position(event));
    const size = (/** @type {number} */ bytes) => formatBytes(bytes, page.state.units);
    const digits = timeDigits(axis.span);
    const time = (/** @type {number} */ edge) => formatTime(axis.times[edge], digits);
    const lines = [
      make('div', time(slice) + ' \u2013 ' + time(slice + 1), 'name'),
      make('div', 'Highest heap ' + size(model.slicePeak[slice])),
      make('div', 'Heap at the end ' + size(heapAfter(model, slice))),
    ];
    if (slice < model.snapshotRss.length) lines.push(make('div', 'RSS ' + size(model.snapshotRss[slice])));
    tip.show(lines);
    tip.place(event.clientX, event.clientY);
  });
  track.addEventListener('pointerleave', () => tip.hide());
  track.addEventListener('pointerdown', () => tip.hide());
}
