import { describeNode } from '../core/explain.js';
import { byId, make, setAria } from './dom.js';

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
    setAria(item, { level: view.depth[v] + 1, selected: v === focus });
    if (v !== focus) setAria(item, { expanded: true });
    item.id = 'tree-item-' + v;
    return item;
  });
  if (focus > 0) {
    const siblings = view.filledChildren(view.parent[focus]);
    setAria(items[items.length - 1], { setsize: siblings.length, posinset: siblings.indexOf(focus) + 1 });
  }
  byId('tree-items').replaceChildren(...items);
  setAria(byId('tree'), { activedescendant: 'tree-item-' + focus });
}
