// What the tests of the page share: reports made by the command line, opened from disk without a network.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const fromViewer = createRequire(join(root, 'web-assets/package.json'));
const { chromium } = fromViewer('playwright-core');
const binary = resolve(process.env.MEMREPORT ?? join(root, 'target/release/memreport'));
const captures = join(root, 'tests/captures');
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-quic'];

let browser;
export let folder;

/** Starts the browser before the tests of a file, and ends it after them. */
export function withBrowser() {
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'memreport-'));
    browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ARGUMENTS });
  });
  after(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });
}

const axe = () => readFileSync(fromViewer.resolve('axe-core'), 'utf8');

/** What axe-core finds wrong: rule, and where. */
export async function axeViolations(page) {
  await page.evaluate(axe());
  const { violations: found } = await page.evaluate(() => window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  return found.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.target.join(' ')} ${node.any.concat(node.all, node.none).map((c) => c.message).join('; ')}`).slice(0, 3).join(' | ')}`);
}

/** Names of all captures of the repository. */
export const captureNames = () => readdirSync(captures).filter((file) => file.endsWith('.bin')).map((file) => file.slice(0, -4));

/** What the command line says about a capture, and where its page is. */
export function report(name, ...options) {
  return reportOf(join(captures, `${name}.bin`), `${name}${options.join('')}`, ...options);
}

/** The same of any file. */
export function reportOf(capture, name, ...options) {
  const path = join(folder, `${name}.html`);
  const json = join(folder, `${name}.json`);
  execFileSync(binary, ['build', capture, '-q', '--allow-truncated', '-o', path, '--json', json, ...options]);
  return { path, url: pathToFileURL(path).href, profile: JSON.parse(readFileSync(json, 'utf8')) };
}

/** What the command line says about two captures, and where their page is. */
export function diffOf(base, next, ...options) {
  const path = join(folder, `${base}-${next}${options.join('')}.html`);
  run(base, next, '-o', path, ...options);
  return { path, url: pathToFileURL(path).href, ...diffJson(base, next, ...options) };
}

/** What the command line says about two captures. */
export const diffJson = (base, next, ...options) => JSON.parse(run(base, next, '--json', ...options));

const run = (base, next, ...options) => execFileSync(binary, ['diff', ...[base, next].map((name) => join(captures, `${name}.bin`)),
  '-q', '--allow-truncated', ...options], { stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 28 });

/** The address of the page of a capture's table. */
export function tableOf(name, ...options) {
  const path = join(folder, `${name}.table.html`);
  execFileSync(binary, ['table', join(captures, `${name}.bin`), '-q', '-o', path, ...options]);
  return pathToFileURL(path).href;
}

/** Opens a page without network; `problems` collects what a user would see in the console. */
export async function open(url, options = {}) {
  const { page, problems, close } = await visit(url, options);
  await page.waitForFunction(() => performance.getEntriesByName('memreport:ready').length > 0);
  return { page, problems, close };
}

/** The same, without waiting for the graph. */
export async function visit(url, options = {}) {
  const context = await browser.newContext({ offline: true, viewport: { width: 1400, height: 900 }, ...options });
  const page = await context.newPage();
  const problems = [];
  page.on('console', (message) => problems.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => problems.push(String(error)));
  await page.route('**', (route) => {
    const wanted = route.request().url();
    if (wanted.split(/[?#]/)[0] === url.split(/[?#]/)[0]) return route.continue();
    problems.push(`request: ${wanted}`);
    return route.abort();
  });
  await page.goto(url);
  return { page, problems, close: () => context.close() };
}

/** Resolves once what was changed is drawn, the table too, and kept in the address. */
export const settled = (page) => page.evaluate(() => window.memreport.settled());

export { randomNumbers } from '../../web-assets/core/testing.js';
