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
    assert.deepEqual([...png.subarray(0, 8)], [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    assert.ok(png.readUInt32BE(16) > 1000 && png.readUInt32BE(20) > 300, 'as large as the page');

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
