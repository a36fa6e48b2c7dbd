// The page of a table in a real browser, as page.test.mjs has the report's.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tableOf, visit, withBrowser } from './support.mjs';

withBrowser();

/** The texts of a column, from the first row on. */
const column = (page, n) => page.locator(`tbody td:nth-child(${n})`).allTextContents();

test('rows are sorted by any column, and searched', async () => {
  const { page, problems, close } = await visit(tableOf('v13-webapp', '--split-threads'));
  assert.match(await page.textContent('h2'), /^Peak: 7\.2 MiB \(7,601,751 bytes\) in 2,268 allocations$/);
  assert.equal(await page.textContent('#shown'), '647 rows, 7.2\u00a0MiB');
  assert.equal(await page.locator('tbody tr').count(), 500);
  assert.equal(await page.textContent('#more'), 'Show more: 147 left');
  await page.click('#more');
  assert.equal(await page.locator('tbody tr').count(), 647);
  await page.click('[data-column="4"]');
  const locations = await column(page, 5);
  assert.deepEqual(locations, [...locations].sort());
  assert.equal(await page.getAttribute('th:nth-child(5)', 'aria-sort'), 'ascending');
  await page.click('[data-column="1"]');
  const counts = (await column(page, 2)).map((count) => Number(count.replaceAll(',', '')));
  assert.deepEqual(counts, counts.toSorted((a, b) => b - a));
  await page.keyboard.press('/');
  await page.keyboard.type('COMPILE');
  const found = await column(page, 5);
  assert.ok(found.length > 3 && found.every((location) => location.toLowerCase().includes('compile')));
  assert.match(await page.textContent('#shown'), new RegExp(`^${found.length} of 647 rows, `));
  assert.deepEqual(problems, []);
  await close();
});

test('without scripts the table is there, and says what it has', async () => {
  const { page, problems, close } = await visit(tableOf('v13-synthetic-paths'), { javaScriptEnabled: false });
  assert.equal(await page.locator('tbody tr').count(), Number((await page.textContent('#shown')).split(' ')[0]));
  assert.equal(await page.locator('#filter').isVisible(), false);
  assert.deepEqual(problems, []);
  await close();
});
