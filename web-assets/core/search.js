import { subtreeSum } from './values.js';

/** @typedef {import('./decode.js').Tree} Tree */
/** @typedef {import('./shape.js').Shape} Shape */

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
  /** @param {Tree} model */
  constructor(model) {
    this.model = model;
    this.query = '';
    this.valid = true;
    /** @type {Uint8Array | null} 1 for each frame that matches; null = no search */
    this.match = null;
    /** @type {Shape | null} the shape for which `outermost` was found */
    this.shape = null;
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
    this.shape = null;
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
   * @param {Shape} shape
   * @returns {Uint8Array | null} 1 for each frame that stands for a group in which one matches; null = no search
   */
  matchIn(shape) {
    const { match } = this;
    if (match === null || shape.options.group === 'line') return match;
    const out = new Uint8Array(match.length);
    for (let f = 1; f < match.length; f++) if (match[f] !== 0) out[shape.key[f]] = 1;
    return out;
  }

  /**
   * What lies at or below frames that match and can be seen. Each byte counts once.
   * @param {Shape} shape
   * @param {Float64Array} sum running sum over the locations, of bytes or of allocations
   * @returns {number}
   */
  total(shape, sum) {
    if (this.match === null) return 0;
    if (this.shape !== shape) {
      this.shape = shape;
      this.outermost = this.findOutermost(shape);
    }
    return this.outermost.reduce((total, node) => total + subtreeSum(this.model, node, sum), 0);
  }

  /**
   * @param {Shape} shape
   * @returns {number[]}
   */
  findOutermost(shape) {
    const match = this.matchIn(shape);
    if (match === null) return [];
    const { nodeEnd } = this.model;
    const { near } = shape;
    const out = [];
    for (let i = 1, n = near.length; i < n; ) {
      const found = near[i] === i && match[shape.frameOf(i)] !== 0;
      if (found) out.push(i);
      i = found ? nodeEnd[i] : i + 1;
    }
    return out;
  }
}
