import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteTicks, formatAxisBytes, formatAxisTime, formatBytes, formatCount, formatNumberOf, formatPercent, formatTime, timeTicks } from './format.js';

/** @param {string} text */
const plain = (text) => text.replaceAll('\u00a0', ' ');

test('sizes are spelled out in the unit asked for', () => {
  assert.equal(plain(formatBytes(0, 'iec')), '0 B');
  assert.equal(plain(formatBytes(1023, 'iec')), '1023 B');
  assert.equal(plain(formatBytes(1024, 'iec')), '1.0 KiB');
  assert.equal(plain(formatBytes(1000, 'si')), '1.0 kB');
  assert.equal(plain(formatBytes(165.9 * 1024 * 1024, 'iec')), '165.9 MiB');
  assert.equal(plain(formatBytes(-1536, 'iec')), '\u22121.5 KiB');
  assert.equal(plain(formatBytes(2 ** 53, 'iec')), '8.0 PiB');
  assert.equal(plain(formatBytes(6 * 2 ** 60, 'iec')), '6.0 EiB');
});

test('a size never rounds up to a whole next unit in the smaller one', () => {
  assert.equal(plain(formatBytes(1024 * 1024 - 1, 'iec')), '1.0 MiB');
  assert.equal(plain(formatBytes(999_999, 'si')), '1.0 MB');
  assert.equal(plain(formatBytes(1023.9 * 1024, 'iec')), '1023.9 KiB');
});

test('times carry minutes and hours, rounded once', () => {
  assert.equal(plain(formatTime(22_175, 3)), '22.175 s');
  assert.equal(plain(formatTime(59_960, 1)), '1 min 00.0 s');
  assert.equal(plain(formatTime(187_200, 1)), '3 min 07.2 s');
  assert.equal(plain(formatTime(3_723_000, 0)), '1 h 02 min 03 s');
});

test('shares and counts', () => {
  assert.equal(plain(formatPercent(216, 1000)), '21.6 %');
  assert.equal(plain(formatPercent(1, 1000)), '0.10 %');
  assert.equal(plain(formatPercent(1, 1e9)), '< 0.01 %');
  assert.equal(plain(formatPercent(5, 5)), '100 %');
  assert.equal(plain(formatPercent(0, 0)), '0 %');
  assert.equal(formatCount(1834211), '1,834,211');
  assert.equal(plain(formatNumberOf(1, 'byte')), '1 byte');
  assert.equal(plain(formatNumberOf(2000, 'byte')), '2,000 bytes');
});

test('ticks of sizes are round, few, and meet the next unit exactly', () => {
  for (const units of /** @type {const} */ (['iec', 'si'])) {
    for (let max = 1; max < 1e13; max *= 1.7) {
      const ticks = byteTicks(max, 4, units);
      assert.ok(ticks.length <= 6, `${ticks.length} ticks up to ${max}`);
      assert.ok(ticks[ticks.length - 1] <= max);
      const texts = ticks.map((t) => formatAxisBytes(t, units));
      assert.equal(new Set(texts).size, texts.length, texts.join());
    }
  }
});

test('ticks of times are round', () => {
  const { step, ticks } = timeTicks(30_000, 6);
  assert.equal(step, 5000);
  assert.deepEqual(ticks.map((t) => plain(formatAxisTime(t, step))), ['0 s', '5 s', '10 s', '15 s', '20 s', '25 s', '30 s']);
  assert.deepEqual(timeTicks(0, 6), { step: 1, ticks: [0] });
  assert.equal(formatAxisTime(90_000, 30_000), '1:30');
  assert.equal(formatAxisTime(3_690_000, 30_000), '1:01:30');
});
