import { argmax, highestSlices, peakColumns, reduceCurve } from '../core/columns.js';
import { byteTicks, formatAxisBytes, formatAxisTime, timeTicks } from '../core/format.js';
import { fitCanvas } from './dom.js';

/** @typedef {import('../core/axis.js').TimeAxis} TimeAxis */
/** @typedef {import('../core/decode.js').Model} Model */
/** @typedef {import('../core/format.js').Units} Units */
/** @typedef {import('./palette.js').Palette} Palette */

// Room around the plot; the style sheet puts #brush-track at the same place.
const LEFT = 72;
const RIGHT = 16;
const TOP = 8;
const BOTTOM = 22;
const MIN_SPIKE = 2;

/** The chart: sampled heap, highest heap in each slice, and RSS over time. */
export class Timeline {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Model} model
   * @param {TimeAxis} axis
   */
  constructor(canvas, model, axis) {
    this.canvas = canvas;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    this.model = model;
    this.axis = axis;
    /** @type {Float64Array[] | null} functions to stack: for each, bytes at the peak of each slice */
    this.stack = null;
    /** @type {Float64Array | null} the chosen function: bytes at the peak of each slice */
    this.chosen = null;
    /** @type {Record<string, boolean>} */
    this.shown = { heap: true, peak: true, rss: true };
    this.width = 0;
    this.height = 0;
    this.max = 1;
  }

  /**
   * @param {Palette} palette
   * @param {Units} units
   */
  draw(palette, units) {
    const { canvas, context, model, shown } = this;
    const ratio = fitCanvas(canvas, canvas.clientWidth, canvas.clientHeight);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    this.width = Math.max(1, canvas.clientWidth - LEFT - RIGHT);
    this.height = canvas.clientHeight - TOP - BOTTOM;
    this.max = 1.05 * this.largest();
    this.drawGrid(palette, units);
    if (this.stack !== null) this.drawStack(this.stack, palette, ratio);
    else if (shown.peak) this.drawPeaks(palette, ratio);
    if (this.chosen !== null) this.drawChosen(this.chosen, palette, ratio);
    if (shown.rss) this.drawCurve(model.snapshotRss, palette.css('--rss'), ratio);
    if (shown.heap) this.drawCurve(model.snapshotHeap, palette.css('--heap'), ratio);
  }

  /** @returns {number} the largest value of the curves that are shown */
  largest() {
    const { model, shown } = this;
    let max = 1;
    for (const [key, values] of Object.entries({ heap: model.snapshotHeap, peak: model.slicePeak, rss: model.snapshotRss })) {
      if (shown[key]) max = Math.max(max, values[argmax(values)] ?? 0);
    }
    return max;
  }

  /**
   * @param {number} bytes
   * @returns {number}
   */
  y(bytes) {
    return TOP + this.height * (1 - bytes / this.max);
  }

  /**
   * @param {Palette} palette
   * @param {Units} units
   */
  drawGrid(palette, units) {
    const { context, axis, width } = this;
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
    const { step, ticks } = timeTicks(axis.span, Math.max(2, width / 130));
    context.textAlign = 'center';
    for (const time of ticks) {
      const x = Math.round(LEFT + width * axis.position(time)) + 0.5;
      context.moveTo(x, TOP + this.height);
      context.lineTo(x, TOP + this.height + 4);
      context.fillText(formatAxisTime(time, step), x, TOP + this.height + 13);
    }
    context.stroke();
  }

  /**
   * @param {Palette} palette
   * @param {number} ratio
   */
  drawPeaks(palette, ratio) {
    const { context, model, axis } = this;
    const columns = Math.max(MIN_SPIKE, Math.round(this.width * ratio));
    const peaks = peakColumns(axis.edges, model.slicePeak, columns, Math.ceil(MIN_SPIKE * ratio));
    const outline = new Path2D();
    outline.moveTo(LEFT, this.y(peaks[0]));
    for (let c = 0; c < columns; c++) {
      if (c > 0 && peaks[c] === peaks[c - 1]) continue;
      if (c > 0) outline.lineTo(LEFT + c / ratio, this.y(peaks[c - 1]));
      outline.lineTo(LEFT + c / ratio, this.y(peaks[c]));
    }
    outline.lineTo(LEFT + columns / ratio, this.y(peaks[columns - 1]));
    const area = new Path2D(outline);
    area.lineTo(LEFT + columns / ratio, this.y(0));
    area.lineTo(LEFT, this.y(0));
    context.fillStyle = palette.css('--envelope');
    context.fill(area);
    context.strokeStyle = palette.css('--envelope-edge');
    context.lineWidth = 1;
    context.stroke(outline);
  }

  /**
   * In each pixel column the slice with the highest sum is shown, so the top of the stack is the highest heap there.
   * @param {Float64Array[]} stack
   * @param {Palette} palette
   * @param {number} ratio
   */
  drawStack(stack, palette, ratio) {
    const { context, axis } = this;
    const columns = Math.max(MIN_SPIKE, Math.round(this.width * ratio));
    const sums = stack[0].map((_, s) => stack.reduce((sum, series) => sum + series[s], 0));
    const slices = highestSlices(axis.edges, sums, columns, Math.ceil(MIN_SPIKE * ratio));
    const floor = new Float64Array(columns);
    for (const [i, series] of stack.entries()) {
      context.fillStyle = palette.layers[i === stack.length - 1 ? palette.layers.length - 1 : i];
      context.beginPath();
      context.moveTo(LEFT, this.y(floor[0]));
      for (let c = 0; c < columns; c++) this.step(c, ratio, floor[c]);
      for (let c = columns - 1; c >= 0; c--) this.step(c + 1, -ratio, (floor[c] += slices[c] < 0 ? 0 : series[slices[c]]));
      context.fill();
    }
  }

  /**
   * Draws on, across one pixel column: from its left edge if `ratio` is positive, else from its right edge.
   * @param {number} column where to start
   * @param {number} ratio
   * @param {number} bytes
   */
  step(column, ratio, bytes) {
    const { context } = this;
    const y = this.y(bytes);
    const per = Math.abs(ratio);
    context.lineTo(LEFT + column / per, y);
    context.lineTo(LEFT + (column + Math.sign(ratio)) / per, y);
  }

  /**
   * @param {Float64Array} chosen
   * @param {Palette} palette
   * @param {number} ratio
   */
  drawChosen(chosen, palette, ratio) {
    const { context, axis } = this;
    const columns = Math.max(MIN_SPIKE, Math.round(this.width * ratio));
    const values = peakColumns(axis.edges, chosen, columns, Math.ceil(MIN_SPIKE * ratio));
    context.fillStyle = context.strokeStyle = palette.css('--chosen');
    context.lineWidth = 1.5;
    const outline = new Path2D();
    for (let c = 0; c < columns; c++) {
      outline.lineTo(LEFT + c / ratio, this.y(values[c]));
      outline.lineTo(LEFT + (c + 1) / ratio, this.y(values[c]));
    }
    context.stroke(outline);
    outline.lineTo(LEFT + columns / ratio, this.y(0));
    outline.lineTo(LEFT, this.y(0));
    context.globalAlpha = 0.25;
    context.fill(outline);
    context.globalAlpha = 1;
  }

  /**
   * @param {Float64Array} values one for each snapshot
   * @param {string} colour
   * @param {number} ratio
   */
  drawCurve(values, colour, ratio) {
    const { context, axis, width } = this;
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
