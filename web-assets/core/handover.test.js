import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handOver, takeOver } from './handover.js';

test('what is handed over can be taken once', () => {
  const before = Object.keys(globalThis);
  const payload = { meta: /** @type {any} */ ({}), sections: new Map() };
  handOver(payload);
  assert.equal(takeOver(), payload);
  assert.deepEqual(Object.keys(globalThis), before);
  assert.throws(takeOver, /nothing was read/);
});
