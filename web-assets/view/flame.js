import { FlameLayout, SLIVER } from '../core/layout.js';
import { timed } from '../core/timing.js';
import { fitCanvas } from './dom.js';

/** @typedef {import('../core/names.js').FrameNames} FrameNames */
/** @typedef {import('../core/view.js').View} View */
/** @typedef {import('./palette.js').Palette} Palette */

/**
 * What is drawn: a view, the node it is zoomed to, and the frames a search found.
 *
 * @typedef {object} Picture
 * @property {View} view
 * @property {number} zoom view node
 * @property {boolean} rootAtBottom
 * @property {Uint8Array | null} match
 * @property {string} rootLabel
 * @property {(v: number) => string} sizeOf what a view node holds, in words
 * @property {import('../core/values.js').Metric} metric what that is
 */

/** Height of a row of frames in CSS pixels, with the gap below it. */
export const ROW = 19;

const PAD = 4;
const MIN_LABEL = 3;
// Width of the darker edge of native frames, and of the narrowest frame that has one.
const EDGE = 2;
const MIN_EDGED = 6;

/**
 * A flame graph. The canvas is only as large as the visible part and sticks to the top of `scroller`; the space it
 * lies in is as high as the graph, since browsers limit the size of a canvas and recursion can be deep.
 */
export class FlameGraph {
  /**
   * @param {HTMLElement} scroller holds the space, which holds the canvas
   * @param {FrameNames} names
   */
  constructor(scroller, names) {
    this.names = names;
    this.layout = new FlameLayout();
    this.scroller = scroller;
    this.space = /** @type {HTMLElement} */ (scroller.firstElementChild);
    this.canvas = /** @type {HTMLCanvasElement} */ (this.space.firstElementChild);
    /** Height of the space in CSS pixels. */
    this.height = 0;
    this.context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext('2d', { alpha: false }));
    this.pixels = this.context.createImageData(1, 1);
    this.words = new Uint32Array(this.pixels.data.buffer);
    /** @type {Picture | null} */
    this.picture = null;
    /** @type {Palette | null} */
    this.palette = null;
    this.scroller.addEventListener('scroll', () => this.paint());
  }

  /**
   * Lays out and paints.
   * @param {Picture} picture
   * @param {boolean} settled while false the graph does not get lower, so that nothing jumps under the pointer
   */
  draw(picture, settled) {
    this.picture = picture;
    const width = this.scroller.clientWidth;
    timed('layout', () => this.layout.update(picture.view, picture.zoom, width));
    const height = Math.max(this.scroller.clientHeight, this.layout.levels * ROW + 1);
    if (settled || height > this.height) this.setHeight(height);
    timed('draw', () => this.paint());
  }

  /**
   * What is in sight stays there: with the root at the bottom, what counts is how far that is away.
   * @param {number} height
   */
  setHeight(height) {
    if (height === this.height) return;
    const { scroller } = this;
    const below = this.height - scroller.scrollTop;
    const isFirst = this.height === 0;
    this.height = height;
    this.space.style.height = height + 'px';
    if (this.picture?.rootAtBottom) scroller.scrollTop = isFirst ? height : height - below;
  }

  /** Scrolls to where the root is. */
  showRoot() {
    this.scroller.scrollTop = this.picture?.rootAtBottom ? this.height : 0;
  }

  /**
   * @param {number} level
   * @returns {number} CSS pixels from the top of the space to the top of a row of frames
   */
  top(level) {
    return this.picture?.rootAtBottom ? this.height - (level + 1) * ROW : level * ROW;
  }

  /** @returns {[number, number]} the first and the last level in sight; the last is less than the first if there is none */
  get visibleLevels() {
    const { scroller, layout, height } = this;
    const { scrollTop, clientHeight } = scroller;
    const from = this.picture?.rootAtBottom ? height - scrollTop - clientHeight : scrollTop;
    return [Math.max(0, Math.floor(from / ROW)), Math.min(layout.levels - 1, Math.floor((from + clientHeight) / ROW))];
  }

  /** Paints the visible rows: rectangles by hand, one scanline for each row that is copied down, then the texts. */
  paint() {
    const { picture, palette, scroller, canvas, context } = this;
    if (picture === null || palette === null) return;
    const height = scroller.clientHeight;
    const ratio = fitCanvas(canvas, scroller.clientWidth, height);
    canvas.style.height = height + 'px';
    if (this.pixels.width !== canvas.width || this.pixels.height !== canvas.height) {
      this.pixels = context.createImageData(canvas.width, canvas.height);
      this.words = new Uint32Array(this.pixels.data.buffer);
    }
    this.words.fill(palette.background);
    const [first, last] = this.visibleLevels;
    for (let level = first; level <= last; level++) this.paintRow(picture, palette, level, ratio);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.putImageData(this.pixels, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = '11.5px ' + palette.css('--mono');
    context.textBaseline = 'middle';
    context.fillStyle = palette.css('--fg');
    const charWidth = context.measureText('MMMMMMMMMM').width / 10;
    for (let level = first; level <= last; level++) this.paintLabels(picture, level, charWidth);
  }

  /**
   * @param {Picture} picture
   * @param {Palette} palette
   * @param {number} level
   * @param {number} ratio
   */
  paintRow(picture, palette, level, ratio) {
    const { layout, words } = this;
    const { width } = this.pixels;
    const [top, bottom] = this.scanlines(level, ratio);
    if (bottom <= top) return;
    for (let i = layout.first[level], end = layout.first[level + 1]; i < end; i++) {
      const [left, right] = this.extent(i, ratio);
      const v = layout.node[i];
      const fills = this.faded(picture, i) ? palette.faded : palette.fills;
      words.fill(this.colour(picture, palette, v, fills), top * width + left, top * width + right);
      if (v <= 0 || layout.width[i] < MIN_EDGED || !this.names.isNative(picture.view.frame[v])) continue;
      words.fill(fills[fills.length - 1], top * width + left, top * width + left + Math.round(EDGE * ratio));
    }
    for (let y = top + 1; y < bottom; y++) words.copyWithin(y * width, top * width, (top + 1) * width);
    if (picture.match !== null) this.underline(picture, palette, level, ratio, bottom);
  }

  /**
   * @param {number} level
   * @param {number} ratio
   * @returns {[number, number]} the first device pixel from the top that a row of frames has, and the one behind its last
   */
  scanlines(level, ratio) {
    const scrolled = Math.round(this.scroller.scrollTop * ratio);
    const top = this.top(level);
    return [Math.max(0, Math.round(top * ratio) - scrolled), Math.min(this.pixels.height, Math.round((top + ROW - 1) * ratio) - scrolled)];
  }

  /**
   * @param {number} i rectangle
   * @param {number} ratio
   * @returns {[number, number]} device pixels; a gap to the next one is left unless it is very thin
   */
  extent(i, ratio) {
    const left = Math.round(this.layout.x[i] * ratio);
    const right = Math.min(this.pixels.width, Math.round((this.layout.x[i] + this.layout.width[i]) * ratio));
    return [left, right - left > 2 ? right - 1 : right];
  }

  /**
   * Frames that a search found are underlined too: colour alone is not enough for everyone.
   * @param {Picture} picture
   * @param {Palette} palette
   * @param {number} level
   * @param {number} ratio
   * @param {number} bottom
   */
  underline(picture, palette, level, ratio, bottom) {
    const { width } = this.pixels;
    const thickness = Math.round(2 * ratio);
    for (let i = this.layout.first[level], end = this.layout.first[level + 1]; i < end; i++) {
      if (!this.matches(picture, this.layout.node[i])) continue;
      const [left, right] = this.extent(i, ratio);
      for (let y = Math.max(0, bottom - thickness); y < bottom; y++) this.words.fill(palette.matchEdge, y * width + left, y * width + right);
    }
  }

  /**
   * @param {Picture} picture
   * @param {number} v view node
   * @returns {boolean}
   */
  matches(picture, v) {
    return picture.match !== null && v >= 0 && picture.match[picture.view.frame[v]] !== 0;
  }

  /**
   * @param {Picture} picture
   * @param {number} i rectangle
   * @returns {boolean} whether it is above what is zoomed to, or a search did not find it
   */
  faded(picture, i) {
    if (picture.match !== null) return !this.matches(picture, this.layout.node[i]);
    return this.layout.level[i] < picture.view.depth[picture.zoom];
  }

  /**
   * @param {Picture} picture
   * @param {Palette} palette
   * @param {number} v view node, or a sliver
   * @param {number[]} fills
   * @returns {number} a pixel
   */
  colour(picture, palette, v, fills) {
    if (v === SLIVER || (v === 0 && picture.view.rootFrame === 0)) return palette.root;
    return this.matches(picture, v) ? palette.match : fills[this.names.shade(picture.view.frame[v])];
  }

  /**
   * @param {Picture} picture
   * @param {number} level
   * @param {number} charWidth
   */
  paintLabels(picture, level, charWidth) {
    const { layout, context } = this;
    const y = this.top(level) - this.scroller.scrollTop + ROW / 2;
    for (let i = layout.first[level], end = layout.first[level + 1]; i < end; i++) {
      const room = Math.floor((layout.width[i] - 2 * PAD) / charWidth);
      if (layout.node[i] === SLIVER || room < MIN_LABEL) continue;
      context.fillText(this.labelFor(picture, layout.node[i], room, charWidth), layout.x[i] + PAD, y);
    }
  }

  /**
   * @param {Picture} picture
   * @param {number} v view node
   * @returns {string} what a rectangle is called
   */
  nameFor({ view, rootLabel }, v) {
    return v === 0 && view.rootFrame === 0 ? rootLabel : this.names.label(view.frame[v], view.shape.options.group);
  }

  /**
   * @param {Picture} picture
   * @param {number} v view node
   * @param {number} room characters
   * @param {number} charWidth
   * @returns {string}
   */
  labelFor(picture, v, room, charWidth) {
    const name = this.nameFor(picture, v);
    const size = ' ' + picture.sizeOf(v);
    // Only the first characters can matter; names can be thousands long.
    const text = name.length > 2 * room ? name.slice(0, 2 * room) : name;
    if (this.cells(text, charWidth) + size.length <= room) return text + size;
    if (this.cells(text, charWidth) <= room && text === name) return text;
    const characters = Array.from(text).slice(0, room - 1);
    while (characters.length > 0 && this.cells(characters.join(''), charWidth) > room - 1) characters.pop();
    return characters.join('') + '…';
  }

  /**
   * @param {string} text
   * @param {number} charWidth
   * @returns {number} character cells it takes; scripts outside ASCII can take two each
   */
  cells(text, charWidth) {
    return /^[ -~]*$/.test(text) ? text.length : Math.ceil(this.context.measureText(text).width / charWidth);
  }

  /**
   * @param {number} clientX
   * @param {number} clientY
   * @returns {number} the view node there, or -1
   */
  nodeAt(clientX, clientY) {
    const box = this.space.getBoundingClientRect();
    const y = clientY - box.top;
    const i = this.layout.hit(clientX - box.left, Math.floor((this.picture?.rootAtBottom ? this.height - y : y) / ROW));
    return i < 0 ? -1 : this.layout.node[i];
  }

  /**
   * Lays an outline over a node.
   * @param {HTMLElement} outline
   * @param {number} v view node, or -1 for none
   * @returns {boolean} whether it is laid out
   */
  outline(outline, v) {
    const level = v < 0 || this.picture === null ? -1 : this.picture.view.depth[v];
    const i = level < 0 ? -1 : this.layout.find(v, level);
    outline.hidden = i < 0;
    if (i < 0) return false;
    outline.style.left = this.layout.x[i] + 'px';
    outline.style.top = this.top(level) + 'px';
    outline.style.width = Math.max(3, this.layout.width[i] - 1) + 'px';
    return true;
  }

  /**
   * Scrolls just far enough to show a level.
   * @param {number} level
   */
  reveal(level) {
    const { scroller } = this;
    const top = this.top(level);
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + 2 * ROW > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + 2 * ROW - scroller.clientHeight;
  }
}
