import { make, setAria } from './dom.js';

/** @typedef {import('../core/view.js').View} View */

// Deeper paths are cut in the middle: recursion can be 20,000 frames deep, and nobody listens to that.
const MAX_ITEMS = 64;

/**
 * Puts the path to the focused frame into the page as real tree items, for assistive technology: the canvas says
 * nothing to it.
 * @param {HTMLElement} tree
 * @param {View} view
 * @param {number} focus view node
 * @param {(v: number) => string} describe
 */
export function showTreeItems(tree, view, focus, describe) {
  const path = view.path(focus);
  const shown = path.length <= MAX_ITEMS ? path : [path[0], ...path.slice(1 - MAX_ITEMS)];
  const id = (/** @type {number} */ v) => tree.id + '-item-' + v;
  const items = shown.map((v) => {
    const item = make('div', describe(v));
    item.setAttribute('role', 'treeitem');
    setAria(item, { level: view.depth[v] + 1, selected: v === focus });
    if (v !== focus) setAria(item, { expanded: true });
    item.id = id(v);
    return item;
  });
  if (focus > 0) {
    const siblings = view.filledChildren(view.parent[focus]);
    setAria(items[items.length - 1], { setsize: siblings.length, posinset: siblings.indexOf(focus) + 1 });
  }
  /** @type {HTMLElement} */ (tree.lastElementChild).replaceChildren(...items);
  setAria(tree, { activedescendant: id(focus) });
}
