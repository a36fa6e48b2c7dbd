// What the page saves as files can be read by others.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder, open, report, settled, withBrowser } from './support.mjs';

withBrowser();

/** Presses a button of the export menu, and reads the file that comes of it. */
async function saved(page, kind) {
  await page.locator('.menu.right summary').click();
  const coming = page.waitForEvent('download');
  await page.locator(`#export-${kind}`).click();
  const download = await coming;
  const path = join(folder, download.suggestedFilename());
  await download.saveAs(path);
  await page.keyboard.press('Escape');
  assert.match(download.suggestedFilename(), new RegExp(`^memreport-\\d+-\\w+\\.${kind}$`));
  return readFileSync(path);
}

/** A CSV by RFC 4180. */
function parseCsv(text) {
  const rows = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    rows[rows.length - 1].push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === '\r\n') rows.push([]);
  }
  return rows.slice(0, -1);
}

for (const name of ['v13-etl', 'v13-synthetic-badutf8', 'v13-synthetic-paths', 'v13-surrogate', 'v06-unicode']) {
  test(`files of ${name}`, async () => {
    const { url, profile } = report(name);
    const { page, problems, close } = await open(url, { acceptDownloads: true });
    await settled(page);
    const png = await saved(page, 'png');
    const picture = await page.evaluate(async (bytes) => {
      const { width, height } = await createImageBitmap(new Blob([Uint8Array.from(bytes)], { type: 'image/png' }));
      return { width, height };
    }, [...png]);
    assert.ok(picture.width > 1300 && picture.height > 300, 'as large as the graph');

    const svg = (await saved(page, 'svg')).toString();
    const shapes = await page.evaluate((text) => {
      const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
      return { errors: parsed.querySelectorAll('parsererror').length, scripts: parsed.querySelectorAll('script').length, boxes: parsed.querySelectorAll('rect').length };
    }, svg);
    assert.deepEqual({ errors: shapes.errors, scripts: shapes.scripts }, { errors: 0, scripts: 0 });
    assert.ok(shapes.boxes > 2);

    const rows = parseCsv((await saved(page, 'csv')).toString());
    assert.equal(rows[0][0], 'own_bytes');
    assert.ok(rows.every((row) => row.length === rows[0].length));
    assert.equal(rows.slice(1).reduce((sum, row) => sum + Number(row[0]), 0), profile.metadata.peak_memory);
    assert.deepEqual(problems, []);
    await close();
  });
}

/** WCAG 2: how well two colours can be told apart, 1 to 21. */
function contrast(a, b) {
  const luminance = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

for (const colorScheme of ['light', 'dark']) {
  test(`labels can be read on every frame: ${colorScheme}`, async () => {
    for (const [name, query] of [['v13-webapp', ''], ['v13-webapp', 'json'], ['v13-native-cpp', '']]) {
      const { url } = report(name);
      const { page, close } = await open(url, { colorScheme, acceptDownloads: true });
      await page.locator('#search').fill(query);
      const svg = (await saved(page, 'svg')).toString();
      const fills = new Set([...svg.matchAll(/<rect [^>]*fill="(#\w{6})"/g)].map((match) => match[1]));
      const [, text] = /<text [^>]*fill="(#\w{6})"/.exec(svg);
      assert.ok(fills.size > 4);
      for (const fill of fills) assert.ok(contrast(fill, text) >= 4.5, `${text} on ${fill}: ${contrast(fill, text)}`);
      await close();
    }
  });
}
