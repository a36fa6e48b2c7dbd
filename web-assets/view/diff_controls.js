import { diffCsv } from '../core/diff_csv.js';
import { saveAs } from './download.js';
import { all, byId, press } from './dom.js';
import { disable, inputById } from './inputs.js';
import { connectMenus } from './menus.js';
import { connectSearch } from './search_field.js';
import { connectTheme } from './theme.js';

/** @typedef {import('../core/diff_state.js').Range} Range */
/** @typedef {import('./diff_report.js').DiffReport} DiffReport */

/** Groups of buttons of which one is pressed: the data attribute, which is also the name in the state. */
const CHOICES = /** @type {const} */ (['mode', 'metric', 'width', 'units']);

/** Switches: the name in the state, which is also the element's id. */
const SWITCHES = /** @type {const} */ (['hideIrrelevant', 'foldImports']);

/**
 * Connects buttons, switches and the search field with the page.
 * @param {DiffReport} page
 */
export function connectDiffControls(page) {
  for (const key of CHOICES) {
    for (const button of all('[data-' + key + ']')) button.addEventListener('click', () => page.change({ [key]: button.dataset[key] }));
  }
  for (const button of all('[data-time]')) button.addEventListener('click', () => page.change({ scaled: button.dataset.time === 'scaled' }));
  for (const key of SWITCHES) inputById(key).addEventListener('change', () => page.change({ [key]: inputById(key).checked }));
  connectRanges(page);
  connectSearch(page);
  connectTheme(page);
  connectMenus();
  byId('reset').addEventListener('click', () => page.zoomTo(page.main, 0));
  byId('export-csv').addEventListener('click', () => saveAs(`memreport-diff-${page.state.mode}.csv`, new Blob([diffCsv(page.table.current().rows, page.names)], { type: 'text/csv' })));
  page.listeners.push(() => showControls(page));
}

/** @param {DiffReport} page */
function wholeRuns({ model }) {
  return /** @type {[Range, Range]} */ (model.sides.map(({ slicePeak }) => [0, slicePeak.length - 1]));
}

/** @param {DiffReport} page */
function connectRanges(page) {
  byId('to-all').addEventListener('click', () => page.change({ ranges: wholeRuns(page) }));
  byId('to-peak').addEventListener('click', () => {
    const peaks = wholeRuns(page).map((range, side) => page.answer.stores[side].peakSlice(...range));
    page.change({ ranges: /** @type {[Range, Range]} */ (peaks.map((slice) => [slice, slice])) });
  });
}

/**
 * Shows the state in all controls.
 * @param {DiffReport} page
 */
function showControls(page) {
  const { state } = page;
  for (const key of CHOICES) press(key, state[key]);
  press('time', state.scaled ? 'scaled' : 'absolute');
  for (const key of SWITCHES) inputById(key).checked = state[key];
  const search = inputById('search');
  if (search.value !== state.query) search.value = state.query;
  for (const id of ['search-previous', 'search-next']) byId(id).hidden = state.query === '';
  disable('reset', page.main.zoom === 0);
  const isOfRuns = state.mode === 'temporary' || state.mode === 'made';
  disable('to-peak', isOfRuns);
  disable('to-all', isOfRuns || String(state.ranges) === String(wholeRuns(page)));
  byId('over-time').classList.toggle('unused', isOfRuns);
}
