import { rangeInWords, sliceInWords } from './explain.js';
import { formatBytes, formatCount, formatNumberOf, formatTime, timeDigits } from './format.js';

/** @typedef {import('./axis.js').TimeAxis} TimeAxis */
/** @typedef {import('./diff_answer.js').DiffAnswer} DiffAnswer */
/** @typedef {import('./diff_model.js').DiffMode} DiffMode */
/** @typedef {import('./diff_state.js').DiffState} DiffState */
/** @typedef {import('./diff_view.js').Pair} Pair */
/** @typedef {import('./diff_view.js').Status} Status */
/** @typedef {import('./format.js').Units} Units */

export const SIDES = /** @type {const} */ (['base', 'new']);

/** What questions are called. */
const QUESTIONS = { peak: 'Peak in range', leaks: 'Left over from range', temporary: 'Temporary allocations', made: 'All allocations' };
const RUN_QUESTIONS = { ...QUESTIONS, peak: 'Peak of the run', leaks: 'Left over at the end' };

/** What stands before the name of a frame, so that no colour is needed. */
const MARKS = { new: 'NEW ', gone: 'GONE ', grown: '+ ', shrank: '\u2212 ', same: '' };

/**
 * @param {DiffMode} mode
 * @param {boolean} wholeRun whether ranges are always whole runs
 * @returns {string}
 */
export function diffQuestion(mode, wholeRun) {
  return (wholeRun ? RUN_QUESTIONS : QUESTIONS)[mode];
}

/**
 * @param {Status} status
 * @returns {string} what stands before a frame's name
 */
export function markOf(status) {
  return MARKS[status];
}

/**
 * A change with its sign, as in `+41.0 MiB`.
 * @param {Pair} bytes
 * @param {Units} units
 * @returns {string}
 */
export function bytesChange([base, next], units) {
  return (next > base ? '+' : '') + formatBytes(next - base, units);
}

/**
 * @param {Pair} count
 * @returns {string} as in `+1,834`
 */
export function countChange([base, next]) {
  const change = next - base;
  return (change > 0 ? '+' : change < 0 ? '\u2212' : '') + formatCount(Math.abs(change));
}

/**
 * A change as a share of what was there, as in `+12.5 %`.
 * @param {Pair} values
 * @returns {string} `new`, `gone`, or '' if there is nothing
 */
export function shareChange([base, next]) {
  if (base === next) return base === 0 ? '' : '0\u00a0%';
  if (base === 0) return 'new';
  if (next === 0) return 'gone';
  const percent = (100 * Math.abs(next - base)) / base;
  const text = percent >= 1000 ? formatCount(Math.round(percent)) : percent.toFixed(1);
  return (next > base ? '+' : '\u2212') + (text === '0.0' ? '<\u00a00.1' : text) + '\u00a0%';
}

/**
 * @param {Pair} values
 * @returns {string} the same in brackets behind something, or ''
 */
export function inBrackets(values) {
  const share = shareChange(values);
  return share === '' ? '' : ' (' + share + ')';
}

/**
 * What is asked, and by how much the answers differ.
 * @param {DiffState} state
 * @param {DiffAnswer} answer
 * @param {boolean} wholeRun
 * @returns {string}
 */
export function titleOf(state, answer, wholeRun) {
  const change = answer.bytes[0] === answer.bytes[1] ? 'no change' : bytesChange(answer.bytes, state.units) + inBrackets(answer.bytes);
  return diffQuestion(state.mode, wholeRun) + ': ' + change;
}

/**
 * What of one of the captures is compared.
 * @param {0 | 1} side
 * @param {DiffState} state
 * @param {DiffAnswer} answer
 * @param {TimeAxis} axis
 * @returns {string}
 */
export function explainSide(side, state, answer, axis) {
  const { meta, slicePeak } = answer.model.sides[side];
  const bytes = answer.bytes[side];
  const size = formatBytes(bytes, state.units) + ' (' + formatNumberOf(bytes, 'byte') + ')';
  const allocations = formatNumberOf(answer.count[side], 'allocation');
  const [lo, hi] = answer.rangeOf(side, state.ranges);
  if (state.mode === 'temporary') return `${size} in ${allocations} that their own thread freed soon after, in the whole run.`;
  if (state.mode === 'made') return `${size} in ${allocations}, freed or not, in the whole run.`;
  const range = axis.slices === 1 || meta.aggregated ? 'the whole run' : rangeInWords({ lo, hi }, axis);
  if (state.mode === 'leaks') {
    const by = formatTime(axis.times[hi + 1], timeDigits(axis.times[hi + 1] - axis.times[lo]));
    return `${size} in ${allocations}, allocated in ${range} and not freed by ${hi === axis.slices - 1 ? 'the end' : by}.`;
  }
  const slice = answer.slices[side];
  const where = axis.slices === 1 || meta.aggregated || bytes === 0 ? '' : `, reached ${sliceInWords(slice, axis).where} (marked)`;
  const filtered = answer.model.meta.filtered ? `; the heap was ${formatBytes(slicePeak[slice], state.units)}, of which stacks were left out when this page was made` : '';
  return `${size} in ${allocations} at the peak of ${range}${where}${filtered}.`;
}

/**
 * The difference of the two, exactly.
 * @param {DiffAnswer} answer
 * @returns {string}
 */
export function explainChange({ bytes, count }) {
  const change = bytes[1] - bytes[0];
  const sign = change > 0 ? '+' : change < 0 ? '\u2212' : '';
  return `${sign}${formatNumberOf(Math.abs(change), 'byte')}${inBrackets(bytes)}, ${countChange(count)}\u00a0allocation${Math.abs(count[1] - count[0]) === 1 ? '' : 's'}.`;
}

/**
 * A view node in one sentence, for those who cannot see the picture.
 * @param {string} name
 * @param {import('./diff_view.js').DiffView} view
 * @param {number} v view node
 * @param {Units} units
 * @returns {string}
 */
export function describeChange(name, view, v, units) {
  const bytes = view.bothBytes(v);
  const count = view.bothCounts(v);
  const words = { new: 'new', gone: 'gone', grown: 'grown', shrank: 'shrunk', same: 'unchanged' };
  return `${name}: ${words[view.status(v)]}, base ${formatBytes(bytes[0], units)}, new ${formatBytes(bytes[1], units)}, change ${bytesChange(bytes, units)}${inBrackets(bytes)}, ${countChange(count)} allocations`;
}
