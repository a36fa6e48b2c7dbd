import { argmax, highestSlices, peakColumns } from '../core/columns.js';
import { Chart, LEFT, MIN_SPIKE } from './chart.js';

/** @typedef {import('../core/axis.js').TimeAxis} TimeAxis */
/** @typedef {import('../core/decode.js').Model} Model */
/** @typedef {import('../core/format.js').Units} Units */
/** @typedef {import('./palette.js').Palette} Palette */

/** The chart: sampled heap, highest heap in each slice, and RSS over time. */
export class Timeline extends Chart {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Model} model
   * @param {TimeAxis} axis
   */
  constructor(canvas, model, axis) {
    super(canvas);
    this.model = model;
    this.axis = axis;
    /** @type {Float64Array[] | null} functions to stack: for each, bytes at the peak of each slice */
    this.stack = null;
    /** @type {Float64Array | null} the chosen function: bytes at the peak of each slice */
    this.chosen = null;
    /** @type {Record<string, boolean>} */
    this.shown = { heap: true, peak: true, rss: true };
  }

  /**
   * @param {Palette} palette
   * @param {Units} units
   */
  draw(palette, units) {
    const { axis, model, shown } = this;
    const ratio = this.clear(this.largest());
    this.drawGrid(palette, units, this.ticks(axis));
    if (this.stack !== null) this.drawStack(this.stack, palette, ratio);
    else if (shown.peak) this.drawPeaks(axis, model.slicePeak, palette.css('--envelope'), palette.css('--envelope-edge'), ratio);
    if (this.chosen !== null) this.drawChosen(this.chosen, palette, ratio);
    if (shown.rss) this.drawCurve(axis, model.snapshotRss, palette.css('--rss'), ratio);
    if (shown.heap) this.drawCurve(axis, model.snapshotHeap, palette.css('--heap'), ratio);
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
}
