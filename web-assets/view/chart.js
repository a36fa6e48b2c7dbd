import { peakColumns, reduceCurve } from '../core/columns.js';
import { byteTicks, formatAxisBytes, formatAxisTime, timeTicks } from '../core/format.js';
import { fitCanvas } from './dom.js';

/** @typedef {import('../core/axis.js').TimeAxis} TimeAxis */
/** @typedef {import('../core/format.js').Units} Units */
/** @typedef {import('./palette.js').Palette} Palette */

// Room around the plot; the style sheet puts brush tracks at the same place.
export const LEFT = 72;
const RIGHT = 16;
const TOP = 8;
const BOTTOM = 22;
export const MIN_SPIKE = 2;

/** @typedef {{at: number, text: string}} Tick a place on the axis, in 0..1 */

/** A plot of bytes over time. */
export class Chart {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {number} [top] room above the plot in CSS pixels
   * @param {number} [bottom] room below it
   */
  constructor(canvas, top = TOP, bottom = BOTTOM) {
    this.canvas = canvas;
    this.top = top;
    this.bottom = bottom;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    this.width = 0;
    this.height = 0;
    this.max = 1;
  }

  /**
   * Starts from an empty plot.
   * @param {number} largest bytes that must find room
   * @returns {number} device pixels per CSS pixel
   */
  clear(largest) {
    const { canvas, context } = this;
    const ratio = fitCanvas(canvas, canvas.clientWidth, canvas.clientHeight);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    this.width = Math.max(1, canvas.clientWidth - LEFT - RIGHT);
    this.height = canvas.clientHeight - this.top - this.bottom;
    this.max = 1.05 * largest;
    return ratio;
  }

  /**
   * @param {number} bytes
   * @returns {number}
   */
  y(bytes) {
    return this.top + this.height * (1 - bytes / this.max);
  }

  /**
   * Lines for sizes, and ticks for times.
   * @param {Palette} palette
   * @param {Units} units
   * @param {Tick[]} ticks
   */
  drawGrid(palette, units, ticks) {
    const { context, width } = this;
    context.font = '11px ' + palette.css('--sans');
    context.fillStyle = palette.css('--muted');
    context.strokeStyle = palette.css('--grid');
    context.lineWidth = 1;
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    context.beginPath();
    for (const bytes of byteTicks(this.max, 5, units)) {
      const y = Math.round(this.y(bytes)) + 0.5;
      context.moveTo(LEFT, y);
      context.lineTo(LEFT + width, y);
      context.fillText(formatAxisBytes(bytes, units), LEFT - 14, y);
    }
    context.textAlign = 'center';
    for (const { at, text } of ticks) {
      const x = Math.round(LEFT + width * at) + 0.5;
      context.moveTo(x, this.top + this.height);
      context.lineTo(x, this.top + this.height + 4);
      context.fillText(text, x, this.top + this.height + 13);
    }
    context.stroke();
  }

  /**
   * @param {TimeAxis} axis
   * @param {number} [span] ms that they reach up to
   * @returns {Tick[]} as many as there is room for
   */
  ticks(axis, span = axis.span) {
    const { step, ticks } = timeTicks(span, Math.max(2, this.width / 130));
    return ticks.map((time) => ({ at: axis.position(time), text: formatAxisTime(time, step) }));
  }

  /**
   * @param {TimeAxis} axis
   * @param {Float64Array} slicePeak
   * @param {string} fill colour
   * @param {string} edge colour
   * @param {number} ratio
   */
  drawPeaks(axis, slicePeak, fill, edge, ratio) {
    const { context } = this;
    const columns = Math.max(MIN_SPIKE, Math.round(this.width * ratio));
    const peaks = peakColumns(axis.edges, slicePeak, columns, Math.ceil(MIN_SPIKE * ratio));
    const end = Math.min(columns, Math.ceil(axis.edges[axis.slices] * columns));
    const outline = new Path2D();
    outline.moveTo(LEFT, this.y(peaks[0]));
    for (let c = 0; c < end; c++) {
      if (c > 0 && peaks[c] === peaks[c - 1]) continue;
      if (c > 0) outline.lineTo(LEFT + c / ratio, this.y(peaks[c - 1]));
      outline.lineTo(LEFT + c / ratio, this.y(peaks[c]));
    }
    outline.lineTo(LEFT + end / ratio, this.y(peaks[end - 1]));
    const area = new Path2D(outline);
    area.lineTo(LEFT + end / ratio, this.y(0));
    area.lineTo(LEFT, this.y(0));
    context.fillStyle = fill;
    context.fill(area);
    context.strokeStyle = edge;
    context.lineWidth = 1;
    context.stroke(outline);
  }

  /**
   * @param {TimeAxis} axis
   * @param {Float64Array} values one for each snapshot
   * @param {string} colour
   * @param {number} ratio
   */
  drawCurve(axis, values, colour, ratio) {
    const { context, width } = this;
    if (values.length === 0) return;
    const points = reduceCurve(values.length, (i) => Math.round(axis.edges[i + 1] * width * ratio), values);
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = 1.5;
    context.lineJoin = 'round';
    context.beginPath();
    for (const { column, value } of points) context.lineTo(LEFT + column / ratio, this.y(value));
    context.stroke();
    if (values.length > 1) return;
    context.beginPath();
    context.arc(LEFT + points[0].column / ratio, this.y(points[0].value), 3, 0, 2 * Math.PI);
    context.fill();
  }
}
