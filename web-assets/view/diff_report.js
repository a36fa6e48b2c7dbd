import { TimeAxis } from '../core/axis.js';
import { fromDiffHash, hasRanges, modesOf, toDiffHash } from '../core/diff_state.js';
import { SIDES, bytesChange, diffQuestion, explainChange, explainSide, inBrackets, titleOf } from '../core/diff_words.js';
import { timed } from '../core/timing.js';
import { Brush } from './brush.js';
import { DiffChart, RunStrip, highest } from './diff_chart.js';
import { showDiffFacts } from './diff_facts.js';
import { readDiffPalette } from './diff_palette.js';
import { DiffPane } from './diff_pane.js';
import { DiffTable } from './diff_table.js';
import { all, byId, setText } from './dom.js';
import { showWarnings } from './facts.js';
import { GraphPage } from './graph_page.js';
import { closeMenu } from './menus.js';

/** @typedef {import('../core/diff_answer.js').DiffAnswer} DiffAnswer */
/** @typedef {import('../core/diff_model.js').DiffModel} DiffModel */
/** @typedef {import('../core/diff_model.js').DiffMode} DiffMode */
/** @typedef {import('../core/diff_state.js').DiffState} DiffState */
/** @typedef {import('../core/diff_state.js').Range} Range */

/** @type {Record<DiffMode, string>} */
const ROOT_LABELS = { peak: 'all memory at the peaks', leaks: 'all memory left over', temporary: 'all temporary allocations', made: 'all allocations' };

/**
 * The open page of two captures.
 * @extends {GraphPage<DiffState>}
 */
export class DiffReport extends GraphPage {
  /**
   * @param {DiffModel} model
   * @param {DiffAnswer} answer
   */
  constructor(model, answer) {
    const { meta, sides } = model;
    super(model.tree, answer.groups, fromDiffHash(location.hash, meta), (names) => new DiffPane(byId('tree'), names));
    this.model = model;
    this.answer = answer;
    this.palette = readDiffPalette();
    this.axes = this.axesOf();
    this.chart = new DiffChart(/** @type {HTMLCanvasElement} */ (document.querySelector('#timeline canvas')), sides);
    this.strips = SIDES.map((name, side) => new RunStrip(/** @type {HTMLCanvasElement} */ (document.querySelector(`#strip-${name} canvas`)), sides[side], name));
    this.brushes = SIDES.map((name, side) => new Brush(this.axes[side], (lo, hi, settled) => this.moveRange(side, [lo, hi], settled), 'brush-track-' + name));
    this.table = new DiffTable(this);
    this.wholeRun = !hasRanges(meta, 0) && !hasRanges(meta, 1);
    this.hideWhatIsMissing();
    const ofSides = sides.flatMap((side, i) => side.meta.warnings.map((warning) => `In ${SIDES[i]}: ${warning}`));
    showWarnings([...meta.cautions, ...ofSides]);
  }

  hideWhatIsMissing() {
    const { meta } = this.model;
    const counts = meta.captures.map((capture) => capture.counts.snapshots);
    byId('over-time').hidden = byId('time-buttons').hidden = counts[0] + counts[1] === 0;
    SIDES.forEach((name, side) => {
      byId('brush-track-' + name).hidden = !hasRanges(meta, /** @type {0 | 1} */ (side));
    });
    byId('range-buttons').hidden = this.wholeRun;
    const modes = modesOf(meta);
    for (const button of all('[data-mode]')) {
      const mode = /** @type {DiffMode} */ (button.dataset.mode);
      setText(button, diffQuestion(mode, this.wholeRun));
      button.hidden = !modes.includes(mode);
    }
  }

  /** @returns {TimeAxis[]} where the slices of base and of new lie on the one axis of the chart */
  axesOf() {
    const axis = (/** @type {import('../core/axis.js').AxisLimits | undefined} */ limits) => this.model.sides.map(({ meta, snapshotTime }) => new TimeAxis(snapshotTime, meta.end_ms - meta.start_ms, limits));
    const own = axis(undefined);
    if (this.state.scaled) return own;
    const [a, b] = own.map(({ limits }) => limits);
    return axis({ left: Math.min(a.left, b.left), right: Math.max(a.right, b.right) });
  }

  /** Shows everything anew, as after the address was edited. */
  showAll() {
    this.showRuns();
    this.refresh(true);
  }

  /** Shows what does not depend on the question: the facts, the chart, and the ranges. */
  showRuns() {
    this.axes = this.axesOf();
    this.brushes.forEach((brush, side) => {
      brush.axis = this.axes[side];
      brush.show(...this.state.ranges[side]);
    });
    showDiffFacts(this.model.meta.captures, this.state.units);
    this.drawChart();
  }

  /**
   * Changes the state and shows the result.
   * @param {Partial<DiffState>} change
   */
  change(change) {
    Object.assign(this.state, change);
    if ('units' in change || 'scaled' in change) return this.showAll();
    if ('ranges' in change) this.brushes.forEach((brush, side) => brush.show(...this.state.ranges[side]));
    this.refresh(true);
  }

  /** Takes the state from the address. */
  readAddress() {
    this.state = fromDiffHash(location.hash, this.model.meta);
    this.showAll();
  }

  /**
   * @param {number} side
   * @param {Range} range
   * @param {boolean} settled false while a drag goes on
   */
  moveRange(side, range, settled) {
    this.state.ranges[side] = range;
    this.refreshSoon(settled);
  }

  /** @param {boolean} settled */
  refresh(settled) {
    const { state, answer, main } = this;
    answer.ask(state);
    this.search.set(state.query);
    const isOther = main.setView(answer.view);
    if (settled || isOther) main.zoomTo(answer.follow(state.zoom));
    this.stepper.forget();
    this.drawGraph(settled);
    this.brushes.forEach((brush, side) => brush.markSlice(hasRanges(this.model.meta, /** @type {0 | 1} */ (side)) ? answer.slices[side] : -1));
    this.showWords();
    if (!settled) return;
    timed('functions', () => this.table.show());
    this.announce();
    this.saveAddress();
    for (const listener of this.listeners) listener();
  }

  showWords() {
    const { state, answer, axes } = this;
    setText(byId('view-title'), titleOf(state, answer, this.wholeRun));
    SIDES.forEach((name, side) => setText(byId('explain-' + name), explainSide(/** @type {0 | 1} */ (side), state, answer, axes[side])));
    setText(byId('explain-change'), explainChange(answer));
    setText(byId('hit'), state.query === '' ? '' : timed('search', () => this.matched()));
    const note = answer.allHidden ? 'Every frame is hidden.'
      : answer.view.weight(0) === 0 ? (answer.bytes[0] + answer.bytes[1] + answer.count[0] + answer.count[1] === 0 ? 'Nothing is there in either.' : 'No stack changed.')
        : answer.view.weight(this.main.zoom) === 0 ? 'The zoomed frame holds nothing here.' : '';
    byId('note').hidden = note === '';
    setText(byId('note'), note);
  }

  /** @returns {string} */
  matched() {
    const { search, answer, state } = this;
    if (!search.valid) return 'Not a valid expression';
    if (search.match !== null && !search.match.includes(1)) return 'No match';
    const [base, next] = answer.values.map((values) => search.total(answer.view.shape, values.sumBytes));
    return bytesChange([base, next], state.units) + inBrackets([base, next]) + ' match';
  }

  /**
   * Looks for a function, by its name and place, in graph and table.
   * @param {number} frame
   */
  find(frame) {
    this.change({ query: this.names.title(frame, 'function'), zoom: [] });
    byId('graph').scrollIntoView({ block: 'nearest' });
    this.stepper.step(1);
  }

  hash() {
    return toDiffHash(this.state, this.model.meta);
  }

  /** @param {boolean} settled */
  drawGraph(settled) {
    const { state, answer, main } = this;
    main.tree.classList.remove('stepping');
    main.draw(this.palette, state, this.search.matchIn(answer.view.shape), ROOT_LABELS[state.mode], false, settled);
  }

  drawChart() {
    const { state, palette, axes, strips, model } = this;
    if (byId('over-time').hidden) return;
    const largest = Math.max(1, ...model.sides.map(highest));
    timed('timeline', () => {
      this.chart.draw(palette, state.units, axes, state.scaled);
      strips.forEach((strip, side) => strip.draw(palette, axes[side], largest));
    });
  }

  /** Draws in the colours of the theme that is on now. */
  redraw() {
    this.palette = readDiffPalette();
    this.drawChart();
    this.drawGraph(true);
  }

  announce() {
    this.main.announce(this.state);
  }

  /** Whether all that was asked for is shown, and kept in the address. */
  get isSettled() {
    return !this.framePending && this.saveTimer === 0;
  }

  /**
   * Undoes the latest of: an open menu, search, zoom.
   * @param {boolean} typing
   */
  goBack(typing) {
    const { state, main } = this;
    if (closeMenu()) return;
    if (state.query !== '' && (typing || main.zoom === 0)) this.change({ query: '' });
    else if (main.zoom !== 0) this.zoomTo(main, 0);
  }
}
