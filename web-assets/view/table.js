import { peakColumns } from '../core/columns.js';
import { formatBytes, formatCount, formatNumberOf } from '../core/format.js';
import { groupsByOwner, sortedRows } from '../core/functions.js';
import { timed } from '../core/timing.js';
import { byId, fitCanvas, make, setAria, setText } from './dom.js';

/** @typedef {import('../core/functions.js').FunctionColumn} FunctionColumn */
/** @typedef {import('../core/functions.js').FunctionRow} FunctionRow */
/** @typedef {import('../core/groups.js').Group} Group */
/** @typedef {import('./page.js').Page} Page */

const FIRST_ROWS = 30;
const MORE_ROWS = 200;
const SPARK_WIDTH = 120;
const SPARK_HEIGHT = 20;
const NOTHING = new Float64Array(0);
const DELAY_MS = 60;

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
    /** @type {Row[]} used again, since making them is slow */
    this.elements = [];
    this.timer = 0;
    /** @type {Map<number, Float64Array>} small curves by frame, for one shape and one filter */
    this.sparks = new Map();
    this.sparksFor = '';
    new IntersectionObserver((entries) => {
      this.isVisible = entries[entries.length - 1].isIntersecting;
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

  /** The state changed. The table follows once that has not happened again for a moment. */
  update() {
    this.isStale = true;
    clearTimeout(this.timer);
    if (this.isVisible) this.timer = window.setTimeout(() => this.render(), DELAY_MS);
  }

  /** Whether the table, where it can be seen, shows the state. */
  get isSettled() {
    return !(this.isVisible && this.isStale);
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
    const { answer, search, state } = this.page;
    const { shape } = this;
    const match = search.matchIn(shape);
    const rows = timed('functions', () => answer.functions(state));
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
    while (this.elements.length < shown.length) this.elements.push(new Row((frame) => this.choose(frame)));
    const { group } = this.shape.options;
    const chosen = answer.sandwich?.frame ?? -1;
    shown.forEach((row, i) => this.elements[i].fill(row, page, group, row.frame === chosen));
    this.body.replaceChildren(...this.elements.slice(0, shown.length).map((row) => row.element));
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

  /** @param {number} frame of a function whose callers and callees are wanted */
  choose(frame) {
    this.page.select(frame);
    byId('graph').scrollIntoView({ block: 'nearest' });
  }

  /**
   * Computes the small curves that are not known yet. They do not depend on the range.
   * @param {number[]} frames
   */
  async fillSparks(frames) {
    const { page, shape } = this;
    const { state, axis } = page;
    const key = [shape.options.hideIrrelevant, shape.options.foldImports, shape.options.collapse, shape.options.group, state.thread, state.allocator].join();
    if (key !== this.sparksFor) {
      this.sparksFor = key;
      this.sparks = new Map();
    }
    this.drawSparks();
    const missing = frames.filter((frame) => !this.sparks.has(frame));
    if (missing.length === 0) return;
    const { sparks } = this;
    const series = await page.seriesOf(groupsByOwner(shape, missing, -1), missing.length, () => this.sparks !== sparks);
    if (series === null || this.sparks !== sparks) return;
    series.forEach((values, i) => sparks.set(missing[i], peakColumns(axis.edges, values, SPARK_WIDTH, 1)));
    this.drawSparks();
  }

  drawSparks() {
    const colour = this.page.palette.css('--heap');
    for (const row of this.elements) if (row.element.isConnected) row.drawSpark(this.sparks.get(row.frame) ?? NOTHING, colour);
  }
}

/** A row of the table, filled anew for each function that it shows. */
class Row {
  /** @param {(frame: number) => void} onChoose */
  constructor(onChoose) {
    this.frame = 0;
    this.element = make('tr');
    this.numbers = ['', '', ''].map(() => make('td', '', 'number'));
    this.canvas = /** @type {HTMLCanvasElement} */ (make('canvas'));
    setAria(this.canvas, { hidden: true });
    this.button = make('button', '', 'link');
    this.button.addEventListener('click', () => onChoose(this.frame));
    this.place = make('td', '', 'file');
    const spark = make('td', '', 'spark');
    spark.append(this.canvas);
    const name = make('td', '', 'name');
    name.append(this.button);
    this.element.append(...this.numbers, spark, name, this.place);
    /** @type {Float64Array | null} what the small curve shows */
    this.drawn = null;
    this.colour = '';
  }

  /**
   * @param {FunctionRow} row
   * @param {Page} page
   * @param {Group} group
   * @param {boolean} isChosen
   */
  fill({ frame, ownBytes, bytes, ownCount }, { names, state }, group, isChosen) {
    this.frame = frame;
    this.element.className = isChosen ? 'chosen' : '';
    for (const [i, value] of [ownBytes, bytes].entries()) {
      setText(this.numbers[i], formatBytes(value, state.units));
      this.numbers[i].title = formatCount(value) + ' bytes';
    }
    setText(this.numbers[2], formatCount(ownCount));
    const title = frame === 0 ? 'no frame that can be seen' : names.title(frame, group);
    const place = frame === 0 ? '' : names.place(frame, group);
    setText(this.button, title);
    /** @type {HTMLButtonElement} */ (this.button).disabled = frame === 0;
    setText(this.place, place);
    this.button.title = title;
    this.place.title = place;
  }

  /**
   * @param {Float64Array} values a column of pixels each
   * @param {string} colour
   */
  drawSpark(values, colour) {
    if (values === this.drawn && colour === this.colour) return;
    this.drawn = values;
    this.colour = colour;
    drawColumns(this.canvas, values, colour);
  }
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Float64Array} values
 * @param {string} colour
 */
function drawColumns(canvas, values, colour) {
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
