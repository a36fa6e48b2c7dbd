import { csvText } from '../core/csv.js';
import { byId } from './dom.js';
import { saveAs } from './download.js';
import { ROW } from './flame.js';

/** @typedef {import('./page.js').Page} Page */
/** @typedef {import('./pane.js').Pane} Pane */

const SVG = 'http://www.w3.org/2000/svg';
const FONT_SIZE = 11.5;
// Width of a character of the monospace face, as a share of its size.
const CHARACTER = 0.602;
const MARGIN = 12;
const TITLE = 24;

/**
 * Connects the buttons that save what is shown as files.
 * @param {Page} page
 */
export function connectExports(page) {
  byId('export-png').addEventListener('click', () => savePng(page));
  byId('export-svg').addEventListener('click', () => save(page, 'svg', new Blob([flameSvg(page)], { type: 'image/svg+xml' })));
  byId('export-csv').addEventListener('click', () => save(page, 'csv', new Blob([functionsCsv(page)], { type: 'text/csv' })));
}

/**
 * @param {Page} page
 * @param {string} ending
 * @param {Blob} blob
 */
function save(page, ending, blob) {
  saveAs(`memreport-${page.model.meta.pid}-${page.state.mode}.${ending}`, blob);
}

/**
 * The chart and the visible part of the graph, below each other.
 * @param {Page} page
 */
function savePng(page) {
  const { palette, timeline } = page;
  const parts = [timeline.canvas, page.callers.graph.canvas, page.main.graph.canvas].filter((canvas) => canvas.offsetParent !== null);
  const ratio = window.devicePixelRatio || 1;
  const out = document.createElement('canvas');
  out.width = Math.max(...parts.map((part) => part.width)) + 2 * MARGIN * ratio;
  out.height = parts.reduce((sum, part) => sum + part.height + MARGIN * ratio, (TITLE + MARGIN) * ratio);
  const context = /** @type {CanvasRenderingContext2D} */ (out.getContext('2d'));
  context.fillStyle = palette.css('--bg');
  context.fillRect(0, 0, out.width, out.height);
  context.fillStyle = palette.css('--fg');
  context.font = `${13 * ratio}px ${palette.css('--sans')}`;
  context.fillText(titleOf(page), MARGIN * ratio, 22 * ratio);
  let y = (TITLE + MARGIN) * ratio;
  for (const part of parts) {
    context.drawImage(part, MARGIN * ratio, y);
    y += part.height + MARGIN * ratio;
  }
  out.toBlob((blob) => {
    if (blob !== null) save(page, 'png', blob);
  });
}

/**
 * @param {Page} page
 * @returns {string}
 */
function titleOf(page) {
  return `${page.model.meta.command}: ${byId('view-title').textContent}`;
}

/**
 * What is laid out of the main graph, as text.
 * @param {Page} page
 * @returns {string}
 */
export function flameSvg(page) {
  const { palette, main, names } = page;
  const { layout, picture } = main.graph;
  const width = Math.max(1, main.tree.clientWidth);
  const height = layout.levels * ROW + TITLE;
  const svg = element('svg', { viewBox: `0 0 ${width} ${height}`, width, height, 'font-family': 'monospace', 'font-size': FONT_SIZE });
  svg.append(element('rect', { width, height, fill: palette.css('--bg') }));
  svg.append(withText(element('text', { x: 4, y: 16, fill: palette.css('--fg'), 'font-family': 'sans-serif' }), titleOf(page)));
  if (picture === null) return new XMLSerializer().serializeToString(svg);
  const { view } = picture;
  for (let i = 0; i < layout.n; i++) {
    const v = layout.node[i];
    const level = picture.rootAtBottom ? layout.levels - 1 - layout.level[i] : layout.level[i];
    const isGrey = v < 0 || (v === 0 && view.rootFrame === 0);
    const fill = isGrey ? palette.css('--frame-root') : main.graph.matches(picture, v) ? palette.css('--match') : palette.cssFill(names.shade(view.frame[v]));
    const box = element('rect', { x: round(layout.x[i]), y: TITLE + level * ROW, width: round(Math.max(0.3, layout.width[i] - 0.7)), height: ROW - 1, fill });
    if (v < 0) {
      svg.append(box);
      continue;
    }
    const group = element('g', {});
    group.append(withText(element('title', {}), main.fullName(v) + '\n' + picture.sizeOf(v)), box);
    const room = Math.floor((layout.width[i] - 8) / (CHARACTER * FONT_SIZE));
    if (room >= 3) {
      const label = main.graph.labelFor(picture, v, room, CHARACTER * FONT_SIZE);
      group.append(withText(element('text', { x: round(layout.x[i] + 4), y: TITLE + level * ROW + 13, fill: palette.css('--fg') }), label));
    }
    svg.append(group);
  }
  return new XMLSerializer().serializeToString(svg);
}

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @returns {SVGElement}
 */
function element(name, attributes) {
  const out = /** @type {SVGElement} */ (document.createElementNS(SVG, name));
  for (const [key, value] of Object.entries(attributes)) out.setAttribute(key, String(value));
  return out;
}

/**
 * Adds text; characters that XML has no place for are replaced.
 * @param {SVGElement} to
 * @param {string} text
 * @returns {SVGElement}
 */
function withText(to, text) {
  to.append(text.toWellFormed().replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd'));
  return to;
}

/**
 * @param {number} x
 * @returns {number}
 */
function round(x) {
  return Math.round(100 * x) / 100;
}

/**
 * All rows of the table, in its order; sizes in bytes.
 * @param {Page} page
 * @returns {string}
 */
export function functionsCsv(page) {
  const { functions, names } = page;
  const { group } = functions.shape.options;
  const lines = functions.currentRows().map((row) => {
    const title = row.frame === 0 ? '' : names.title(row.frame, group);
    const file = row.frame === 0 ? '' : names.place(row.frame, group);
    return [row.ownBytes, row.bytes, row.ownCount, row.count, title, file];
  });
  const head = ['own_bytes', 'bytes_with_callees', 'own_allocations', 'allocations_with_callees', group, 'file'];
  return csvText([head, ...lines]);
}
