import { cssReader, oklchToRgb, paletteOf } from './palette.js';

/** @typedef {import('./palette.js').Palette} Palette */
/** @typedef {Palette & {stripes: number[], fadedStripes: number[]}} DiffPalette a pixel for the hatching of each shade */

/** How strongly a colour can tell how much of a frame changed. */
export const STRENGTHS = 5;

/** The shade of what did not change; then come those of what shrank, and those of what grew, the palest first. */
export const SAME = 0;
export const SHRANK = 1;
export const GREW = 1 + STRENGTHS;

const BLUE = 252;
const ORANGE = 58;
const LEAST_CHROMA = 0.035;

/** @returns {DiffPalette} blue and orange: those who confuse red and green tell them apart */
export function readDiffPalette() {
  const css = cssReader();
  const lightness = Number(css('--frame-lightness'));
  const [most, step, stripe] = ['--diff-chroma', '--diff-step', '--diff-stripe'].map((name) => Number(css(name)));
  const shades = [[lightness, 0.006, BLUE]];
  for (const hue of [BLUE, ORANGE]) {
    for (let i = 1; i <= STRENGTHS; i++) shades.push([lightness + step * i, LEAST_CHROMA + ((most - LEAST_CHROMA) * i) / STRENGTHS, hue]);
  }
  const colours = shades.map(([l, c, h]) => oklchToRgb(l, c, h));
  const striped = paletteOf(css, shades.map(([l, c, h]) => oklchToRgb(l + stripe, c, h)));
  return { ...paletteOf(css, colours), stripes: striped.fills, fadedStripes: striped.faded };
}

