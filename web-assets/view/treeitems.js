import { describeNode } from '../core/explain.js';
import { byId, make } from './dom.js';

/** @typedef {import('../core/state.js').State} State */
/** @typedef {import('../core/view.js').View} View */

// Deeper paths are cut in the middle: recursion can be 20,000 frames deep, and nobody listens to that.
const MAX_ITEMS = 64;

/**
 * Puts the path to the focused frame into the page as real tree items, for assistive technology: the canvas says
 * nothing to it.
 * @param {View} view
 * @param {number} focus view node
 * @param {State} state
 * @param {(v: number) => string} nameOf
 */
export function showTreeItems(view, focus, state, nameOf) {
  const path = view.path(focus);
  const shown = path.length <= MAX_ITEMS ? path : [path[0], ...path.slice(1 - MAX_ITEMS)];
  const whole = view.bytes(0);
  const items = shown.map((v) => {
    const item = make('div', describeNode(nameOf(v), view.bytes(v), view.count(v), whole, state));
    item.setAttribute('role', 'treeitem');
    item.setAttribute('aria-level', String(view.depth[v] + 1));
    item.setAttribute('aria-selected', String(v === focus));
    if (v !== focus) item.setAttribute('aria-expanded', 'true');
    item.id = 'tree-item-' + v;
    return item;
  });
  if (focus > 0) {
    const siblings = view.filledChildren(view.parent[focus]);
    items[items.length - 1].setAttribute('aria-setsize', String(siblings.length));
    items[items.length - 1].setAttribute('aria-posinset', String(siblings.indexOf(focus) + 1));
  }
  byId('tree-items').replaceChildren(...items);
  byId('tree').setAttribute('aria-activedescendant', 'tree-item-' + focus);
}
