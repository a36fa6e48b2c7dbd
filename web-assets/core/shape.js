import { FLAG_IMPORT, FLAG_IRRELEVANT } from './decode.js';

/** @typedef {import('./decode.js').Tree} Tree */
/** @typedef {import('./groups.js').FrameGroups} FrameGroups */
/** @typedef {import('./groups.js').Group} Group */

/**
 * How the call tree is shown.
 *
 * @typedef {object} ShapeOptions
 * @property {boolean} hideIrrelevant frames of the interpreter's own machinery are looked through
 * @property {boolean} foldImports what an import allocates belongs to the frame that imports
 * @property {boolean} collapse a frame right below one of its own group is part of it
 * @property {Group} group what counts as one frame
 */

/** Which frames of the call tree are visible, and which are one. */
export class Shape {
  /**
   * @param {Tree} model
   * @param {FrameGroups} groups
   * @param {ShapeOptions} options
   */
  constructor(model, groups, options) {
    this.model = model;
    this.options = options;
    /** For each frame, the one that stands for its group. */
    this.key = groups.keysOf(options.group);
    /** For each node, the nearest visible one on its way to the root, itself first; 0 where there is none. */
    this.near = this.findNear();
    /** @type {Uint8Array | null} */
    this.outermostCache = null;
  }

  /** @returns {boolean} whether every node is visible as it is, so that the tree's own order and children hold */
  get isPlain() {
    const { hideIrrelevant, foldImports, collapse, group } = this.options;
    return !hideIrrelevant && !foldImports && !collapse && group === 'line';
  }

  /** @returns {boolean} whether a frame right below one of its own group is part of it */
  get merges() {
    const { collapse, group } = this.options;
    return collapse || group === 'module' || group === 'package';
  }

  /** @returns {Uint32Array} */
  findNear() {
    const { nodeFrame, nodeParent, nodeEnd, frameFlags } = this.model;
    const { hideIrrelevant, foldImports } = this.options;
    const { key, merges } = this;
    const near = new Uint32Array(nodeFrame.length);
    for (let i = 1, n = near.length; i < n; i++) {
      const frame = nodeFrame[i];
      const above = near[nodeParent[i]];
      if (foldImports && (frameFlags[frame] & FLAG_IMPORT) !== 0) {
        near.fill(above, i, nodeEnd[i]);
        i = nodeEnd[i] - 1;
      } else if (hideIrrelevant && (frameFlags[frame] & FLAG_IRRELEVANT) !== 0) near[i] = above;
      else if (merges && above !== 0 && key[nodeFrame[above]] === key[frame]) near[i] = above;
      else near[i] = i;
    }
    return near;
  }

  /**
   * @param {number} node
   * @returns {number} the frame that a visible node shows
   */
  frameOf(node) {
    return this.key[this.model.nodeFrame[node]];
  }

  /** @returns {Uint8Array} 1 for each visible node that has no other of its group above it */
  get outermost() {
    return (this.outermostCache ??= this.findOutermost());
  }

  /** @returns {Uint8Array} */
  findOutermost() {
    const { nodeFrame, nodeEnd } = this.model;
    const { near, key } = this;
    const out = new Uint8Array(near.length);
    const behind = new Uint32Array(key.length);
    for (let i = 1, n = near.length; i < n; i++) {
      const frame = key[nodeFrame[i]];
      if (near[i] !== i || i < behind[frame]) continue;
      out[i] = 1;
      behind[frame] = nodeEnd[i];
    }
    return out;
  }

  /**
   * @param {number} frame that stands for a group
   * @returns {number[]} the outermost visible nodes of that group; no other of its nodes lies outside them
   */
  nodesOf(frame) {
    const { outermost } = this;
    const out = [];
    for (let i = 1, n = outermost.length; i < n; i++) if (outermost[i] !== 0 && this.frameOf(i) === frame) out.push(i);
    return out;
  }
}
