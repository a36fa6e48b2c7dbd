import { FLAG_NATIVE } from './decode.js';

/** @typedef {import('./decode.js').Model} Model */

/** How many hues files are spread over. */
export const HUES = 24;

/** Texts and hues of frames. */
export class FrameNames {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    this.hues = new Int8Array(model.meta.counts.strings).fill(-1);
  }

  /**
   * @param {number} frame
   * @returns {string}
   */
  functionName(frame) {
    return this.model.string(this.model.frameFunction[frame]) || '<unknown function>';
  }

  /**
   * @param {number} frame
   * @returns {string} source line, or ''
   */
  source(frame) {
    return this.model.string(this.model.frameSource[frame]).trim();
  }

  /**
   * @param {number} frame
   * @returns {string} file and line with the whole path, or '' if not known
   */
  place(frame) {
    return withLine(this.model.string(this.model.frameFile[frame]), this.model.frameLine[frame]);
  }

  /**
   * @param {number} frame
   * @returns {string} what stands in a rectangle: the source line, else function and file
   */
  label(frame) {
    const source = this.source(frame);
    if (source !== '') return source;
    const file = this.model.string(this.model.frameFile[frame]);
    const place = withLine(lastParts(file, 1), this.model.frameLine[frame]);
    return this.functionName(frame) + (place === '' ? '' : ' ' + place);
  }

  /**
   * @param {number} frame
   * @returns {boolean} whether it is of compiled code
   */
  isNative(frame) {
    return (this.model.frameFlags[frame] & FLAG_NATIVE) !== 0;
  }

  /**
   * Hue by file. Only the file and its folder count, so that a report from another machine has the same colours.
   * @param {number} frame
   * @returns {number} 0..HUES-1
   */
  hue(frame) {
    const file = this.model.frameFile[frame];
    if (this.hues[file] < 0) this.hues[file] = hash(lastParts(this.model.string(file), 2)) % HUES;
    return this.hues[file];
  }

  /**
   * @param {number} frame
   * @returns {number} its hue, among those of native frames if it is one: 0..2*HUES-1
   */
  shade(frame) {
    return this.hue(frame) + (this.isNative(frame) ? HUES : 0);
  }
}

/**
 * @param {string} file
 * @param {number} line
 * @returns {string}
 */
function withLine(file, line) {
  return file === '' || line === 0 ? file : file + ':' + line;
}

/**
 * @param {string} path
 * @param {number} parts
 * @returns {string}
 */
function lastParts(path, parts) {
  let at = path.length;
  for (let n = 0; n < parts && at > 0; n++) at = Math.max(path.lastIndexOf('/', at - 1), path.lastIndexOf('\\', at - 1));
  return path.slice(at + 1);
}

/**
 * FNV-1a.
 * @param {string} text
 * @returns {number}
 */
function hash(text) {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h >>> 0;
}
