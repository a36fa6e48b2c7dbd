import { formatBytes, formatTime, timeDigits } from './format.js';

/** @typedef {import('./axis.js').TimeAxis} TimeAxis */
/** @typedef {import('./decode.js').Model} Model */
/** @typedef {import('./format.js').Units} Units */

// Below this share of RSS nobody asks.
const MUCH = 0.05;

/**
 * Why the process is larger than its heap, or smaller, in words: figures of one sample, and reasons that fit what the
 * capture knows.
 * @param {Model} model
 * @param {TimeAxis} axis
 * @param {number} snapshot
 * @param {Units} units
 * @returns {{title: string, reasons: string[]}}
 */
export function explainGap(model, axis, snapshot, units) {
  const { snapshotRss, snapshotHeap } = model;
  const size = (/** @type {number} */ bytes) => formatBytes(bytes, units);
  const rss = snapshotRss[snapshot];
  const heap = snapshotHeap[snapshot];
  const at = formatTime(axis.times[snapshot + 1], timeDigits(axis.span));
  const gap = rss - heap;
  const title = gap >= 0
    ? `RSS was ${size(gap)} above the heap at ${at}`
    : `The heap was ${size(-gap)} above RSS at ${at}`;
  const figures = `At that sample RSS read ${size(rss)} and the heap ${size(heap)}.`;
  return { title, reasons: [figures, ...(gap >= 0 ? whyAbove(model, snapshot, units) : whyBelow())] };
}

/**
 * @param {Model} model
 * @param {number} snapshot
 * @param {Units} units
 * @returns {string[]}
 */
function whyAbove({ meta, snapshotRss, snapshotHeap }, snapshot, units) {
  const first = snapshotRss[0] - snapshotHeap[0];
  const since = snapshotRss[snapshot] - snapshotHeap[snapshot] - first;
  const much = MUCH * snapshotRss[snapshot];
  const out = [];
  if (first > 0) {
    out.push(`${formatBytes(first, units)} of the difference was there at the first sample: the interpreter, shared libraries, thread stacks, and all that was allocated before tracking began. The heap counts none of it.`);
  }
  if (since > much) {
    out.push(`${formatBytes(since, units)} came since: freed memory that the allocator keeps instead of giving it back, gaps between blocks that are still in use, libraries loaded later, and pages of mapped files.`);
  } else if (since < -much) {
    out.push(`${formatBytes(-since, units)} of it has gone since: memory from before tracking that was freed, or pages that were swapped out.`);
  }
  if (meta.python_allocators_traced === true) {
    out.push('Python allocations were traced one by one, so unused room in the pools of Python\u2019s allocator is in RSS but not in the heap.');
  } else if (meta.allocator.startsWith('pymalloc')) {
    out.push('Python allocations were not traced one by one: the heap counts the pools that Python\u2019s allocator asked for, used or not.');
  }
  return out;
}

/** @returns {string[]} */
function whyBelow() {
  return ['Memory counts as heap once it is asked for, but as RSS only when it is first written to. Large arrays that are not filled yet, mapped files, and pages that were swapped out make the difference.'];
}
