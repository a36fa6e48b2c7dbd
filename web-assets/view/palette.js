import { HUES } from '../core/names.js';

/**
 * Colours that the canvases need, read from the style sheet.
 *
 * @typedef {object} Palette
 * @property {(name: string) => string} css a custom property
 * @property {number} background a pixel
 * @property {number} root a pixel
 * @property {number} match a pixel
 * @property {number} matchEdge a pixel
 * @property {number[]} fills a pixel for each shade of frames (see `FrameNames.shade`), then one for the edge of native
 *   frames
 * @property {number[]} faded the same, for frames that a search did not find
 * @property {(shade: number) => string} cssFill the same for style and SVG
 * @property {string[]} layers colours of the functions that the chart stacks, then of all others
 */

/** How many functions the chart can tell apart. */
export const LAYERS = 8;

// How colourful frames are, by where their code comes from: that of the program itself stands out, and of what
// everybody uses least.
const CHROMA = [1, 0.62, 0.26, 0.24];

/** @returns {Palette} */
export function readPalette() {
  const css = cssReader();
  const lightness = Number(css('--frame-lightness'));
  const chroma = Number(css('--frame-chroma'));
  const colours = Array.from({ length: CHROMA.length * HUES }, (_, i) => oklchToRgb(lightness, chroma * CHROMA[Math.floor(i / HUES)], (i * 360) / HUES));
  const layers = Array.from({ length: LAYERS }, (_, i) => oklchToRgb(Number(css('--layer-lightness')), 0.11, 250 + (i * 360 * 3) / LAYERS));
  return paletteOf(css, colours, [...layers.map(hex), css('--layer-rest')]);
}

/** @returns {(name: string) => string} reads custom properties of the theme that is on now */
export function cssReader() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(name).trim();
}

/**
 * @param {(name: string) => string} css
 * @param {number[][]} frames colours of frames
 * @param {string[]} [layers]
 * @returns {Palette}
 */
export function paletteOf(css, frames, layers = []) {
  const background = parseHex(css('--bg'));
  const colours = [...frames, parseHex(css('--native-edge'))];
  return {
    css,
    background: pixel(background),
    root: pixel(parseHex(css('--frame-root'))),
    match: pixel(parseHex(css('--match'))),
    matchEdge: pixel(parseHex(css('--match-edge'))),
    fills: colours.map(pixel),
    faded: colours.map((rgb) => pixel(rgb.map((v, k) => Math.round(0.45 * v + 0.55 * background[k])))),
    cssFill: (shade) => hex(colours[shade]),
    layers,
  };
}

/** @returns {MediaList[]} when the dark theme is on: of each of the style sheet's rules that make it */
export function darkMedia() {
  const rules = Array.from(document.styleSheets[0].cssRules).filter((rule) => rule instanceof CSSMediaRule);
  return rules.map((rule) => rule.media).filter((media) => media.mediaText.includes('color-scheme'));
}

/**
 * @param {number[]} rgb
 * @returns {number} as it lies in the memory of an ImageData
 */
function pixel([r, g, b]) {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/**
 * @param {number[]} rgb
 * @returns {string}
 */
function hex(rgb) {
  return '#' + rgb.map((v) => v.toString(16).padStart(2, '0')).join('');
}

/**
 * @param {string} hex like `#1b1e24`
 * @returns {number[]}
 */
function parseHex(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

/**
 * Equal lightness for every hue, which HSL does not give: no file looks more important than another.
 * @param {number} lightness 0..1
 * @param {number} chroma
 * @param {number} hue degrees
 * @returns {number[]} 0..255
 */
export function oklchToRgb(lightness, chroma, hue) {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = Math.pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const m = Math.pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const s = Math.pow(lightness - 0.0894841775 * a - 1.291485548 * b, 3);
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return linear.map((v) => {
    const c = Math.min(1, Math.max(0, v));
    return Math.round(255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * Math.pow(c, 1 / 2.4) - 0.055));
  });
}
