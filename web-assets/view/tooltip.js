import { formatBytes, formatCount, formatNumberOf, formatPercent } from '../core/format.js';
import { byId, make } from './dom.js';

/** @typedef {import('../core/answer.js').Answer} Answer */
/** @typedef {import('../core/format.js').Units} Units */
/** @typedef {import('../core/names.js').FrameNames} FrameNames */

const MARGIN = 8;

/** The box with all that is known about the frame under the pointer or the keyboard. */
export class Tooltip {
  /**
   * @param {Answer} answer
   * @param {FrameNames} names
   */
  constructor(answer, names) {
    this.answer = answer;
    this.names = names;
    this.box = byId('tip');
  }

  hide() {
    this.box.hidden = true;
  }

  /**
   * @param {number} v view node
   * @param {number} zoom view node
   * @param {string} rootLabel
   * @param {Units} units
   */
  fill(v, zoom, rootLabel, units) {
    const { view } = this.answer;
    const bytes = view.bytes(v);
    const whole = formatPercent(bytes, view.bytes(0)) + ' of all shown';
    const zoomed = zoom === 0 ? '' : ' · ' + formatPercent(bytes, view.bytes(zoom)) + ' of the zoomed frame';
    const lines = [
      ...(v === 0 ? [make('div', rootLabel, 'name')] : this.nameLines(view.frame[v])),
      make('div', formatBytes(bytes, units) + ' (' + formatCount(bytes) + ' bytes)'),
      make('div', whole + zoomed),
      make('div', formatNumberOf(view.count(v), 'allocation') + this.threadText(v)),
    ];
    this.box.replaceChildren(...lines);
    this.box.hidden = false;
  }

  /**
   * @param {number} frame
   * @returns {HTMLElement[]}
   */
  nameLines(frame) {
    const place = this.names.place(frame);
    const source = this.names.source(frame);
    const out = [make('div', this.names.functionName(frame), 'name')];
    if (place !== '') out.push(make('div', place, 'place'));
    if (source !== '') out.push(make('div', source, 'code'));
    if (this.names.isNative(frame)) out.push(make('div', 'native', 'native'));
    return out;
  }

  /**
   * @param {number} v view node
   * @returns {string}
   */
  threadText(v) {
    const { threads } = this.answer.model.meta;
    const thread = threads.length > 1 ? this.answer.onlyThread(v) : -1;
    return thread < 0 ? '' : ' · thread ' + threads[thread];
  }

  /**
   * Puts the box below right of a point, or where there is room.
   * @param {number} x
   * @param {number} y
   */
  place(x, y) {
    const { offsetWidth: width, offsetHeight: height, style } = this.box;
    const above = y - height - 12;
    const top = y + 16 + height + MARGIN > window.innerHeight && above > MARGIN ? above : y + 16;
    style.left = Math.max(MARGIN, Math.min(window.innerWidth - width - MARGIN, x + 12)) + 'px';
    style.top = Math.max(MARGIN, Math.min(window.innerHeight - height - MARGIN, top)) + 'px';
  }
}
