import { nextFrame } from './frame.js';

/** @typedef {import('../core/diff_state.js').DiffState} DiffState */
/** @typedef {import('./diff_report.js').DiffReport} DiffReport */

/**
 * Puts `window.memreport` into place: a stable surface for tests and measurements.
 * @param {DiffReport} page
 */
export function installDiffHooks(page) {
  const { meta, tree, sides } = page.model;
  const hooks = {
    schema: 1,
    info: {
      nodes: meta.counts.nodes,
      frames: meta.counts.frames,
      rows: meta.captures.map(({ counts }) => counts.rows),
      slices: sides.map(({ slicePeak }) => slicePeak.length),
      /** Milliseconds since the start at each snapshot, of base and of new. */
      times: sides.map(({ snapshotTime }) => Array.from(snapshotTime)),
    },
    /**
     * Changes any of what an address keeps.
     * @param {Partial<DiffState>} change
     */
    async set(change) {
      page.change(change);
      await nextFrame();
    },
    /** @returns {DiffState} a copy */
    state: () => structuredClone(page.state),
    /** Resolves once all that was asked for is shown, and kept in the address. */
    async settled() {
      do await nextFrame();
      while (!page.isSettled);
    },
    /** Bytes and allocations of base and of new, of all that is shown. */
    total: () => ({ bytes: page.answer.bytes, allocations: page.answer.count }),
    /** The functions that changed. */
    functions: () => page.answer.functions().changed.map(({ frame, ownBytes, ownCount, bytes, count }) => ({
      function: frame === 0 ? null : tree.string(tree.frameFunction[frame]),
      module: frame === 0 ? null : page.names.file(frame),
      own_bytes: ownBytes,
      own_allocations: ownCount,
      bytes,
      allocations: count,
    })),
  };
  Object.assign(window, { memreport: hooks });
}
