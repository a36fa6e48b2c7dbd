// However the page got to a state, it shows the same as a fresh page with that address.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open, randomNumbers, report, settled, withBrowser } from './support.mjs';

withBrowser();

const STEPS = 25;

/** All that can be seen: words, controls, and the pixels of the graphs and the chart. */
const seen = (page) => page.evaluate(() => {
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const words = Object.fromEntries(['explain', 'caution', 'view-title', 'hit', 'selected', 'note', 'gap', 'functions', 'layers', 'facts', 'command']
    .map((id) => [id, document.getElementById(id).hidden ? 'hidden' : document.getElementById(id).innerText]));
  const controls = all('button, input, select').filter((e) => e.closest('tbody') === null && (e.checkVisibility() || e.closest('.menu') !== null))
    .map((e) => [e.id || e.textContent, e.disabled, e.checked ?? e.getAttribute('aria-pressed'), e.value]);
  const pixels = all('#timeline canvas, #callers:not([hidden]) canvas, #tree canvas').map((canvas) => {
    const { data, width, height } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let hash = 0x811c9dc5;
    for (let i = 0; i < data.length; i++) hash = Math.imul(hash ^ data[i], 0x01000193);
    return [width, height, hash >>> 0];
  });
  const handles = ['brush-start', 'brush-end', 'peak-slice'].map((id) => document.getElementById(id)).map((e) => (e.hidden ? 'hidden' : e.style.left));
  return { words, controls, pixels, handles, bytes: window.memreport.rootBytes() };
});

/** Something that people do, at random. */
async function doSomething(page, below) {
  const choices = [
    () => page.locator(['[data-mode=peak]', '[data-mode=leaks]', '[data-mode=temporary]'][below(3)]).click(),
    () => clickIfPossible(page.locator(['[data-direction=callers]', '[data-direction=allocators]'][below(2)])),
    () => page.locator('#group').selectOption(['line', 'function', 'module', 'package'][below(4)]),
    () => flip(page, 'hideIrrelevant'),
    () => flip(page, ['foldImports', 'collapse', 'rootAtBottom'][below(3)]),
    () => flip(page, 'stacked'),
    () => page.evaluate((metric) => window.memreport.set({ metric }), ['bytes', 'count'][below(2)]),
    () => page.locator('#search').fill(['', 'json', '/^_/', 'no such name'][below(4)]),
    () => page.locator(['[data-units=iec]', '[data-units=si]'][below(2)]).click(),
    () => clickIfPossible(page.locator('#range-buttons button').nth(below(5))),
    () => page.evaluate(([a, b]) => {
      const last = window.memreport.info.snapshots;
      const [lo, hi] = [Math.floor(a * last), Math.floor(b * last)].sort((x, y) => x - y);
      return window.memreport.setRange(lo, hi);
    }, [below(1000) / 1000, below(1000) / 1000]),
    () => clickGraph(page, below, []),
    () => clickGraph(page, below, ['Shift']),
    () => page.keyboard.press('Escape'),
    () => page.evaluate((n) => {
      const select = document.querySelector(n % 2 ? '#thread' : '#allocator');
      select.selectedIndex = n % select.options.length;
      select.dispatchEvent(new Event('change'));
    }, below(50)),
  ];
  await choices[below(choices.length)]();
}

async function clickIfPossible(locator) {
  if (await locator.isEnabled()) await locator.click();
}

/** Menus hide some switches; the state does not care. */
const flip = (page, id) => page.evaluate((name) => {
  const input = document.getElementById(name);
  if (!input.disabled) input.click();
}, id);

async function clickGraph(page, below, modifiers) {
  const tree = page.locator('#tree');
  await tree.scrollIntoViewIfNeeded();
  const box = await tree.boundingBox();
  for (const key of modifiers) await page.keyboard.down(key);
  await page.mouse.click(box.x + 5 + below(box.width - 40), box.y + 5 + below(Math.min(160, box.height - 10)));
  for (const key of modifiers) await page.keyboard.up(key);
}

for (const [name, seed] of [['v13-etl', 1], ['v13-threads', 2], ['v13-webapp', 3], ['v13-native-cpp', 4]]) {
  test(`the way to a state does not show: ${name}`, async () => {
    const below = randomNumbers(seed);
    const { url } = report(name);
    const { page, problems, close } = await open(url);
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < STEPS; i++) await doSomething(page, below);
      await page.mouse.move(0, 0);
      await page.evaluate(() => {
        document.activeElement?.blur();
        for (const tree of document.querySelectorAll('[role=tree]')) tree.scrollTop = 0;
        window.scrollTo(0, document.body.scrollHeight);
      });
      await settled(page);
      const address = page.url();
      const used = await seen(page);
      const fresh = await open(address);
      await fresh.page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
      await fresh.page.evaluate(() => {
        for (const tree of document.querySelectorAll('[role=tree]')) tree.scrollTop = 0;
      });
      await settled(fresh.page);
      assert.deepEqual(used, await seen(fresh.page), address);
      await fresh.close();
    }
    // It is the test that reads pixels back.
    assert.deepEqual(problems.filter((problem) => !problem.includes('willReadFrequently')), []);
    await close();
  });
}
