// How fast report pages are, as a Markdown table: opened from disk in Chromium, at 1400 by 900 pixels.
//
//   cargo run --release --example synthetic -- 1000000 500000 > big.bin
//   target/release/memreport build big.bin -o big.html
//   node bench/page.mjs big.html …
//
// Needs Chromium (CHROMIUM names it, else /usr/bin/chromium) and `npm ci` in web-assets/.

import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const { chromium } = createRequire(fileURLToPath(new URL('../web-assets/package.json', import.meta.url)))('playwright-core');
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--enable-precise-memory-info'];
const MOVES = 60;
const DRAG_STEPS = 80;

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ARGUMENTS });
const rows = [];
for (const file of process.argv.slice(2)) rows.push(await measure(resolve(file)));
await browser.close();
print(rows);

/** Opens a page, moves its range about, and says what that took. */
async function measure(file) {
  const context = await browser.newContext({ offline: true, viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(() => {
    window.longTasks = [];
    new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: 'longtask', buffered: true });
  });
  await page.goto(pathToFileURL(file).href);
  for (const mark of ['ready', 'index']) {
    await page.waitForFunction((name) => performance.getEntriesByName(name).length > 0, `memreport:${mark}`, { timeout: 120_000 });
  }
  await page.waitForTimeout(500);
  const opened = await page.evaluate(() => ({
    ready: performance.getEntriesByName('memreport:ready')[0].startTime,
    longest: Math.max(0, ...window.longTasks),
    info: { ...window.memreport.info },
  }));
  const callers = await moves(page);
  const drag = await dragged(page);
  await page.click('[data-direction=allocators]');
  const allocators = await moves(page);
  const session = await context.newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const memory = await page.evaluate(() => performance.memory.usedJSHeapSize);
  await context.close();
  return { file, ...opened, callers, allocators, drag, memory };
}

/** Milliseconds of computing and drawing of each of some range moves, and of the query alone. */
async function moves(page) {
  const taken = await page.evaluate(async (n) => {
    const last = window.memreport.info.snapshots;
    const width = Math.floor(last / 3);
    const out = [];
    for (let i = 0; i < n; i++) {
      performance.clearMeasures();
      const lo = Math.floor(((last - width) * i) / n);
      await window.memreport.setRange(lo, lo + width);
      const phases = performance.getEntriesByType('measure').filter((m) => /query|values|layout|draw/.test(m.name));
      const of = (name) => phases.filter((m) => m.name.endsWith(name)).reduce((sum, m) => sum + m.duration, 0);
      out.push({ all: phases.reduce((sum, m) => sum + m.duration, 0), query: of('query') });
    }
    return out;
  }, MOVES);
  return { all: median(taken.map((t) => t.all)), query: median(taken.map((t) => t.query)) };
}

/** Frames and long tasks of a real drag of the range. */
async function dragged(page) {
  const track = await page.locator('#brush-track').boundingBox();
  const y = track.y + track.height / 2;
  const last = await page.evaluate(() => window.memreport.info.snapshots);
  await page.evaluate((n) => window.memreport.setRange(Math.floor(n * 0.2), Math.floor(n * 0.45)), last);
  await page.waitForTimeout(500);
  await page.evaluate(() => {
    window.longTasks.length = 0;
    window.frames_ = [];
    let before = performance.now();
    const next = (now) => {
      window.frames_.push(now - before);
      before = now;
      window.request = requestAnimationFrame(next);
    };
    window.request = requestAnimationFrame(next);
  });
  await page.mouse.move(track.x + track.width * 0.3, y);
  await page.mouse.down();
  for (let i = 0; i < DRAG_STEPS; i++) await page.mouse.move(track.x + track.width * (0.3 + (0.5 * i) / DRAG_STEPS), y);
  await page.mouse.up();
  return page.evaluate(() => {
    cancelAnimationFrame(window.request);
    return { worst: Math.max(...window.frames_), tasks: window.longTasks.length };
  });
}

function median(values) {
  return values.slice().sort((a, b) => a - b)[values.length >> 1];
}

function print(measured) {
  const ms = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
  console.log('| page | rows | nodes | size | ready | longest block while loading | range move (query), callers first | allocators first | worst frame of a drag, tasks over 50 ms | memory |');
  console.log('| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |');
  for (const { file, ready, longest, info, callers, allocators, drag, memory } of measured) {
    const cells = [
      basename(file),
      info.rows.toLocaleString('en-US'),
      info.nodes.toLocaleString('en-US'),
      `${(statSync(file).size / 1e6).toFixed(2)} MB`,
      ms(ready),
      ms(longest),
      `${ms(callers.all)} (${ms(callers.query)})`,
      `${ms(allocators.all)} (${ms(allocators.query)})`,
      `${ms(drag.worst)}, ${drag.tasks}`,
      `${Math.round(memory / 1e6)} MB`,
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
}
