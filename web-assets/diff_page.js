import { DiffAnswer } from './core/diff_answer.js';
import { decodeDiff } from './core/diff_model.js';
import { takeOver } from './core/handover.js';
import { breather, measure } from './core/timing.js';
import { connectDiffControls } from './view/diff_controls.js';
import { installDiffHooks } from './view/diff_hooks.js';
import { DiffReport } from './view/diff_report.js';
import { DiffTip } from './view/diff_tip.js';
import { byId } from './view/dom.js';
import { nextFrame } from './view/frame.js';
import { giveUp } from './view/giveup.js';
import { navigateGraphs } from './view/navigate.js';

const BREATH_MS = 30;

async function start() {
  const { meta, sections } = takeOver();
  const pause = breather(BREATH_MS);
  const since = performance.now();
  const model = await decodeDiff(/** @type {any} */ (meta), sections, pause);
  measure('decode', since);
  await pause();

  const answer = new DiffAnswer(model);
  await pause();
  const page = new DiffReport(model, answer);
  connectDiffControls(page);
  navigateGraphs(page, [page.main], new DiffTip(page));
  await pause();
  byId('loading').hidden = true;
  byId('report').hidden = false;
  page.showRuns();
  await pause();
  page.refresh(true);
  installDiffHooks(page);
  new ResizeObserver(() => page.redraw()).observe(byId('tree'));
  window.addEventListener('hashchange', () => page.readAddress());

  await nextFrame();
  performance.mark('memreport:ready');
  for (const store of answer.stores) await store.buildIndex();
}

start().catch(giveUp);
