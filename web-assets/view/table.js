import { peakColumns } from '../core/columns.js';
import { formatBytes, formatCount, formatNumberOf } from '../core/format.js';
import { functionRows, groupsByOwner, sortedRows } from '../core/functions.js';
import { seriesOf } from '../core/series.js';
import { timed } from '../core/timing.js';
import { byId, fitCanvas, make, setAria, setText } from './dom.js';

/** @typedef {import('../core/functions.js').FunctionColumn} FunctionColumn */
/** @typedef {import('../core/functions.js').FunctionRow} FunctionRow */
/** @typedef {import('./page.js').Page} Page */

const FIRST_ROWS = 30;
const MORE_ROWS = 200;
const SPARK_WIDTH = 120;
const SPARK_HEIGHT = 20;
const MAX_FILE = 70;

/** What a row of the table is called, by what counts as one frame. */
const NOUNS = { line: 'function', function: 'function', module: 'module', package: 'package' };

/** The table of functions, modules or packages, with a small curve for each. */
export class FunctionTable {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.box = byId('functions');
    this.body = /** @type {HTMLElement} */ (this.box.querySelector('tbody'));
    /** @type {FunctionColumn} */
    this.column = 'ownBytes';
    this.limit = FIRST_ROWS;
    /** @type {FunctionRow[]} in the order in which they are shown, without those that the search leaves out */
    this.rows = [];
    this.isStale = true;
    this.isVisible = false;
    /** @type {Map<number, Float64Array>} small curves by frame, for one shape and one filter */
    this.sparks = new Map();
    this.sparksFor = '';
    new IntersectionObserver(([entry]) => {
      this.isVisible = entry.isIntersecting;
      if (this.isVisible && this.isStale) this.render();
    }, { rootMargin: '200px' }).observe(this.box);
    for (const button of this.sortButtons) button.addEventListener('click', () => this.sortBy(/** @type {FunctionColumn} */ (button.dataset.sort)));
    byId('more-functions').addEventListener('click', () => {
      this.limit += MORE_ROWS;
      this.render();
    });
  }

  /** @returns {HTMLElement[]} */
  get sortButtons() {
    return Array.from(this.box.querySelectorAll('[data-sort]'));
  }

  /** @returns {import('../core/shape.js').Shape} */
  get shape() {
    return this.page.answer.tableShape(this.page.state);
  }

  /** The state changed. */
  update() {
    this.isStale = true;
    if (this.isVisible) this.render();
  }

  /** Draws the small curves in new colours. */
  redraw() {
    if (!this.isStale) this.drawSparks();
  }

  /** @param {FunctionColumn} column */
  sortBy(column) {
    this.column = column;
    this.limit = FIRST_ROWS;
    this.render();
  }

  /** @returns {FunctionRow[]} all rows that the search leaves, sorted */
  currentRows() {
    const { answer, search } = this.page;
    const { shape } = this;
    const match = search.matchIn(shape);
    const rows = timed('functions', () => functionRows(shape, answer.values));
    return sortedRows(match === null ? rows : rows.filter((row) => match[row.frame] !== 0), this.column);
  }

  render() {
    const { page } = this;
    const { state, answer } = page;
    this.isStale = false;
    this.rows = this.currentRows();
    const noun = NOUNS[state.group];
    for (const button of this.sortButtons) setAria(/** @type {HTMLElement} */ (button.closest('th')), { sort: button.dataset.sort === this.column ? 'descending' : 'none' });
    setText(byId('functions-title'), noun[0].toUpperCase() + noun.slice(1) + 's');
    setText(byId('name-column'), noun[0].toUpperCase() + noun.slice(1));
    const hasFiles = noun === 'function';
    const hasCurves = !page.limits.wholeRun && state.mode !== 'temporary';
    this.box.classList.toggle('no-files', !hasFiles);
    this.box.classList.toggle('no-curves', !hasCurves);
    const shown = this.rows.slice(0, this.limit);
    this.body.replaceChildren(...shown.map((row) => this.rowElement(row)));
    const own = this.rows.reduce((sum, row) => sum + row.ownBytes, 0);
    const rest = this.rows.slice(this.limit).reduce((sum, row) => sum + row.ownBytes, 0);
    const size = (/** @type {number} */ bytes) => formatBytes(bytes, state.units);
    const left = this.rows.length - shown.length;
    setText(byId('functions-total'), formatNumberOf(this.rows.length, noun) + ', ' + size(own) + ' of their own'
      + (own < answer.bytes ? '; the search leaves out ' + size(answer.bytes - own) : ''));
    const more = byId('more-functions');
    more.hidden = left === 0;
    setText(more, `Show more: ${formatCount(left)} left, ${size(rest)} of their own`);
    if (hasCurves) this.fillSparks(shown.map((row) => row.frame));
  }

  /**
   * @param {FunctionRow} row
   * @returns {HTMLElement}
   */
  rowElement(row) {
    const { names, state, answer } = this.page;
    const { group } = this.shape.options;
    const out = make('tr');
    const name = make('td');
    if (row.frame === 0) name.append('no frame that can be seen');
    else {
      const button = make('button', names.title(row.frame, group), 'link');
      button.title = 'Callers and callees of ' + button.textContent;
      button.addEventListener('click', () => {
        this.page.select(row.frame);
        byId('graph').scrollIntoView({ block: 'nearest' });
      });
      name.append(button);
    }
    const place = row.frame === 0 ? '' : names.place(row.frame, group);
    const file = make('td', place.length > MAX_FILE ? '…' + place.slice(1 - MAX_FILE) : place, 'file');
    file.title = place;
    const spark = make('td', '', 'spark');
    const canvas = make('canvas');
    canvas.dataset.frame = String(row.frame);
    setAria(canvas, { hidden: true });
    spark.append(canvas);
    const bytes = (/** @type {number} */ value) => {
      const cell = make('td', formatBytes(value, state.units), 'number');
      cell.title = formatCount(value) + ' bytes';
      return cell;
    };
    out.append(bytes(row.ownBytes), bytes(row.bytes), make('td', formatCount(row.ownCount), 'number'), spark, name, file);
    if (answer.sandwich !== null && answer.sandwich.frame === row.frame) out.className = 'chosen';
    return out;
  }

  /**
   * Computes the small curves that are not known yet. They do not depend on the range.
   * @param {number[]} frames
   */
  async fillSparks(frames) {
    const { page, shape } = this;
    const { answer, model, state, axis } = page;
    const key = [shape.options.hideIrrelevant, shape.options.foldImports, shape.options.collapse, shape.options.group, state.thread, state.allocator].join();
    if (key !== this.sparksFor) {
      this.sparksFor = key;
      this.sparks = new Map();
    }
    this.drawSparks();
    const missing = frames.filter((frame) => !this.sparks.has(frame));
    if (missing.length === 0) return;
    const { sparks } = this;
    const series = await seriesOf(model, groupsByOwner(shape, missing, -1), answer.keep, missing.length, () => this.sparks !== sparks);
    if (series === null || this.sparks !== sparks) return;
    series.forEach((values, i) => sparks.set(missing[i], peakColumns(axis.edges, values, SPARK_WIDTH, 1)));
    this.drawSparks();
  }

  drawSparks() {
    for (const canvas of /** @type {NodeListOf<HTMLCanvasElement>} */ (this.body.querySelectorAll('canvas'))) {
      const values = this.sparks.get(Number(canvas.dataset.frame));
      if (values !== undefined) drawSpark(canvas, values, this.page.palette.css('--heap'));
    }
  }
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Float64Array} values
 * @param {string} colour
 */
function drawSpark(canvas, values, colour) {
  const ratio = fitCanvas(canvas, SPARK_WIDTH, SPARK_HEIGHT);
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  const highest = values.reduce((max, v) => Math.max(max, v), 1);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, SPARK_WIDTH, SPARK_HEIGHT);
  context.fillStyle = colour;
  for (let x = 0; x < values.length; x++) {
    if (values[x] <= 0) continue;
    const height = Math.max(1, ((SPARK_HEIGHT - 1) * values[x]) / highest);
    context.fillRect(x, SPARK_HEIGHT - height, 1, height);
  }
}
