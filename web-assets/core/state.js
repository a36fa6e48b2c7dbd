/** @typedef {import('./decode.js').Meta} Meta */
/** @typedef {import('./format.js').Units} Units */
/** @typedef {'peak' | 'leaks'} Mode */

/**
 * All that the reader can choose and that a link to the page keeps.
 *
 * @typedef {object} State
 * @property {number} lo first slice of the range
 * @property {number} hi last slice of the range
 * @property {Mode} mode
 * @property {boolean} hideIrrelevant
 * @property {number} thread index, or -1 for all
 * @property {string} query
 * @property {number[]} zoom frames from below the root to the zoomed one
 * @property {Units} units
 */

/**
 * What a state must fit.
 *
 * @typedef {object} Limits
 * @property {number} slices
 * @property {Mode} mode the first view
 * @property {number} threads
 * @property {number} frames
 * @property {boolean} wholeRun whether the range cannot be chosen: it is always the whole run
 */

const HIDE_IRRELEVANT = 1;
// Longer paths come from runaway recursion; a link with thousands of numbers is of no use.
const MAX_ZOOM = 500;

/**
 * What a state of this capture must fit. Sums alone have no ranges; nor is there one without a single snapshot.
 * @param {Meta} meta
 * @returns {Limits}
 */
export function limitsOf({ mode, threads, counts, aggregated = false }) {
  const { frames, snapshots } = counts;
  return { slices: snapshots + 1, mode, threads: threads.length, frames, wholeRun: aggregated || snapshots === 0 };
}

/**
 * @param {Limits} limits
 * @returns {State}
 */
export function defaultState(limits) {
  return {
    lo: 0,
    hi: limits.slices - 1,
    mode: limits.mode,
    hideIrrelevant: true,
    thread: -1,
    query: '',
    zoom: [],
    units: 'iec',
  };
}

/**
 * The part of the address behind `#`; defaults are left out.
 * @param {State} state
 * @param {Limits} limits
 * @returns {string} '' if nothing differs from the default
 */
export function toHash(state, limits) {
  const usual = defaultState(limits);
  const params = new URLSearchParams();
  if (state.lo !== usual.lo || state.hi !== usual.hi) params.set('r', state.lo + '-' + state.hi);
  if (state.mode !== usual.mode) params.set('m', state.mode);
  if (!state.hideIrrelevant) params.set('h', '0');
  if (state.thread >= 0) params.set('t', String(state.thread));
  if (state.query !== '') params.set('q', state.query);
  if (state.zoom.length > 0 && state.zoom.length <= MAX_ZOOM) params.set('z', state.zoom.join('.'));
  if (state.units !== usual.units) params.set('u', state.units);
  const text = params.toString();
  return text === '' ? '' : '#' + text;
}

/**
 * Reads what `toHash` wrote. What is unknown or out of range is left at its default.
 * @param {string} hash
 * @param {Limits} limits
 * @returns {State}
 */
export function fromHash(hash, limits) {
  const state = defaultState(limits);
  const params = new URLSearchParams(hash.replace(/^#/, ''));
  const range = /^(\d+)-(\d+)$/.exec(params.get('r') ?? '');
  if (range !== null) {
    const lo = Number(range[1]);
    const hi = Number(range[2]);
    if (lo <= hi && hi < limits.slices && !limits.wholeRun) Object.assign(state, { lo, hi });
  }
  const mode = params.get('m');
  if (mode === 'peak' || mode === 'leaks') state.mode = mode;
  const flags = params.get('h') ?? '';
  if (/^\d{1,4}$/.test(flags)) state.hideIrrelevant = (Number(flags) & HIDE_IRRELEVANT) !== 0;
  const thread = params.get('t') ?? '';
  if (/^\d{1,9}$/.test(thread) && Number(thread) < limits.threads) state.thread = Number(thread);
  state.query = params.get('q') ?? '';
  const zoom = params.get('z') ?? '';
  if (/^\d{1,9}(\.\d{1,9})*$/.test(zoom)) {
    const frames = zoom.split('.').map(Number);
    if (frames.every((f) => f < limits.frames)) state.zoom = frames;
  }
  if (params.get('u') === 'si') state.units = 'si';
  return state;
}
