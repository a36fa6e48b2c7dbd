import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeModel } from './decode.js';
import { FrameGroups } from './groups.js';
import { FrameNames, HUES, lastParts } from './names.js';
import { INSTALLED, NATIVE, OWN, STANDARD, originOf } from './origin.js';
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
      { function: 'loads', file: '/usr/lib/python3.12/json/__init__.py', line: 299 },
      { function: 'decode', file: '/opt/py/lib/python3.11/json/decoder.py', line: 337 },
      { function: 'get', file: '/v/lib/python3.12/site-packages/requests/api.py', line: 60 },
    ],
    nodes: [{ parent: -1, frame: 0 }],
    locations: [],
    snapshots: [],
    slices: [{ peak: 0, moment: 0 }],
    rows: [],
  });
  const model = await decodeModel(meta, sections);
  return new FrameNames(model, new FrameGroups(model));
}

test('a rectangle shows the source line, else function and file, or the group', async () => {
  const of = await names();
  assert.equal(of.label(1, 'line'), 'load catalog.py:40');
  assert.equal(of.label(2, 'line'), 'rows = read()');
  assert.equal(of.label(2, 'function'), 'load catalog.py');
  assert.equal(of.label(3, 'line'), LONG);
  assert.equal(of.label(1, 'module'), 'shop/catalog.py');
  assert.equal(of.label(1, 'package'), 'ana/shop');
  assert.equal(of.label(5, 'module'), 'json');
  assert.equal(of.label(6, 'module'), 'json.decoder');
  assert.equal(of.label(7, 'package'), 'requests');
  assert.equal(of.place(1, 'line'), '/home/ana/shop/catalog.py:40');
  assert.equal(of.place(1, 'function'), '/home/ana/shop/catalog.py');
  assert.equal(of.place(3, 'line'), '');
});

test('colours stand for files and packages, the same on every machine', async () => {
  const of = await names();
  assert.equal(of.shade(1), of.shade(2));
  assert.equal(of.shade(5), of.shade(6));
  for (const [frame, kind] of [[1, OWN], [4, NATIVE], [5, STANDARD], [7, INSTALLED]]) assert.equal(Math.floor(of.shade(frame) / HUES), kind);
  assert.equal(of.shade(4) % HUES, of.shade(1) % HUES);
  assert.deepEqual([1, 4].map((f) => of.isNative(f)), [false, true]);
  assert.deepEqual([1, 4, 5, 7].map((f) => of.kind(f)), ['', 'native', 'standard library', 'installed package']);
});

test('paths tell whose code they hold', () => {
  const cases = /** @type {const} */ ([
    ['/usr/lib/python3/dist-packages/yaml/loader.py', INSTALLED, 'yaml.loader', 'yaml'],
    ['/v/lib/python3.12/site-packages/six.py', INSTALLED, 'six', 'six'],
    ['C:\\Python312\\Lib\\site-packages\\numpy\\__init__.py', INSTALLED, 'numpy', 'numpy'],
    ['C:\\Python312\\Lib\\json\\decoder.py', STANDARD, 'json.decoder', 'json'],
    ['/usr/lib64/python3.13t/asyncio/base_events.py', STANDARD, 'asyncio.base_events', 'asyncio'],
    ['/usr/lib/python3.11/lib-dynload/_json.cpython-311.so', STANDARD, '_json.cpython-311', '_json'],
    ['<frozen importlib._bootstrap>', STANDARD, 'importlib._bootstrap', 'importlib'],
    ['<string>', OWN, '<string>', '<string>'],
    ['app.py', OWN, 'app.py', 'app.py'],
    ['/srv/app/shop/main.py', OWN, '/srv/app/shop/main.py', '/srv/app/shop'],
    ['', OWN, '', ''],
  ]);
  for (const [file, kind, module, name] of cases) assert.deepEqual(originOf(file, false), { kind, module, package: name });
  assert.deepEqual(originOf('/build/Objects/listobject.c', true), { kind: NATIVE, module: '/build/Objects/listobject.c', package: '/build/Objects' });
});

test('paths are cut at their last parts', () => {
  assert.equal(lastParts('/a/b/c.py', 1), 'c.py');
  assert.equal(lastParts('/a/b/c.py', 2), 'b/c.py');
  assert.equal(lastParts('C:\\a\\c.py', 2), 'a\\c.py');
  assert.equal(lastParts('c.py', 2), 'c.py');
});
