import { formatCount } from '../core/format.js';
import { FlameLayout } from '../core/layout.js';
import { byId, setText } from './dom.js';

/** @typedef {import('../core/view.js').View} View */
/** @typedef {import('./graph_page.js').GraphPage<any>} Page */

/** Goes through the frames that the search found. */
export class Stepper {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    /** @type {number[]} nodes of the main view, largest first; empty = not looked for yet */
    this.found = [];
    this.at = -1;
  }

  /** The picture changed. */
  forget() {
    this.found = [];
  }

  /**
   * Goes to the next one, or back.
   * @param {1 | -1} by
   */
  step(by) {
    const { main, search } = this.page;
    if (main.view === null || search.match === null) return;
    if (this.found.length === 0) {
      this.found = this.findLargest(main.view);
      this.at = by > 0 ? -1 : 0;
    }
    const { found } = this;
    const n = found.length;
    if (n === 0) return;
    this.at = (this.at + by + n) % n;
    this.page.focusOn(main, found[this.at]);
    // Zooming asks anew, but finds the same.
    this.found = found;
    main.tree.classList.add('stepping');
    setText(byId('hit'), `${formatCount(this.at + 1)} of ${formatCount(n)}: ${this.page.matched()}`);
  }

  /**
   * @param {View} view
   * @returns {number[]} matching nodes that can be seen when nothing is zoomed and do not lie below another, largest first
   */
  findLargest(view) {
    const match = this.page.search.matchIn(view.shape);
    if (match === null) return [];
    const layout = new FlameLayout();
    layout.update(view, 0, this.page.main.tree.clientWidth);
    const covered = new Uint8Array(view.n);
    const out = [];
    for (let i = 0; i < layout.n; i++) {
      const v = layout.node[i];
      if (v < 0) continue;
      const hit = match[view.frame[v]] !== 0;
      const below = v > 0 && covered[view.parent[v]] !== 0;
      if (hit && !below) out.push(v);
      covered[v] = hit || below ? 1 : 0;
    }
    return out.sort((a, b) => view.weight(b) - view.weight(a) || a - b);
  }
}
