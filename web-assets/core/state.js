import { GROUPS } from './groups.js';

/** @typedef {import('./decode.js').Meta} Meta */
/** @typedef {import('./format.js').Units} Units */
/** @typedef {import('./groups.js').Group} Group */
/** @typedef {import('./values.js').Metric} Metric */
/** @typedef {'peak' | 'leaks' | 'temporary'} Mode */
/** @typedef {'callers' | 'allocators'} Direction which frames come first */

/**
 * All that the reader can choose and that a link to the page keeps.
 *
 * @typedef {object} State
 * @property {number} lo first slice of the range
 * @property {number} hi last slice of the range
 * @property {Mode} mode
 * @property {Metric} metric
 * @property {Direction} direction
 * @property {Group} group
 * @property {boolean} hideIrrelevant
 * @property {boolean} foldImports
 * @property {boolean} collapse
 * @property {boolean} rootAtBottom
 * @property {boolean} stacked whether the chart shows the largest functions on top of each other
 * @property {number} thread index, or -1 for all
 * @property {number} allocator index, or -1 for all
 * @property {number} selected frame of the function whose callers and callees are shown, or 0
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
 * @property {number} allocators
 * @property {number} frames
 * @property {boolean} temporary whether temporary allocations are known
 * @property {boolean} wholeRun whether the range cannot be chosen: it is always the whole run
 */

// The bits of `h`.
/** @type {Record<'hideIrrelevant' | 'foldImports' | 'collapse' | 'rootAtBottom' | 'stacked', number>} */
const FLAGS = { hideIrrelevant: 1, foldImports: 2, collapse: 4, rootAtBottom: 8, stacked: 16 };
// Longer paths come from runaway recursion; a link with thousands of numbers is of no use.
export const MAX_ZOOM = 500;

/**
 * What a state of this capture must fit. Sums alone have no ranges; nor is there one without a single snapshot.
 * @param {Meta} meta
 * @returns {Limits}
 */
export function limitsOf({ mode, threads, allocators, counts, temporary, aggregated = false }) {
  const { frames, snapshots } = counts;
  return {
    slices: snapshots + 1,
    mode,
    threads: threads.length,
    allocators: allocators.length,
    frames,
    temporary: temporary === true,
    wholeRun: aggregated || snapshots === 0,
  };
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
    metric: 'bytes',
    direction: 'callers',
    group: 'line',
    hideIrrelevant: true,
    foldImports: false,
    collapse: false,
    rootAtBottom: false,
    stacked: false,
    thread: -1,
    allocator: -1,
    selected: 0,
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
  if (state.metric !== usual.metric) params.set('w', state.metric);
  if (state.direction !== usual.direction) params.set('v', state.direction);
  if (state.group !== usual.group) params.set('g', state.group);
  if (flagsOf(state) !== flagsOf(usual)) params.set('h', String(flagsOf(state)));
  if (state.thread >= 0) params.set('t', String(state.thread));
  if (state.allocator >= 0) params.set('a', String(state.allocator));
  if (state.selected > 0) params.set('f', String(state.selected));
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
  const range = rangeIn(params.get('r'), limits.slices);
  if (range !== null && !limits.wholeRun) [state.lo, state.hi] = range;
  state.mode = oneOf(params.get('m'), limits.temporary ? ['peak', 'leaks', 'temporary'] : ['peak', 'leaks'], state.mode);
  state.metric = oneOf(params.get('w'), ['bytes', 'count'], state.metric);
  state.direction = oneOf(params.get('v'), ['callers', 'allocators'], state.direction);
  state.group = oneOf(params.get('g'), GROUPS, state.group);
  const flags = indexBelow(params.get('h'), 1 << 10, flagsOf(state));
  for (const [name, bit] of flagBits()) state[name] = (flags & bit) !== 0;
  state.thread = indexBelow(params.get('t'), limits.threads, -1);
  state.allocator = indexBelow(params.get('a'), limits.allocators, -1);
  state.selected = indexBelow(params.get('f'), limits.frames, 0);
  state.query = params.get('q') ?? '';
  state.zoom = framesIn(params.get('z'), limits.frames);
  state.units = oneOf(params.get('u'), ['iec', 'si'], state.units);
  return state;
}

/**
 * @param {State} state
 * @returns {number}
 */
function flagsOf(state) {
  return flagBits().reduce((flags, [name, bit]) => flags | (state[name] ? bit : 0), 0);
}

function flagBits() {
  return /** @type {[keyof typeof FLAGS, number][]} */ (Object.entries(FLAGS));
}

/**
 * @param {string | null} text
 * @param {number} slices
 * @returns {[lo: number, hi: number] | null}
 */
export function rangeIn(text, slices) {
  const range = /^(\d{1,9})-(\d{1,9})$/.exec(text ?? '');
  if (range === null) return null;
  const lo = Number(range[1]);
  const hi = Number(range[2]);
  return lo <= hi && hi < slices ? [lo, hi] : null;
}

/**
 * @param {string | null} text
 * @param {number} limit
 * @returns {number[]} a path of frames
 */
export function framesIn(text, limit) {
  if (text === null || !/^\d{1,9}(\.\d{1,9})*$/.test(text)) return [];
  const frames = text.split('.').map(Number);
  return frames.every((f) => f < limit) ? frames : [];
}

/**
 * @template {string} T
 * @param {string | null} value
 * @param {readonly T[]} known
 * @param {T} usual
 * @returns {T}
 */
export function oneOf(value, known, usual) {
  return known.find((k) => k === value) ?? usual;
}

/**
 * @param {string | null} text
 * @param {number} limit
 * @param {number} usual
 * @returns {number}
 */
export function indexBelow(text, limit, usual) {
  return text !== null && /^\d{1,9}$/.test(text) && Number(text) < limit ? Number(text) : usual;
}
