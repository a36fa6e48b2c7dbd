// Pictures of the page, in the folder that PICTURES names, if it does; and that there is something in them.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { diffOf, open, report, settled, withBrowser } from './support.mjs';

withBrowser();

const PICTURES = process.env.PICTURES;
if (PICTURES) mkdirSync(PICTURES, { recursive: true });

/** How many colours the flame graph has. */
const colours = (page) => page.evaluate(() => {
  const canvas = document.querySelector('#flame');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4 * 97) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
  return seen.size;
});

/** By name: capture, options of the browser, and what to do before the picture is taken. */
const scenes = {
  light: ['v13-webapp', {}, async () => {}],
  dark: ['v13-webapp', { colorScheme: 'dark' }, async () => {}],
  'left-over': ['v13-leaky', {}, (page) => page.locator('[data-mode=leaks]').click()],
  temporary: ['v13-etl', {}, async (page) => {
    await page.locator('[data-mode=temporary]').click();
    await page.locator('[data-direction=allocators]').click();
  }],
  search: ['v13-etl', { colorScheme: 'dark' }, async (page) => {
    await page.locator('#search').fill('json');
    await page.keyboard.press('Enter');
  }],
  // The README's.
  stacked: ['v13-webapp', { viewport: { width: 1400, height: 1080 } }, async (page) => {
    await page.locator('#stack-switch').click();
    await page.locator('[data-series=rss]').click();
    await page.locator('#layers button').first().waitFor();
  }],
  sandwich: ['v13-webapp', {}, (page) => page.evaluate(async () => {
    const row = (frame) => window.memreport.set({ selected: frame });
    await row(window.memreport.info.frames > 30 ? 30 : 1);
  })],
  narrow: ['v13-threads', { viewport: { width: 1000, height: 800 } }, async () => {}],
  low: ['v13-etl', { viewport: { width: 1200, height: 600 } }, async () => {}],
  wide: ['v13-native-cpp', { viewport: { width: 2560, height: 1300 } }, async () => {}],
  damaged: ['v13-killed', {}, async () => {}],
  help: ['v13-etl', { colorScheme: 'dark' }, (page) => page.locator('#help-button').click()],
};

/** The same of pages of two captures; `diff` and `diff-changes` are the README's. */
const diffScenes = {
  diff: [['v13-regress-before', 'v13-regress-after'], { viewport: { width: 1400, height: 880 } }, async () => {}],
  'diff-dark': [['v13-regress-before', 'v13-regress-after'], { colorScheme: 'dark' }, async () => {}],
  'diff-changes': [['v13-etl-py39', 'v13-etl-py314'], { viewport: { width: 1400, height: 880 } }, (page) => page.locator('[data-width=change]').click()],
  'diff-search': [['v08-etl', 'v13-etl'], { colorScheme: 'dark' }, (page) => page.locator('#search').fill('json')],
  'diff-narrow': [['v13-regress-before', 'v13-regress-after'], { viewport: { width: 800, height: 900 } }, async () => {}],
  'diff-warnings': [['v12-aggregate', 'v13-killed'], {}, async () => {}],
};

const pages = [
  ...Object.entries(scenes).map(([name, [capture, ...how]]) => [name, () => report(capture), ...how]),
  ...Object.entries(diffScenes).map(([name, [captures, ...how]]) => [name, () => diffOf(...captures), ...how]),
];

for (const [name, make, options, act] of pages) {
  test(`the page looks like a report: ${name}`, async () => {
    const { page, problems, close } = await open(make().url, options);
    await act(page);
    await settled(page);
    assert.ok((await colours(page)) > 2);
    if (PICTURES) await page.screenshot({ path: join(PICTURES, `${name}.png`) });
    assert.deepEqual(problems, []);
    await close();
  });
}
