import { byId } from './dom.js';
import { showHelp } from './menus.js';

/** @typedef {{change(change: {query: string}): void, stepper: import('./stepper.js').Stepper, goBack(typing: boolean): void}} SearchedPage */

/**
 * Connects the search field, and the keys that work all over the page.
 * @param {SearchedPage} page
 */
export function connectSearch(page) {
  const search = /** @type {HTMLInputElement} */ (byId('search'));
  search.addEventListener('input', () => page.change({ query: search.value }));
  search.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    page.stepper.step(event.shiftKey ? -1 : 1);
  });
  byId('search-next').addEventListener('click', () => page.stepper.step(1));
  byId('search-previous').addEventListener('click', () => page.stepper.step(-1));
  document.addEventListener('keydown', (event) => {
    const { target } = event;
    const typing = target instanceof HTMLInputElement && target.type === 'search';
    const isOpen = document.querySelector('dialog[open]') !== null;
    if (isOpen || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === '/' && !typing) {
      event.preventDefault();
      search.focus();
      search.select();
    } else if (event.key === '?' && !typing) showHelp();
    else if (event.key === 'Escape') page.goBack(typing);
  });
}
