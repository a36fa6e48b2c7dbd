import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Answer } from './answer.js';
import { decodeModel } from './decode.js';
import { FlameLayout } from './layout.js';
import { Search, compileQuery } from './search.js';
import { defaultState } from './state.js';
import { encode, randomNumbers, randomProfile } from './testing.js';

const profile = randomProfile({ seed: 21, nodes: 900, rows: 5000, snapshots: 30, frames: 40, threads: 3 });
const limits = { slices: 31, mode: /** @type {'peak'} */ ('peak'), threads: 3, frames: 40, wholeRun: false };

async function open() {
  const { meta, sections } = encode(profile);
  return new Answer(await decodeModel(meta, sections));
}

/**
 * Bytes by stack of shown frames, added up row by row.
 * @param {import('./state.js').State} state
 * @param {number} slice
 */
function explicitStacks(state, slice) {
  /** @type {Map<string, number>} */
  const out = new Map();
  for (const row of profile.rows) {
    const { node, thread } = profile.locations[row.location];
    const live = state.mode === 'peak' ? row.start <= 2 * slice && row.end > 2 * slice : row.start >= 2 * state.lo && row.start <= 2 * state.hi + 1 && row.end > 2 * state.hi + 1;
    if (!live || (state.thread >= 0 && thread !== state.thread)) continue;
    const frames = stackOf(node).filter((f) => !state.hideIrrelevant || (profile.frames[f].flags ?? 0) % 2 === 0);
    for (let depth = 0; depth <= frames.length; depth++) {
      const key = frames.slice(0, depth).join();
      out.set(key, (out.get(key) ?? 0) + row.bytes);
    }
  }
  return out;
}

/** @param {number} node */
function stackOf(node) {
  const out = [];
  for (let i = node; i > 0; i = profile.nodes[i].parent) out.push(profile.nodes[i].frame);
  return out.reverse();
}

/**
 * @param {import('./view.js').View} view
 * @returns {Map<string, number>}
 */
function shownStacks(view) {
  const out = new Map();
  const walk = (/** @type {number} */ v) => {
    if (view.bytes(v) > 0) out.set(view.framesTo(v).join(), view.bytes(v));
    for (let c = view.children(v); c >= 0; c = view.next[c]) walk(c);
  };
  walk(0);
  return out;
}

test('every option shows exactly the stacks it should', async () => {
  const answer = await open();
  const below = randomNumbers(2);
  for (let i = 0; i < 24; i++) {
    const lo = below(31);
    const state = { ...defaultState(limits), lo, hi: lo + below(31 - lo), mode: i % 2 ? /** @type {const} */ ('leaks') : /** @type {const} */ ('peak'), hideIrrelevant: i % 3 > 0, thread: below(4) - 1 };
    answer.ask(state);
    const expected = new Map([...explicitStacks(state, answer.slice)].filter(([, bytes]) => bytes > 0).sort());
    assert.deepEqual(new Map([...shownStacks(answer.view)].sort()), expected);
  }
});

test('every view has the same root, and threads add up to it', async () => {
  const answer = await open();
  for (const mode of /** @type {const} */ (['peak', 'leaks'])) {
    const state = { ...defaultState(limits), mode, lo: 3, hi: 20 };
    answer.ask(state);
    const whole = answer.bytes;
    answer.ask({ ...state, hideIrrelevant: false });
    assert.equal(answer.bytes, whole);
    let sum = 0;
    for (let thread = 0; thread < 3; thread++) {
      answer.ask({ ...state, thread });
      assert.equal(answer.wholeBytes, whole);
      sum += answer.bytes;
    }
    assert.equal(sum, whole);
  }
});

test('siblings have distinct frames, and their order does not depend on the range', async () => {
  const answer = await open();
  answer.ask({ ...defaultState(limits), lo: 2, hi: 4 });
  const late = await open();
  late.ask({ ...defaultState(limits), lo: 25, hi: 28, mode: 'leaks' });
  const walk = (/** @type {number} */ v) => {
    const children = [];
    for (let c = answer.view.children(v); c >= 0; c = answer.view.next[c]) children.push(c);
    const others = [];
    for (let c = late.view.children(v); c >= 0; c = late.view.next[c]) others.push(c);
    const frames = children.map((c) => answer.view.frame[c]);
    assert.equal(new Set(frames).size, frames.length);
    assert.deepEqual(others.map((c) => late.view.frame[c]), frames);
    children.forEach(walk);
  };
  walk(0);
});

test('a path of frames leads to the same place whatever is hidden', async () => {
  const answer = await open();
  const state = defaultState(limits);
  answer.ask({ ...state, hideIrrelevant: false });
  const open_ = answer.view;
  for (let v = 0; v < 200 && v < open_.n; v++) {
    open_.children(v);
    answer.ask({ ...state, hideIrrelevant: false });
    const path = open_.framesTo(v);
    assert.equal(answer.follow(path), v);
    answer.ask(state);
    const shown = path.filter((f) => (profile.frames[f].flags ?? 0) === 0);
    assert.deepEqual(answer.view.framesTo(answer.follow(path)), shown);
    answer.ask({ ...state, hideIrrelevant: false });
    assert.deepEqual(open_.framesTo(answer.follow(shown)).filter((f) => (profile.frames[f].flags ?? 0) === 0), shown);
  }
  assert.equal(answer.follow([39, 39, 39, 39]) >= 0, true);
});

test('matched bytes count each byte once', async () => {
  const answer = await open();
  const search = new Search(answer.model);
  for (const [query, matches] of /** @type {[string, (f: number) => boolean][]} */ ([
    ['FUNCTION_1', (f) => profile.frames[f].function.includes('function_1')],
    ['/_[12]$/', (f) => /_[12]$/.test(profile.frames[f].function) || /_[12]$/.test(profile.frames[f].file)],
    ['module_3', (f) => profile.frames[f].file.includes('module_3')],
    ['nowhere', () => false],
  ])) {
    search.set(query);
    for (const state of [defaultState(limits), { ...defaultState(limits), hideIrrelevant: false, thread: 1 }, { ...defaultState(limits), mode: /** @type {const} */ ('leaks'), lo: 4, hi: 9 }]) {
      answer.ask(state);
      let expected = 0;
      for (const row of profile.rows) {
        const { node, thread } = profile.locations[row.location];
        const live = state.mode === 'peak' ? row.start <= 2 * answer.slice && row.end > 2 * answer.slice : row.start >= 2 * state.lo && row.start <= 2 * state.hi + 1 && row.end > 2 * state.hi + 1;
        if (!live || (state.thread >= 0 && thread !== state.thread)) continue;
        if (stackOf(node).some((f) => matches(f) && (!state.hideIrrelevant || profile.frames[f].flags === 0))) expected += row.bytes;
      }
      assert.equal(search.bytes(answer.view), expected);
    }
  }
  search.set('');
  assert.equal(search.match, null);
});

test('queries', () => {
  assert.equal(compileQuery('a.b')?.('xA.By'), true);
  assert.equal(compileQuery('a.b')?.('axb'), false);
  assert.equal(compileQuery('/a.b/')?.('AxB'), true);
  assert.equal(compileQuery('/(')?.('a/(b'), true, 'one slash alone is plain text');
  assert.equal(compileQuery('/(/'), null);
});

test('only frames half a pixel wide or wider are laid out, and none is lost by scrolling deep', async () => {
  const answer = await open();
  answer.ask(defaultState(limits));
  const { view } = answer;
  const layout = new FlameLayout();
  layout.update(view, 0, 1000);
  for (let i = 0; i < layout.n; i++) {
    const v = layout.node[i];
    assert.ok(layout.width[i] >= 0.5 && layout.x[i] + layout.width[i] <= 1000.001);
    if (v < 0) continue;
    assert.ok(Math.abs(layout.width[i] - (1000 * view.bytes(v)) / view.bytes(0)) < 1e-9);
    assert.equal(layout.level[i], view.depth[v]);
    assert.equal(layout.node[layout.hit(layout.x[i] + layout.width[i] / 2, layout.level[i])], v);
    assert.equal(layout.find(v, view.depth[v]), i);
  }
  const zoom = view.filledChildren(0)[0];
  layout.update(view, zoom, 1000);
  assert.equal(layout.width[layout.find(zoom, 1)], 1000);
});

test('a recursion 20,000 deep is a column like any other', async () => {
  const n = 20_000;
  const { meta, sections } = encode({
    frames: [{ function: '<root>', file: '', line: 0 }, { function: 'down', file: 'deep.py', line: 3 }],
    nodes: Array.from({ length: n + 1 }, (_, i) => ({ parent: i - 1, frame: i === 0 ? 0 : 1 })),
    locations: [{ node: n, thread: 0, allocator: 0 }],
    snapshots: [],
    slices: [{ peak: 100, moment: 1 }],
    rows: [{ start: 0, end: 0xffffffff, location: 0, count: 1, bytes: 100 }],
  });
  const answer = new Answer(await decodeModel(meta, sections));
  answer.ask({ ...defaultState(limits), lo: 0, hi: 0 });
  const layout = new FlameLayout();
  layout.update(answer.view, 0, 500);
  assert.equal(layout.levels, n + 1);
  const deepest = layout.node[layout.n - 1];
  assert.equal(answer.view.bytes(deepest), 100);
  assert.equal(answer.follow(answer.view.framesTo(deepest)), deepest);
});

test('if every frame is hidden, that is known', async () => {
  const { meta, sections } = encode({
    frames: [{ function: '<root>', file: '', line: 0 }, { function: '_run_code', file: '<frozen runpy>', line: 88, flags: 1 }],
    nodes: [{ parent: -1, frame: 0 }, { parent: 0, frame: 1 }],
    locations: [{ node: 1, thread: 0, allocator: 0 }],
    snapshots: [],
    slices: [{ peak: 7, moment: 1 }],
    rows: [{ start: 0, end: 0xffffffff, location: 0, count: 1, bytes: 7 }],
  });
  const answer = new Answer(await decodeModel(meta, sections));
  answer.ask({ ...defaultState(limits), hi: 0 });
  assert.equal(answer.bytes, 7);
  assert.equal(answer.allHidden, true);
  answer.ask({ ...defaultState(limits), hi: 0, hideIrrelevant: false });
  assert.equal(answer.allHidden, false);
});
