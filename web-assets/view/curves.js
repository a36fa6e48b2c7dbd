import { formatBytes } from '../core/format.js';
import { groupBelow, groupsByOwner, sortedRows } from '../core/functions.js';
import { measure } from '../core/timing.js';
import { byId, make, setAria } from './dom.js';
import { LAYERS } from './palette.js';

/** @typedef {import('./page.js').Page} Page */
/** @typedef {{name: string, frame: number}} Layer a function that the chart stacks; frame 0 = all others */

/** The curves of functions in the chart: the largest ones stacked, and the one that is chosen. */
export class Curves {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    /** @type {Layer[]} */
    this.layers = [];
    this.stackedFor = '';
    this.chosenFor = '';
  }

  /** The state changed. */
  update() {
    const { state, limits } = this.page;
    if (limits.wholeRun) return;
    this.updateStack(state.stacked && state.mode !== 'temporary');
    this.updateChosen();
  }

  /** @param {boolean} wanted */
  async updateStack(wanted) {
    const { page } = this;
    const { answer, state, timeline } = page;
    const shape = answer.tableShape(state);
    const rows = wanted ? sortedRows(answer.functions(state), 'ownBytes').filter((row) => row.frame !== 0).slice(0, LAYERS) : [];
    const frames = rows.map((row) => row.frame);
    const key = wanted ? [JSON.stringify(shape.options), answer.keepFor, frames].join() : '';
    if (key === this.stackedFor) return;
    this.stackedFor = key;
    if (!wanted) {
      timeline.stack = null;
      this.layers = [];
      return this.show();
    }
    const since = performance.now();
    const series = await page.seriesOf(groupsByOwner(shape, frames, frames.length), frames.length + 1, () => this.stackedFor !== key);
    if (series === null || this.stackedFor !== key) return;
    measure('series', since);
    timeline.stack = series;
    this.layers = [...frames.map((frame) => ({ frame, name: page.names.label(frame, shape.options.group) })), { frame: 0, name: 'everything else' }];
    this.show();
  }

  async updateChosen() {
    const { page } = this;
    const { answer, timeline, model } = page;
    const { sandwich, keepFor } = answer;
    const shape = sandwich?.callees.shape;
    const key = sandwich === null ? '' : [sandwich.frame, JSON.stringify(shape?.options), keepFor].join();
    if (key === this.chosenFor) return;
    this.chosenFor = key;
    if (sandwich === null || shape === undefined) {
      timeline.chosen = null;
      return this.show();
    }
    const series = await page.seriesOf(groupBelow(model, shape.nodesOf(sandwich.frame)), 1, () => this.chosenFor !== key);
    if (series === null || this.chosenFor !== key) return;
    timeline.chosen = series[0];
    this.show();
  }

  show() {
    this.page.drawTimeline();
    this.showLegend();
  }

  /** Lists the functions of the chart; a click chooses one. */
  showLegend() {
    const { page, layers } = this;
    const { timeline, palette, answer } = page;
    const box = byId('layers');
    box.hidden = layers.length === 0 && timeline.chosen === null;
    const items = layers.map((layer, i) => {
      const item = make(layer.frame === 0 ? 'span' : 'button', layer.name);
      item.prepend(swatch(palette.layers[i === layers.length - 1 ? LAYERS : i]));
      if (layer.frame !== 0) item.addEventListener('click', () => page.select(layer.frame));
      return item;
    });
    if (timeline.chosen !== null && answer.sandwich !== null) {
      const highest = timeline.chosen.reduce((max, v) => Math.max(max, v), 0);
      const name = page.names.label(answer.sandwich.frame, answer.sandwich.callees.shape.options.group);
      const item = make('span', `${name} with all that it calls (at most ${formatBytes(highest, page.state.units)})`);
      item.prepend(swatch(palette.css('--chosen')));
      items.push(item);
    }
    box.replaceChildren(...items);
  }
}

/**
 * @param {string} colour
 * @returns {HTMLElement}
 */
function swatch(colour) {
  const out = make('i');
  out.style.background = colour;
  setAria(out, { hidden: true });
  return out;
}
