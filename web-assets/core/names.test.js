import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeModel } from './decode.js';
import { FrameNames, HUES } from './names.js';
import { encode } from './testing.js';

const LONG = 'f'.repeat(4000);

async function names() {
  const { meta, sections } = encode({
    frames: [
      { function: '<root>', file: '', line: 0 },
      { function: 'load', file: '/home/ana/shop/catalog.py', line: 40 },
      { function: 'load', file: 'C:\\Users\\bo\\shop\\catalog.py', line: 41, source: '    rows = read()\n' },
      { function: LONG, file: '', line: 0 },
      { function: 'load', file: '/srv/shop/catalog.py', line: 7, flags: 5 },
    ],
    nodes: [{ parent: -1, frame: 0 }],
    locations: [],
    snapshots: [],
    slices: [{ peak: 0, moment: 0 }],
    rows: [],
  });
  return new FrameNames(await decodeModel(meta, sections));
}

test('a rectangle shows the source line, else function and file', async () => {
  const of = await names();
  assert.equal(of.label(1), 'load catalog.py:40');
  assert.equal(of.label(2), 'rows = read()');
  assert.equal(of.label(3), LONG);
  assert.equal(of.place(1), '/home/ana/shop/catalog.py:40');
  assert.equal(of.place(3), '');
});

test('the same file has the same hue on every machine', async () => {
  const of = await names();
  assert.equal(of.hue(1), of.hue(4));
  for (let f = 0; f < 5; f++) assert.ok(of.hue(f) >= 0 && of.hue(f) < HUES);
});

test('native frames have hues of their own', async () => {
  const of = await names();
  assert.deepEqual([1, 4].map((f) => of.isNative(f)), [false, true]);
  assert.equal(of.shade(1), of.hue(1));
  assert.equal(of.shade(4), of.hue(1) + HUES);
});
