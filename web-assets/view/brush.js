import { formatTime, timeDigits } from '../core/format.js';
import { byId, setAria } from './dom.js';

/** @typedef {import('../core/axis.js').TimeAxis} TimeAxis */
/** @typedef {'start' | 'end' | 'window' | 'new'} Grip */
/** @typedef {{grip: Grip, x: number, lo: number, hi: number, far: boolean}} Drag what was taken hold of, and where */

// A press that moves less is a click, which must not throw the range away.
const MIN_DRAG_PX = 3;

/** The range selector over the chart: a window of slices with two handles, and the mark of the slice that is shown. */
export class Brush {
  /**
   * @param {TimeAxis} axis
   * @param {(lo: number, hi: number, settled: boolean) => void} onRange
   * @param {string} [id] of the track
   */
  constructor(axis, onRange, id = 'brush-track') {
    this.axis = axis;
    this.onRange = onRange;
    this.track = byId(id);
    const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (this.track.querySelector('.' + name));
    this.window = part('brush-window');
    this.start = part('brush-start');
    this.end = part('brush-end');
    this.before = part('veil-start');
    this.behind = part('veil-end');
    this.mark = part('peak-slice');
    this.lo = 0;
    this.hi = axis.slices - 1;
    /** @type {Drag | null} */
    this.drag = null;
    this.listen();
  }

  /**
   * Shows a range.
   * @param {number} lo
   * @param {number} hi
   */
  show(lo, hi) {
    const { axis } = this;
    this.lo = lo;
    this.hi = hi;
    const left = 100 * axis.edges[lo];
    const right = 100 * axis.edges[hi + 1];
    this.window.style.left = left + '%';
    this.window.style.width = right - left + '%';
    this.before.style.width = left + '%';
    this.behind.style.width = 100 - right + '%';
    this.start.style.left = left + '%';
    this.end.style.left = right + '%';
    this.speak(this.start, lo, 0, hi, axis.times[lo]);
    this.speak(this.end, hi, lo, axis.slices - 1, axis.times[hi + 1]);
  }

  /**
   * @param {HTMLElement} handle
   * @param {number} slice
   * @param {number} least
   * @param {number} most
   * @param {number} time
   */
  speak(handle, slice, least, most, time) {
    setAria(handle, { valuemin: least, valuemax: most, valuenow: slice, valuetext: formatTime(time, timeDigits(this.axis.span)) });
  }

  /** @param {number} slice to mark, or -1 for none */
  markSlice(slice) {
    this.mark.hidden = slice < 0;
    if (slice < 0) return;
    const { edges } = this.axis;
    const width = 100 * (edges[slice + 1] - edges[slice]);
    this.mark.style.left = `min(${100 * edges[slice]}%, calc(100% - 3px))`;
    this.mark.style.width = `max(3px, ${width}%)`;
  }

  listen() {
    const { track } = this;
    track.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      this.drag = { grip: this.gripOf(event), x: this.position(event), lo: this.lo, hi: this.hi, far: false };
      track.setPointerCapture(event.pointerId);
      // Else the browser selects text, and the next press drags that text away. It also keeps the handle from the focus.
      event.preventDefault();
      if (event.target === this.start || event.target === this.end) /** @type {HTMLElement} */ (event.target).focus({ preventScroll: true });
    });
    track.addEventListener('pointermove', (event) => this.move(event));
    for (const name of ['pointerup', 'pointercancel']) track.addEventListener(name, () => this.drop());
    track.addEventListener('dblclick', () => this.choose(0, this.axis.slices - 1, true));
    for (const handle of [this.start, this.end]) handle.addEventListener('keydown', (event) => this.key(handle, event));
  }

  /**
   * @param {PointerEvent} event
   * @returns {Grip}
   */
  gripOf(event) {
    if (event.target === this.start) return 'start';
    if (event.target === this.end) return 'end';
    // Over the whole run there is nothing to move: a drag there means a new range.
    const whole = this.lo === 0 && this.hi === this.axis.slices - 1;
    return event.target === this.window && !event.shiftKey && !whole ? 'window' : 'new';
  }

  /**
   * @param {PointerEvent} event
   * @returns {number} 0..1
   */
  position(event) {
    const box = this.track.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  }

  /** @param {PointerEvent} event */
  move(event) {
    const { drag, axis } = this;
    if (drag === null) return;
    const x = this.position(event);
    drag.far = drag.far || Math.abs(x - drag.x) * this.track.clientWidth >= MIN_DRAG_PX;
    if (!drag.far) return;
    if (drag.grip === 'start') this.choose(Math.min(drag.hi, axis.sliceAt(x)), drag.hi, false);
    else if (drag.grip === 'end') this.choose(drag.lo, Math.max(drag.lo, axis.sliceAt(x)), false);
    else if (drag.grip === 'new') this.choose(axis.sliceAt(Math.min(x, drag.x)), axis.sliceAt(Math.max(x, drag.x)), false);
    else {
      const { lo, hi } = axis.shift(drag.lo, drag.hi, x - drag.x);
      this.choose(lo, hi, false);
    }
  }

  drop() {
    const moved = this.drag !== null && this.drag.far;
    this.drag = null;
    if (moved) this.onRange(this.lo, this.hi, true);
  }

  /**
   * @param {HTMLElement} handle
   * @param {KeyboardEvent} event
   */
  key(handle, event) {
    const last = this.axis.slices - 1;
    const page = Math.max(1, Math.round(this.axis.slices / 20));
    /** @type {Record<string, number>} */
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -page, PageUp: page, Home: -last, End: last };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    if (handle === this.start) this.choose(Math.max(0, Math.min(this.hi, this.lo + step)), this.hi, true);
    else this.choose(this.lo, Math.min(last, Math.max(this.lo, this.hi + step)), true);
  }

  /**
   * @param {number} lo
   * @param {number} hi
   * @param {boolean} settled false while a drag goes on
   */
  choose(lo, hi, settled) {
    if (lo === this.lo && hi === this.hi) return;
    this.show(lo, hi);
    this.onRange(lo, hi, settled);
  }
}
