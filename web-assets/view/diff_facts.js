import { shortNames } from '../core/diff_names.js';
import { bytesChange, countChange, inBrackets } from '../core/diff_words.js';
import { formatBytes, formatCount, formatTime, timeDigits } from '../core/format.js';
import { byId, make } from './dom.js';
import { startInWords } from './facts.js';

/** @typedef {import('../core/diff_model.js').CaptureMeta} CaptureMeta */
/** @typedef {import('../core/diff_view.js').Pair} Pair */
/** @typedef {import('../core/format.js').Units} Units */
/** @typedef {{text: string, title: string}} Cell */
/** @typedef {{name: string, cells: [Cell, Cell], change: Cell, differs: boolean}} Fact */

const UNKNOWN = '\u2013';
const DIFFERS = '\u2260 differs';

/**
 * The table of both captures: who they are, what they came to, and what differed.
 * @param {[CaptureMeta, CaptureMeta]} captures
 * @param {Units} units
 */
export function showDiffFacts(captures, units) {
  const facts = factsOf(captures, units);
  const shown = shortNames(captures.map(({ name }) => name));
  const head = make('tr');
  const corner = make('td');
  head.append(corner, ...facts.map(({ name }) => heading(name, 'col')));
  const rows = /** @type {const} */ ([0, 1]).map((side) => {
    const row = make('tr');
    const who = heading('', 'row');
    who.append(named(captures[side], shown[side], side === 0 ? 'base' : 'new'));
    row.append(who, ...facts.map(({ cells }) => cell(cells[side])));
    return row;
  });
  const change = make('tr', '', 'change');
  change.append(heading('change', 'row'), ...facts.map((fact) => {
    const out = cell(fact.change);
    out.classList.toggle('differs', fact.differs);
    return out;
  }));
  byId('captures').replaceChildren(head, ...rows, change);
}

/**
 * @param {CaptureMeta} meta
 * @param {string} shown what the capture is called, in short
 * @param {'base' | 'new'} side
 * @returns {HTMLElement} that, and the command that was traced
 */
function named({ name, command, pid, start_ms: start }, shown, side) {
  const out = make('span', '', 'who');
  const key = make('span', side, 'side ' + side);
  key.prepend(make('i'));
  const file = make('span', shown, 'capture');
  const line = make('span', '', 'command');
  line.append(make('bdi', command));
  file.title = `${name}\nPID ${pid}, started ${startInWords(start)}`;
  line.title = command;
  out.append(key, file, line);
  return out;
}

/**
 * @param {[CaptureMeta, CaptureMeta]} captures
 * @param {Units} units
 * @returns {Fact[]}
 */
function factsOf(captures, units) {
  /**
   * @param {string} name
   * @param {(meta: CaptureMeta) => number | null} of
   * @param {(value: number) => Cell} show
   * @param {(values: Pair) => string} change
   * @returns {Fact}
   */
  const figure = (name, of, show, change) => {
    const values = captures.map(of);
    const [base, next] = values;
    const cells = /** @type {[Cell, Cell]} */ (values.map((value) => (value === null ? { text: UNKNOWN, title: 'The capture does not say' } : show(value))));
    const known = base !== null && next !== null;
    return { name, cells, change: { text: known ? change([base, next]) : '', title: '' }, differs: false };
  };
  /** @param {number} bytes */
  const size = (bytes) => ({ text: formatBytes(bytes, units), title: formatCount(bytes) + ' bytes' });
  /** @param {Pair} bytes */
  const sizeChange = (bytes) => bytesChange(bytes, units) + inBrackets(bytes);
  /**
   * @param {string} name
   * @param {(meta: CaptureMeta) => string} titleOf
   * @param {(meta: CaptureMeta) => string} of
   * @returns {Fact}
   */
  const word = (name, titleOf, of) => {
    const cells = /** @type {[Cell, Cell]} */ (captures.map((meta) => ({ text: of(meta) || UNKNOWN, title: titleOf(meta) })));
    const known = cells.every(({ text }) => text !== UNKNOWN);
    const differs = known && cells[0].text !== cells[1].text;
    return { name, cells, change: { text: differs ? DIFFERS : known ? 'same' : '', title: '' }, differs };
  };
  return [
    figure('Peak heap', (meta) => meta.peak_bytes, size, sizeChange),
    figure('Left over', (meta) => meta.leaked_bytes, size, sizeChange),
    figure('Allocated', (meta) => meta.allocated_bytes, size, sizeChange),
    figure('Allocations', (meta) => meta.allocations, (n) => ({ text: formatCount(n), title: '' }), (values) => countChange(values) + inBrackets(values)),
    figure('Peak RSS', (meta) => meta.rss_peak, size, sizeChange),
    figure('Duration', (meta) => meta.end_ms - meta.start_ms, (ms) => ({ text: formatTime(ms, timeDigits(ms)), title: '' }), inPercent),
    word('Python', () => '', (meta) => meta.python ?? ''),
    word('Allocator', () => '', (meta) => meta.allocator + (meta.python_allocators_traced ? ', traced' : '')),
    word('Format', ({ memray }) => 'memray ' + memray, (meta) => String(meta.format) + (meta.native ? ', native' : '') + (meta.aggregated ? ', aggregated' : '')),
  ];
}

/**
 * @param {Pair} values
 * @returns {string}
 */
function inPercent(values) {
  return inBrackets(values).replace(/[ ()]/g, '');
}

/**
 * @param {string} text
 * @param {'col' | 'row'} scope
 * @returns {HTMLElement}
 */
function heading(text, scope) {
  const out = /** @type {HTMLTableCellElement} */ (make('th', text));
  out.scope = scope;
  return out;
}

/**
 * @param {Cell} cell
 * @returns {HTMLElement}
 */
function cell({ text, title }) {
  const out = make('td', text);
  if (title !== '') out.title = title;
  return out;
}
