import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filtered, isNumber, sorted } from './table_rows.js';

/** @type {import('./table_rows.js').TableRow[]} */
const ROWS = [
  [10, 2, '0x1 (main)', 'malloc', 'load at app.py:3'],
  [9, 7, '0x2 (Worker)', 'mmap', 'grow at pool.py:7'],
  [100, 2, '0x1 (main)', 'mmap', '??? '],
];
const sizes = (/** @type {import('./table_rows.js').TableRow[]} */ rows) => rows.map(([size]) => size);

test('any text of a row is searched, in whatever case, and no number', () => {
  assert.deepEqual(sizes(filtered(ROWS, ' ')), [10, 9, 100]);
  assert.deepEqual(sizes(filtered(ROWS, 'WORKER')), [9]);
  assert.deepEqual(sizes(filtered(ROWS, 'mmap')), [9, 100]);
  assert.deepEqual(sizes(filtered(ROWS, '100')), []);
});

test('numbers are sorted as numbers, and equals keep their order', () => {
  assert.deepEqual(sizes(sorted(ROWS, 0, true)), [100, 10, 9]);
  assert.deepEqual(sizes(sorted(ROWS, 1, false)), [10, 100, 9]);
  assert.deepEqual(sizes(sorted(ROWS, 4, false)), [100, 9, 10]);
  assert.deepEqual(sizes(ROWS), [10, 9, 100]);
  assert.ok(isNumber(1) && !isNumber(2));
});
