import { argmax } from '../core/columns.js';
import { Chart, LEFT } from './chart.js';

/** @typedef {import('../core/axis.js').TimeAxis} TimeAxis */
/** @typedef {import('../core/diff_model.js').Side} Side */
/** @typedef {import('../core/format.js').Units} Units */
/** @typedef {import('./palette.js').Palette} Palette */

const COLOURS = /** @type {const} */ (['base', 'new']);
const DASHES = [6, 4];
const SHARES = [0, 0.25, 0.5, 0.75, 1];
const STRIP_ROOM = 3;

/** Both heaps over one time: for each, the highest in each slice, pale, and the sampled line; that of base is dashed. */
export class DiffChart extends Chart {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Side[]} sides
   */
  constructor(canvas, sides) {
    super(canvas);
    this.sides = sides;
  }

  /**
   * @param {Palette} palette
   * @param {Units} units
   * @param {TimeAxis[]} axes of base and new
   * @param {boolean} scaled whether each run is as wide as the chart
   */
  draw(palette, units, axes, scaled) {
    const { sides, context } = this;
    const ratio = this.clear(Math.max(1, ...sides.map(highest)));
    const longest = axes[0].span > axes[1].span ? axes[0] : axes[1];
    this.drawGrid(palette, units, scaled ? SHARES.map((at) => ({ at, text: 100 * at + '\u00a0%' })) : this.ticks(longest));
    sides.forEach((side, i) => this.drawPeaks(axes[i], side.slicePeak, palette.css(`--${COLOURS[i]}-fill`), palette.css(`--${COLOURS[i]}-edge`), ratio));
    sides.forEach((side, i) => {
      context.setLineDash(i === 0 ? DASHES : []);
      this.drawCurve(axes[i], side.snapshotHeap, palette.css('--' + COLOURS[i]), ratio);
      context.setLineDash([]);
    });
  }
}

/** The heap of one of the captures, for its range to be chosen on. */
export class RunStrip extends Chart {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Side} side
   * @param {'base' | 'new'} name
   */
  constructor(canvas, side, name) {
    super(canvas, STRIP_ROOM, 0);
    this.side = side;
    this.name = name;
  }

  /**
   * @param {Palette} palette
   * @param {TimeAxis} axis
   * @param {number} largest bytes that must find room
   */
  draw(palette, axis, largest) {
    const ratio = this.clear(largest);
    const { context, name } = this;
    this.drawPeaks(axis, this.side.slicePeak, palette.css(`--${name}-fill`), palette.css('--' + name), ratio);
    context.strokeStyle = palette.css('--line');
    context.beginPath();
    context.moveTo(LEFT, this.y(0) - 0.5);
    context.lineTo(LEFT + this.width, this.y(0) - 0.5);
    context.stroke();
  }
}

/**
 * @param {Side} side
 * @returns {number} the highest heap in bytes
 */
export function highest({ slicePeak }) {
  return slicePeak[argmax(slicePeak)];
}
