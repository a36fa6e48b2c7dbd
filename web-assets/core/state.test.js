import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GROUPS } from './groups.js';
import { defaultState, fromHash, limitsOf, toHash } from './state.js';
import { randomNumbers } from './testing.js';

const limits = { slices: 100, mode: /** @type {'leaks'} */ ('leaks'), threads: 4, allocators: 3, frames: 50, temporary: true, wholeRun: false };

test('the default state leaves the address alone', () => {
  assert.equal(toHash(defaultState(limits), limits), '');
  assert.deepEqual(fromHash('', limits), defaultState(limits));
  assert.deepEqual(fromHash('#', limits), defaultState(limits));
});

test('states come back from the address', () => {
  const below = randomNumbers(9);
  for (let i = 0; i < 200; i++) {
    const lo = below(100);
    const state = {
      lo,
      hi: lo + below(100 - lo),
      mode: /** @type {const} */ (['peak', 'leaks', 'temporary'])[below(3)],
      metric: /** @type {const} */ (['bytes', 'count'])[below(2)],
      direction: /** @type {const} */ (['callers', 'allocators'])[below(2)],
      group: GROUPS[below(4)],
      hideIrrelevant: below(2) === 0,
      foldImports: below(2) === 0,
      collapse: below(2) === 0,
      rootAtBottom: below(2) === 0,
      stacked: below(2) === 0,
      thread: below(5) - 1,
      allocator: below(4) - 1,
      selected: below(50),
      query: ['', 'a b&c=d#e', '/größe|日本/', '%41+'][below(4)],
      zoom: Array.from({ length: below(5) }, () => below(50)),
      units: /** @type {const} */ (['iec', 'si'])[below(2)],
    };
    assert.deepEqual(fromHash(toHash(state, limits), limits), state);
  }
});

test('what is unknown or out of range falls back silently', () => {
  for (const hash of ['#r=5-100', '#r=9-3', '#r=x', '#r=-1-5', '#m=other', '#t=4', '#t=-2', '#z=1..2', '#z=99', '#u=kb', '#h=x', '#v=bu', '#w=x', '#g=file', '#f=50', '#a=3', '#h=4096', '#zzz', '#%', '#r=1e9-2']) {
    assert.deepEqual(fromHash(hash, limits), defaultState(limits), hash);
  }
});

test('a path thousands of frames long is not put into the address', () => {
  assert.equal(toHash({ ...defaultState(limits), zoom: new Array(5000).fill(1) }, limits), '');
});

test('without ranges the address has none, whatever it says', () => {
  const whole = { ...limits, wholeRun: true };
  const state = fromHash('#r=5-9&m=peak&t=2&q=x', whole);
  assert.deepEqual(state, { ...defaultState(whole), mode: 'peak', thread: 2, query: 'x' });
  assert.equal(toHash(state, whole), '#m=peak&t=2&q=x');
});

test('a capture of sums, or without a snapshot, has no ranges', () => {
  const counts = { strings: 1, frames: 50, nodes: 1, locations: 0, snapshots: 99, rows: 0 };
  const meta = /** @type {import('./decode.js').Meta} */ ({ mode: 'leaks', threads: ['a', 'b', 'c', 'd'], allocators: ['x', 'y', 'z'], temporary: true, counts });
  assert.deepEqual(limitsOf(meta), limits);
  assert.deepEqual(limitsOf({ ...meta, aggregated: false }), limits);
  assert.deepEqual(limitsOf({ ...meta, aggregated: true }), { ...limits, wholeRun: true });
  assert.deepEqual(limitsOf({ ...meta, counts: { ...counts, snapshots: 0 } }), { ...limits, slices: 1, wholeRun: true });
});
