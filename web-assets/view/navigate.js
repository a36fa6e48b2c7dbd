import { byId } from './dom.js';
import { ROW } from './flame.js';
import { Tooltip } from './tooltip.js';

/** @typedef {import('./page.js').Page} Page */

/**
 * Connects pointer and keyboard with the flame graph.
 * @param {Page} page
 */
export function navigateGraph(page) {
  const tip = new Tooltip(page.answer, page.names);
  followPointer(page, tip);
  const tree = byId('tree');
  tree.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const v = page.focus;
    if (event.key === 'Enter' || event.key === ' ') page.zoomTo(v);
    else if (event.key === 'Home') focusOn(page, tip, 0);
    else {
      const target = neighbour(page, event.key);
      if (target < 0) return;
      focusOn(page, tip, target);
    }
    event.preventDefault();
  });
  tree.addEventListener('blur', () => tip.hide());
  tree.addEventListener('scroll', () => tip.hide());
  page.listeners.push(() => tip.hide());
}

/**
 * @param {Page} page
 * @param {Tooltip} tip
 */
function followPointer(page, tip) {
  const { graph } = page;
  const hover = byId('hover-frame');
  let hovered = -1;
  const leave = () => {
    hovered = -1;
    tip.hide();
    graph.outline(hover, -1);
  };
  graph.canvas.addEventListener('pointermove', (event) => {
    const v = graph.nodeAt(event.clientX, event.clientY);
    if (v < 0) return leave();
    if (v !== hovered || hover.hidden) {
      graph.outline(hover, v);
      tip.fill(v, page.zoom, page.rootLabel, page.state.units);
    }
    hovered = v;
    tip.place(event.clientX, event.clientY);
  });
  graph.canvas.addEventListener('pointerleave', leave);
  graph.canvas.addEventListener('click', (event) => {
    const v = graph.nodeAt(event.clientX, event.clientY);
    if (v < 0) return;
    leave();
    page.zoomTo(v);
  });
}

/**
 * @param {Page} page
 * @param {string} key
 * @returns {number} the view node an arrow key leads to, or -1
 */
function neighbour(page, key) {
  const { view } = page.answer;
  const v = page.focus;
  if (key === 'ArrowUp') return Math.max(0, view.parent[v]);
  if (key === 'ArrowDown') return view.filledChildren(v).reduce((best, c) => (best === v || view.bytes(c) > view.bytes(best) ? c : best), v);
  if (key !== 'ArrowLeft' && key !== 'ArrowRight') return -1;
  if (v === 0) return 0;
  const siblings = view.filledChildren(view.parent[v]);
  return siblings[siblings.indexOf(v) + (key === 'ArrowLeft' ? -1 : 1)] ?? v;
}

/**
 * Moves the focus. A frame that is not laid out, since it is too thin or outside the zoomed one, is brought into sight.
 * @param {Page} page
 * @param {Tooltip} tip
 * @param {number} v view node
 */
function focusOn(page, tip, v) {
  const { graph } = page;
  const { view } = page.answer;
  const outline = byId('focus-frame');
  page.focus = v;
  if (!graph.outline(outline, v)) {
    page.zoomTo(Math.max(0, view.parent[v]));
    page.focus = v;
    // Among thousands of siblings it can still be too thin.
    if (!graph.outline(outline, v)) page.zoomTo(v);
  }
  graph.reveal(view.depth[v]);
  page.announce();
  const box = outline.getBoundingClientRect();
  tip.fill(v, page.zoom, page.rootLabel, page.state.units);
  tip.place(Math.max(0, box.left), box.top + ROW - 8);
}
