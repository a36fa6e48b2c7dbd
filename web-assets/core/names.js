import { FLAG_NATIVE } from './decode.js';
import { INSTALLED, NATIVE, OWN, STANDARD } from './origin.js';

/** @typedef {import('./decode.js').Tree} Tree */
/** @typedef {import('./groups.js').FrameGroups} FrameGroups */
/** @typedef {import('./groups.js').Group} Group */

/** How many hues files and packages are spread over. */
export const HUES = 24;

const KINDS = { [OWN]: '', [INSTALLED]: 'installed package', [STANDARD]: 'standard library', [NATIVE]: 'native' };

/** Texts and hues of frames. */
export class FrameNames {
  /**
   * @param {Tree} model
   * @param {FrameGroups} groups
   */
  constructor(model, groups) {
    this.model = model;
    this.groups = groups;
    this.shades = new Int16Array(model.meta.counts.frames).fill(-1);
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
   * @returns {string} path, or ''
   */
  file(frame) {
    return this.model.string(this.model.frameFile[frame]);
  }

  /**
   * @param {number} frame
   * @returns {string} source line, or ''
   */
  source(frame) {
    return this.model.string(this.model.frameSource[frame]).trim();
  }

  /**
   * @param {number} frame that stands for its group
   * @param {Group} group
   * @returns {string} what it is called, in full
   */
  title(frame, group) {
    if (group === 'line' || group === 'function') return this.functionName(frame);
    const origin = this.groups.origin(frame);
    return (group === 'module' ? origin.module : origin.package) || '<unknown file>';
  }

  /**
   * @param {number} frame that stands for its group
   * @param {Group} group
   * @returns {string} file with the whole path, and line, as far as the group has one; '' if not known
   */
  place(frame, group) {
    if (group === 'module' || group === 'package') return '';
    return withLine(this.file(frame), group === 'line' ? this.model.frameLine[frame] : 0);
  }

  /**
   * @param {number} frame that stands for its group
   * @param {Group} group
   * @returns {string} what stands in a rectangle: the source line, else function and file, or what the group is called
   */
  label(frame, group) {
    if (group === 'module' || group === 'package') return lastParts(this.title(frame, group), 2);
    const source = group === 'line' ? this.source(frame) : '';
    if (source !== '') return source;
    const place = withLine(lastParts(this.file(frame), 1), group === 'line' ? this.model.frameLine[frame] : 0);
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
   * @param {number} frame
   * @returns {string} where its code comes from; '' for the program's own
   */
  kind(frame) {
    return KINDS[this.groups.origin(frame).kind];
  }

  /**
   * Colour by file, of installed packages and the standard library by package. Only the file and its folder count, so
   * that a report from another machine has the same colours.
   * @param {number} frame
   * @returns {number} hue and where the code comes from: 0..4*HUES-1
   */
  shade(frame) {
    if (this.shades[frame] < 0) {
      const { kind, package: name } = this.groups.origin(frame);
      const text = kind === INSTALLED || kind === STANDARD ? name : lastParts(this.file(frame), 2).replaceAll('\\', '/');
      this.shades[frame] = kind * HUES + (hash(text) % HUES);
    }
    return this.shades[frame];
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
export function lastParts(path, parts) {
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
