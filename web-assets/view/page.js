import { Answer } from '../core/answer.js';
import { TimeAxis } from '../core/axis.js';
import { caution, explain, question } from '../core/explain.js';
import { formatBytes, formatPercent } from '../core/format.js';
import { FrameNames } from '../core/names.js';
import { Search } from '../core/search.js';
import { fromHash, limitsOf, toHash } from '../core/state.js';
import { timed } from '../core/timing.js';
import { Brush } from './brush.js';
import { all, byId, make, setAria, setText } from './dom.js';
import { showFacts, showWarnings } from './facts.js';
import { FlameGraph } from './flame.js';
import { readPalette } from './palette.js';
import { Timeline } from './timeline.js';
import { showTreeItems } from './treeitems.js';

/** @typedef {import('../core/decode.js').Model} Model */
/** @typedef {import('../core/state.js').Mode} Mode */
/** @typedef {import('../core/state.js').State} State */
/** @typedef {{text: string, button: string, fix: Partial<State>}} Note why nothing is seen, and how to change that */

// Browsers limit how often the address may change.
const SAVE_DELAY_MS = 200;

/** The open report: what the reader chose, the answer to it, and the parts of the page that show it. */
export class Page {
  /** @param {Model} model */
  constructor(model) {
    const { meta } = model;
    this.model = model;
    this.limits = limitsOf(meta);
    this.state = fromHash(location.hash, this.limits);
    this.axis = new TimeAxis(model.snapshotTime, meta.end_ms - meta.start_ms);
    this.answer = new Answer(model);
    this.search = new Search(model);
    this.names = new FrameNames(model);
    this.timeline = new Timeline(/** @type {HTMLCanvasElement} */ (document.querySelector('#timeline canvas')), model, this.axis);
    this.brush = new Brush(this.axis, (lo, hi, settled) => this.moveRange(lo, hi, settled));
    this.graph = new FlameGraph(this.names);
    this.palette = readPalette();
    /** View nodes: what the graph is zoomed to, and where the keyboard is. */
    this.zoom = 0;
    this.focus = 0;
    this.framePending = false;
    this.settledPending = false;
    this.saveTimer = 0;
    /** @type {(() => void)[]} called after every change of the state */
    this.listeners = [];
    this.hideWhatIsMissing();
    showWarnings(meta.warnings);
  }

  /**
   * Without a single snapshot there is no time, hence no chart and no range. Sums alone have a chart, but neither
   * ranges nor slices with a peak of their own.
   */
  hideWhatIsMissing() {
    const { wholeRun, slices } = this.limits;
    for (const id of ['timeline', 'legend']) byId(id).hidden = slices === 1;
    for (const id of ['range-buttons', 'brush-track']) byId(id).hidden = wholeRun;
    for (const button of all('[data-mode]')) setText(button, question(/** @type {Mode} */ (button.dataset.mode), wholeRun));
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
    Object.assign(this.state, change);
    if ('units' in change) this.showAll();
    else {
      if ('lo' in change || 'hi' in change) this.brush.show(this.state.lo, this.state.hi);
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
    this.settledPending = this.settledPending || settled;
    if (this.framePending) return;
    this.framePending = true;
    requestAnimationFrame(() => {
      const done = this.settledPending;
      this.framePending = this.settledPending = false;
      this.refresh(done);
    });
  }

  /**
   * Asks, and shows the answer.
   * @param {boolean} settled false while a drag goes on
   */
  refresh(settled) {
    const { state, answer } = this;
    const oldView = answer.view;
    answer.ask(state);
    this.search.set(state.query);
    // Nodes of one view mean nothing in another.
    if (answer.view !== oldView) this.zoom = -1;
    if (settled || this.zoom < 0) this.applyZoom();
    this.drawGraph(settled);
    this.brush.markSlice(this.limits.wholeRun ? -1 : answer.slice);
    this.showWords();
    this.showNote();
    if (!settled) return;
    this.announce();
    this.saveAddress();
    for (const listener of this.listeners) listener();
  }

  /** Finds the view node that the state is zoomed to. */
  applyZoom() {
    const zoom = this.answer.follow(this.state.zoom);
    if (zoom !== this.zoom) this.focus = zoom;
    this.zoom = zoom;
  }

  /** @param {number} v view node */
  zoomTo(v) {
    this.zoom = this.focus = v;
    this.state.zoom = this.answer.view.framesTo(v);
    this.refresh(true);
    this.graph.reveal(this.answer.view.depth[v]);
  }

  /** @returns {string} */
  get rootLabel() {
    return this.state.mode === 'peak' ? 'all memory at the peak' : 'all memory left over';
  }

  /**
   * @param {number} v view node
   * @returns {string} what it is called, in full
   */
  fullName(v) {
    const frame = this.answer.view.frame[v];
    if (v === 0) return this.rootLabel;
    return this.names.functionName(frame) + ', ' + this.names.place(frame) + (this.names.isNative(frame) ? ', native' : '');
  }

  /** @param {boolean} settled */
  drawGraph(settled) {
    const { graph, state } = this;
    graph.palette = this.palette;
    graph.draw(
      {
        view: this.answer.view,
        zoom: this.zoom,
        match: this.search.match,
        rootLabel: this.rootLabel,
        formatBytes: (bytes) => formatBytes(bytes, state.units),
      },
      settled,
    );
    graph.outline(byId('hover-frame'), -1);
    graph.outline(byId('focus-frame'), this.focus);
  }

  drawTimeline() {
    if (this.model.snapshotTime.length > 0) timed('timeline', () => this.timeline.draw(this.palette, this.state.units));
  }

  /** Draws in the colours of the theme that is on now. */
  redraw() {
    this.palette = readPalette();
    this.drawTimeline();
    this.drawGraph(true);
  }

  /** Puts the question, the explanation and the search total into words. */
  showWords() {
    const { state, answer, search } = this;
    const { wholeRun } = this.limits;
    setText(byId('view-title'), question(state.mode, wholeRun) + ': ' + formatBytes(answer.wholeBytes, state.units));
    const sentences = explain(state, answer, this.axis);
    const explanation = byId('explain');
    if (explanation.textContent !== sentences.join(' ')) {
      explanation.replaceChildren(...sentences.flatMap((sentence, i) => [i === 0 ? '' : ' ', make('span', sentence)]));
    }
    const warning = caution(state, answer);
    byId('caution').hidden = warning === '';
    setText(byId('caution'), warning);
    byId('mark-legend').hidden = wholeRun || state.mode !== 'peak';
    setText(byId('hit'), state.query === '' ? '' : this.matchedWords(timed('search', () => search.bytes(answer.view))));
  }

  /**
   * @param {number} bytes
   * @returns {string}
   */
  matchedWords(bytes) {
    if (!this.search.valid) return 'Not a valid expression';
    if (this.search.match !== null && !this.search.match.includes(1)) return 'No match';
    return formatBytes(bytes, this.state.units) + ' (' + formatPercent(bytes, this.answer.bytes) + ') match';
  }

  /** Says why there is nothing to see, if so. */
  showNote() {
    const note = this.noteFor();
    const box = byId('note');
    box.hidden = note === null;
    if (note === null) return;
    const [text, button] = /** @type {[HTMLElement, HTMLButtonElement]} */ ([...box.children]);
    setText(text, note.text);
    setText(button, note.button);
    button.hidden = note.button === '';
    button.onclick = () => this.change(note.fix);
  }

  /** @returns {Note | null} */
  noteFor() {
    const { state, answer, model } = this;
    if (answer.bytes === 0 && state.thread >= 0 && answer.wholeBytes > 0) {
      return { text: 'Thread ' + model.meta.threads[state.thread] + ' holds nothing here.', button: 'Show all threads', fix: { thread: -1 } };
    }
    if (answer.bytes === 0) {
      const text = state.mode === 'peak' || model.meta.peak_bytes === 0 ? 'Nothing was allocated.' : 'Nothing is left over.';
      return { text, button: '', fix: {} };
    }
    if (answer.allHidden) return { text: 'Every frame is hidden as irrelevant.', button: 'Show them', fix: { hideIrrelevant: false } };
    if (answer.view.bytes(this.zoom) === 0) return { text: 'The zoomed frame holds nothing here.', button: 'Reset zoom', fix: { zoom: [] } };
    return null;
  }

  /** Tells assistive technology where the focus is. */
  announce() {
    showTreeItems(this.answer.view, this.focus, this.state, (v) => this.fullName(v));
  }

  saveAddress() {
    clearTimeout(this.saveTimer);
    this.saveTimer = window.setTimeout(() => {
      const hash = toHash(this.state, this.limits);
      if (hash !== location.hash) history.replaceState(null, '', location.href.split('#')[0] + hash);
    }, SAVE_DELAY_MS);
  }
}
