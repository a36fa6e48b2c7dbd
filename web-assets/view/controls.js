import { largestGrowth, peakRss } from '../core/moments.js';
import { all, byId, make, press, setAria } from './dom.js';
import { disable, inputById } from './inputs.js';
import { connectMenus } from './menus.js';
import { connectSearch } from './search_field.js';
import { connectTheme } from './theme.js';

/** @typedef {import('../core/state.js').State} State */
/** @typedef {import('./page.js').Page} Page */

/** Groups of buttons of which one is pressed: the data attribute, which is also the name in the state. */
const CHOICES = /** @type {const} */ (['mode', 'direction', 'metric', 'units']);

/** Switches: the name in the state, which is also the element's id. */
const SWITCHES = /** @type {const} */ (['hideIrrelevant', 'foldImports', 'collapse', 'rootAtBottom', 'stacked']);

/**
 * Connects buttons, switches and the search field with the page.
 * @param {Page} page
 */
export function connectControls(page) {
  for (const key of CHOICES) {
    for (const button of all('[data-' + key + ']')) button.addEventListener('click', () => page.change({ [key]: button.dataset[key] }));
  }
  for (const key of SWITCHES) inputById(key).addEventListener('change', () => page.change({ [key]: inputById(key).checked }));
  connectRange(page);
  connectFilters(page);
  connectSearch(page);
  connectLegend(page);
  connectTheme(page);
  connectMenus();
  byId('reset').addEventListener('click', () => page.zoomTo(page.main, 0));
  byId('unselect').addEventListener('click', () => page.select(0));
  page.listeners.push(() => showControls(page));
}

/**
 * Shows the state in all controls.
 * @param {Page} page
 */
function showControls(page) {
  const { state } = page;
  for (const key of CHOICES) press(key, state[key]);
  for (const key of SWITCHES) inputById(key).checked = state[key];
  inputById('group').value = state.group;
  inputById('thread').value = String(state.thread);
  inputById('allocator').value = String(state.allocator);
  const search = inputById('search');
  if (search.value !== state.query) search.value = state.query;
  disable('reset', page.main.zoom === 0);
  for (const id of ['search-previous', 'search-next']) byId(id).hidden = state.query === '';
  // Both directions are in sight.
  for (const button of all('[data-direction]')) /** @type {HTMLButtonElement} */ (button).disabled = state.selected > 0;
  inputById('rootAtBottom').disabled = state.selected > 0;
  const last = page.limits.slices - 1;
  const isTemporary = state.mode === 'temporary';
  for (const button of all('#range-buttons button')) /** @type {HTMLButtonElement} */ (button).disabled = isTemporary;
  disable('to-all', isTemporary || (state.lo === 0 && state.hi === last));
  byId('timeline').classList.toggle('unused', isTemporary);
}

/** @param {Page} page */
function connectRange(page) {
  const { model, limits } = page;
  const last = limits.slices - 1;
  /**
   * @param {string} id
   * @param {number} lo
   * @param {number} hi
   */
  const go = (id, lo, hi) => byId(id).addEventListener('click', () => page.change({ lo, hi }));
  const peak = page.answer.store.peakSlice(0, last);
  const rss = peakRss(model);
  const growth = largestGrowth(model);
  go('to-all', 0, last);
  go('to-peak', peak, peak);
  go('to-rss', rss, rss);
  go('to-growth', growth, growth);
  go('to-end', last, last);
}

/** @param {Page} page */
function connectFilters(page) {
  const { model } = page;
  const { threads, allocators } = model.meta;
  const used = new Uint8Array(allocators.length);
  for (let i = 0, n = model.locationAllocator.length; i < n; i++) used[model.locationAllocator[i]] = 1;
  addChoices(page, 'thread', threads.map((name, i) => [i, name]));
  addChoices(page, 'allocator', allocators.map((name, i) => /** @type {[number, string]} */ ([i, name])).filter(([i]) => used[i] !== 0));
  const group = inputById('group');
  group.addEventListener('change', () => page.change({ group: /** @type {State['group']} */ (group.value) }));
}

/**
 * @param {Page} page
 * @param {'thread' | 'allocator'} key
 * @param {[number, string][]} choices
 */
function addChoices(page, key, choices) {
  const select = inputById(key);
  for (const [value, text] of [/** @type {[number, string]} */ ([-1, 'all ' + key + 's']), ...choices]) {
    const option = /** @type {HTMLOptionElement} */ (make('option', text));
    option.value = String(value);
    select.append(option);
  }
  byId(key + '-filter').hidden = choices.length < 2;
  select.addEventListener('change', () => page.change({ [key]: Number(select.value) }));
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
