// What the page does when its file is not what was written.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { folder, open, report, visit, withBrowser } from './support.mjs';

withBrowser();

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
  const html = readFileSync(report('v13-etl').path, 'utf8');
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
        const { page, problems, close } = await visit(pathToFileURL(file).href + query);
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
  const html = readFileSync(report('v13-etl').path, 'utf8');
  const { base64, replacedBy } = viewerOf(html);
  const code = gunzipSync(Buffer.from(base64, 'base64')).toString();
  const foreign = 'window.foreign = true;'.padEnd(Buffer.byteLength(code));
  const file = join(folder, 'foreign.html');
  writeFileSync(file, replacedBy(gzipSync(foreign).toString('base64')));
  const { page, problems, close } = await visit(pathToFileURL(file).href);
  await page.locator('#loading.damaged').waitFor({ timeout: 5000 });
  assert.match(await page.locator('#loading').innerText(), /damaged or incomplete/);
  assert.equal(await page.evaluate(() => 'foreign' in window), false);
  assert.equal(problems.length, 1, 'the browser reports the refusal');
  assert.match(problems[0], /Content Security Policy/);
  await close();
});
