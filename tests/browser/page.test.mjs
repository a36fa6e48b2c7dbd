// The report in a real browser: opened from disk, with every request refused.
//
//   MEMREPORT=target/release/memreport node --test tests/browser/
//
// Needs Chromium (CHROMIUM names it, else /usr/bin/chromium) and `npm ci` in web-assets/.
// Pictures go to the folder that PICTURES names, if it does.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';

const root = fileURLToPath(new URL('../../', import.meta.url));
const { chromium } = createRequire(join(root, 'web-assets/package.json'))('playwright-core');
const binary = resolve(process.env.MEMREPORT ?? join(root, 'target/release/memreport'));
const captures = join(root, 'tests/captures');
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-quic'];

let browser;
let folder;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'memreport-'));
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ARGUMENTS });
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** What the command line says about a capture, and where its page is. */
function report(name, ...options) {
  const capture = join(captures, `${name}.bin`);
  const page = join(folder, `${name}${options.join('')}.html`);
  const json = join(folder, `${name}.json`);
  execFileSync(binary, ['build', capture, '-q', '--allow-truncated', '-o', page, '--json', json, ...options]);
  const profile = JSON.parse(execFileSync('cat', [json], { maxBuffer: 1 << 28, encoding: 'utf8' }));
  return { url: pathToFileURL(page).href, profile };
}

/** Opens a page without network; `problems` collects what a user would see in the console. */
async function load(url, options = {}) {
  const context = await browser.newContext({ offline: true, viewport: { width: 1400, height: 900 }, ...options });
  const page = await context.newPage();
  const problems = [];
  page.on('console', (message) => problems.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => problems.push(String(error)));
  await page.route('**', (route) => {
    if (route.request().url().split(/[?#]/)[0] === url.split(/[?#]/)[0]) return route.continue();
    problems.push(`request: ${route.request().url()}`);
    return route.abort();
  });
  await page.goto(url);
  return { page, problems, close: () => context.close() };
}

/** The same, and waits for the report. */
async function open(url, options = {}) {
  const opened = await load(url, options);
  await opened.page.waitForFunction(() => performance.getEntriesByName('memreport:ready').length > 0);
  return opened;
}

const isAggregated = (profile) => profile.metadata.file_format === 'AGGREGATED_ALLOCATIONS';

/** The number that the root must show, from the JSON of the same pass. */
function expectedBytes(profile, mode, lo, hi) {
  // Only the whole run has an answer in an aggregated capture.
  if (isAggregated(profile)) return profile[mode === 'peak' ? 'high_water_mark' : 'leaks'].merged.bytes;
  if (mode === 'peak') return Math.max(...profile.slices.slice(lo, hi + 1).map((slice) => slice[0]));
  let bytes = 0;
  for (const row of profile.temporal_leaks.merged.rows) {
    for (const [start, end, , size] of row[4]) {
      if (start >= lo && start <= hi && (end === null || end > hi)) bytes += size;
    }
  }
  return bytes;
}

/** Small numbers that look random and are the same in every run. */
function* pseudoRandom() {
  for (let state = 1; ; ) {
    state = (state * 1103515245 + 12345) % 2147483648;
    yield state / 2147483648;
  }
}

/** What the root shows in a mode, in each of the ranges. */
const rootBytesIn = (page, mode, ranges) =>
  page.evaluate(async ([m, all]) => {
    await window.memreport.setMode(m);
    const shown = [];
    for (const [lo, hi] of all) {
      await window.memreport.setRange(lo, hi);
      shown.push(window.memreport.rootBytes());
    }
    return shown;
  }, [mode, ranges]);

const names = readdirSync(captures).filter((file) => file.endsWith('.bin')).map((file) => file.slice(0, -4));
// Sizes of 2^60 and more are exact in JSON and in Rust, but no number of JavaScript's; and one file is
// cut so early that nothing is left in it.
const exact = names.filter((name) => !['v13-synthetic-huge', 'v13-cut'].includes(name));

test('the root shows the peak, and what each range has, to the byte', async (t) => {
  for (const name of exact) {
    await t.test(name, async () => {
      const { url, profile } = report(name);
      const { page, problems, close } = await open(url);
      assert.equal(await page.evaluate(() => window.memreport.rootBytes()), profile.metadata.peak_memory);
      const random = pseudoRandom();
      const slices = profile.slices?.length ?? 1;
      const slice = () => Math.floor(random.next().value * slices);
      const ranges = Array.from({ length: 20 }, () => [slice(), slice()].sort((a, b) => a - b));
      for (const mode of ['peak', 'leaks']) {
        const shown = await rootBytesIn(page, mode, ranges);
        const expected = ranges.map(([lo, hi]) => expectedBytes(profile, mode, lo, hi));
        assert.deepEqual(shown, expected, `${mode} in slices ${JSON.stringify(ranges)}`);
      }
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

test('an aggregated capture has no range to select, and says why', async () => {
  const { url, profile } = report('v13-aggregate-threads');
  assert.ok(isAggregated(profile));
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
  assert.equal(first.bytes, expectedBytes(profile, 'peak', lo, hi));

  await page.locator('#brush-end').focus();
  await page.keyboard.press('End');
  const second = await read();
  assert.deepEqual(second.range, [lo, profile.slices.length - 1]);
  assert.equal(second.bytes, expectedBytes(profile, 'peak', lo, profile.slices.length - 1));

  await page.locator('#brush-start').focus();
  await page.keyboard.press('ArrowRight');
  assert.deepEqual((await read()).range, [lo + 1, profile.slices.length - 1]);

  await page.locator('[data-mode=leaks]').click();
  assert.equal((await read()).bytes, expectedBytes(profile, 'leaks', lo + 1, profile.slices.length - 1));
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

test('--leaks opens with what was left over', async () => {
  const { url, profile } = report('v13-leaky', '--leaks');
  const { page, close } = await open(url);
  const { mode, bytes } = await page.evaluate(() => ({ mode: window.memreport.info.mode, bytes: window.memreport.rootBytes() }));
  assert.equal(mode, 'leaks');
  assert.equal(bytes, profile.leaks.merged.bytes);
  await close();
});

test('browsers without a gzip stream read the page too', async () => {
  const { url, profile } = report('v13-threads');
  const { page, problems, close } = await open(`${url}?fallback`);
  assert.equal(await page.evaluate(() => window.memreport.rootBytes()), profile.metadata.peak_memory);
  assert.deepEqual(problems, []);
  await close();
});

/** The packed script of a page: where it stands, and a page with another text in its place. */
function viewerOf(html) {
  const element = /(<script [^>]*data-section="CODE"[^>]*>)([^<]*)/.exec(html);
  const start = element.index + element[1].length;
  const end = start + element[2].length;
  return { start, end, base64: element[2], replacedBy: (text) => html.slice(0, start) + text + html.slice(end) };
}

test('what is unpacked is handed over to the viewer, and nothing is left behind', async () => {
  const { url } = report('v13-threads');
  const { page, problems, close } = await open(url);
  assert.equal(await page.evaluate(() => 'memreportPayload' in window), false);
  assert.equal(await page.evaluate(() => document.querySelectorAll('[data-section]').length), 0);
  assert.equal(await page.evaluate(() => performance.getEntriesByName('memreport:inflate').length), 1);
  assert.deepEqual(problems, []);
  await close();
});

test('a damaged page says so', async (t) => {
  const { url } = report('v13-etl');
  const html = readFileSync(fileURLToPath(url), 'utf8');
  const { start, end, base64, replacedBy } = viewerOf(html);
  const middle = base64.length >> 1;
  const swapped = base64.slice(0, middle) + (base64[middle] === 'A' ? 'B' : 'A') + base64.slice(middle + 1);
  const damaged = {
    'cut in the viewer': html.slice(0, (start + end) >> 1),
    'cut in the description': html.slice(0, html.indexOf('id="data-META"') + 200),
    'cut in the tables': html.slice(0, (html.indexOf('data-section="SNAP"') + html.length) >> 1),
    'cut before the last table': html.slice(0, html.indexOf('<script type="application/octet-stream" data-section="TEMP"')),
    'a changed byte in the viewer': replacedBy(swapped),
    'no viewer': replacedBy(''),
  };
  for (const [name, text] of Object.entries(damaged)) {
    for (const query of ['', '?fallback']) {
      await t.test(name + query, async () => {
        const file = join(folder, 'damaged.html');
        writeFileSync(file, text);
        const { page, problems, close } = await load(pathToFileURL(file).href + query);
        await page.locator('#loading.damaged').waitFor({ timeout: 5000 });
        assert.match(await page.locator('#loading').innerText(), /damaged or incomplete/);
        assert.ok(await page.locator('#report').isHidden());
        assert.deepEqual(problems, []);
        await close();
      });
    }
  }
});

test('the browser runs no other viewer than the one that the page was made with', async () => {
  const { url } = report('v13-etl');
  const html = readFileSync(fileURLToPath(url), 'utf8');
  const { base64, replacedBy } = viewerOf(html);
  const code = gunzipSync(Buffer.from(base64, 'base64')).toString();
  const foreign = 'window.foreign = true;'.padEnd(Buffer.byteLength(code));
  const file = join(folder, 'foreign.html');
  writeFileSync(file, replacedBy(gzipSync(foreign).toString('base64')));
  const { page, problems, close } = await load(pathToFileURL(file).href);
  await page.locator('#loading.damaged').waitFor({ timeout: 5000 });
  assert.match(await page.locator('#loading').innerText(), /damaged or incomplete/);
  assert.equal(await page.evaluate(() => 'foreign' in window), false);
  assert.equal(problems.length, 1, 'the browser reports the refusal');
  assert.match(problems[0], /Content Security Policy/);
  await close();
});

test('both themes draw a graph', async () => {
  const { url } = report('v13-webapp');
  for (const colorScheme of ['light', 'dark']) {
    const { page, problems, close } = await open(url, { colorScheme });
    const colours = await page.evaluate(() => {
      const canvas = document.querySelector('#flame');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const seen = new Set();
      for (let i = 0; i < data.length; i += 4 * 97) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
      return seen.size;
    });
    assert.ok(colours > 5, `${colours} colours`);
    if (process.env.PICTURES) await page.screenshot({ path: join(process.env.PICTURES, `${colorScheme}.png`) });
    assert.deepEqual(problems, []);
    await close();
  }
});
