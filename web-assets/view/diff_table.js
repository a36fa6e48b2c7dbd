import { sortedChanges } from '../core/diff_answer.js';
import { statusOf } from '../core/diff_view.js';
import { bytesChange, countChange, shareChange } from '../core/diff_words.js';
import { formatBytes, formatCount, formatNumberOf } from '../core/format.js';
import { all, byId, make, setAria, setText } from './dom.js';

/** @typedef {import('../core/diff_answer.js').ChangedFunction} ChangedFunction */
/** @typedef {import('../core/diff_state.js').DiffColumn} DiffColumn */
/** @typedef {import('./diff_report.js').DiffReport} DiffReport */

const FIRST_ROWS = 30;
const MORE_ROWS = 200;

/** The table of functions that changed, the largest change first. */
export class DiffTable {
  /** @param {DiffReport} page */
  constructor(page) {
    this.page = page;
    this.body = /** @type {HTMLElement} */ (document.querySelector('#functions tbody'));
    this.limit = FIRST_ROWS;
    for (const button of all('[data-sort]')) {
      button.addEventListener('click', () => {
        this.limit = FIRST_ROWS;
        page.change({ sort: /** @type {DiffColumn} */ (button.dataset.sort) });
      });
    }
    byId('more-functions').addEventListener('click', () => {
      this.limit += MORE_ROWS;
      this.show();
    });
  }

  /** @returns {{rows: ChangedFunction[], unchanged: number, hidden: ChangedFunction[]}} rows that the search leaves, sorted, and those that it leaves out */
  current() {
    const { answer, search, state } = this.page;
    const { shape, changed, unchanged } = answer.functions();
    const match = search.matchIn(shape);
    const isFound = (/** @type {ChangedFunction} */ row) => match === null || match[row.frame] !== 0;
    return { rows: sortedChanges(changed.filter(isFound), state.sort), unchanged, hidden: changed.filter((row) => !isFound(row)) };
  }

  show() {
    const { state, answer } = this.page;
    const { rows, unchanged, hidden } = this.current();
    for (const button of all('[data-sort]')) setAria(/** @type {HTMLElement} */ (button.closest('th')), { sort: button.dataset.sort === state.sort ? 'descending' : 'none' });
    const shown = rows.slice(0, this.limit);
    this.body.replaceChildren(...shown.map((row) => this.row(row)));
    const change = (/** @type {ChangedFunction[]} */ of) => bytesChange([sum(of, 0), sum(of, 1)], state.units);
    const left = rows.slice(this.limit);
    setText(byId('functions-total'), [
      `${formatNumberOf(rows.length, 'function')} changed, ${change(rows)} of their own`,
      ...(hidden.length > 0 ? [`the search leaves out ${formatNumberOf(hidden.length, 'other')}, ${change(hidden)}`] : []),
      ...(unchanged > 0 ? [`${formatCount(unchanged)} unchanged`] : []),
    ].join('; '));
    const more = byId('more-functions');
    more.hidden = left.length === 0;
    setText(more, `Show more: ${formatCount(left.length)} left, ${change(left)} of their own`);
    const note = byId('no-changes');
    note.hidden = rows.length > 0;
    setText(note, hidden.length > 0 ? 'No function that changed matches the search.' : answer.bytes[0] + answer.bytes[1] === 0 ? 'Nothing was allocated in either.' : 'Nothing changed.');
  }

  /**
   * @param {ChangedFunction} row
   * @returns {HTMLElement}
   */
  row(row) {
    const { names, state } = this.page;
    const out = make('tr');
    out.className = statusOf(row.ownBytes, row.ownCount);
    const size = (/** @type {number} */ bytes) => number(formatBytes(bytes, state.units), formatCount(bytes) + ' bytes');
    const change = (/** @type {import('../core/diff_view.js').Pair} */ bytes) => number(bytesChange(bytes, state.units), countChange(bytes) + ' bytes');
    const name = make('td', '', 'name');
    const title = row.frame === 0 ? 'no frame that can be seen' : names.title(row.frame, 'function');
    const button = make('button', title, 'link');
    button.title = title;
    /** @type {HTMLButtonElement} */ (button).disabled = row.frame === 0;
    button.addEventListener('click', () => this.page.find(row.frame));
    name.append(button);
    const place = row.frame === 0 ? '' : names.place(row.frame, 'function');
    const file = make('td', place, 'file');
    file.title = place;
    const own = change(row.ownBytes);
    own.classList.add('change');
    out.append(own, make('td', shareChange(row.ownBytes), 'number share'), size(row.ownBytes[0]), size(row.ownBytes[1]), change(row.bytes), number(countChange(row.ownCount), `${formatCount(row.ownCount[0])} in base, ${formatCount(row.ownCount[1])} in new`), name, file);
    return out;
  }
}

/**
 * @param {string} text
 * @param {string} title
 * @returns {HTMLElement}
 */
function number(text, title) {
  const out = make('td', text, 'number');
  out.title = title;
  return out;
}

/**
 * @param {ChangedFunction[]} rows
 * @param {0 | 1} side
 * @returns {number} bytes of their own
 */
function sum(rows, side) {
  return rows.reduce((bytes, row) => bytes + row.ownBytes[side], 0);
}
