import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NEVER, Reader, decodeModel } from './decode.js';
import { Writer, encode, randomProfile } from './testing.js';

const EDGES = [0, 1, 127];
for (let bits = 7; bits <= 53; bits += bits < 49 ? 7 : 4) EDGES.push(2 ** bits - 1, ...(bits < 53 ? [2 ** bits, 2 ** bits + 1] : []));

test('varints are exact up to 2^53', () => {
  assert.deepEqual([...bytesOf((w) => w.unsigned(300))], [0xac, 0x02]);
  const reader = new Reader(bytesOf((w) => EDGES.forEach((v) => w.unsigned(v))));
  assert.deepEqual(EDGES.map(() => reader.unsigned()), EDGES);
  const column = new Reader(bytesOf((w) => EDGES.forEach((v) => w.unsigned(v))));
  assert.deepEqual([...column.column(new Float64Array(EDGES.length))], EDGES);
  column.finish('X');
});

test('signed varints are zig-zag', () => {
  assert.deepEqual([...new Reader(Uint8Array.of(0, 1, 2, 3)).signedDeltas(new Float64Array(4))], [0, -1, 0, -2]);
  const values = EDGES.filter((v) => v < 2 ** 52).flatMap((v) => [v, v === 0 ? 0 : -v]);
  const reader = new Reader(bytesOf((w) => values.forEach((v) => w.signed(v))));
  assert.deepEqual(values.map(() => reader.signed()), values);
});

test('columns pinned by literals', async () => {
  const meta = /** @type {any} */ ({ temporary: true, counts: { strings: 3, frames: 2, nodes: 2, locations: 1, snapshots: 1, rows: 2 } });
  const model = await decodeModel(
    meta,
    new Map([
      ['SNAP', Uint8Array.of(20, 2, 4, 6, 1, 5, 3)],
      ['STRS', Uint8Array.of(0, 1, 4, 0x66, 0x61, 0x2e, 0x70, 0x79)],
      ['FRAM', Uint8Array.of(0, 1, 0, 2, 0, 7, 0, 0, 0, 5)],
      ['NODE', Uint8Array.of(0, 0, 1)],
      ['LOCS', Uint8Array.of(1, 0, 0)],
      ['ROWS', Uint8Array.of(1, 1, 0, 0, 0, 0, 2, 0, 3, 4, 100, 0xac, 2)],
      ['TEMP', Uint8Array.of(6, 0x80, 1)],
    ]),
  );
  assert.deepEqual([...model.snapshotTime, ...model.snapshotRss, ...model.snapshotHeap], [10, 1, 2]);
  assert.deepEqual([...model.slicePeak], [3, 2]);
  assert.deepEqual([...model.sliceMoment], [5, 8]);
  assert.equal(model.string(model.frameFunction[1]) + ' ' + model.string(model.frameFile[1]) + ':' + model.frameLine[1], 'f a.py:7');
  assert.deepEqual([...model.frameFlags], [0, 5]);
  assert.deepEqual([...model.nodeEnd], [2, 2]);
  assert.deepEqual([...model.firstLocation], [0, 0, 1]);
  assert.deepEqual([...model.rowStart], [0, 1, 2, 2, 2]);
  assert.deepEqual([...model.rowEnd], [2, NEVER]);
  assert.deepEqual([...model.rowCount], [3, 4]);
  assert.deepEqual([...model.rowBytes], [100, 300]);
  assert.deepEqual([...model.locationTemporaryCount, ...model.locationTemporaryBytes], [6, 128]);
});

test('what was encoded is decoded', async () => {
  const profile = randomProfile({ seed: 3, nodes: 300, rows: 2000, snapshots: 40, frames: 60, threads: 3 });
  profile.temporary = profile.locations.map((_, l) => ({ count: l % 3, bytes: (l % 3) * 2 ** 40 }));
  profile.frames[1].function = 'größe </script> \u2028 日本';
  const { meta, sections } = encode(profile);
  const model = await decodeModel(meta, sections);
  assert.equal(sections.size, 0, 'sections are let go once read');
  assert.deepEqual([...model.nodeParent].slice(1), profile.nodes.slice(1).map((n) => n.parent));
  assert.deepEqual([...model.nodeFrame], profile.nodes.map((n) => n.frame));
  assert.deepEqual([...model.snapshotRss], profile.snapshots.map((s) => s.rss));
  assert.deepEqual([...model.slicePeak], profile.slices.map((s) => s.peak));
  assert.deepEqual(profile.frames.map((_, f) => model.string(model.frameFunction[f])), profile.frames.map((f) => f.function));
  assert.deepEqual([...model.locationThread], profile.locations.map((l) => l.thread));
  const rows = profile.rows.slice().sort((a, b) => a.start - b.start || a.location - b.location || a.end - b.end);
  assert.deepEqual([...model.rowLocation], rows.map((r) => r.location));
  assert.deepEqual([...model.rowEnd], rows.map((r) => r.end));
  assert.deepEqual([...model.rowBytes], rows.map((r) => r.bytes));
  assert.deepEqual([...model.locationTemporaryCount], profile.temporary.map((t) => t.count));
  assert.deepEqual([...model.locationTemporaryBytes], profile.temporary.map((t) => t.bytes));
  for (let t = 0; t < 2 * profile.slices.length; t++) assert.equal(model.rowStart[t + 1] - model.rowStart[t], rows.filter((r) => r.start === t).length);
  for (let i = 0; i < profile.nodes.length; i++) {
    let end = i + 1;
    while (end < profile.nodes.length && isBelow(profile.nodes, end, i)) end++;
    assert.equal(model.nodeEnd[i], end);
  }
});

test('where temporary allocations are not known there are none', async () => {
  const profile = randomProfile({ seed: 3, nodes: 30, rows: 200, snapshots: 4, frames: 10, threads: 1 });
  const { meta, sections } = encode({ ...profile, meta: { ...profile.meta, temporary: false } });
  assert.ok(!sections.has('TEMP') && !('temporary_threshold' in meta));
  const model = await decodeModel(meta, sections);
  assert.deepEqual([...model.locationTemporaryCount, ...model.locationTemporaryBytes], new Array(2 * profile.locations.length).fill(0));
});

test('sections that are missing, cut or too long are damage', async () => {
  const make = () => encode(randomProfile({ seed: 4, nodes: 50, rows: 100, snapshots: 5, frames: 20, threads: 1 }));
  for (const tag of make().sections.keys()) {
    for (const harm of [() => undefined, (/** @type {Uint8Array} */ b) => b.slice(0, -1), (/** @type {Uint8Array} */ b) => Uint8Array.of(...b, 0)]) {
      const { meta, sections } = make();
      const bytes = harm(/** @type {Uint8Array} */ (sections.get(tag)));
      if (bytes === undefined) sections.delete(tag);
      else sections.set(tag, bytes);
      await assert.rejects(decodeModel(meta, sections), { name: 'DamagedReport' }, tag);
    }
  }
});

/**
 * @param {(writer: Writer) => void} write
 * @returns {Uint8Array}
 */
function bytesOf(write) {
  const writer = new Writer();
  write(writer);
  return writer.finish();
}

/**
 * @param {{parent: number}[]} nodes
 * @param {number} node
 * @param {number} ancestor
 * @returns {boolean}
 */
function isBelow(nodes, node, ancestor) {
  for (let i = node; i > ancestor; i = nodes[i].parent) if (nodes[i].parent === ancestor) return true;
  return false;
}
