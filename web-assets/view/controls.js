import { argmax } from '../core/columns.js';
import { all, byId, make, press, setAria, setText } from './dom.js';
import { darkMedia } from './palette.js';

/** @typedef {import('../core/format.js').Units} Units */
/** @typedef {import('../core/state.js').Mode} Mode */
/** @typedef {import('./page.js').Page} Page */

/**
 * Connects buttons, switches and the search field with the page.
 * @param {Page} page
 */
export function connectControls(page) {
  connectRange(page);
  connectFilters(page);
  connectSearch(page);
  connectLegend(page);
  connectTheme(page);
  page.listeners.push(() => showControls(page));
}

/**
 * Shows the state in all controls.
 * @param {Page} page
 */
function showControls(page) {
  const { state } = page;
  press('mode', state.mode);
  press('units', state.units);
  inputById('irrelevant').checked = state.hideIrrelevant;
  inputById('thread').value = String(state.thread);
  const search = inputById('search');
  if (search.value !== state.query) search.value = state.query;
  const reset = /** @type {HTMLButtonElement} */ (byId('reset'));
  reset.disabled = page.zoom === 0;
}

/** @param {Page} page */
function connectRange(page) {
  const { model } = page;
  const last = page.limits.slices - 1;
  for (const button of all('[data-mode]')) button.addEventListener('click', () => page.change({ mode: /** @type {Mode} */ (button.dataset.mode) }));
  /**
   * @param {number} lo
   * @param {number} hi
   */
  const go = (lo, hi) => () => page.change({ lo, hi });
  const peak = page.answer.store.peakSlice(0, last);
  const rss = argmax(model.snapshotRss);
  byId('to-all').addEventListener('click', go(0, last));
  byId('to-peak').addEventListener('click', go(peak, peak));
  byId('to-rss').addEventListener('click', go(rss, rss));
}

/** @param {Page} page */
function connectFilters(page) {
  const { threads } = page.model.meta;
  const select = inputById('thread');
  const option = (/** @type {number} */ value, /** @type {string} */ text) => {
    const out = /** @type {HTMLOptionElement} */ (make('option', text));
    out.value = String(value);
    return out;
  };
  select.append(option(-1, 'all threads'), ...threads.map((name, i) => option(i, name)));
  byId('thread-filter').hidden = threads.length < 2;
  select.addEventListener('change', () => page.change({ thread: Number(select.value) }));
  const irrelevant = inputById('irrelevant');
  irrelevant.addEventListener('change', () => page.change({ hideIrrelevant: irrelevant.checked }));
  byId('reset').addEventListener('click', () => page.zoomTo(0));
  for (const button of all('[data-units]')) button.addEventListener('click', () => page.change({ units: /** @type {Units} */ (button.dataset.units) }));
}

/** @param {Page} page */
function connectSearch(page) {
  const search = inputById('search');
  search.addEventListener('input', () => page.change({ query: search.value }));
  document.addEventListener('keydown', (event) => {
    const typing = event.target instanceof HTMLInputElement && event.target.type === 'search';
    if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      search.focus();
      search.select();
    } else if (event.key === 'Escape') {
      if (page.state.query !== '' && (typing || page.zoom === 0)) page.change({ query: '' });
      else page.zoomTo(0);
    }
  });
}

/** @param {Page} page */
function connectLegend(page) {
  const { shown } = page.timeline;
  for (const button of all('[data-series]')) {
    const key = button.dataset.series ?? '';
    button.addEventListener('click', () => {
      shown[key] = !shown[key];
      setAria(button, { pressed: shown[key] });
      page.drawTimeline();
    });
  }
}

/** @param {Page} page */
function connectTheme(page) {
  const media = darkMedia();
  const button = byId('theme');
  const isDark = () => matchMedia(media.mediaText).matches;
  const name = () => setText(button, isDark() ? 'Light theme' : 'Dark theme');
  /** @param {string} text */
  const show = (text) => {
    media.mediaText = text;
    name();
    page.redraw();
  };
  name();
  button.addEventListener('click', () => show(isDark() ? 'not all' : 'all'));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => show(media.mediaText));
  // Paper is white.
  let chosen = '';
  window.addEventListener('beforeprint', () => {
    chosen = media.mediaText;
    show('not all');
  });
  window.addEventListener('afterprint', () => show(chosen));
}

/**
 * @param {string} id
 * @returns {HTMLInputElement} select elements too have all that is used here
 */
function inputById(id) {
  return /** @type {HTMLInputElement} */ (byId(id));
}
