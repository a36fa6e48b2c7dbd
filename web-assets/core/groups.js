import { FLAG_NATIVE } from './decode.js';
import { originOf } from './origin.js';

/** @typedef {import('./decode.js').Tree} Tree */
/** @typedef {import('./origin.js').Origin} Origin */
/** @typedef {'line' | 'function' | 'module' | 'package'} Group what counts as one frame */

/** From the finest to the coarsest. */
export const GROUPS = /** @type {const} */ (['line', 'function', 'module', 'package']);

/** Tells which frames are one in a grouping. */
export class FrameGroups {
  /** @param {Tree} model */
  constructor(model) {
    this.model = model;
    /** @type {Map<Group, Uint32Array>} */
    this.keys = new Map();
    /** @type {Map<number, Origin>} by file, and whether it is native */
    this.origins = new Map();
  }

  /**
   * @param {Group} group
   * @returns {Uint32Array} for each frame, the first frame of its group
   */
  keysOf(group) {
    let keys = this.keys.get(group);
    if (keys === undefined) {
      keys = group === 'line' ? Uint32Array.from(this.model.frameFunction, (_, frame) => frame) : this.firstOf((frame) => this.nameIn(group, frame));
      this.keys.set(group, keys);
    }
    return keys;
  }

  /**
   * @param {number} frame
   * @returns {Origin}
   */
  origin(frame) {
    const { frameFile, frameFlags, string } = this.model;
    const native = (frameFlags[frame] & FLAG_NATIVE) !== 0;
    const key = 2 * frameFile[frame] + (native ? 1 : 0);
    let origin = this.origins.get(key);
    if (origin === undefined) this.origins.set(key, (origin = originOf(string(frameFile[frame]), native)));
    return origin;
  }

  /**
   * @param {Group} group
   * @param {number} frame
   * @returns {string | number} equal for the frames of one group
   */
  nameIn(group, frame) {
    const { frameFunction, frameFile, frameFlags, meta } = this.model;
    const native = (frameFlags[frame] & FLAG_NATIVE) !== 0;
    if (group === 'function') return 2 * (frameFunction[frame] * meta.counts.strings + frameFile[frame]) + (native ? 1 : 0);
    const origin = this.origin(frame);
    return origin.kind + (group === 'module' ? origin.module : origin.package);
  }

  /**
   * @param {(frame: number) => string | number} nameOf
   * @returns {Uint32Array}
   */
  firstOf(nameOf) {
    const frames = this.model.frameFunction.length;
    const out = new Uint32Array(frames);
    /** @type {Map<string | number, number>} */
    const first = new Map();
    // The root's frame stays alone.
    for (let frame = 1; frame < frames; frame++) {
      const name = nameOf(frame);
      const known = first.get(name);
      if (known === undefined) first.set(name, frame);
      out[frame] = known ?? frame;
    }
    return out;
  }
}
