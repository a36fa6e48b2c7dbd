import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NEVER, decodeModel } from './decode.js';
import { RowStore } from './rows.js';
import { encode, randomNumbers, randomProfile } from './testing.js';

/**
 * The definition, row by row.
 * @param {import('./testing.js').TestProfile} profile
 * @param {(row: import('./testing.js').TestRow) => boolean} counts
 */
function naive(profile, counts) {
  const bytes = new Float64Array(profile.locations.length);
  const count = new Float64Array(profile.locations.length);
  for (const row of profile.rows.filter(counts)) {
    bytes[row.location] += row.bytes;
    count[row.location] += row.count;
  }
  return { bytes, count };
}

for (const indexed of [false, true]) {
  test(`random moves in both modes give what a scan gives (${indexed ? 'with' : 'without'} index)`, async () => {
    // Enough rows for two checkpoints.
    const profile = randomProfile({ seed: 11, nodes: 200, rows: 140_000, snapshots: 50, frames: 50, threads: 2 });
    const { meta, sections } = encode(profile);
    const store = new RowStore(await decodeModel(meta, sections));
    if (indexed) {
      await store.buildIndex();
      assert.equal(store.checkpoints.length, 2);
    }
    const below = randomNumbers(1);
    for (let i = 0; i < (indexed ? 60 : 6); i++) {
      const lo = below(profile.slices.length);
      const hi = lo + below(profile.slices.length - lo);
      const slice = store.peakSlice(lo, hi);
      let expected;
      if (below(2) === 0) {
        store.askPeak(slice);
        expected = naive(profile, (r) => r.start <= 2 * slice && r.end > 2 * slice);
        assert.equal(store.bytes.reduce((a, b) => a + b, 0), profile.slices[slice].peak, 'the root is the slice peak');
      } else {
        store.askLeftOver(lo, hi);
        expected = naive(profile, (r) => r.start >= 2 * lo && r.start <= 2 * hi + 1 && r.end > 2 * hi + 1);
      }
      assert.deepEqual(store.bytes, expected.bytes);
      assert.deepEqual(store.count, expected.count);
    }
  });
}

test('of equal peaks the one with the largest moment is chosen, then the smallest slice', async () => {
  /** @param {[number, number][]} slices */
  const store = async (slices) => {
    const { meta, sections } = encode({
      frames: [{ function: '<root>', file: '', line: 0 }],
      nodes: [{ parent: -1, frame: 0 }],
      locations: [],
      snapshots: slices.slice(1).map((_, i) => ({ time: 10 * i, rss: 1, heap: 1 })),
      slices: slices.map(([peak, moment]) => ({ peak, moment })),
      rows: [],
    });
    return new RowStore(await decodeModel(meta, sections));
  };
  // A plateau: slices 1 to 3 have no records after the peak was last reached in 1.
  const plateau = await store([[5, 3], [9, 7], [9, 7], [9, 7], [4, 8]]);
  assert.equal(plateau.peakSlice(0, 4), 1);
  assert.equal(plateau.peakSlice(2, 4), 2);
  const again = await store([[9, 3], [5, 7], [9, 9], [9, 9], [9, 9]]);
  assert.equal(again.peakSlice(0, 4), 2);
  assert.equal(again.peakSlice(0, 1), 0);
  assert.equal(again.peakSlice(4, 4), 4);
});

test('an empty profile has an answer', async () => {
  const { meta, sections } = encode({ frames: [{ function: '<root>', file: '', line: 0 }], nodes: [{ parent: -1, frame: 0 }], locations: [], snapshots: [], slices: [{ peak: 0, moment: 0 }], rows: [] });
  const store = new RowStore(await decodeModel(meta, sections));
  await store.buildIndex();
  assert.equal(store.peakSlice(0, 0), 0);
  store.askPeak(0);
  store.askLeftOver(0, 0);
  assert.equal(store.bytes.length, 0);
  assert.equal(NEVER, 0xffffffff);
});

/** @param {number} [peakSlice] */
function sums(peakSlice) {
  return encode({
    frames: [{ function: '<root>', file: '', line: 0 }, { function: 'f', file: '', line: 0 }],
    nodes: [{ parent: -1, frame: 0 }, { parent: 0, frame: 1 }],
    locations: [{ node: 0, thread: 0, allocator: 0 }, { node: 1, thread: 0, allocator: 0 }],
    snapshots: [1, 2, 3].map((i) => ({ time: 10 * i, rss: 1, heap: 90 })),
    // Samples elsewhere read as much as the peak, and come later.
    slices: [90, 90, 90, 90].map((peak, moment) => ({ peak, moment })),
    rows: [
      { start: 2, end: 3, location: 0, count: 4, bytes: 40 },
      { start: 2, end: NEVER, location: 1, count: 1, bytes: 50 },
      { start: 3, end: NEVER, location: 0, count: 3, bytes: 7 },
    ],
    meta: { aggregated: true, ...(peakSlice === undefined ? {} : { peak_slice: peakSlice }) },
  });
}

test('of an aggregated capture the peak is that of the slice it names', async () => {
  const { meta, sections } = sums(1);
  const store = new RowStore(await decodeModel(meta, sections));
  for (const indexed of [false, true]) {
    if (indexed) await store.buildIndex();
    assert.equal(store.peakSlice(0, 3), 1);
    store.askPeak(store.peakSlice(0, 3));
    assert.deepEqual([[...store.bytes], [...store.count]], [[40, 50], [4, 1]]);
    store.askLeftOver(0, 3);
    assert.deepEqual([[...store.bytes], [...store.count]], [[7, 50], [3, 1]]);
  }
});

test('an aggregated capture without the slice of its peak is damage', async () => {
  for (const slice of [undefined, -1, 4, 0.5]) {
    const { meta, sections } = sums(slice);
    await assert.rejects(decodeModel(meta, sections), { name: 'DamagedReport' }, String(slice));
  }
});
