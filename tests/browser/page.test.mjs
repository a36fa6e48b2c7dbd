// What people do on the page, with pointer and buttons.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectedBytes } from './expected.mjs';
import { open, report, settled, withBrowser } from './support.mjs';

withBrowser();

test('an aggregated capture has no range to select, and says why', async () => {
  const { url, profile } = report('v13-aggregate-threads');
  assert.ok(profile.metadata.file_format === 'AGGREGATED_ALLOCATIONS');
  const { page, problems, close } = await open(url);
  assert.ok(await page.locator('#brush-start').isHidden());
  assert.ok(await page.locator('#to-all').isHidden());
  assert.match(await page.locator('#explain').innerText(), /--aggregate/);
  await page.locator('[data-mode=leaks]').click();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  assert.equal(await page.evaluate(() => window.memreport.rootBytes()), profile.leaks.merged.bytes);
  assert.deepEqual(problems, []);
  await close();
});

test('a frame says what it is to the pointer', async () => {
  const { url } = report('v13-regress-after');
  const { page, problems, close } = await open(url);
  await page.locator('#tree').hover({ position: { x: 300, y: 4 * 19 + 8 } });
  const name = page.locator('#tip .name');
  assert.equal(await name.innerText(), 'index');
  const box = await name.boundingBox();
  assert.ok(box.width > 30 && box.height < 25, 'the name is written in one line');
  assert.deepEqual(problems, []);
  await close();
});

test('dragging on the timeline moves the range, and the number follows', async () => {
  const { url, profile } = report('v13-etl');
  const { page, problems, close } = await open(url);
  const track = await page.locator('#brush-track').boundingBox();
  const at = (share) => [track.x + track.width * share, track.y + track.height / 2];
  await page.keyboard.down('Shift');
  await page.mouse.move(...at(0.15));
  await page.mouse.down();
  await page.mouse.move(...at(0.3), { steps: 5 });
  await page.mouse.move(...at(0.45), { steps: 5 });
  await page.mouse.up();
  await page.keyboard.up('Shift');
  const read = () => page.evaluate(async () => {
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return { range: window.memreport.info.range, bytes: window.memreport.rootBytes() };
  });
  const first = await read();
  const [lo, hi] = first.range;
  assert.ok(lo > 0 && hi < profile.slices.length - 1, `slices ${lo} to ${hi}`);
  assert.equal(first.bytes, expectedBytes(profile, { mode: 'peak', lo: lo, hi: hi, thread: null }));

  await page.locator('#brush-end').focus();
  await page.keyboard.press('End');
  const second = await read();
  assert.deepEqual(second.range, [lo, profile.slices.length - 1]);
  assert.equal(second.bytes, expectedBytes(profile, { mode: 'peak', lo: lo, hi: profile.slices.length - 1, thread: null }));

  await page.locator('#brush-start').focus();
  await page.keyboard.press('ArrowRight');
  assert.deepEqual((await read()).range, [lo + 1, profile.slices.length - 1]);

  await page.locator('[data-mode=leaks]').click();
  assert.equal((await read()).bytes, expectedBytes(profile, { mode: 'leaks', lo: lo + 1, hi: profile.slices.length - 1, thread: null }));
  await page.locator('#to-all').click();
  assert.deepEqual((await read()).range, [0, profile.slices.length - 1]);
  assert.deepEqual(problems, []);
  await close();
});

test('the slice of the peak is marked and explained', async () => {
  const { url } = report('v13-spike');
  const { page, close } = await open(url);
  assert.ok(await page.locator('#peak-slice').isVisible());
  assert.match(await page.locator('#explain').innerText(), /Peak heap .* reached between the samples at .* and /s);
  await page.locator('[data-mode=leaks]').click();
  assert.ok(await page.locator('#peak-slice').isHidden());
  assert.match(await page.locator('#explain').innerText(), /allocated in this range and not freed by/s);
  await close();
});

test('search adds up what matches, each byte once', async () => {
  const { url } = report('v13-etl');
  const { page, problems, close } = await open(url);
  await page.keyboard.press('/');
  await page.keyboard.type('<module>');
  await page.waitForFunction(() => document.querySelector('#hit').textContent !== '');
  assert.match(await page.locator('#hit').innerText(), /\d.*%/s);
  await page.keyboard.press('Escape');
  assert.deepEqual(problems, []);
  await close();
});

test('a frame zooms by click and by keyboard, and Escape goes back', async () => {
  const { url } = report('v13-etl');
  const { page, problems, close } = await open(url);
  const reset = page.locator('#reset');
  assert.ok(await reset.isDisabled());
  const graph = await page.locator('#flame').boundingBox();
  await page.mouse.click(graph.x + 40, graph.y + 30);
  assert.ok(await reset.isEnabled());
  await page.locator('#tree').focus();
  await page.keyboard.press('Escape');
  assert.ok(await reset.isDisabled());
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  assert.ok(await reset.isEnabled());
  assert.deepEqual(problems, []);
  await close();
});

test('a function is chosen in the table or in the graph, and left again', async () => {
  const { url, profile } = report('v13-etl');
  const { page, problems, close } = await open(url);
  await page.locator('#functions').scrollIntoViewIfNeeded();
  await settled(page);
  const first = page.locator('#functions tbody .link').first();
  const name = await first.innerText();
  await first.click();
  await settled(page);
  assert.ok(await page.locator('#callers').isVisible());
  assert.equal(await page.locator('#selected strong').innerText(), name);
  const inFunction = await page.evaluate(() => window.memreport.rootBytes());
  assert.ok(inFunction > 0 && inFunction <= profile.metadata.peak_memory);
  assert.match(page.url(), /[#&]f=\d+/);
  await page.locator('#unselect').click();
  assert.ok(await page.locator('#callers').isHidden());

  await page.locator('#flame').scrollIntoViewIfNeeded();
  const graph = await page.locator('#flame').boundingBox();
  await page.keyboard.down('Shift');
  await page.mouse.click(graph.x + 60, graph.y + 3 * 19 + 8);
  await page.keyboard.up('Shift');
  assert.ok(await page.locator('#callers').isVisible());
  await page.locator('#tree').focus();
  await page.keyboard.press('Escape');
  assert.ok(await page.locator('#callers').isHidden());
  assert.deepEqual(problems, []);
  await close();
});

test('the table adds up to what is shown, and to what the search leaves', async () => {
  const { url } = report('v13-webapp');
  const { page, problems, close } = await open(url);
  const total = () => page.locator('#functions-total').innerText();
  await page.locator('#functions').scrollIntoViewIfNeeded();
  await settled(page);
  const size = (await page.locator('#view-title').innerText()).split(': ')[1];
  assert.ok((await total()).includes(`${size} of their own`), await total());
  await page.locator('#search').fill('importlib');
  await settled(page);
  assert.match(await total(), /the search leaves out/);
  await page.locator('[data-sort=bytes]').click();
  const shown = await page.evaluate(() => Array.from(document.querySelectorAll('#functions tbody td:nth-child(2)'), (cell) => Number(cell.title.replace(/\D/g, ''))));
  assert.deepEqual(shown, shown.slice().sort((a, b) => b - a));
  assert.deepEqual(problems, []);
  await close();
});

test('filters say what they leave out, and offer to go when nothing is left', async () => {
  const { url } = report('v13-threads');
  const { page, problems, close } = await open(url);
  await page.locator('#thread').selectOption({ index: 2 });
  assert.match(await page.locator('#explain').innerText(), /Shown below: the .* of it in thread .*; the other .* are left out\./s);
  await page.locator('[data-mode=leaks]').click();
  const empty = await page.evaluate(() => {
    const threads = Array.from(document.querySelectorAll('#thread option'), (option) => Number(option.value));
    return threads.find((thread) => {
      void window.memreport.set({ thread });
      return window.memreport.rootBytes() === 0;
    });
  });
  assert.ok(empty >= 0, 'a thread that leaves nothing over');
  assert.match(await page.locator('#note').innerText(), /holds nothing here/);
  await page.locator('#note button').click();
  assert.ok(await page.locator('#note').isHidden());
  assert.equal(await page.evaluate(() => window.memreport.state().thread), -1);
  await page.locator('[data-mode=temporary]').click();
  assert.ok(await page.locator('#to-peak').isDisabled());
  assert.match(await page.locator('#explain').innerText(), /Temporary allocations of the whole run/);
  assert.deepEqual(problems, []);
  await close();
});

test('the largest functions are stacked in the chart, and named', async () => {
  const { url } = report('v13-etl');
  const { page, problems, close } = await open(url);
  await page.locator('#stack-switch').click();
  await page.locator('#layers button').first().waitFor();
  assert.ok((await page.locator('#layers button').count()) <= 8);
  assert.match(await page.locator('#layers').innerText(), /everything else/);
  await page.locator('#layers button').first().click();
  assert.ok(await page.locator('#selected').isVisible());
  assert.deepEqual(problems, []);
  await close();
});

test('the difference of RSS and heap is explained', async () => {
  const { url } = report('v13-etl');
  const { page, close } = await open(url);
  assert.match(await page.locator('#gap summary').innerText(), /^RSS was .* above the heap at .* Why\?$/);
  await page.locator('#gap summary').click();
  assert.match(await page.locator('#gap ul').innerText(), /was there at the first sample/);
  await close();
});

test('a link shows a colleague the same picture', async () => {
  const { url } = report('v13-etl');
  const { page, close } = await open(url);
  await page.evaluate(() => window.memreport.set({ lo: 2, hi: 6, mode: 'leaks', group: 'function', direction: 'allocators', query: 'json' }));
  await settled(page);
  const link = page.url();
  const words = await page.locator('#explain').innerText();
  const bytes = await page.evaluate(() => window.memreport.rootBytes());
  await close();
  const other = await open(link);
  assert.equal(await other.page.locator('#explain').innerText(), words);
  assert.equal(await other.page.evaluate(() => window.memreport.rootBytes()), bytes);
  assert.equal(await other.page.locator('#search').inputValue(), 'json');
  await other.close();
});
