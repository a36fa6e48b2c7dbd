// What other programs read out of our exports adds up to what our JSON says.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { gunzipSync } from 'node:zlib';

import { read } from './speedscope.mjs';

const root = new URL('../../', import.meta.url);
const { Profile } = await import(
  new URL('web-assets/node_modules/pprof-format/dist/esm/index.js', root)
);

const CAPTURES = [
  'v06-threads', 'v08-greenlets', 'v11-aggregate-threads', 'v13-aggregate', 'v13-etl', 'v13-mmap', 'v13-native-cpp',
  'v13-synthetic-unbalanced', 'v13-threads', 'v13-webapp',
];

/** Outputs of a capture, from one reading. */
function build(capture, options = []) {
  const folder = mkdtempSync(join(tmpdir(), 'memreport-'));
  try {
    const formats = ['json', 'speedscope', 'collapsed', 'pprof'];
    const file = (format) => join(folder, `out.${format}`);
    const outputs = formats.flatMap((format) => [`--${format}`, file(format)]);
    const path = new URL(`tests/captures/${capture}.bin`, root).pathname;
    const args = ['build', path, '-q', '--no-symbols', '-o', join(folder, 'out.html'), ...outputs, ...options];
    execFileSync(process.env.MEMREPORT, args, { stdio: ['ignore', 'ignore', 'ignore'] });
    return Object.fromEntries(formats.map((format) => [format, readFileSync(file(format))]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Frames of a stack as texts, outermost first, and its bytes, by stack; stacks without bytes left out. */
function stacks(document, section, value) {
  const sums = new Map();
  for (const row of document[section].merged.rows) {
    const frames = document.stacks[row[2]].map((frame) => {
      const [name, file, line] = document.frames[frame];
      return line > 0 ? `${name} (${file}:${line})` : name;
    });
    const stack = frames.reverse().join(';');
    if (row[value] > 0) sums.set(stack, (sums.get(stack) ?? 0) + row[value]);
  }
  return sums;
}

const sorted = (sums) => [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
const total = (sums) => [...sums.values()].reduce((sum, value) => sum + value, 0);
const SECTIONS = { peak: 'high_water_mark', leaks: 'leaks', temporary: 'temporary_1' };
const [BYTES, ALLOCATIONS] = [4, 5];

for (const capture of CAPTURES) {
  test(`speedscope reads ${capture}`, async () => {
    const outputs = build(capture);
    const document = JSON.parse(outputs.json);
    const { profiles } = await read('out.speedscope.json', outputs.speedscope);
    assert.equal(profiles.length, capture.includes('aggregate') ? 4 : 6);
    for (const { name, total: weight, stacks: shown } of profiles) {
      const [, what, view] = /^(\w+) \((\w+)/.exec(name);
      const expected = stacks(document, SECTIONS[view], what === 'Memory' ? BYTES : ALLOCATIONS);
      expected.delete('');
      assert.equal(weight, total(expected), name);
      assert.deepEqual(sorted(shown), sorted(expected), name);
    }
    for (const format of ['collapsed', 'pprof']) {
      const { profiles: [profile] } = await read(`out.${format}`, outputs[format]);
      assert.equal(profile.total, document.high_water_mark.merged.bytes, format);
    }
  });

  test(`a reader of pprof's format reads ${capture}`, () => {
    for (const [option, prefix, section] of [
      [[], 'inuse', 'high_water_mark'],
      [['--leaks'], 'leaked', 'leaks'],
      [['--temporary-allocations'], 'temporary', 'temporary_1'],
    ]) {
      const aggregated = capture.includes('aggregate');
      if (aggregated && prefix === 'temporary') continue;
      const outputs = build(capture, option);
      const document = JSON.parse(outputs.json);
      const profile = Profile.decode(gunzipSync(outputs.pprof));
      const text = (number) => profile.stringTable.strings[Number(number)];
      const types = profile.sampleType.map(({ type, unit }) => `${text(type)} ${text(unit)}`);
      const shown = [`${prefix}_objects count`, `${prefix}_space bytes`];
      assert.deepEqual(types, aggregated ? shown : ['alloc_objects count', 'alloc_space bytes', ...shown]);
      assert.equal(text(profile.defaultSampleType), `${prefix}_space`);
      const values = types.map((_, i) => profile.sample.reduce((sum, { value }) => sum + Number(value[i]), 0));
      const { allocations, bytes } = document[section].merged;
      assert.deepEqual(values.slice(-2), [allocations, bytes]);
      if (!aggregated) {
        const { total_num_allocations, total_memory_allocated } = document.stats;
        assert.deepEqual(values.slice(0, 2), [total_num_allocations, total_memory_allocated]);
      }
      assert.equal(BigInt(profile.timeNanos), BigInt(document.metadata.start_time_ms) * 1_000_000n);
      const mappings = new Set(profile.mapping.map(({ id }) => id));
      const functions = new Map(profile.function.map((of) => [of.id, of]));
      const locations = new Map(profile.location.map((of) => [of.id, of]));
      const sums = new Map();
      for (const { locationId, value } of profile.sample) {
        const frames = locationId.map((id) => {
          const location = locations.get(id);
          assert.ok(mappings.has(location.mappingId));
          const [line] = location.line;
          const { name, filename } = functions.get(line.functionId);
          return line.line > 0 ? `${text(name)} (${text(filename)}:${line.line})` : text(name);
        });
        const stack = frames.reverse().join(';').replace('<stack trace unavailable>', '');
        const size = Number(value.at(-1));
        if (size > 0) sums.set(stack, (sums.get(stack) ?? 0) + size);
      }
      assert.deepEqual(sorted(sums), sorted(stacks(document, section, BYTES)), prefix);
    }
  });
}
