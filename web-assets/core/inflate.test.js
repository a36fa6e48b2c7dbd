import assert from 'node:assert/strict';
import { test } from 'node:test';
import zlib from 'node:zlib';
import { crc32, gunzip } from './inflate.js';
import { inflateSection } from './payload.js';
import { randomNumbers, toParts } from './testing.js';

const below = randomNumbers(5);
const samples = {
  empty: Buffer.alloc(0),
  text: Buffer.from('allocated and not freed '.repeat(2000)),
  random: Buffer.from(Uint8Array.from({ length: 70_000 }, () => below(256))),
  skewed: Buffer.from(Uint8Array.from({ length: 200_000 }, () => below(1 + below(200)))),
};

for (const [name, bytes] of Object.entries(samples)) {
  for (const [kind, options] of Object.entries({
    stored: { level: 0 },
    fixed: { strategy: zlib.constants.Z_FIXED },
    dynamic: { level: 6 },
    best: { level: 9 },
  })) {
    test(`${name} bytes in ${kind} blocks come out as they went in`, () => {
      const out = gunzip(zlib.gzipSync(bytes, options), bytes.length);
      assert.ok(Buffer.from(out).equals(bytes));
    });
  }
}

test('the checksum is that of gzip', () => {
  assert.equal(crc32(new TextEncoder().encode('123456789')), 0xcbf43926);
});

test('a header with name, comment and extra field is skipped', () => {
  const packed = zlib.gzipSync(samples.text);
  const extra = Buffer.concat([packed.subarray(0, 3), Buffer.from([4 | 8 | 16 | 2]), packed.subarray(4, 10), Buffer.from([2, 0, 9, 9]), Buffer.from('name\0comment\0'), Buffer.from([1, 2]), packed.subarray(10)]);
  assert.equal(Buffer.from(gunzip(extra, samples.text.length)).toString(), samples.text.toString());
});

test('damage never goes unnoticed and never hangs', () => {
  const packed = zlib.gzipSync(samples.skewed.subarray(0, 3000));
  for (let at = 10; at < packed.length; at += 7) {
    const broken = Buffer.from(packed);
    broken[at] ^= 0x55;
    assert.throws(() => gunzip(broken, 3000));
    assert.throws(() => gunzip(packed.subarray(0, at), 3000));
  }
  assert.throws(() => gunzip(packed, 2999));
  assert.throws(() => gunzip(packed, 3001));
});

for (const fallback of [false, true]) {
  test(`a section survives its parts; damage is reported (${fallback ? 'own' : 'native'} decoder)`, async () => {
    const bytes = new Uint8Array(samples.random);
    const parts = await toParts(bytes, 4096);
    assert.ok(parts.length > 10);
    assert.deepEqual(await inflateSection('ROWS', parts, bytes.length, fallback), bytes);
    const isDamage = { name: 'DamagedReport', message: /section ROWS/ };
    await assert.rejects(inflateSection('ROWS', parts.slice(0, -1), bytes.length, fallback), isDamage);
    await assert.rejects(inflateSection('ROWS', parts, bytes.length + 1, fallback), isDamage);
    await assert.rejects(inflateSection('ROWS', parts, bytes.length - 1, fallback), isDamage);
    await assert.rejects(inflateSection('ROWS', ['not base64!'], 10, fallback), isDamage);
    const swapped = [parts[0], parts[2], parts[1], ...parts.slice(3)];
    await assert.rejects(inflateSection('ROWS', swapped, bytes.length, fallback), isDamage);
  });
}
