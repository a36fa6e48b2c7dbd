import { formatBytes, formatCount } from './core/format.js';
import { filtered, isNumber, sorted } from './core/table_rows.js';
import { all, byId, make, setAria, setText } from './view/dom.js';

/** @typedef {import('./core/table_rows.js').TableRow} TableRow */
/** @typedef {import('./core/table_rows.js').TableColumn} TableColumn */

const FIRST_ROWS = 500;
const MORE_ROWS = 5000;

/** The table as a page of its own: rows sorted by any column, and searched. */
class TablePage {
  /** @param {TableRow[]} rows */
  constructor(rows) {
    this.rows = rows;
    this.units = /** @type {import('./core/format.js').Units} */ (document.body.dataset.units);
    this.body = /** @type {HTMLElement} */ (document.querySelector('tbody'));
    this.filter = /** @type {HTMLInputElement} */ (byId('filter'));
    /** @type {TableColumn} */
    this.column = 0;
    this.isDescending = true;
    this.limit = FIRST_ROWS;
    for (const button of all('[data-column]')) {
      button.addEventListener('click', () => this.sortBy(/** @type {TableColumn} */ (Number(button.dataset.column))));
    }
    this.filter.addEventListener('input', () => this.start());
    byId('more').addEventListener('click', () => {
      this.limit += MORE_ROWS;
      this.render();
    });
    document.addEventListener('keydown', (event) => {
      if (event.key !== '/' || event.target === this.filter) return;
      event.preventDefault();
      this.filter.focus();
    });
    byId('filter-label').hidden = false;
    this.start();
  }

  /** @param {TableColumn} column */
  sortBy(column) {
    this.isDescending = column === this.column ? !this.isDescending : isNumber(column);
    this.column = column;
    this.start();
  }

  /** Shows the first rows of another order or search. */
  start() {
    this.limit = FIRST_ROWS;
    this.render();
  }

  render() {
    const found = filtered(this.rows, this.filter.value);
    const shown = sorted(found, this.column, this.isDescending).slice(0, this.limit);
    this.body.replaceChildren(...shown.map((row) => this.element(row)));
    for (const button of all('[data-column]')) {
      const isIt = Number(button.dataset.column) === this.column;
      const order = this.isDescending ? 'descending' : 'ascending';
      setAria(/** @type {HTMLElement} */ (button.closest('th')), { sort: isIt ? order : 'none' });
    }
    const bytes = found.reduce((sum, [size]) => sum + size, 0);
    const of = found.length === this.rows.length ? '' : ` of ${formatCount(this.rows.length)}`;
    setText(byId('shown'), `${formatCount(found.length)}${of} rows, ${formatBytes(bytes, this.units)}`);
    const more = byId('more');
    more.hidden = shown.length === found.length;
    setText(more, `Show more: ${formatCount(found.length - shown.length)} left`);
  }

  /** @param {TableRow} row */
  element([size, count, thread, allocator, location]) {
    const row = make('tr');
    const bytes = make('td', formatBytes(size, this.units), 'number');
    bytes.title = formatCount(size) + ' bytes';
    row.append(bytes, make('td', formatCount(count), 'number'), make('td', thread), make('td', allocator), make('td', location));
    return row;
  }
}

new TablePage(JSON.parse(byId('rows').textContent ?? ''));
