import { TimeAxis } from '../core/axis.js';
import { question } from '../core/explain.js';
import { seriesOf } from '../core/series.js';
import { fromHash, limitsOf, toHash } from '../core/state.js';
import { timed } from '../core/timing.js';
import { Brush } from './brush.js';
import { Curves } from './curves.js';
import { all, byId, setAria, setText } from './dom.js';
import { showFacts, showWarnings } from './facts.js';
import { GraphPage } from './graph_page.js';
import { closeMenu } from './menus.js';
import { readPalette } from './palette.js';
import { Pane } from './pane.js';
import { FunctionTable } from './table.js';
import { Timeline } from './timeline.js';
import { Words } from './words.js';

/** @typedef {import('../core/answer.js').Answer} Answer */
/** @typedef {import('../core/decode.js').Model} Model */
/** @typedef {import('../core/state.js').Mode} Mode */
/** @typedef {import('../core/state.js').State} State */

/** @type {Record<Mode, string>} */
const ROOT_LABELS = { peak: 'all memory at the peak', leaks: 'all memory left over', temporary: 'all temporary allocations' };

/**
 * The open report: what the reader chose, the answer to it, and the parts of the page that show it.
 * @extends {GraphPage<State>}
 */
export class Page extends GraphPage {
  /**
   * @param {Model} model
   * @param {Answer} answer
   */
  constructor(model, answer) {
    const { meta } = model;
    const limits = limitsOf(meta);
    super(model, answer.groups, fromHash(location.hash, limits), (names) => new Pane(byId('tree'), names));
    this.model = model;
    this.limits = limits;
    this.axis = new TimeAxis(model.snapshotTime, meta.end_ms - meta.start_ms);
    this.answer = answer;
    this.timeline = new Timeline(/** @type {HTMLCanvasElement} */ (document.querySelector('#timeline canvas')), model, this.axis);
    this.brush = new Brush(this.axis, (lo, hi, settled) => this.moveRange(lo, hi, settled));
    this.callers = new Pane(byId('callers'), this.names);
    this.words = new Words(this);
    this.functions = new FunctionTable(this);
    this.curves = new Curves(this);
    this.palette = readPalette();
    /** How many series are being computed. */
    this.seriesPending = 0;
    this.hideWhatIsMissing();
    showWarnings(meta.warnings);
  }

  /**
   * Without a single snapshot there is no time, hence no chart and no range. Sums alone have a chart, but neither
   * ranges nor slices with a peak of their own, nor temporary allocations.
   */
  hideWhatIsMissing() {
    const { wholeRun, slices, temporary } = this.limits;
    for (const id of ['timeline', 'legend', 'gap']) byId(id).hidden = slices === 1;
    for (const id of ['range-buttons', 'brush-track', 'stack-switch']) byId(id).hidden = wholeRun;
    for (const button of all('[data-mode]')) setText(button, question(/** @type {Mode} */ (button.dataset.mode), wholeRun));
    for (const button of all('[data-mode=temporary]')) button.hidden = !temporary;
    if (!wholeRun) return;
    this.timeline.shown.peak = false;
    setAria(this.timeline.canvas, { label: 'Heap and resident size (RSS) over time' });
    for (const button of all('[data-series=peak]')) button.hidden = true;
  }

  /** Shows everything anew, as after the address was edited. */
  showAll() {
    this.showRun();
    this.refresh(true);
  }

  /** Shows what does not depend on the question: the facts, the chart, and the range. */
  showRun() {
    this.brush.show(this.state.lo, this.state.hi);
    showFacts(this.model, this.axis, this.state.units);
    this.drawTimeline();
  }

  /**
   * Changes the state and shows the result.
   * @param {Partial<State>} change
   */
  change(change) {
    const { state } = this;
    // A path from the callers means nothing from the allocators.
    if ('direction' in change && change.direction !== state.direction && state.selected === 0) change = { zoom: [], ...change };
    Object.assign(state, change);
    if ('units' in change) this.showAll();
    else {
      if ('lo' in change || 'hi' in change) this.brush.show(state.lo, state.hi);
      this.refresh(true);
    }
  }

  /** Takes the state from the address. */
  readAddress() {
    this.state = fromHash(location.hash, this.limits);
    this.showAll();
  }

  /**
   * Shows another range with the next frame.
   * @param {number} lo
   * @param {number} hi
   * @param {boolean} settled false while a drag goes on
   */
  moveRange(lo, hi, settled) {
    this.state.lo = lo;
    this.state.hi = hi;
    this.refreshSoon(settled);
  }

  /**
   * Asks, and shows the answer.
   * @param {boolean} settled false while a drag goes on
   */
  refresh(settled) {
    const { state, answer, main, callers } = this;
    answer.ask(state);
    if (state.selected > 0 && answer.sandwich === null) {
      Object.assign(state, { selected: 0, zoom: [] });
      answer.ask(state);
    }
    this.search.set(state.query);
    const isOther = main.setView(answer.mainView);
    if (answer.sandwich !== null) callers.setView(answer.sandwich.callers);
    if (settled || isOther) main.zoomTo(answer.follow(state.zoom));
    this.stepper.forget();
    this.drawGraphs(settled);
    this.brush.markSlice(this.limits.wholeRun ? -1 : answer.slice);
    this.words.show();
    if (!settled) return;
    this.functions.update();
    this.curves.update();
    this.announce();
    this.saveAddress();
    for (const listener of this.listeners) listener();
  }

  /**
   * @param {Pane} pane
   * @param {number} v view node
   */
  zoomTo(pane, v) {
    if (pane === this.main) return super.zoomTo(pane, v);
    pane.zoomTo(v);
    this.drawGraphs(true);
    this.announce();
    pane.graph.reveal(this.depth(pane, v));
  }

  /**
   * Shows callers and callees of the function that a frame belongs to.
   * @param {Pane} pane
   * @param {number} v view node
   */
  selectNode(pane, v) {
    const frame = pane.view === null ? 0 : pane.view.frame[v];
    if (frame !== 0) this.select(frame);
  }

  /** @param {number} frame of a function, or 0 to go back to the whole */
  select(frame) {
    this.change({ selected: frame, zoom: [] });
  }

  /** @param {boolean} settled */
  drawGraphs(settled) {
    const { state, answer, palette, main, callers } = this;
    const { sandwich, shape } = answer;
    callers.tree.hidden = byId('selected').hidden = sandwich === null;
    main.tree.classList.remove('stepping');
    if (sandwich === null) {
      main.draw(palette, state, this.search.matchIn(shape), ROOT_LABELS[state.mode], state.rootAtBottom, settled);
      return;
    }
    const name = this.names.label(sandwich.frame, sandwich.callees.shape.options.group);
    const match = this.search.matchIn(sandwich.callees.shape);
    const rows = (/** @type {Pane} */ pane) => Math.min(30, Math.max(4, pane.graph.layout.levels));
    main.draw(palette, state, match, 'what ' + name + ' calls', false, settled);
    callers.draw(palette, state, match, 'who calls ' + name, true, settled);
    if (!settled) return;
    // Both share the room by their depth.
    main.tree.style.flexGrow = String(rows(main));
    callers.tree.style.flexGrow = String(rows(callers));
    main.draw(palette, state, match, 'what ' + name + ' calls', false, true);
    callers.draw(palette, state, match, 'who calls ' + name, true, true);
  }

  drawTimeline() {
    if (this.model.snapshotTime.length > 0) timed('timeline', () => this.timeline.draw(this.palette, this.state.units));
  }

  /**
   * What groups of stacks held over time, of what the filters keep: in steps, between which the page can be used.
   * @param {Int16Array} groupOf
   * @param {number} groups
   * @param {() => boolean} isStale
   * @returns {Promise<Float64Array[] | null>} null once it is stale
   */
  async seriesOf(groupOf, groups, isStale) {
    this.seriesPending++;
    try {
      return await seriesOf(this.model, groupOf, this.answer.keep, groups, isStale);
    } finally {
      this.seriesPending--;
    }
  }

  /** Draws in the colours of the theme that is on now. */
  redraw() {
    this.palette = readPalette();
    this.drawTimeline();
    this.drawGraphs(true);
    this.functions.redraw();
    this.curves.showLegend();
  }

  /** Tells assistive technology where the focus is. */
  announce() {
    this.main.announce(this.state);
    if (this.answer.sandwich !== null) this.callers.announce(this.state);
  }

  /** Whether all that was asked for is shown, and kept in the address. */
  get isSettled() {
    return !this.framePending && this.saveTimer === 0 && this.seriesPending === 0 && this.functions.isSettled;
  }

  matched() {
    return this.words.matched();
  }

  hash() {
    return toHash(this.state, this.limits);
  }

  /**
   * Undoes the latest of: an open menu, search, zoom, chosen function.
   * @param {boolean} typing
   */
  goBack(typing) {
    const { state, main } = this;
    if (closeMenu()) return;
    if (state.query !== '' && (typing || main.zoom === 0)) this.change({ query: '' });
    else if (main.zoom !== 0) this.zoomTo(main, 0);
    else if (state.selected > 0) this.select(0);
  }
}
