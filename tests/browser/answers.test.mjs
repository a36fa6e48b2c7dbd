// The numbers that the page shows are those of the same pass's JSON, to the byte.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectedBytes, isAggregated } from './expected.mjs';
import { captureNames, open, randomNumbers, report, withBrowser } from './support.mjs';

withBrowser();

const RANGES = 20;
const THREADS = 4;
const GROUPS = ['line', 'function', 'module', 'package'];

// Sizes of 2^60 and more are exact in JSON and in Rust, but no number of JavaScript's.
const exact = captureNames().filter((name) => name !== 'v13-synthetic-huge');

/** Random states: each range in each mode, in any shape, for all threads and for some. */
function states(profile, below) {
  const slices = profile.slices?.length ?? 1;
  const numbers = Object.keys(profile.threads).map(Number);
  const modes = isAggregated(profile) ? ['peak', 'leaks'] : ['peak', 'leaks', 'temporary'];
  const out = [];
  for (let i = 0; i < RANGES; i++) {
    const [lo, hi] = [below(slices), below(slices)].sort((a, b) => a - b);
    for (const mode of modes) {
      const flip = () => below(2) === 0;
      const shape = {
        direction: flip() ? 'callers' : 'allocators',
        group: GROUPS[below(4)],
        hideIrrelevant: flip(),
        foldImports: flip(),
        collapse: flip(),
        metric: flip() ? 'bytes' : 'count',
      };
      out.push({ lo, hi, mode, thread: null, shape });
      if (i < THREADS && numbers.length > 1) out.push({ lo, hi, mode, thread: numbers[below(numbers.length)], shape });
    }
  }
  return out;
}

test('the root shows what the profile has: by range, mode and thread, in every shape', async (t) => {
  for (const name of exact) {
    await t.test(name, async () => {
      const { url, profile } = report(name);
      const { page, problems, close } = await open(url);
      assert.equal(await page.evaluate(() => window.memreport.rootBytes()), profile.metadata.peak_memory);
      const asked = states(profile, randomNumbers(name.length));
      const shown = await page.evaluate((all) => {
        const labels = Array.from(document.querySelectorAll('#thread option'), (option) => option.textContent);
        return all.map(({ lo, hi, mode, thread, shape }) => {
          const index = thread === null ? -1 : labels.findIndex((label) => Number(label.split(' ')[0]) === thread) - 1;
          void window.memreport.set({ lo, hi, mode, thread: index, ...shape });
          return window.memreport.rootBytes();
        });
      }, asked.map((state) => (isAggregated(profile) ? { ...state, lo: 0, hi: profile.snapshots.length } : state)));
      asked.forEach((state, i) => assert.equal(shown[i], expectedBytes(profile, state), JSON.stringify(state)));
      assert.deepEqual(problems, []);
      await close();
    });
  }
});

test('a size beyond what JavaScript counts exactly still opens', async () => {
  const { url } = report('v13-synthetic-huge');
  const { page, problems, close } = await open(url);
  assert.ok((await page.evaluate(() => window.memreport.rootBytes())) > 2 ** 62);
  assert.deepEqual(problems, []);
  await close();
});

test('browsers without a gzip stream read the page too', async () => {
  const { url, profile } = report('v13-threads');
  const { page, problems, close } = await open(`${url}?fallback`);
  assert.equal(await page.evaluate(() => window.memreport.rootBytes()), profile.metadata.peak_memory);
  assert.deepEqual(problems, []);
  await close();
});

test('--leaks opens with what was left over', async () => {
  const { url, profile } = report('v13-leaky', '--leaks');
  const { page, close } = await open(url);
  const { mode, bytes } = await page.evaluate(() => ({ mode: window.memreport.info.mode, bytes: window.memreport.rootBytes() }));
  assert.equal(mode, 'leaks');
  assert.equal(bytes, profile.leaks.merged.bytes);
  await close();
});
