import { DamagedReport, reasonOf } from './core/damage.js';
import { decodeModel } from './core/decode.js';
import { breather, measure } from './core/timing.js';
import { connectControls } from './view/controls.js';
import { byId, make } from './view/dom.js';
import { installHooks, nextFrame } from './view/hooks.js';
import { navigateGraph } from './view/navigate.js';
import { Page } from './view/page.js';
import { readMeta, readSections } from './view/sections.js';

const BREATH_MS = 30;

async function start() {
  let since = performance.now();
  const meta = readMeta();
  const sections = await readSections(meta, location.search.includes('fallback'));
  measure('inflate', since);
  const pause = breather(BREATH_MS);
  since = performance.now();
  const model = await decodeModel(meta, sections, pause);
  measure('decode', since);
  await pause();

  const page = new Page(model);
  connectControls(page);
  navigateGraph(page);
  await pause();
  byId('loading').hidden = true;
  byId('report').hidden = false;
  page.showRun();
  await pause();
  page.refresh(true);
  installHooks(page);
  new ResizeObserver(() => page.redraw()).observe(byId('tree'));
  window.addEventListener('hashchange', () => page.readAddress());

  await nextFrame();
  performance.mark('memreport:ready');
  since = performance.now();
  await page.answer.store.buildIndex();
  measure('index', since);
}

/** @param {unknown} error */
function giveUp(error) {
  const reason = reasonOf(error);
  const damaged = error instanceof DamagedReport;
  const text = damaged
    ? 'This report file is damaged or incomplete (' + reason + '). Make the report again, or get a fresh copy of the file.'
    : 'This report could not be shown: ' + reason;
  byId('report').hidden = true;
  const box = byId('loading');
  box.hidden = false;
  box.className = 'damaged';
  box.setAttribute('role', 'alert');
  box.replaceChildren(make('p', text));
  if (!damaged) console.error(error);
}

start().catch(giveUp);
