import { markOf } from '../core/diff_words.js';
import { GREW, SAME, SHRANK, STRENGTHS } from './diff_palette.js';
import { FlameGraph } from './flame.js';

/** @typedef {import('../core/diff_view.js').DiffView} DiffView */
/** @typedef {import('./diff_palette.js').DiffPalette} DiffPalette */
/** @typedef {import('./flame.js').Picture} Picture */
/** @typedef {import('./palette.js').Palette} Palette */

// Distance of the stripes in CSS pixels, and how thick they are; those of what is new or gone lie close.
const STRIPES = 9;
const CLOSE_STRIPES = 4;
const STRIPE = 1.5;
const MIN_HATCHED = 3;

/**
 * A flame graph of what changed. Orange and stripes that rise: more; blue and stripes that fall: less. Stripes that lie
 * close: only one of the captures has it.
 */
export class DiffGraph extends FlameGraph {
  /**
   * @param {Picture} picture
   * @param {Palette} palette
   * @param {number} v view node, or a sliver
   * @param {number[]} fills
   * @returns {number} a pixel
   */
  colour(picture, palette, v, fills) {
    if (v < 0) return palette.root;
    return this.matches(picture, v) ? palette.match : fills[this.shade(picture, v)];
  }

  /**
   * @param {Picture} picture
   * @param {number} v view node
   * @returns {number} by direction, and by how much of what it has on its larger side changed
   */
  shade({ view, metric }, v) {
    const diff = /** @type {DiffView} */ (view);
    const [base, next] = metric === 'count' ? diff.bothCounts(v) : diff.bothBytes(v);
    if (base === next) return SAME;
    const strength = Math.ceil((STRENGTHS * Math.abs(next - base)) / Math.max(base, next)) - 1;
    return (next > base ? GREW : SHRANK) + strength;
  }

  /**
   * @param {Picture} picture
   * @param {number} v view node
   * @returns {string}
   */
  nameFor(picture, v) {
    return markOf(/** @type {DiffView} */ (picture.view).status(v)) + super.nameFor(picture, v);
  }

  /**
   * @param {Picture} picture
   * @param {Palette} palette
   * @param {number} level
   * @param {number} ratio
   */
  paintRow(picture, palette, level, ratio) {
    super.paintRow(picture, palette, level, ratio);
    const { layout, words, pixels } = this;
    const { stripes, fadedStripes } = /** @type {DiffPalette} */ (palette);
    const [top, bottom] = this.scanlines(level, ratio);
    const thick = Math.max(1, Math.round(STRIPE * ratio));
    for (let i = layout.first[level], end = layout.first[level + 1]; i < end; i++) {
      const v = layout.node[i];
      if (v < 0 || layout.width[i] < MIN_HATCHED || this.matches(picture, v)) continue;
      const shade = this.shade(picture, v);
      if (shade === SAME) continue;
      const [left, right] = this.extent(i, ratio);
      const colour = (this.faded(picture, i) ? fadedStripes : stripes)[shade];
      const status = /** @type {DiffView} */ (picture.view).status(v);
      const distance = Math.round((status === 'new' || status === 'gone' ? CLOSE_STRIPES : STRIPES) * ratio);
      for (let y = top; y < bottom; y++) {
        // Stripes start at the frame's own corner: a scrolled picture looks the same.
        const shift = shade >= GREW ? y - top : bottom - 1 - y;
        for (let x = left - (shift % distance); x < right; x += distance) words.fill(colour, y * pixels.width + Math.max(left, x), y * pixels.width + Math.max(left, Math.min(right, x + thick)));
      }
    }
  }
}
