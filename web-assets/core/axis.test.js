import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TimeAxis } from './axis.js';
import { argmax, peakColumns, reduceCurve } from './columns.js';
import { randomNumbers } from './testing.js';

test('slices at the ends keep a visible width', () => {
  const axis = new TimeAxis(Float64Array.of(0, 500, 1000), 1000);
  assert.deepEqual([...axis.times], [0, 0, 500, 1000, 1000]);
  assert.ok(axis.edges[1] - axis.edges[0] > 0.003);
  assert.ok(axis.edges[4] - axis.edges[3] > 0.003);
  assert.equal(axis.sliceAt(0), 0);
  assert.equal(axis.sliceAt(1), 3);
});

test('clocks may run backwards, and the last snapshot may come after the end', () => {
  const axis = new TimeAxis(Float64Array.of(10, 5, 30, -3, 40), 35);
  assert.deepEqual([...axis.times], [0, 10, 10, 30, 30, 40, 40]);
  for (let s = 0; s < axis.slices; s++) assert.ok(axis.edges[s + 1] >= axis.edges[s]);
  assert.equal(axis.edges[axis.slices], 1);
});

test('no or one snapshot, no time at all', () => {
  assert.equal(new TimeAxis(new Float64Array(0), 0).slices, 1);
  const axis = new TimeAxis(Float64Array.of(0), 0);
  assert.ok(axis.edges.every(Number.isFinite));
  assert.equal(axis.sliceAt(0.1), 0);
  assert.equal(axis.sliceAt(0.9), 1);
});

test('a moved window stays inside and keeps its width', () => {
  const axis = new TimeAxis(Float64Array.from({ length: 99 }, (_, i) => 10 * (i + 1)), 1000);
  for (let by = -1; by <= 1; by += 0.013) {
    const { lo, hi } = axis.shift(20, 39, by);
    assert.ok(lo >= 0 && hi < 100);
    assert.ok(Math.abs(hi - lo - 19) <= 1, `${lo}-${hi}`);
    assert.equal(axis.shift(50, 50, by).lo, axis.shift(50, 50, by).hi);
  }
  assert.deepEqual(axis.shift(20, 39, 0), { lo: 20, hi: 39 });
});

test('however many points there are, few are drawn and the extremes stay', () => {
  const below = randomNumbers(8);
  const values = Float64Array.from({ length: 60_000 }, () => below(1e9));
  values[41_234] = 5e9;
  values[7] = -1;
  const points = reduceCurve(values.length, (i) => Math.floor(i / 50), values);
  assert.ok(points.length <= 2 * 1200);
  assert.equal(Math.max(...points.map((p) => p.value)), 5e9);
  assert.equal(Math.min(...points.map((p) => p.value)), -1);
  for (let i = 1; i < points.length; i++) assert.ok(points[i].column >= points[i - 1].column);
  assert.equal(argmax(values), 41_234);
  assert.deepEqual(reduceCurve(1, () => 3, Float64Array.of(9)), [{ column: 3, value: 9 }]);
  assert.deepEqual(reduceCurve(0, () => 0, new Float64Array(0)), []);
});

test('a spike inside one slice is at least two columns wide', () => {
  const slices = 10_000;
  const edges = Float64Array.from({ length: slices + 1 }, (_, i) => i / slices);
  const peaks = new Float64Array(slices).fill(10);
  for (const spike of [0, 5432, slices - 1]) peaks[spike] = 99;
  const columns = peakColumns(edges, peaks, 800, 2);
  const high = [...columns.keys()].filter((c) => columns[c] === 99);
  assert.deepEqual(high, [0, 1, 434, 435, 798, 799]);
  assert.ok(columns.every((v) => v >= 10));
});
