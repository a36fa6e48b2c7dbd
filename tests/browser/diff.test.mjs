// The page of two captures: its figures are those of the command line's diff, to the byte, and everyone can use it.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { axeViolations, captureNames, diffJson, diffOf, folder, open, randomNumbers, settled, visit, withBrowser } from './support.mjs';

withBrowser();

const REGRESS = ['v13-regress-before', 'v13-regress-after'];
const RANGES = 6;
const VIEWS = { peak: [], leaks: ['--leaks'], temporary: ['--temporary-allocations'], made: ['--allocations'] };

/** Each capture with the next one of the same program: of a newer format, or another Python. */
function pairs() {
  const programs = new Map();
  for (const name of captureNames().filter((each) => each !== 'v13-synthetic-huge')) {
    const program = name.replace(/^v\d+-/, '').replace(/-py\d+$/, '');
    programs.set(program, [...(programs.get(program) ?? []), name]);
  }
  const out = [REGRESS];
  for (const names of programs.values()) for (let i = 1; i < names.length; i++) out.push([names[i - 1], names[i]]);
  return out;
}

/** What the command line calls the function of stacks without frames. */
const NO_STACK = '???';

/** The functions of the command line's JSON as the page has them. */
const functionsOf = (found) => found.functions.map((row) => ({
  function: row.function === NO_STACK ? null : row.function,
  module: row.function === NO_STACK ? null : row.module,
  own_bytes: [row.own_bytes_base, row.own_bytes_new],
  own_allocations: [row.own_allocations_base, row.own_allocations_new],
  bytes: [row.bytes_base, row.bytes_new],
  allocations: [row.allocations_base, row.allocations_new],
}));

const totalOf = ({ total }) => ({ bytes: [total.bytes_base, total.bytes_new], allocations: [total.allocations_base, total.allocations_new] });

const sorted = (rows) => rows.map((row) => JSON.stringify(row)).sort();

test('total and functions are those of the diff, in every view of every pair', async (t) => {
  const all = pairs();
  assert.ok(all.length > 40, `${all.length} pairs`);
  for (const [base, next] of all) {
    await t.test(`${base} ${next}`, async () => {
      const { url } = diffOf(base, next);
      const { page, problems, close } = await open(url);
      const isOfSums = [base, next].some((name) => name.includes('aggregate'));
      for (const [mode, options] of Object.entries(VIEWS)) {
        if (isOfSums && (mode === 'temporary' || mode === 'made')) {
          assert.ok(await page.locator(`[data-mode=${mode}]`).isHidden());
          continue;
        }
        const found = diffJson(base, next, ...options);
        const shown = await page.evaluate((m) => {
          void window.memreport.set({ mode: m, hideIrrelevant: false });
          return { total: window.memreport.total(), functions: window.memreport.functions() };
        }, mode);
        assert.deepEqual(shown.total, totalOf(found), mode);
        assert.deepEqual(sorted(shown.functions), sorted(functionsOf(found)), mode);
        const change = shown.functions.reduce((sum, row) => sum + row.own_bytes[1] - row.own_bytes[0], 0);
        assert.equal(change, found.total.bytes_change);
      }
      assert.deepEqual(problems, []);
      await close();
    });
  }
});

/** The slices that the command line means by --from and --to. */
function rangeOf(times, from, to) {
  const at = (i) => (i < 0 ? times.length : i);
  return [at(times.findIndex((time) => time >= from)), at(times.findIndex((time) => time > to))];
}

test('so they are for random ranges, one of each capture', async (t) => {
  for (const [i, [base, next]] of [REGRESS, ['v08-etl', 'v13-etl'], ['v13-threads', 'v13-threads-py314'], ['v13-manysnaps', 'v13-webapp'], ['v13-leaky', 'v13-webapp']].entries()) {
    await t.test(`${base} ${next}`, async () => {
      const below = randomNumbers(i);
      const { url } = diffOf(base, next);
      const { page, problems, close } = await open(url);
      const { times } = await page.evaluate(() => window.memreport.info);
      for (let n = 0; n < RANGES; n++) {
        const spans = times.map((all) => [below(Math.max(...all)) + 0.5, below(Math.max(...all)) + 0.5].sort((a, b) => a - b));
        const ranges = spans.map(([from, to], side) => rangeOf(times[side], from, to));
        for (const mode of ['peak', 'leaks']) {
          const found = spans.map(([from, to]) => diffJson(base, next, '--from', String(from / 1000), '--to', String(to / 1000), ...VIEWS[mode]));
          const shown = await page.evaluate((change) => {
            void window.memreport.set(change);
            return window.memreport.total();
          }, { mode, ranges });
          const expected = found.map(totalOf);
          assert.deepEqual(shown.bytes, [expected[0].bytes[0], expected[1].bytes[1]], `${mode} ${spans}`);
          assert.deepEqual(shown.allocations, [expected[0].allocations[0], expected[1].allocations[1]], `${mode} ${spans}`);
        }
      }
      assert.deepEqual(problems, []);
      await close();
    });
  }
});

test('what is asked for comes first', async () => {
  for (const [mode, options] of Object.entries(VIEWS)) {
    const { url, total } = diffOf(...REGRESS, ...options, '--exact');
    const { page, close } = await open(url);
    assert.equal(await page.evaluate(() => window.memreport.state().mode), mode);
    assert.deepEqual((await page.evaluate(() => window.memreport.total())).bytes, [total.bytes_base, total.bytes_new]);
    await close();
  }
  const options = ['--from', '0.03', '--to', '0.06', '--leaks', '--exclude', 'parse', '--units', 'si'];
  const { url, total } = diffOf(...REGRESS, ...options);
  const { page, close } = await open(url);
  assert.deepEqual((await page.evaluate(() => window.memreport.total())).bytes, [total.bytes_base, total.bytes_new]);
  assert.match(await page.locator('#explain-base').innerText(), /kB/);
  await close();
});

test('the guilty function is the first row, and found in the graph', async () => {
  const { url, functions } = diffOf(...REGRESS);
  const { page, problems, close } = await open(url);
  const rows = page.locator('#functions tbody tr');
  assert.match((await rows.first().innerText()).replace(/\s+/g, ' '), /^\+293\.0 KiB \+499\.8 % 58\.6 KiB 351\.6 KiB \+293\.0 KiB \+30 index regress\.py$/);
  assert.equal(await rows.first().locator('td').first().getAttribute('title'), '+300,030 bytes');
  assert.equal(functions[0].own_bytes_change, 300_030);
  assert.match(await page.locator('#explain-change').innerText(), /^\+340,532\sbytes \(\+151\.4\s%\), \+243\sallocations\.$/);
  assert.match(await page.locator('#view-title').innerText(), /^Peak in range: \+332\.6\sKiB \(\+151\.4\s%\)$/);

  await rows.first().locator('button').click();
  await settled(page);
  assert.equal(await page.locator('#search').inputValue(), 'index');
  assert.equal(await rows.count(), 1);
  assert.match(await page.locator('#hit').innerText(), /^1 of 1: \+293\.0\sKiB \(\+499\.8\s%\) match$/);
  assert.match(await page.locator('#functions-total').innerText(), /^1\sfunction changed, \+293\.0\sKiB of their own; the search leaves out 7\sothers, \+39\.6\sKiB/);
  await page.locator('#search').fill('no such name');
  assert.match(await page.locator('#no-changes').innerText(), /matches the search/);
  await page.keyboard.press('Escape');
  await page.locator('[data-sort=count]').click();
  assert.match(await rows.first().innerText(), /parse/);
  assert.deepEqual(problems, []);
  await close();
});

test('a frame says what it has on both sides: to the pointer, and to a screen reader', async () => {
  const { url } = diffOf(...REGRESS);
  const { page, problems, close } = await open(url);
  const tree = page.locator('#tree');
  await tree.hover({ position: { x: 300, y: 4 * 19 + 8 } });
  const tip = page.locator('#tip');
  assert.deepEqual((await tip.innerText()).split('\n').map((line) => line.replace(/\s/g, ' ')), [
    'index', 'regress.py', 'Grew', 'base 58.6 KiB (60,030 bytes) in 30 allocations', 'new 351.6 KiB (360,060 bytes) in 60 allocations',
    'change +293.0 KiB (+499.8 %), +300,030 bytes, +30 allocations',
  ]);
  const name = await tip.locator('.name').boundingBox();
  assert.ok(name.width > 30 && name.height < 25, 'the name is written in one line');
  await tree.focus();
  const spoken = () => page.evaluate(() => document.getElementById(document.getElementById('tree').getAttribute('aria-activedescendant')).textContent.replace(/\s/g, ' '));
  for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowDown');
  assert.equal(await spoken(), 'index, regress.py: grown, base 58.6 KiB, new 351.6 KiB, change +293.0 KiB (+499.8 %), +30 allocations');
  await page.keyboard.press('ArrowRight');
  assert.match(await spoken(), /^parse, regress\.py: new, base 0 B, /);
  await page.keyboard.press('ArrowRight');
  assert.match(await spoken(), /^report, regress\.py: gone, /);
  await page.keyboard.press('Enter');
  await settled(page);
  assert.match(page.url(), /#z=[\d.]+$/);
  await page.keyboard.press('Escape');
  assert.ok(await page.locator('#reset').isDisabled());
  assert.deepEqual(problems, []);
  await close();
});

test('no colour is needed: stripes rise where it grew and fall where it shrank', async () => {
  const { url } = diffOf(...REGRESS);
  const { page, close } = await open(url);
  // Of three frames of the fifth row: where stripes start on the two uppermost lines of pixels, above the text.
  const stripes = await page.evaluate(() => {
    const context = document.querySelector('#flame').getContext('2d');
    const line = (x, y) => {
      const { data } = context.getImageData(x, y, 60, 1);
      return Array.from({ length: 60 }, (_, i) => data[4 * i] + data[4 * i + 1] + data[4 * i + 2]);
    };
    const starts = (x, y) => {
      const values = line(x, y);
      const dark = Math.min(...values);
      return values.map((value, i) => (value === dark && values[i - 1] !== dark ? i : -1)).filter((i) => i > 0);
    };
    return [400, 950, 1100].map((x) => [starts(x, 4 * 19), starts(x, 4 * 19 + 1)]);
  });
  const [grown, added, gone] = stripes.map(([upper, lower]) => ({ step: lower.find((x) => x > 5) - upper.find((x) => x > 5), n: upper.length }));
  assert.equal(grown.n > 3 && added.n > 1.5 * grown.n && gone.n > 1.5 * grown.n, true, JSON.stringify(stripes));
  assert.ok(grown.step === -1 || grown.step > 6, JSON.stringify(stripes));
  assert.ok(gone.step === 1 || gone.step === -3, JSON.stringify(stripes));
  await close();
});

test('each capture has a range of its own, by pointer and by keyboard, on either time axis', async () => {
  const { url } = diffOf(...REGRESS);
  const { page, problems, close } = await open(url);
  const ranges = () => page.evaluate(() => window.memreport.state().ranges);
  const [base, next] = (await page.evaluate(() => window.memreport.info.slices)).map((n) => n - 1);
  assert.deepEqual(await ranges(), [[0, base], [0, next]]);
  const handle = (side, end) => page.locator(`#brush-track-${side} .brush-${end}`);
  await handle('base', 'start').focus();
  await page.keyboard.press('ArrowRight');
  await handle('new', 'end').focus();
  await page.keyboard.press('ArrowLeft');
  assert.deepEqual(await ranges(), [[1, base], [0, next - 1]]);
  assert.match(await handle('new', 'end').getAttribute('aria-valuetext'), /s$/);
  const box = await page.locator('#brush-track-new').boundingBox();
  await page.mouse.move(box.x + 0.3 * box.width, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.31 * box.width, box.y + 12);
  await page.mouse.move(box.x + 0.5 * box.width, box.y + 12);
  await page.mouse.up();
  await settled(page);
  const [ofBase, ofNew] = await ranges();
  assert.deepEqual(ofBase, [1, base]);
  assert.notDeepEqual(ofNew, [0, next - 1]);
  const ends = async () => page.evaluate(() => ['base', 'new'].map((side) => parseFloat(document.querySelector(`#brush-track-${side} .brush-end`).style.left)));
  await page.locator('#to-all').click();
  const absolute = await ends();
  assert.ok(absolute[0] === 100 && absolute[1] < 95, 'the shorter run ends earlier');
  await page.locator('[data-time=scaled]').click();
  assert.deepEqual(await ends(), [100, 100]);
  await page.locator('#to-peak').click();
  assert.ok((await ranges()).every(([lo, hi]) => lo === hi));
  await settled(page);
  assert.match(page.url(), /#rb=\d+-\d+&rn=\d+-\d+&x=scaled$/);
  assert.deepEqual(problems, []);
  await close();
});

/** All that can be seen: words, controls, and the pixels of the graph and the charts. */
const seen = (page) => page.evaluate(() => {
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const controls = all('button, input').map((e) => [e.id || e.textContent, e.disabled, e.checked ?? e.getAttribute('aria-pressed'), e.value]);
  const pixels = all('canvas').map((canvas) => {
    const { data, width, height } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return [width, height, data.reduce((hash, byte) => Math.imul(hash ^ byte, 0x01000193), 0x811c9dc5)];
  });
  const handles = all('.brush-start, .brush-end, .peak-slice').map((e) => (e.hidden ? 'hidden' : e.style.left));
  return { text: document.body.innerText, controls, pixels, handles };
});

test('the way to a state does not show: the address restores it', async () => {
  const { url } = diffOf('v08-etl', 'v13-etl');
  const below = randomNumbers(7);
  const { page, problems, close } = await open(url);
  // Some are in a menu; the state does not care.
  const press = (selector) => page.evaluate((s) => document.querySelector(s).click(), selector);
  const steps = [
    () => page.locator(`[data-mode=${['peak', 'leaks', 'temporary', 'made'][below(4)]}]`).click(),
    () => page.locator(`[data-width=${['larger', 'change'][below(2)]}]`).click(),
    () => press(`[data-metric=${['bytes', 'count'][below(2)]}]`),
    () => page.locator(`[data-time=${['absolute', 'scaled'][below(2)]}]`).click(),
    () => page.locator(`[data-units=${['iec', 'si'][below(2)]}]`).click(),
    () => press(`#${['hideIrrelevant', 'foldImports'][below(2)]}`),
    () => page.locator(`[data-sort=${['change', 'base', 'next', 'total', 'count'][below(5)]}]`).click(),
    () => page.locator('#search').fill(['', 'json', '/^_/', 'no such name'][below(4)]),
    () => page.locator('#tree').click({ position: { x: 5 + below(1200), y: 5 + below(150) } }),
    () => page.keyboard.press('Escape'),
    () => page.evaluate(([a, b, c, d]) => {
      const range = (n, x, y) => [Math.floor(x * n), Math.floor(y * n)].sort((i, j) => i - j);
      const [base, next] = window.memreport.info.slices;
      return window.memreport.set({ ranges: [range(base, a, b), range(next, c, d)] });
    }, [below(1000), below(1000), below(1000), below(1000)].map((n) => n / 1000)),
  ];
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < 15; i++) await steps[below(steps.length)]();
    await page.mouse.move(0, 0);
    const rest = (p) => p.evaluate(() => {
      document.activeElement?.blur();
      document.querySelector('#tree').scrollTop = 0;
      window.scrollTo(0, 0);
    });
    await rest(page);
    await settled(page);
    const used = await seen(page);
    const fresh = await open(page.url());
    await rest(fresh.page);
    await settled(fresh.page);
    assert.deepEqual(used, await seen(fresh.page), page.url());
    await fresh.close();
  }
  assert.deepEqual(problems.filter((problem) => !problem.includes('willReadFrequently')), []);
  await close();
});

test('the page names both captures, and says what differs and what does not compare', async () => {
  const { url } = diffOf('v12-aggregate', 'v13-killed');
  const { page, problems, close } = await open(url);
  const facts = await page.locator('#captures').innerText();
  for (const words of ['v12-aggregate.bin', 'v13-killed.bin', 'killme.py', '12, aggregated', '≠ differs', 'same', '755.7', '565.3']) assert.ok(facts.includes(words), words);
  const warnings = await page.locator('#warnings').innerText();
  assert.match(warnings, /Base holds only sums/);
  assert.match(warnings, /In new: The capture has no end record/);
  assert.ok(await page.locator('#brush-track-base').isHidden());
  assert.ok(await page.locator('#brush-track-new').isVisible());
  assert.deepEqual(problems, []);
  await close();
});

test('captures without a time, or without anything, still compare', async () => {
  for (const [base, next] of [['v13-synthetic-nosnapshots', 'v13-synthetic-empty'], ['v13-synthetic-empty', 'v13-synthetic-empty'], ['v13-synthetic-onesnapshot', 'v13-etl'], ['v13-synthetic-badutf8', 'v13-synthetic-paths']]) {
    const { url, total } = diffOf(base, next);
    const { page, problems, close } = await open(url);
    assert.deepEqual((await page.evaluate(() => window.memreport.total())).bytes, [total.bytes_base, total.bytes_new]);
    assert.deepEqual(problems, []);
    await close();
  }
});

test('a damaged page says so', async () => {
  const html = readFileSync(diffOf(...REGRESS).path, 'utf8');
  for (const at of [html.indexOf('id="data-META"') + 200, html.indexOf('data-section="ROWS1"') + 40]) {
    const file = join(folder, 'damaged.html');
    writeFileSync(file, html.slice(0, at));
    const { page, problems, close } = await visit(pathToFileURL(file).href);
    await page.locator('#loading.damaged').waitFor({ timeout: 5000 });
    assert.match(await page.locator('#loading').innerText(), /damaged or incomplete/);
    assert.deepEqual(problems, []);
    await close();
  }
});

/** By name: captures, options of the browser, and what to do first. */
const scenes = {
  light: [REGRESS, {}, async () => {}],
  dark: [REGRESS, { colorScheme: 'dark' }, async () => {}],
  'changes only, dark': [['v13-etl-py39', 'v13-etl-py314'], { colorScheme: 'dark' }, (page) => page.locator('[data-width=change]').click()],
  search: [['v08-etl', 'v13-etl'], {}, (page) => page.locator('#search').fill('json')],
  help: [REGRESS, {}, (page) => page.locator('#help-button').click()],
  warnings: [['v12-aggregate', 'v13-killed'], { colorScheme: 'dark' }, async () => {}],
  narrow: [REGRESS, { viewport: { width: 800, height: 700 } }, async () => {}],
};

for (const [name, [captures, options, act]] of Object.entries(scenes)) {
  test(`axe-core finds nothing: ${name}`, async () => {
    const { url } = diffOf(...captures);
    // The policy of the page would refuse the checker.
    const { page, close } = await open(url, { ...options, bypassCSP: true });
    await act(page);
    await settled(page);
    assert.deepEqual(await axeViolations(page), []);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, 'the page scrolls sideways');
    await close();
  });
}

test('everything can be reached by keyboard, and the theme changes in all its parts', async () => {
  const { url } = diffOf(...REGRESS);
  const { page, problems, close } = await open(url);
  const wanted = await page.evaluate(() => Array.from(document.querySelectorAll('button, input, summary, [tabindex="0"]'))
    .filter((e) => e.checkVisibility() && !e.disabled && e.closest('.menu > div') === null).map((e) => e.id || e.getAttribute('aria-label') || e.textContent.trim()));
  const reached = [];
  while (reached.length < wanted.length) {
    await page.keyboard.press('Tab');
    reached.push(await page.evaluate(() => document.activeElement.id || document.activeElement.getAttribute('aria-label') || document.activeElement.textContent.trim()));
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.notEqual(outline, 'none', `the focus on ${reached[reached.length - 1]} can be seen`);
  }
  assert.deepEqual(reached, wanted);
  const colours = () => page.evaluate(() => ['--bg', '--base', '--new'].map((name) => getComputedStyle(document.documentElement).getPropertyValue(name)));
  const light = await colours();
  await page.locator('#theme').click();
  const dark = await colours();
  light.forEach((colour, i) => assert.notEqual(colour, dark[i]));
  await page.locator('#theme').click();
  assert.deepEqual(await colours(), light);
  assert.deepEqual(problems, []);
  await close();
});

test('the table can be saved', async () => {
  const { url, functions } = diffOf(...REGRESS, '--hide-internals');
  const { page, close } = await open(url);
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#export-csv').click()]);
  assert.equal(download.suggestedFilename(), 'memreport-diff-peak.csv');
  const lines = readFileSync(await download.path(), 'utf8').trimEnd().split('\r\n');
  const row = functions[0];
  assert.equal(lines[1], [row.own_bytes_base, row.own_bytes_new, row.bytes_base, row.bytes_new, row.own_allocations_base, row.own_allocations_new, row.function, row.module].join(','));
  assert.equal(lines.length, functions.length + 1);
  await close();
});
