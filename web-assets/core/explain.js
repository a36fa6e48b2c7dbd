import { argmax } from './columns.js';
import { formatBytes, formatCount, formatNumberOf, formatPercent, formatTime, timeDigits } from './format.js';
import { heapAfter, heapBefore } from './moments.js';

/** @typedef {import('./answer.js').Answer} Answer */
/** @typedef {import('./axis.js').TimeAxis} TimeAxis */
/** @typedef {import('./state.js').Mode} Mode */
/** @typedef {import('./state.js').State} State */

const NO_CURVE = 'The program ended before the first memory sample was taken, so there is no curve over time.';
const ONLY_SUMS =
  'The capture holds only sums (memray run --aggregate), so the moment of the peak, ranges and all that lies in between are not in the file.';
const AT_THE_END = 'What is still in use when the run ends counts too, so not all of it need be a leak.';

/**
 * @param {Mode} mode
 * @param {boolean} wholeRun whether the range is always the whole run
 * @returns {string} what is asked, in a few words
 */
export function question(mode, wholeRun) {
  if (mode === 'temporary') return 'Temporary allocations';
  if (mode === 'peak') return wholeRun ? 'Peak of the run' : 'Peak in range';
  return wholeRun ? 'Left over at the end' : 'Left over from range';
}

/**
 * What is shown, in words: where the marked slice lies and why the sampled line reads lower there, or what "left over"
 * means for this range.
 * @param {State} state
 * @param {Answer} answer
 * @param {TimeAxis} axis
 * @returns {string[]} sentences
 */
export function explain(state, answer, axis) {
  const { aggregated, counts } = answer.model.meta;
  const hasRanges = !aggregated && counts.snapshots > 0;
  const ofMode = { peak: explainPeak, leaks: explainLeftOver, temporary: explainTemporary };
  const about = hasRanges || state.mode === 'temporary' ? ofMode[state.mode] : explainRun;
  return [...about(state, answer, axis), ...explainFilters(state, answer)];
}

/**
 * @param {State} state
 * @param {Answer} answer
 * @returns {string[]} what the filters leave, and what they leave out
 */
function explainFilters(state, answer) {
  const { threads, allocators } = answer.model.meta;
  const places = [];
  if (state.thread >= 0) places.push(`in thread ${threads[state.thread]}`);
  if (state.allocator >= 0) places.push(`by ${allocators[state.allocator]}`);
  if (places.length === 0) return [];
  const size = (/** @type {number} */ bytes) => formatBytes(bytes, state.units);
  return [`Shown below: the ${size(answer.bytes)} of it ${places.join(' ')}; the other ${size(answer.wholeBytes - answer.bytes)} are left out.`];
}

/**
 * @param {State} state
 * @param {Answer} answer
 * @returns {string[]}
 */
function explainTemporary(state, answer) {
  const { wholeBytes, wholeCount, model } = answer;
  const { temporary_threshold: threshold = 1, allocations } = model.meta;
  const share = allocations === null ? '' : ` (${formatPercent(wholeCount, allocations)} of all)`;
  const meanwhile = threshold === 1 ? 'at most one other block' : `at most ${formatCount(threshold)} other blocks`;
  return [
    `Temporary allocations of the whole run: ${formatNumberOf(wholeCount, 'allocation')}${share}, ${formatBytes(wholeBytes, state.units)} in all, each freed by its own thread after that had allocated ${meanwhile}.`,
    'They were not in use together: the sum is work for the allocator, not memory. The range does not matter here.',
  ];
}

/**
 * A warning about what the figures of this mode can mean.
 * @param {State} state
 * @param {Answer} answer
 * @returns {string} '' if there is none
 */
export function caution(state, answer) {
  const { allocator, python_allocators_traced: traced } = answer.model.meta;
  if (state.mode !== 'leaks' || traced !== false || !allocator.startsWith('pymalloc')) return '';
  return 'pymalloc was in use and Python allocations were not traced: memory that Python freed but keeps in its pools can look left over here.';
}

/**
 * Of a run that has no ranges.
 * @param {State} state
 * @param {Answer} answer
 * @returns {string[]}
 */
function explainRun(state, answer) {
  const { meta, snapshotHeap } = answer.model;
  const { wholeBytes } = answer;
  const bytes = formatBytes(wholeBytes, state.units);
  const out = [];
  if (state.mode === 'peak') {
    const sampled = snapshotHeap[argmax(snapshotHeap)];
    out.push(`Peak heap of the whole run: ${bytes}.`);
    if (sampled < wholeBytes) out.push(`The heap line is sampled and reads at most ${below(sampled, wholeBytes, state)}.`);
  } else {
    out.push(`Left over from the whole run: ${bytes} in ${formatNumberOf(answer.wholeCount, 'allocation')}, allocated and not freed by the end.`, AT_THE_END);
  }
  if (meta.aggregated) out.push(ONLY_SUMS);
  if (snapshotHeap.length === 0) out.push(NO_CURVE);
  return out;
}

/**
 * @param {State} state
 * @param {Answer} answer
 * @param {TimeAxis} axis
 * @returns {string[]}
 */
function explainPeak(state, answer, axis) {
  const { slicePeak } = answer.model;
  const { slice } = answer;
  const peak = formatBytes(slicePeak[slice], state.units);
  const range = rangeInWords(state, axis);
  if (slicePeak[slice] === 0) return [`Peak heap in ${range}: nothing was allocated.`];
  return [`Peak heap in ${range}: ${peak}, reached ${sliceInWords(slice, axis).where} (marked slice).`, whyLower(state, answer, axis)];
}

/**
 * @param {State} state
 * @param {Answer} answer
 * @param {TimeAxis} axis
 * @returns {string}
 */
function whyLower(state, answer, axis) {
  const { model, slice } = answer;
  const words = sliceInWords(slice, axis);
  const peak = model.slicePeak[slice];
  const first = heapBefore(model, slice);
  const last = heapAfter(model, slice);
  const read = `The heap was ${below(first, peak, state)} ${words.first} and ${below(last, peak, state)} ${words.last}`;
  if (Math.max(first, last) >= peak) return read + ', which is the peak itself.';
  return read + ': the line reads lower, since it is sampled only at the ends of the slice and the peak came between them.';
}

/**
 * A sample, and how far below the peak it is if both would read the same.
 * @param {number} bytes
 * @param {number} peak
 * @param {State} state
 * @returns {string}
 */
function below(bytes, peak, state) {
  const text = formatBytes(bytes, state.units);
  if (bytes >= peak || text !== formatBytes(peak, state.units)) return text;
  return `${text} (${formatNumberOf(peak - bytes, 'byte')} less)`;
}

/**
 * @param {number} slice
 * @param {TimeAxis} axis with more than one slice
 * @returns {{where: string, first: string, last: string}}
 */
export function sliceInWords(slice, axis) {
  const from = formatTime(axis.times[slice], 3);
  const to = formatTime(axis.times[slice + 1], 3);
  if (slice === 0) return { where: `between the start and the first sample at ${to}`, first: 'at the start', last: 'at that sample' };
  if (slice === axis.slices - 1) {
    return { where: `between the last sample at ${from} and the end at ${to}`, first: 'at that sample', last: 'at the end' };
  }
  return { where: `between the samples at ${from} and ${to}`, first: 'at the first', last: 'at the second' };
}

/**
 * @param {State} state
 * @param {Answer} answer
 * @param {TimeAxis} axis
 * @returns {string[]}
 */
function explainLeftOver(state, answer, axis) {
  const bytes = formatBytes(answer.wholeBytes, state.units);
  const end = axis.times[state.hi + 1];
  const by = formatTime(end, timeDigits(end - axis.times[state.lo]));
  return [
    `Left over from ${rangeInWords(state, axis)}: ${bytes} in ${formatNumberOf(answer.wholeCount, 'allocation')}, allocated in this range and not freed by ${by}.`,
    state.hi === axis.slices - 1 ? AT_THE_END : 'What is freed later, or still in use, counts too, so not all of it need be a leak.',
  ];
}

/**
 * @param {{lo: number, hi: number}} state
 * @param {TimeAxis} axis
 * @returns {string}
 */
export function rangeInWords(state, axis) {
  const digits = timeDigits(axis.times[state.hi + 1] - axis.times[state.lo]);
  const from = formatTime(axis.times[state.lo], digits);
  const to = formatTime(axis.times[state.hi + 1], digits);
  return state.lo === 0 && state.hi === axis.slices - 1 ? `the whole run (${from} \u2013 ${to})` : `${from} \u2013 ${to}`;
}

/**
 * A view node in one sentence, for those who cannot see the picture.
 * @param {string} name
 * @param {import('./view.js').View} view
 * @param {number} v view node
 * @param {{units: import('./format.js').Units}} state
 * @returns {string}
 */
export function describeNode(name, view, v, state) {
  const share = Math.round((1000 * view.weight(v)) / Math.max(1, view.weight(0))) / 10;
  return `${name}: ${formatBytes(view.bytes(v), state.units)}, ${formatCount(share)} % of what is shown, ${formatNumberOf(view.count(v), 'allocation')}`;
}
