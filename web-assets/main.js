import { Answer } from './core/answer.js';
import { decodeModel } from './core/decode.js';
import { takeOver } from './core/handover.js';
import { breather, measure } from './core/timing.js';
import { connectControls } from './view/controls.js';
import { byId } from './view/dom.js';
import { connectExports } from './view/exports.js';
import { nextFrame } from './view/frame.js';
import { giveUp } from './view/giveup.js';
import { installHooks } from './view/hooks.js';
import { navigateGraphs } from './view/navigate.js';
import { Page } from './view/page.js';
import { connectReadout } from './view/readout.js';
import { Tooltip } from './view/tooltip.js';

const BREATH_MS = 30;

async function start() {
  const { meta, sections } = takeOver();
  const pause = breather(BREATH_MS);
  let since = performance.now();
  const model = await decodeModel(meta, sections, pause);
  measure('decode', since);
  await pause();

  const answer = new Answer(model);
  await pause();
  const page = new Page(model, answer);
  connectControls(page);
  connectExports(page);
  connectReadout(page);
  navigateGraphs(page, [page.main, page.callers], new Tooltip(page));
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
  await answer.store.buildIndex();
  measure('index', since);
}

start().catch(giveUp);
