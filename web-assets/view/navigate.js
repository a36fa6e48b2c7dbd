import { ROW } from './flame.js';

/** @typedef {import('../core/view.js').View} View */
/** @typedef {import('./graph_page.js').GraphPage<any>} Page */
/** @typedef {import('./pane.js').Pane} Pane */
/** @typedef {import('./tipbox.js').TipBox & {fill(pane: Pane, v: number): void}} Tooltip */

/**
 * Connects pointer and keyboard with the flame graphs.
 * @param {Page} page
 * @param {Pane[]} panes
 * @param {Tooltip} tip
 */
export function navigateGraphs(page, panes, tip) {
  for (const pane of panes) {
    followPointer(page, pane, tip);
    followKeys(page, pane, tip);
    pane.tree.addEventListener('blur', () => tip.hide());
    pane.tree.addEventListener('scroll', () => tip.hide());
  }
  page.listeners.push(() => tip.hide());
}

/**
 * @param {Page} page
 * @param {Pane} pane
 * @param {Tooltip} tip
 */
function followKeys(page, pane, tip) {
  pane.tree.addEventListener('keydown', (event) => {
    const { view } = pane;
    if (view === null || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Enter' && event.shiftKey) page.selectNode(pane, pane.focus);
    else if (event.key === 'Enter' || event.key === ' ') page.zoomTo(pane, pane.focus);
    else {
      const target = event.key === 'Home' ? 0 : neighbour(view, pane.focus, turned(event.key, pane));
      if (target < 0) return;
      focusOn(page, pane, tip, target);
    }
    event.preventDefault();
  });
}

/**
 * @param {Page} page
 * @param {Pane} pane
 * @param {Tooltip} tip
 */
function followPointer(page, pane, tip) {
  const { graph, hoverFrame } = pane;
  let hovered = -1;
  const leave = () => {
    hovered = -1;
    tip.hide();
    graph.outline(hoverFrame, -1);
  };
  graph.canvas.addEventListener('pointermove', (event) => {
    const v = graph.nodeAt(event.clientX, event.clientY);
    if (v < 0) return leave();
    if (v !== hovered || hoverFrame.hidden) {
      graph.outline(hoverFrame, v);
      tip.fill(pane, v);
    }
    hovered = v;
    tip.place(event.clientX, event.clientY);
  });
  graph.canvas.addEventListener('pointerleave', leave);
  graph.canvas.addEventListener('click', (event) => {
    const v = graph.nodeAt(event.clientX, event.clientY);
    if (v < 0) return;
    leave();
    if (event.shiftKey) page.selectNode(pane, v);
    else page.zoomTo(pane, v);
  });
}

/**
 * @param {string} key
 * @param {Pane} pane
 * @returns {string} what it means where the root is at the top
 */
function turned(key, pane) {
  if (!pane.graph.picture?.rootAtBottom) return key;
  return key === 'ArrowUp' ? 'ArrowDown' : key === 'ArrowDown' ? 'ArrowUp' : key;
}

/**
 * @param {View} view
 * @param {number} v view node
 * @param {string} key
 * @returns {number} the view node an arrow key leads to, or -1
 */
function neighbour(view, v, key) {
  if (key === 'ArrowUp') return Math.max(0, view.parent[v]);
  if (key === 'ArrowDown') return view.filledChildren(v).reduce((best, c) => (best === v || view.weight(c) > view.weight(best) ? c : best), v);
  if (key !== 'ArrowLeft' && key !== 'ArrowRight') return -1;
  if (v === 0) return 0;
  const siblings = view.filledChildren(view.parent[v]);
  return siblings[siblings.indexOf(v) + (key === 'ArrowLeft' ? -1 : 1)] ?? v;
}

/**
 * Moves the focus. A frame that is not laid out, since it is too thin or outside the zoomed one, is brought into sight.
 * @param {Page} page
 * @param {Pane} pane
 * @param {Tooltip} tip
 * @param {number} v view node
 */
function focusOn(page, pane, tip, v) {
  page.focusOn(pane, v);
  const box = pane.focusFrame.getBoundingClientRect();
  tip.fill(pane, v);
  tip.place(Math.max(0, box.left), box.top + ROW - 8);
}
