/** @typedef {import('../core/state.js').Mode} Mode */
/** @typedef {import('./page.js').Page} Page */

/**
 * Puts `window.memreport` into place: a stable surface for tests and measurements.
 * @param {Page} page
 */
export function installHooks(page) {
  const { rows, nodes, frames, snapshots } = page.model.meta.counts;
  const { slices, wholeRun } = page.limits;
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
    async setRange(lo, hi) {
      if (!wholeRun) page.change({ lo: clamp(lo), hi: Math.max(clamp(lo), clamp(hi)) });
      await nextFrame();
    },
    /** @param {Mode} mode */
    async setMode(mode) {
      page.change({ mode });
      await nextFrame();
    },
    /**
     * Changes any of what an address keeps.
     * @param {Partial<import('../core/state.js').State>} change
     */
    async set(change) {
      page.change(change);
      await nextFrame();
    },
    /** @returns {import('../core/state.js').State} a copy */
    state: () => ({ ...page.state, zoom: page.state.zoom.slice() }),
    /** Bytes of the root of what is shown, with filters applied. */
    rootBytes: () => page.answer.mainView.bytes(0),
  };
  Object.assign(window, { memreport: hooks });
}

/** @returns {Promise<void>} resolves after the next frame */
export function nextFrame() {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
}
