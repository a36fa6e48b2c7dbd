import { Answer } from '../core/answer.js';
import { TimeAxis } from '../core/axis.js';
import { caution, explain, question } from '../core/explain.js';
import { formatBytes, formatCount, formatNumberOf, formatPercent } from '../core/format.js';
import { explainGap } from '../core/gap.js';
import { FlameLayout } from '../core/layout.js';
import { FrameNames } from '../core/names.js';
import { Search } from '../core/search.js';
import { defaultState, fromHash, limitsOf, toHash } from '../core/state.js';
import { timed } from '../core/timing.js';
import { Brush } from './brush.js';
import { Curves } from './curves.js';
import { all, byId, make, setAria, setText } from './dom.js';
import { showFacts, showWarnings } from './facts.js';
import { FunctionTable } from './table.js';
import { readPalette } from './palette.js';
import { Pane } from './pane.js';
import { Timeline } from './timeline.js';

/** @typedef {import('../core/decode.js').Model} Model */
/** @typedef {import('../core/state.js').Mode} Mode */
/** @typedef {import('../core/state.js').State} State */
/** @typedef {{text: string, button: string, fix: Partial<State>}} Note why nothing is seen, and how to change that */

// Browsers limit how often the address may change.
const SAVE_DELAY_MS = 200;

/** @type {Record<Mode, string>} */
const ROOT_LABELS = { peak: 'all memory at the peak', leaks: 'all memory left over', temporary: 'all temporary allocations' };

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
    this.names = new FrameNames(model, this.answer.groups);
    this.timeline = new Timeline(/** @type {HTMLCanvasElement} */ (document.querySelector('#timeline canvas')), model, this.axis);
    this.brush = new Brush(this.axis, (lo, hi, settled) => this.moveRange(lo, hi, settled));
    this.main = new Pane(byId('tree'), this.names);
    this.callers = new Pane(byId('callers'), this.names);
    this.functions = new FunctionTable(this);
    this.curves = new Curves(this);
    this.palette = readPalette();
    this.framePending = false;
    this.settledPending = false;
    this.saveTimer = 0;
    /** @type {number[]} nodes of the main view that the search found, largest first; for stepping */
    this.found = [];
    this.foundAt = -1;
    /** @type {(() => void)[]} called after every change of the state */
    this.listeners = [];
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

  /** Back to the state of a report just opened, in these units. */
  reset() {
    this.state = { ...defaultState(this.limits), units: this.state.units };
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
    this.found = [];
    this.drawGraphs(settled);
    this.brush.markSlice(this.limits.wholeRun ? -1 : answer.slice);
    this.showWords();
    this.showNote();
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
    if (pane === this.main) {
      this.state.zoom = this.answer.mainView.framesTo(v);
      pane.focus = v;
      this.refresh(true);
    } else {
      pane.zoomTo(v);
      this.drawGraphs(true);
      this.announce();
    }
    pane.graph.reveal(this.depth(pane, v));
  }

  /**
   * Moves the focus. A frame that is not laid out, since it is too thin or outside the zoomed one, is brought into sight.
   * @param {Pane} pane
   * @param {number} v view node
   */
  focusOn(pane, v) {
    const { graph, focusFrame, view } = pane;
    pane.focus = v;
    if (view !== null && !graph.outline(focusFrame, v)) {
      this.zoomTo(pane, Math.max(0, view.parent[v]));
      pane.focus = v;
      // Among thousands of siblings it can still be too thin.
      if (!graph.outline(focusFrame, v)) this.zoomTo(pane, v);
    }
    graph.reveal(this.depth(pane, v));
    this.announce();
  }

  /**
   * @param {Pane} pane
   * @param {number} v view node
   * @returns {number}
   */
  depth(pane, v) {
    return pane.view === null ? 0 : pane.view.depth[v];
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

  /**
   * Goes to the next of the frames that the search found, largest first.
   * @param {1 | -1} by
   */
  step(by) {
    const { main, search } = this;
    if (main.view === null || search.match === null) return;
    if (this.found.length === 0) {
      this.found = this.findLargest(main.view);
      this.foundAt = by > 0 ? -1 : 0;
    }
    const n = this.found.length;
    if (n === 0) return;
    this.foundAt = (this.foundAt + by + n) % n;
    const found = this.found;
    const at = this.foundAt;
    this.focusOn(main, found[at]);
    // Zooming asks anew, but finds the same.
    this.found = found;
    this.foundAt = at;
    main.tree.classList.add('stepping');
    setText(byId('hit'), `${formatCount(at + 1)} of ${formatCount(n)}: ${this.matchedWords()}`);
  }

  /**
   * @param {import('../core/view.js').View} view
   * @returns {number[]} matching nodes that can be seen when nothing is zoomed and do not lie below another, largest first
   */
  findLargest(view) {
    const match = this.search.matchIn(view.shape);
    if (match === null) return [];
    const layout = new FlameLayout();
    layout.update(view, 0, this.main.tree.clientWidth);
    const covered = new Uint8Array(view.n);
    const out = [];
    for (let i = 0; i < layout.n; i++) {
      const v = layout.node[i];
      if (v < 0) continue;
      const hit = match[view.frame[v]] !== 0;
      const below = v > 0 && covered[view.parent[v]] !== 0;
      if (hit && !below) out.push(v);
      covered[v] = hit || below ? 1 : 0;
    }
    return out.sort((a, b) => view.weight(b) - view.weight(a) || a - b);
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

  /** Draws in the colours of the theme that is on now. */
  redraw() {
    this.palette = readPalette();
    this.drawTimeline();
    this.drawGraphs(true);
    this.functions.redraw();
    this.curves.showLegend();
  }

  /** Puts the question, the explanation and the search total into words. */
  showWords() {
    const { state, answer, search } = this;
    const { wholeRun, slices } = this.limits;
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
    setText(byId('hit'), state.query === '' ? '' : timed('search', () => this.matchedWords()));
    if (slices > 1) this.showGap();
    if (answer.sandwich !== null) this.showSelected(answer.sandwich);
    search.set(state.query);
  }

  /** Says why RSS and heap differ, at the sample that the shown slice ends with. */
  showGap() {
    const last = this.model.snapshotTime.length - 1;
    const slice = this.answer.slice >= 0 && !this.limits.wholeRun ? this.answer.slice : this.state.hi;
    const { title, reasons } = explainGap(this.model, this.axis, Math.min(last, slice), this.state.units);
    const [summary, list] = byId('gap').children;
    setText(summary, title + '. Why?');
    if (list.textContent !== reasons.join('')) list.replaceChildren(...reasons.map((reason) => make('li', reason)));
  }

  /** @param {import('../core/answer.js').Sandwich} sandwich */
  showSelected({ frame, callees }) {
    const { group } = callees.shape.options;
    const place = this.names.place(frame, group);
    const share = formatPercent(callees.bytes(0), this.answer.bytes);
    const [name, where, size] = byId('selected').children;
    setText(name, this.names.title(frame, group));
    setText(where, place);
    setText(size, `${formatBytes(callees.bytes(0), this.state.units)} with all that it calls (${share} of what is shown), ${formatNumberOf(callees.count(0), 'allocation')}`);
  }

  /** @returns {string} what the search matches */
  matchedWords() {
    const { search, answer, state } = this;
    if (!search.valid) return 'Not a valid expression';
    if (search.match !== null && !search.match.includes(1)) return 'No match';
    const { values } = answer;
    const shape = answer.sandwich?.callees.shape ?? answer.shape;
    const bytes = search.total(shape, values.sumBytes);
    return `${formatBytes(bytes, state.units)} (${formatPercent(bytes, answer.bytes)}) match`;
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
    const { state, answer, main } = this;
    const { mainView: view } = answer;
    const isFiltered = state.thread >= 0 || state.allocator >= 0;
    if (answer.bytes === 0 && isFiltered && answer.wholeBytes > 0) {
      return { text: 'The chosen thread or allocator holds nothing here.', button: 'Show all', fix: { thread: -1, allocator: -1 } };
    }
    if (answer.count === 0) {
      const text = state.mode === 'temporary' ? 'There were no temporary allocations.'
        : state.mode === 'peak' || this.model.meta.peak_bytes === 0 ? 'Nothing was allocated.' : 'Nothing is left over.';
      return { text, button: '', fix: {} };
    }
    if (answer.allHidden) return { text: 'Every frame is hidden.', button: 'Show them', fix: { hideIrrelevant: false, foldImports: false } };
    if (answer.sandwich !== null && view.weight(0) === 0) return { text: 'This function holds nothing here.', button: 'Show all functions', fix: { selected: 0, zoom: [] } };
    if (view.weight(main.zoom) === 0) return { text: 'The zoomed frame holds nothing here.', button: 'Reset zoom', fix: { zoom: [] } };
    return null;
  }

  /** Tells assistive technology where the focus is. */
  announce() {
    this.main.announce(this.state);
    if (this.answer.sandwich !== null) this.callers.announce(this.state);
  }

  saveAddress() {
    clearTimeout(this.saveTimer);
    this.saveTimer = window.setTimeout(() => {
      const hash = toHash(this.state, this.limits);
      if (hash !== location.hash) history.replaceState(null, '', location.href.split('#')[0] + hash);
    }, SAVE_DELAY_MS);
  }
}
