import { caution, explain, question } from '../core/explain.js';
import { formatBytes, formatNumberOf, formatPercent } from '../core/format.js';
import { explainGap } from '../core/gap.js';
import { timed } from '../core/timing.js';
import { byId, make, setText } from './dom.js';

/** @typedef {import('../core/state.js').State} State */
/** @typedef {import('./page.js').Page} Page */
/** @typedef {{text: string, button: string, fix: Partial<State>}} Note why nothing is seen, and how to change that */

/** What is shown, in words: the question, the explanation, the search total, and why there is nothing to see. */
export class Words {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
  }

  show() {
    const { state, answer, limits, axis } = this.page;
    const { wholeRun, slices } = limits;
    setText(byId('view-title'), question(state.mode, wholeRun) + ': ' + formatBytes(answer.wholeBytes, state.units));
    const sentences = explain(state, answer, axis);
    const explanation = byId('explain');
    if (explanation.textContent !== sentences.join(' ')) {
      explanation.replaceChildren(...sentences.flatMap((sentence, i) => [i === 0 ? '' : ' ', make('span', sentence)]));
    }
    const warning = caution(state, answer);
    byId('caution').hidden = warning === '';
    setText(byId('caution'), warning);
    byId('mark-legend').hidden = wholeRun || state.mode !== 'peak';
    setText(byId('hit'), state.query === '' ? '' : timed('search', () => this.matched()));
    if (slices > 1) this.showGap();
    if (answer.sandwich !== null) this.showSelected(answer.sandwich);
    this.showNote();
  }

  /** Says why RSS and heap differ, at the sample that the shown slice ends with. */
  showGap() {
    const { model, answer, limits, state, axis } = this.page;
    const last = model.snapshotTime.length - 1;
    const slice = answer.slice >= 0 && !limits.wholeRun ? answer.slice : state.hi;
    const { title, reasons } = explainGap(model, axis, Math.min(last, slice), state.units);
    const [summary, list] = byId('gap').children;
    setText(summary, title + '. Why?');
    if (list.textContent !== reasons.join('')) list.replaceChildren(...reasons.map((reason) => make('li', reason)));
  }

  /** @param {import('../core/answer.js').Sandwich} sandwich */
  showSelected({ frame, callees }) {
    const { names, answer, state } = this.page;
    const { group } = callees.shape.options;
    const place = names.place(frame, group);
    const share = formatPercent(callees.bytes(0), answer.bytes);
    const [name, where, size] = byId('selected').children;
    setText(name, names.title(frame, group));
    setText(where, place);
    setText(size, `${formatBytes(callees.bytes(0), state.units)} with all that it calls (${share} of what is shown), ${formatNumberOf(callees.count(0), 'allocation')}`);
  }

  /** @returns {string} what the search matches */
  matched() {
    const { search, answer, state } = this.page;
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
    button.onclick = () => this.page.change(note.fix);
  }

  /** @returns {Note | null} */
  noteFor() {
    const { state, answer, main, model } = this.page;
    const { mainView: view } = answer;
    const isFiltered = state.thread >= 0 || state.allocator >= 0;
    if (answer.bytes === 0 && isFiltered && answer.wholeBytes > 0) {
      return { text: 'The chosen thread or allocator holds nothing here.', button: 'Show all', fix: { thread: -1, allocator: -1 } };
    }
    if (answer.count === 0) {
      const text = state.mode === 'temporary' ? 'There were no temporary allocations.'
        : state.mode === 'peak' || model.meta.peak_bytes === 0 ? 'Nothing was allocated.' : 'Nothing is left over.';
      return { text, button: '', fix: {} };
    }
    if (answer.allHidden) return { text: 'Every frame is hidden.', button: 'Show them', fix: { hideIrrelevant: false, foldImports: false } };
    if (answer.sandwich !== null && view.weight(0) === 0) return { text: 'This function holds nothing here.', button: 'Show all functions', fix: { selected: 0, zoom: [] } };
    if (view.weight(main.zoom) === 0) return { text: 'The zoomed frame holds nothing here.', button: 'Reset zoom', fix: { zoom: [] } };
    return null;
  }
}
