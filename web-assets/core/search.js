import { subtreeSum } from './view.js';

/** @typedef {import('./decode.js').Model} Model */
/** @typedef {import('./view.js').View} View */

/**
 * Turns what was typed into a test: a substring, or between slashes a regular expression; case does not matter.
 * @param {string} query
 * @returns {((text: string) => boolean) | null} null if the expression is not valid
 */
export function compileQuery(query) {
  if (query.length > 2 && query.startsWith('/') && query.endsWith('/')) {
    try {
      const expression = new RegExp(query.slice(1, -1), 'i');
      return (text) => expression.test(text);
    } catch {
      return null;
    }
  }
  const wanted = query.toLowerCase();
  return (text) => text.toLowerCase().includes(wanted);
}

/** Frames that match the search field, and the bytes at or below them. */
export class Search {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    this.query = '';
    this.valid = true;
    /** @type {Uint8Array | null} 1 for each frame that matches; null = no search */
    this.match = null;
    /** @type {View | null} the view for which `outermost` was found */
    this.view = null;
    /** @type {number[]} matching nodes that are not below another one */
    this.outermost = [];
  }

  /** @param {string} query */
  set(query) {
    if (query === this.query) return;
    const test = query === '' ? null : compileQuery(query);
    this.query = query;
    this.valid = query === '' || test !== null;
    this.match = test === null ? null : this.matchFrames(test);
    this.view = null;
  }

  /**
   * @param {(text: string) => boolean} test
   * @returns {Uint8Array}
   */
  matchFrames(test) {
    const { model } = this;
    const { frameFunction, frameFile, frameSource } = model;
    const known = new Int8Array(model.meta.counts.strings).fill(-1);
    /** @param {number} string */
    const hit = (string) => {
      if (known[string] < 0) known[string] = string !== 0 && test(model.string(string)) ? 1 : 0;
      return known[string] === 1;
    };
    const match = new Uint8Array(frameFunction.length);
    for (let f = 1; f < match.length; f++) {
      if (hit(frameFunction[f]) || hit(frameFile[f]) || hit(frameSource[f])) match[f] = 1;
    }
    return match;
  }

  /**
   * Bytes at or below frames that match and are not hidden. Each byte counts once.
   * @param {View} view
   * @returns {number}
   */
  bytes(view) {
    const { match } = this;
    if (match === null) return 0;
    if (this.view !== view) {
      this.view = view;
      this.outermost = this.findOutermost(view, match);
    }
    return this.outermost.reduce((total, node) => total + subtreeSum(this.model, node, view.sumBytes), 0);
  }

  /**
   * @param {View} view
   * @param {Uint8Array} match
   * @returns {number[]}
   */
  findOutermost(view, match) {
    const { nodeFrame, nodeEnd } = this.model;
    const out = [];
    for (let i = 1, n = nodeFrame.length; i < n; ) {
      const frame = nodeFrame[i];
      const found = match[frame] !== 0 && view.hidden[frame] === 0;
      if (found) out.push(i);
      i = found ? nodeEnd[i] : i + 1;
    }
    return out;
  }
}
