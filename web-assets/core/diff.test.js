import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TimeAxis } from './axis.js';
import { DiffAnswer, sortedChanges } from './diff_answer.js';
import { diffCsv } from './diff_csv.js';
import { NEVER } from './decode.js';
import { decodeDiff } from './diff_model.js';
import { shortNames } from './diff_names.js';
import { COLUMNS, defaultDiffState, fromDiffHash, toDiffHash } from './diff_state.js';
import { statusOf } from './diff_view.js';
import { bytesChange, countChange, explainChange, explainSide, shareChange } from './diff_words.js';
import { FrameNames } from './names.js';
import { encodeDiff, randomNumbers, randomPair } from './testing.js';

/** @typedef {import('./diff_state.js').DiffState} DiffState */
/** @typedef {import('./testing.js').TestProfile} TestProfile */

/**
 * What each node has itself, row by row.
 * @param {TestProfile} profile
 * @param {DiffState['mode']} mode
 * @param {number} lo
 * @param {number} hi
 */
function naive({ rows, nodes, locations, slices, temporary = [] }, mode, lo, hi) {
  const bytes = nodes.map(() => 0);
  if (mode === 'temporary' || mode === 'made') {
    temporary.forEach((tally, i) => (bytes[i + 1] = tally.bytes));
    return bytes;
  }
  const peaks = slices.map(({ peak, moment }, s) => ({ peak, moment, s })).slice(lo, hi + 1);
  const { s: slice } = peaks.reduce((best, p) => (p.peak > best.peak || (p.peak === best.peak && p.moment > best.moment) ? p : best));
  const counts = mode === 'peak' ? (/** @type {{start: number, end: number}} */ r) => r.start <= 2 * slice && r.end > 2 * slice
    : (/** @type {{start: number, end: number}} */ r) => r.start >= 2 * lo && r.start <= 2 * hi + 1 && r.end > 2 * hi + 1;
  for (const row of rows.filter(counts)) bytes[locations[row.location].node] += row.bytes;
  return bytes;
}

/** @param {[TestProfile, TestProfile]} pair */
async function answerOf(pair) {
  const { meta, sections } = encodeDiff(pair);
  return new DiffAnswer(await decodeDiff(meta, sections));
}

/**
 * @param {DiffAnswer} answer
 * @param {(limit: number) => number} below
 * @returns {DiffState}
 */
function randomState({ model }, below) {
  const range = (/** @type {number} */ side) => {
    const n = model.sides[side].slicePeak.length;
    const lo = below(n);
    return /** @type {[number, number]} */ ([lo, lo + below(n - lo)]);
  };
  return {
    ...defaultDiffState(model.meta),
    ranges: [range(0), range(1)],
    mode: /** @type {const} */ (['peak', 'leaks', 'temporary', 'made'])[below(4)],
    width: /** @type {const} */ (['larger', 'change'])[below(2)],
    hideIrrelevant: below(2) === 0,
    foldImports: below(2) === 0,
  };
}

test('what is shown of base and of new is what a naive sum of their rows gives', async () => {
  for (let seed = 1; seed < 6; seed++) {
    const pair = randomPair(seed);
    const answer = await answerOf(pair);
    const below = randomNumbers(seed);
    for (let i = 0; i < 20; i++) {
      const state = randomState(answer, below);
      answer.ask(state);
      const own = pair.map((profile, side) => naive(profile, state.mode, ...state.ranges[side]));
      const sums = own.map((bytes) => bytes.reduce((a, b) => a + b, 0));
      assert.deepEqual(answer.view.bothBytes(0), sums, 'the root is the sum of all rows');
      assert.deepEqual(answer.bytes, sums);
      const { changed } = answer.functions();
      const change = changed.reduce((sum, { ownBytes: [base, next] }) => sum + next - base, 0);
      assert.equal(change, sums[1] - sums[0], 'own changes add up to the change of the total');
      checkWidths(answer);
    }
  }
});

/**
 * A frame is at least as wide as its larger side, and exactly as wide as its children and what it has itself.
 * @param {DiffAnswer} answer
 */
function checkWidths({ view, widths }) {
  for (let v = 0; v < Math.min(view.n, 200); v++) {
    const children = view.filledChildren(v);
    const below = children.reduce((sum, c) => sum + view.weight(c), 0);
    assert.ok(below <= view.weight(v));
    const [base, next] = view.bothBytes(v);
    assert.ok(view.weight(v) >= Math.abs(next - base));
  }
  assert.equal(view.weight(0), widths.reduce((a, b) => a + b, 0));
}

test('with larger sides, no frame is narrower than either side', async () => {
  const answer = await answerOf(randomPair(3));
  answer.ask(defaultDiffState(answer.model.meta));
  const { view } = answer;
  for (let v = 0; v < view.n; v++) {
    view.children(v);
    assert.ok(view.weight(v) >= Math.max(...view.bothBytes(v)));
  }
  assert.ok(view.n > 20);
});

test('what a hidden frame has makes the frame that it belongs to no wider than its larger side', async () => {
  const frames = ['<root>', 'main', 'machinery'].map((name, i) => ({ function: name, file: 'app', line: 0, flags: i === 2 ? 1 : 0 }));
  const profile = (/** @type {number} */ location) => ({
    frames,
    nodes: [{ parent: -1, frame: 0 }, { parent: 0, frame: 1 }, { parent: 1, frame: 2 }],
    locations: [1, 2].map((node) => ({ node, thread: 0, allocator: 0 })),
    snapshots: [],
    slices: [{ peak: 10, moment: 1 }],
    rows: [{ start: 0, end: NEVER, location, count: 1, bytes: 10 }],
  });
  const answer = await answerOf([profile(0), profile(1)]);
  const usual = defaultDiffState(answer.model.meta);
  answer.ask(usual);
  assert.deepEqual([answer.view.weight(0), answer.view.status(0)], [10, 'same']);
  answer.ask({ ...usual, hideIrrelevant: false });
  assert.equal(answer.view.weight(0), 20, 'each of the stacks is as wide as its larger side');
});

test('a capture is no different from itself', async () => {
  const [base] = randomPair(4);
  const answer = await answerOf([base, base]);
  const below = randomNumbers(4);
  for (let i = 0; i < 10; i++) {
    const state = randomState(answer, below);
    answer.ask({ ...state, ranges: [state.ranges[0], state.ranges[0]], width: 'change' });
    assert.equal(answer.view.weight(0), 0, 'nothing changed, so nothing is wide');
    assert.equal(answer.view.status(0), 'same');
    assert.deepEqual(answer.functions().changed, []);
    assert.equal(explainChange(answer), '0\u00a0bytes (0\u00a0%), 0\u00a0allocations.');
  }
});

test('the other way round, every change has the other sign', async () => {
  const [base, next] = randomPair(5);
  const there = await answerOf([base, next]);
  const back = await answerOf([next, base]);
  const state = defaultDiffState(there.model.meta);
  there.ask(state);
  back.ask({ ...state, ranges: [state.ranges[1], state.ranges[0]] });
  const changes = (/** @type {DiffAnswer} */ answer, /** @type {number} */ sign) => answer.functions().changed
    .map(({ frame, ownBytes, bytes }) => [frame, sign * (ownBytes[1] - ownBytes[0]) || 0, sign * (bytes[1] - bytes[0]) || 0]).sort((a, b) => a[0] - b[0]);
  assert.deepEqual(changes(there, 1), changes(back, -1));
  assert.deepEqual(there.view.weight(0), back.view.weight(0));
});

test('the largest change comes first, whatever its sign', async () => {
  const answer = await answerOf(randomPair(6));
  answer.ask(defaultDiffState(answer.model.meta));
  const rows = sortedChanges(answer.functions().changed, 'change').map(({ ownBytes: [base, next] }) => Math.abs(next - base));
  assert.ok(rows.length > 5);
  assert.deepEqual(rows, rows.toSorted((a, b) => b - a));
  for (const column of COLUMNS) assert.equal(sortedChanges(answer.functions().changed, column).length, rows.length);
});

test('sums alone have no part of the run', async () => {
  const [base, next] = randomPair(7);
  const { meta, sections } = encodeDiff([base, next], { sums: false });
  meta.captures[0] = { ...meta.captures[0], aggregated: true, peak_slice: 4 };
  const answer = new DiffAnswer(await decodeDiff(meta, new Map([...sections].filter(([tag]) => !/TEMP|MADE/.test(tag)))));
  answer.ask({ ...defaultDiffState(meta), ranges: [[0, 0], [0, 0]] });
  assert.deepEqual(answer.slices, [4, 0]);
  answer.ask({ ...defaultDiffState(meta), mode: 'leaks', ranges: [[0, 0], [0, 0]] });
  assert.equal(answer.bytes[0], naive(base, 'leaks', 0, 12).reduce((a, b) => a + b, 0), 'of the whole run');
  answer.ask({ ...defaultDiffState(meta), ranges: [[0, 0], [0, 0]] });
  assert.match(explainSide(0, defaultDiffState(meta), answer, new TimeAxis(answer.model.sides[0].snapshotTime, 1000)), /at the peak of the whole run\.$/);
});

test('a missing section is told', async () => {
  const { meta, sections } = encodeDiff(randomPair(8));
  sections.delete('ROWS1');
  await assert.rejects(decodeDiff(meta, sections), { name: 'DamagedReport', message: 'section ROWS1 is missing' });
});

test('states come back from the address', () => {
  const { meta } = encodeDiff(randomPair(9));
  const below = randomNumbers(9);
  assert.equal(toDiffHash(defaultDiffState(meta), meta), '');
  for (let i = 0; i < 200; i++) {
    const range = (/** @type {number} */ side) => {
      const lo = below(meta.captures[side].counts.snapshots + 1);
      return /** @type {[number, number]} */ ([lo, lo + below(meta.captures[side].counts.snapshots + 1 - lo)]);
    };
    const state = {
      ranges: /** @type {DiffState['ranges']} */ ([range(0), range(1)]),
      scaled: below(2) === 0,
      mode: /** @type {const} */ (['peak', 'leaks', 'temporary', 'made'])[below(4)],
      metric: /** @type {const} */ (['bytes', 'count'])[below(2)],
      width: /** @type {const} */ (['larger', 'change'])[below(2)],
      hideIrrelevant: below(2) === 0,
      foldImports: below(2) === 0,
      query: ['', 'a b&c=d#e', '/größe|日本/', '%41+'][below(4)],
      zoom: Array.from({ length: below(5) }, () => below(meta.counts.frames)),
      sort: COLUMNS[below(COLUMNS.length)],
      units: /** @type {const} */ (['iec', 'si'])[below(2)],
    };
    assert.deepEqual(fromDiffHash(toDiffHash(state, meta), meta), state);
  }
});

test('what is unknown or out of range falls back silently', () => {
  const { meta } = encodeDiff(randomPair(9), { sums: false });
  for (const hash of ['#rb=5-100', '#rn=9-3', '#rb=x', '#m=other', '#m=made', '#m=temporary', '#z=1..2', '#z=9999', '#u=kb', '#h=4', '#f=x', '#w=x', '#s=name', '#x=other', '#zzz', '#%']) {
    assert.deepEqual(fromDiffHash(hash, meta), defaultDiffState(meta), hash);
  }
  meta.captures[0].aggregated = true;
  assert.deepEqual(fromDiffHash('#rb=1-2&rn=1-2', meta).ranges, [[0, 12], [1, 2]]);
});

test('changes have a sign, and none has none', () => {
  assert.equal(bytesChange([0, 1536], 'iec'), '+1.5\u00a0KiB');
  assert.equal(bytesChange([1536, 0], 'si'), '\u22121.5\u00a0kB');
  assert.equal(bytesChange([7, 7], 'iec'), '0\u00a0B');
  assert.equal(countChange([10, 1844]), '+1,834');
  assert.equal(countChange([1844, 10]), '\u22121,834');
  assert.deepEqual([[0, 5], [5, 0], [0, 0], [5, 5], [8, 9], [9, 8], [1e9, 1e9 + 1], [1, 5001]].map((pair) => shareChange(/** @type {[number, number]} */ (pair))),
    ['new', 'gone', '', '0\u00a0%', '+12.5\u00a0%', '\u221211.1\u00a0%', '+<\u00a00.1\u00a0%', '+500,000\u00a0%']);
  assert.deepEqual([statusOf([0, 1], [0, 1]), statusOf([1, 0], [1, 0]), statusOf([1, 2], [1, 1]), statusOf([2, 1], [1, 1]), statusOf([1, 1], [1, 2]), statusOf([1, 1], [1, 1])],
    ['new', 'gone', 'grown', 'shrank', 'grown', 'same']);
});

test('captures are called by as much of their paths as tells them apart', () => {
  assert.deepEqual(shortNames(['/a/b/old.bin', 'new.bin']), ['old.bin', 'new.bin']);
  assert.deepEqual(shortNames(['/runs/1/out.bin', '/runs/2/out.bin']), ['1/out.bin', '2/out.bin']);
  assert.deepEqual(shortNames(['out.bin', '/runs/out.bin']), ['out.bin', 'runs/out.bin']);
  assert.deepEqual(shortNames(['/runs/out.bin', '/runs/out.bin']), ['out.bin', 'out.bin']);
  assert.deepEqual(shortNames(['-', 'out.bin']), ['-', 'out.bin']);
});

test('two runs lie on one time axis, or each fills it', () => {
  const [short, long] = [new TimeAxis(Float64Array.of(10, 20), 30), new TimeAxis(Float64Array.of(50, 100), 150)];
  const limits = { left: Math.min(short.limits.left, long.limits.left), right: Math.max(short.limits.right, long.limits.right) };
  const [a, b] = [new TimeAxis(Float64Array.of(10, 20), 30, limits), new TimeAxis(Float64Array.of(50, 100), 150, limits)];
  assert.equal(a.position(10), b.position(10));
  assert.ok(a.edges[3] < 0.25 && b.edges[3] === 1);
  assert.equal(short.edges[3], 1);
  assert.equal(a.sliceAt(0.9), 2, 'right of its end lies its last slice');
  assert.deepEqual(a.shift(0, 1, 1), { lo: 1, hi: 2 }, 'a range does not leave the run');
});

test('the table as CSV', async () => {
  const pair = randomPair(10);
  pair[0].frames[1].function = 'a "quoted", name';
  pair[1].frames = pair[0].frames;
  const answer = await answerOf(pair);
  answer.ask(defaultDiffState(answer.model.meta));
  const rows = answer.functions().changed;
  const lines = diffCsv(rows, new FrameNames(answer.model.tree, answer.groups)).trimEnd().split('\r\n');
  assert.equal(lines.length, rows.length + 1);
  assert.ok(lines.some((line) => line.includes('"a ""quoted"", name"')));
});
