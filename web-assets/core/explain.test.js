import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Answer } from './answer.js';
import { TimeAxis } from './axis.js';
import { decodeModel } from './decode.js';
import { caution, explain, question } from './explain.js';
import { defaultState, limitsOf } from './state.js';
import { encode } from './testing.js';

const MIB = 1 << 20;
const NEVER = 0xffffffff;

/**
 * @param {Partial<import('./state.js').State>} change
 * @param {number} [snapshots]
 */
async function words(change, snapshots = 2) {
  const times = [1000, 2000].slice(0, snapshots);
  const { meta, sections } = encode({
    frames: [{ function: '<root>', file: '', line: 0 }, { function: 'f', file: 'a.py', line: 1 }],
    nodes: [{ parent: -1, frame: 0 }, { parent: 0, frame: 1 }],
    locations: [{ node: 1, thread: 0, allocator: 0 }],
    snapshots: times.map((time, i) => ({ time, rss: MIB, heap: (i + 1) * MIB })),
    slices: [{ peak: MIB, moment: 1 }, { peak: 5 * MIB, moment: 3 }, { peak: 2 * MIB, moment: 4 }].slice(0, snapshots + 1),
    rows: [{ start: 0, end: NEVER, location: 0, count: 1, bytes: MIB }],
    temporary: [{ count: 3, bytes: 600 }],
    meta: { end_ms: 1780000003000, leaked_bytes: MIB, threads: ['MainThread', 'worker'], allocators: ['malloc', 'mmap'] },
  });
  const answer = new Answer(await decodeModel(meta, sections));
  const state = { ...defaultState({ slices: snapshots + 1, mode: 'peak', threads: 2, allocators: 2, frames: 2, temporary: true, wholeRun: false }), ...change };
  answer.ask(state);
  const axis = new TimeAxis(answer.model.snapshotTime, 3000);
  return { text: explain(state, answer, axis).join(' ').replaceAll('\u00a0', ' '), caution: caution(state, answer) };
}

test('the marked slice is explained: range, value, both samples, and why the line reads lower', async () => {
  const { text } = await words({});
  assert.match(text, /^Peak heap in the whole run \(0\.00 s – 3\.00 s\): 5\.0 MiB, reached between the samples at 1\.000 s and 2\.000 s \(marked slice\)\./);
  assert.match(text, /The heap was 1\.0 MiB at the first and 2\.0 MiB at the second: the line reads lower/);
});

test('slices at the ends lie between a sample and the start or end', async () => {
  assert.match((await words({ hi: 0 })).text, /between the start and the first sample at 1\.000 s .* 0 B at the start and 1\.0 MiB at that sample, which is the peak itself/);
  assert.match((await words({ lo: 2 })).text, /between the last sample at 2\.000 s and the end at 3\.000 s .* 2\.0 MiB at that sample and 1\.0 MiB at the end, which is the peak itself/);
});

test('left over is explained in its own words', async () => {
  const { text, caution } = await words({ mode: 'leaks', lo: 0, hi: 1 });
  assert.match(text, /^Left over from 0\.00 s – 2\.00 s: 1\.0 MiB in 1 allocation, allocated in this range and not freed by 2\.00 s\./);
  assert.doesNotMatch(text, /peak|marked|sample/i);
  assert.match(caution, /pymalloc/);
  assert.equal((await words({})).caution, '');
});

test('a filter says how much of it is shown, and how much is left out', async () => {
  assert.match((await words({ thread: 1 })).text, /Shown below: the 0 B of it in thread worker; the other 1\.0 MiB are left out\./);
  assert.match((await words({ mode: 'leaks', thread: 0, allocator: 0 })).text, /Shown below: the 1\.0 MiB of it in thread MainThread by malloc; the other 0 B are left out\./);
  assert.match((await words({ allocator: 1 })).text, /of it by mmap; the other/);
});

test('without a snapshot there is no time', async () => {
  assert.match((await words({}, 0)).text, /^Peak heap of the whole run: 1\.0 MiB\. The program ended before the first memory sample/);
  assert.doesNotMatch((await words({}, 0)).text, /sums/);
  assert.match((await words({ mode: 'leaks' }, 0)).text, /^Left over from the whole run: 1\.0 MiB in 1 allocation, .*memory sample/);
});

test('temporary allocations are work, not memory', async () => {
  const { text } = await words({ mode: 'temporary', lo: 1 });
  assert.match(text, /^Temporary allocations of the whole run: 3 allocations \(\d.* % of all\), 600 B in all, each freed by its own thread after that had allocated at most one other block\./);
  assert.doesNotMatch(text, /peak|marked|sample|left over/i);
});

/** @param {Partial<import('./state.js').State>} change */
async function wordsOfSums(change) {
  const times = [1000, 2000];
  const { meta, sections } = encode({
    frames: [{ function: '<root>', file: '', line: 0 }, { function: 'f', file: 'a.py', line: 1 }],
    nodes: [{ parent: -1, frame: 0 }, { parent: 0, frame: 1 }],
    locations: [{ node: 1, thread: 0, allocator: 0 }],
    snapshots: times.map((time, i) => ({ time, rss: 9 * MIB, heap: (i + 2) * MIB })),
    slices: [2, 4, 3].map((peak, i) => ({ peak: peak * MIB, moment: i })),
    rows: [{ start: 2, end: 3, location: 0, count: 2, bytes: 3 * MIB }, { start: 2, end: NEVER, location: 0, count: 5, bytes: MIB }],
    meta: { threads: ['MainThread', 'worker'], aggregated: true, peak_slice: 1 },
  });
  const answer = new Answer(await decodeModel(meta, sections));
  const state = { ...defaultState(limitsOf(meta)), ...change };
  answer.ask(state);
  return explain(state, answer, new TimeAxis(answer.model.snapshotTime, 3000)).join(' ').replaceAll('\u00a0', ' ');
}

test('sums are explained without a moment, a slice or a range', async () => {
  const peak = await wordsOfSums({});
  assert.match(peak, /^Peak heap of the whole run: 4\.0 MiB\. The heap line is sampled and reads at most 3\.0 MiB\. The capture holds only sums \(memray run --aggregate\), so .* are not in the file\.$/);
  assert.doesNotMatch(peak, /marked|reached|between the samples/);
  const left = await wordsOfSums({ mode: 'leaks' });
  assert.match(left, /^Left over from the whole run: 1\.0 MiB in 5 allocations, allocated and not freed by the end\. .*holds only sums/);
  assert.doesNotMatch(left, /marked|this range|Peak heap/);
  assert.match(await wordsOfSums({ thread: 1 }), /^Peak heap of the whole run: 4\.0 MiB\. .* Shown below: the 0 B of it in thread worker; the other 4\.0 MiB are left out\.$/);
});

test('without ranges no question names one', () => {
  for (const mode of /** @type {const} */ (['peak', 'leaks', 'temporary'])) {
    assert.equal(/range/.test(question(mode, false)), mode !== 'temporary');
    assert.doesNotMatch(question(mode, true), /range/);
  }
});
