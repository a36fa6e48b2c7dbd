import { MAX_ZOOM, framesIn, indexBelow, oneOf, rangeIn } from './state.js';

/** @typedef {import('./diff_model.js').DiffMeta} DiffMeta */
/** @typedef {import('./diff_model.js').DiffMode} DiffMode */
/** @typedef {import('./format.js').Units} Units */
/** @typedef {import('./values.js').Metric} Metric */
/** @typedef {'larger' | 'change'} Width what the width of a frame stands for: the larger of both sides, or what changed */
/** @typedef {[lo: number, hi: number]} Range slices */

/**
 * All that the reader can choose and that a link to the page keeps.
 *
 * @typedef {object} DiffState
 * @property {[Range, Range]} ranges of base and new
 * @property {boolean} scaled whether each run is as wide as the chart, however long it took
 * @property {DiffMode} mode
 * @property {Metric} metric
 * @property {Width} width
 * @property {boolean} hideIrrelevant
 * @property {boolean} foldImports what an import allocates belongs to the frame that imports
 * @property {string} query
 * @property {number[]} zoom frames from below the root to the zoomed one
 * @property {DiffColumn} sort column of the table
 * @property {Units} units
 */

/** @typedef {typeof COLUMNS[number]} DiffColumn */

/** Columns that the table can be sorted by: all by size, whatever the sign. */
export const COLUMNS = /** @type {const} */ (['change', 'base', 'next', 'total', 'count']);

const WIDTHS = /** @type {const} */ (['larger', 'change']);
const METRICS = /** @type {const} */ (['bytes', 'count']);
const UNITS = /** @type {const} */ (['iec', 'si']);

/**
 * @param {DiffMeta} meta
 * @returns {DiffMode[]} questions that the page can answer
 */
export function modesOf({ sums }) {
  return sums ? ['peak', 'leaks', 'temporary', 'made'] : ['peak', 'leaks'];
}

/**
 * @param {DiffMeta} meta
 * @param {0 | 1} side
 * @returns {boolean} whether a range of this capture can be chosen: sums alone have none
 */
export function hasRanges({ captures }, side) {
  return !captures[side].aggregated && captures[side].counts.snapshots > 0;
}

/**
 * @param {DiffMeta} meta
 * @returns {DiffState}
 */
export function defaultDiffState({ captures, mode, units }) {
  return {
    ranges: [[...captures[0].range], [...captures[1].range]],
    scaled: false,
    mode,
    metric: 'bytes',
    width: 'larger',
    hideIrrelevant: true,
    foldImports: false,
    query: '',
    zoom: [],
    sort: 'change',
    units,
  };
}

/**
 * The part of the address behind `#`; defaults are left out.
 * @param {DiffState} state
 * @param {DiffMeta} meta
 * @returns {string} '' if nothing differs from the default
 */
export function toDiffHash(state, meta) {
  const usual = defaultDiffState(meta);
  const params = new URLSearchParams();
  for (const [side, key] of /** @type {const} */ ([[0, 'rb'], [1, 'rn']])) {
    const range = state.ranges[side].join('-');
    if (range !== usual.ranges[side].join('-')) params.set(key, range);
  }
  if (state.scaled) params.set('x', 'scaled');
  if (state.mode !== usual.mode) params.set('m', state.mode);
  if (state.metric !== usual.metric) params.set('w', state.metric);
  if (state.width !== usual.width) params.set('f', state.width);
  const flags = flagsOf(state);
  if (flags !== flagsOf(usual)) params.set('h', String(flags));
  if (state.query !== '') params.set('q', state.query);
  if (state.zoom.length > 0 && state.zoom.length <= MAX_ZOOM) params.set('z', state.zoom.join('.'));
  if (state.sort !== usual.sort) params.set('s', state.sort);
  if (state.units !== usual.units) params.set('u', state.units);
  const text = params.toString();
  return text === '' ? '' : '#' + text;
}

/**
 * Reads what `toDiffHash` wrote. What is unknown or out of range is left at its default.
 * @param {string} hash
 * @param {DiffMeta} meta
 * @returns {DiffState}
 */
export function fromDiffHash(hash, meta) {
  const state = defaultDiffState(meta);
  const params = new URLSearchParams(hash.replace(/^#/, ''));
  for (const [side, key] of /** @type {const} */ ([[0, 'rb'], [1, 'rn']])) {
    const range = rangeIn(params.get(key), meta.captures[side].counts.snapshots + 1);
    if (range !== null && hasRanges(meta, side)) state.ranges[side] = range;
  }
  state.scaled = params.get('x') === 'scaled';
  state.mode = oneOf(params.get('m'), modesOf(meta), state.mode);
  state.metric = oneOf(params.get('w'), METRICS, state.metric);
  state.width = oneOf(params.get('f'), WIDTHS, state.width);
  const flags = indexBelow(params.get('h'), 4, flagsOf(state));
  state.hideIrrelevant = (flags & 1) !== 0;
  state.foldImports = (flags & 2) !== 0;
  state.query = params.get('q') ?? '';
  state.zoom = framesIn(params.get('z'), meta.counts.frames);
  state.sort = oneOf(params.get('s'), COLUMNS, state.sort);
  state.units = oneOf(params.get('u'), UNITS, state.units);
  return state;
}

/**
 * @param {DiffState} state
 * @returns {number}
 */
function flagsOf({ hideIrrelevant, foldImports }) {
  return (hideIrrelevant ? 1 : 0) + (foldImports ? 2 : 0);
}
