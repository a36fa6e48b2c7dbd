import { nextFrame } from './frame.js';

/** @typedef {import('../core/state.js').Mode} Mode */
/** @typedef {import('./page.js').Page} Page */

/**
 * Puts `window.memreport` into place: a stable surface for tests and measurements.
 * @param {Page} page
 */
export function installHooks(page) {
  const { rows, nodes, frames, snapshots } = page.model.meta.counts;
  const { slices, wholeRun, temporary } = page.limits;
  const last = slices - 1;
  /** @param {number} slice */
  const clamp = (slice) => Math.min(last, Math.max(0, Math.trunc(slice) || 0));
  const hooks = {
    schema: 1,
    info: {
      rows,
      nodes,
      frames,
      snapshots,
      aggregated: page.model.meta.aggregated === true,
      get mode() {
        return page.state.mode;
      },
      get range() {
        return [page.state.lo, page.state.hi];
      },
    },
    /**
     * Does nothing where the range cannot be chosen.
     * @param {number} lo
     * @param {number} hi
     */
    setRange: (lo, hi) => hooks.set({ lo, hi }),
    /** @param {Mode} mode */
    setMode: (mode) => hooks.set({ mode }),
    /**
     * Changes any of what an address keeps; what this report cannot have is left as it is.
     * @param {Partial<import('../core/state.js').State>} change
     */
    async set({ lo, hi, ...change }) {
      if (change.mode === 'temporary' && !temporary) delete change.mode;
      const { state } = page;
      const first = wholeRun ? state.lo : clamp(lo ?? state.lo);
      page.change({ ...change, lo: first, hi: wholeRun ? state.hi : Math.max(first, clamp(hi ?? state.hi)) });
      await nextFrame();
    },
    /** @returns {import('../core/state.js').State} a copy */
    state: () => ({ ...page.state, zoom: page.state.zoom.slice() }),
    /** Resolves once all that was asked for is shown, and kept in the address. */
    async settled() {
      do await nextFrame();
      while (!page.isSettled);
    },
    /** Bytes of the root of what is shown, with filters applied. */
    rootBytes: () => page.answer.mainView.bytes(0),
  };
  Object.assign(window, { memreport: hooks });
}
