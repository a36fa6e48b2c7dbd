import { argmax } from '../core/columns.js';
import { formatBytes, formatCount, formatTime, timeDigits } from '../core/format.js';
import { byId, make, setText } from './dom.js';

/** @typedef {import('../core/axis.js').TimeAxis} TimeAxis */
/** @typedef {import('../core/decode.js').Model} Model */
/** @typedef {import('../core/format.js').Units} Units */

const MAX_WARNINGS = 5;

/**
 * Fills the header with facts about the capture.
 * @param {Model} model
 * @param {TimeAxis} axis
 * @param {Units} units
 */
export function showFacts(model, axis, units) {
  const { meta, snapshotRss } = model;
  /** @param {number} bytes */
  const size = (bytes) => [formatBytes(bytes, units), formatCount(bytes) + ' bytes'];
  const facts = [
    ['Peak heap', ...size(meta.peak_bytes)],
    ['Peak RSS', ...(snapshotRss.length > 0 ? size(snapshotRss[argmax(snapshotRss)]) : ['not sampled', 'The program ended before the first sample'])],
    ['Duration', formatTime(axis.span, timeDigits(axis.span)), formatTime(axis.span, 3)],
    ['Allocations', known(meta.allocations, formatCount), known(meta.allocated_bytes, (bytes) => formatBytes(bytes, units) + ' allocated in all')],
    ['Leaked', formatBytes(meta.leaked_bytes, units), formatCount(meta.leaked_bytes) + ' bytes not freed when tracking ended'],
    ['Allocator', meta.allocator, ''],
    ['PID', String(meta.pid), ''],
    ['Python', meta.python ?? '', ''],
    ['Capture format', String(meta.format) + (meta.native ? ', native' : '') + (meta.aggregated ? ', aggregated' : ''), ''],
    ['Samples', meta.snapshot_stride > 1 ? 'one in ' + formatCount(meta.snapshot_stride) + ' kept' : '', 'Peaks between samples are exact all the same'],
    ['Folded', known(meta.folded?.stacks ?? null, (stacks) => formatCount(stacks) + ' stacks'), 'Small stacks are shown as “other” frames, to keep the page small; totals are exact'],
    ['Started', startInWords(meta.start_ms), ''],
  ];
  setText(byId('command'), meta.command);
  byId('command').title = meta.command;
  byId('facts').replaceChildren(...facts.filter(([, value]) => value !== '').map(([name, value, title]) => fact(name, value, title)));
}

/**
 * @param {number | null} value
 * @param {(value: number) => string} format
 * @returns {string} '' if the capture does not say
 */
function known(value, format) {
  return value === null ? '' : format(value);
}

/**
 * Lists the warnings about the capture; a long list is folded.
 * @param {string[]} warnings
 */
export function showWarnings(warnings) {
  const box = byId('warnings');
  box.hidden = warnings.length === 0;
  box.replaceChildren(list(warnings.slice(0, MAX_WARNINGS)));
  const more = warnings.slice(MAX_WARNINGS);
  if (more.length === 0) return;
  const fold = make('details');
  fold.append(make('summary', formatCount(more.length) + ' more'), list(more));
  box.append(fold);
}

/**
 * @param {string[]} texts
 * @returns {HTMLElement}
 */
function list(texts) {
  const out = make('ul');
  out.append(...texts.map((text) => make('li', text)));
  return out;
}

/**
 * @param {string} name
 * @param {string} value
 * @param {string} title
 * @returns {HTMLElement}
 */
function fact(name, value, title) {
  const out = make('div');
  const dd = make('dd', value);
  if (title !== '') dd.title = title;
  out.append(make('dt', name), dd);
  return out;
}

/**
 * @param {number} ms since the epoch
 * @returns {string} '' if it is no date
 */
export function startInWords(ms) {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().replace('T', ' ').slice(0, 19) + ' UTC';
}
