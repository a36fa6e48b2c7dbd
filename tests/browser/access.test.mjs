// The page for everyone: by keyboard, with a screen reader, in small and large windows.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axeViolations, open, report, reportOf, settled, withBrowser } from './support.mjs';

withBrowser();

/** By name: capture, options of the browser, and what to do first. */
const scenes = {
  light: ['v13-webapp', {}, async () => {}],
  dark: ['v13-webapp', { colorScheme: 'dark' }, async () => {}],
  'left over': ['v13-leaky', {}, (page) => page.locator('[data-mode=leaks]').click()],
  temporary: ['v13-etl', {}, (page) => page.locator('[data-mode=temporary]').click()],
  'a function': ['v13-etl', {}, (page) => page.evaluate(() => window.memreport.set({ selected: 9, stacked: true }))],
  'a function, dark': ['v13-webapp', { colorScheme: 'dark' }, (page) => page.evaluate(() => window.memreport.set({ selected: 30, group: 'module' }))],
  search: ['v13-etl', { colorScheme: 'dark' }, (page) => page.locator('#search').fill('json')],
  help: ['v13-etl', {}, (page) => page.locator('#help-button').click()],
  menus: ['v13-threads', { colorScheme: 'dark' }, (page) => page.locator('#graph-bar .menu summary').click()],
  warnings: ['v13-killed', {}, async () => {}],
  sums: ['v13-aggregate-threads', {}, async () => {}],
  narrow: ['v13-threads', { viewport: { width: 1000, height: 700 } }, async () => {}],
};

for (const [name, [capture, options, act]] of Object.entries(scenes)) {
  test(`axe-core finds nothing: ${name}`, async () => {
    const { url } = report(capture);
    // The policy of the page would refuse the checker.
    const { page, close } = await open(url, { ...options, bypassCSP: true });
    await act(page);
    await settled(page);
    assert.deepEqual(await axeViolations(page), []);
    await close();
  });
}

const focused = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.textContent.trim().slice(0, 20));

test('everything can be reached and used by keyboard', async () => {
  const { url, profile } = report('v13-etl');
  const { page, problems, close } = await open(url);
  const wanted = await page.evaluate(() => Array.from(document.querySelectorAll('button, input, select, summary, [tabindex="0"]'))
    .filter((e) => e.checkVisibility() && !e.disabled && e.closest('.menu > div') === null)
    .map((e) => e.id || e.textContent.trim().slice(0, 20)));
  const reached = [];
  while (reached.length < wanted.length) {
    await page.keyboard.press('Tab');
    reached.push(await focused(page));
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.notEqual(outline, 'none', `the focus on ${reached[reached.length - 1]} can be seen`);
  }
  assert.deepEqual(reached, wanted);
  for (const id of ['to-peak', 'brush-start', 'brush-end', 'search', 'tree']) assert.ok(reached.includes(id), id);

  const range = () => page.evaluate(() => window.memreport.info.range);
  const last = profile.slices.length - 1;
  await page.locator('#brush-start').focus();
  await page.keyboard.press('ArrowRight');
  assert.deepEqual(await range(), [1, last]);
  await page.keyboard.press('End');
  assert.deepEqual(await range(), [last, last]);
  await page.keyboard.press('Home');
  assert.deepEqual(await range(), [0, last]);
  await page.keyboard.press('PageUp');
  assert.deepEqual(await range(), [1, last]);
  await page.keyboard.press('PageDown');
  await page.locator('#brush-end').focus();
  await page.keyboard.press('ArrowLeft');
  assert.deepEqual(await range(), [0, last - 1]);
  assert.match(await page.locator('#brush-end').getAttribute('aria-valuetext'), /s$/);

  await page.locator('#tree').focus();
  const spoken = () => page.evaluate(() => document.getElementById(document.getElementById('tree').getAttribute('aria-activedescendant')).textContent);
  assert.match(await spoken(), /^all memory at the peak: .*\sallocations?$/);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  const second = await spoken();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowLeft');
  assert.equal(await spoken(), second);
  await page.keyboard.press('Enter');
  assert.ok(await page.locator('#reset').isEnabled());
  await page.keyboard.press('Shift+Enter');
  assert.ok(await page.locator('#callers').isVisible());
  for (let i = 0; i < 3; i++) await page.keyboard.press('Escape');
  assert.ok(await page.locator('#callers').isHidden());
  assert.ok(await page.locator('#reset').isDisabled());

  await page.keyboard.press('/');
  assert.equal(await focused(page), 'search');
  await page.keyboard.type('json');
  await page.keyboard.press('Enter');
  assert.match(await page.locator('#hit').innerText(), /^1 of \d+: /);
  await page.keyboard.press('Shift+Enter');
  assert.match(await page.locator('#hit').innerText(), /^(\d+) of \1: /);
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('#search').inputValue(), '');

  await page.locator('#tree').focus();
  await page.keyboard.press('?');
  assert.ok(await page.locator('#help').isVisible());
  await page.keyboard.press('Escape');
  assert.ok(await page.locator('#help').isHidden());

  await page.locator('#graph-bar .menu summary').focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  assert.equal(await focused(page), 'foldImports');
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('#graph-bar .menu').getAttribute('open'), null);
  assert.equal(await focused(page), 'More');
  assert.deepEqual(problems, []);
  await close();
});

const sizes = {
  'a narrow window': { viewport: { width: 1000, height: 800 } },
  'a wide window': { viewport: { width: 2560, height: 1300 } },
  'a low frame': { viewport: { width: 900, height: 600 } },
  'twice the size': { viewport: { width: 700, height: 450 }, deviceScaleFactor: 2 },
};

for (const [name, options] of Object.entries(sizes)) {
  test(`nothing is cut off or covered in ${name}`, async () => {
    const { url } = report('v13-threads');
    const { page, problems, close } = await open(url, options);
    await page.locator('#search').fill('work');
    const { wide, faults } = await page.evaluate(() => {
      const found = [];
      const bars = Array.from(document.querySelectorAll('.bar, #legend, #facts'));
      for (const bar of bars) {
        const parts = Array.from(bar.querySelectorAll('button, select, input, summary, label, h1, h2, dd, #hit'))
          .filter((part) => part.checkVisibility() && part.closest('.menu > div') === null);
        const boxes = parts.map((part) => ({ part, box: part.getBoundingClientRect() }));
        for (const [i, { part, box }] of boxes.entries()) {
          const says = part.id || part.textContent;
          if (box.left < -0.5 || box.right > innerWidth + 0.5) found.push(`${says} is cut off`);
          for (const { part: other, box: b } of boxes.slice(i + 1)) {
            if (part.contains(other) || other.contains(part)) continue;
            const overlap = Math.min(box.right, b.right) - Math.max(box.left, b.left) > 2 && Math.min(box.bottom, b.bottom) - Math.max(box.top, b.top) > 2;
            if (overlap) found.push(`${says} covers ${other.id || other.textContent}`);
          }
        }
      }
      return { wide: document.documentElement.scrollWidth > innerWidth, faults: found };
    });
    assert.equal(wide, false, 'the page scrolls sideways');
    assert.deepEqual(faults, []);
    assert.ok((await page.locator('#tree').boundingBox()).height >= 130);
    assert.deepEqual(problems, []);
    await close();
  });
}

test('deep stacks and long names neither break the page nor slow it', { skip: !process.env.LONG_CAPTURE }, async () => {
  const { url } = reportOf(process.env.LONG_CAPTURE, 'long');
  const { page, problems, close } = await open(url);
  const changes = [
    { direction: 'allocators' }, { hideIrrelevant: false }, { group: 'function' }, { direction: 'callers' },
    { rootAtBottom: true }, { rootAtBottom: false }, { collapse: true }, { collapse: false }, { selected: 1 }, { selected: 0 }, { query: 'long' },
  ];
  for (const change of changes) {
    const taken = await page.evaluate(async (c) => {
      const since = performance.now();
      void window.memreport.set(c);
      return performance.now() - since;
    }, change);
    // A guard, and no measurement: machines that test are busy.
    assert.ok(taken < 1000, `${JSON.stringify(change)} took ${taken} ms`);
  }
  await page.locator('#functions').scrollIntoViewIfNeeded();
  await settled(page);
  const graph = await page.locator('#flame').boundingBox();
  await page.mouse.move(graph.x + 60, graph.y + 2 * 19 + 8);
  const tip = await page.locator('#tip').boundingBox();
  assert.ok(tip.x >= 0 && tip.x + tip.width <= 1400 && tip.y >= 0 && tip.y + tip.height <= 900, JSON.stringify(tip));
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
  assert.deepEqual(problems, []);
  await close();
});

test('paper has no buttons, and is white', async () => {
  const { url } = report('v13-etl');
  const { page, close } = await open(url, { colorScheme: 'dark' });
  await page.emulateMedia({ media: 'print' });
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  const visible = await page.evaluate(() => Array.from(document.querySelectorAll('.bar button, select, input, .menu summary, #unselect')).filter((e) => e.checkVisibility()).map((e) => e.id || e.textContent));
  assert.deepEqual(visible, []);
  await close();
});
