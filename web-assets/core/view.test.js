import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Answer } from './answer.js';
import { decodeModel } from './decode.js';
import { functionRows, groupBelow, groupsByOwner } from './functions.js';
import { GROUPS } from './groups.js';
import { FlameLayout } from './layout.js';
import { Search, compileQuery } from './search.js';
import { seriesOf } from './series.js';
import { defaultState } from './state.js';
import { encode, randomNumbers, randomProfile } from './testing.js';

const profile = randomProfile({ seed: 21, nodes: 900, rows: 5000, snapshots: 30, frames: 40, threads: 3 });
const limits = { slices: 31, mode: /** @type {'peak'} */ ('peak'), threads: 3, allocators: 2, frames: 40, temporary: true, wholeRun: false };

/** @typedef {import('./state.js').State} State */

async function open() {
  const { meta, sections } = encode(profile);
  return new Answer(await decodeModel(meta, sections));
}

/**
 * Whether a row counts in a state, apart from what is shown of its stack.
 * @param {State} state
 * @param {number} slice
 * @param {import('./testing.js').TestRow} row
 */
function counts(state, slice, row) {
  const { thread, allocator } = profile.locations[row.location];
  const live = state.mode === 'peak' ? row.start <= 2 * slice && row.end > 2 * slice : row.start >= 2 * state.lo && row.start <= 2 * state.hi + 1 && row.end > 2 * state.hi + 1;
  return live && (state.thread < 0 || thread === state.thread) && (state.allocator < 0 || allocator === state.allocator);
}

/**
 * What the locations hold in a state, row by row.
 * @param {State} state
 * @param {number} slice
 * @returns {{location: number, bytes: number, count: number}[]}
 */
function held(state, slice) {
  if (state.mode !== 'temporary') return profile.rows.filter((row) => counts(state, slice, row));
  return (profile.temporary ?? []).map((t, location) => ({ location, ...t })).filter(({ location }) => {
    const { thread, allocator } = profile.locations[location];
    return (state.thread < 0 || thread === state.thread) && (state.allocator < 0 || allocator === state.allocator);
  });
}

/**
 * What stands for a frame in a grouping, found by names.
 * @param {State['group']} group
 * @param {number} frame
 */
function groupOf(group, frame) {
  if (group === 'line') return frame;
  const { function: name, file } = profile.frames[frame];
  const folder = file.slice(0, file.lastIndexOf('/'));
  const same = (/** @type {import('./testing.js').TestFrame} */ f) => (group === 'function' ? f.function === name && f.file === file : group === 'module' ? f.file === file : f.file.startsWith(folder + '/'));
  return profile.frames.findIndex((f, i) => i > 0 && same(f));
}

/**
 * The frames that are shown of a stack, callers first.
 * @param {State} state
 * @param {number} node
 */
function shownFrames(state, node) {
  const out = [];
  const collapses = state.collapse || state.group === 'module' || state.group === 'package';
  for (const f of stackOf(node)) {
    const flags = profile.frames[f].flags ?? 0;
    if (state.foldImports && (flags & 2) !== 0) break;
    if (state.hideIrrelevant && (flags & 1) !== 0) continue;
    const key = groupOf(state.group, f);
    if (!collapses || out[out.length - 1] !== key) out.push(key);
  }
  return out;
}

/**
 * Bytes by stack of shown frames, added up row by row.
 * @param {State} state
 * @param {number} slice
 */
function explicitStacks(state, slice) {
  /** @type {Map<string, number>} */
  const out = new Map();
  for (const { location, bytes } of held(state, slice)) {
    const frames = shownFrames(state, profile.locations[location].node);
    if (state.direction === 'allocators') frames.reverse();
    for (let depth = 0; depth <= frames.length; depth++) {
      const key = frames.slice(0, depth).join();
      out.set(key, (out.get(key) ?? 0) + bytes);
    }
  }
  return filled(out);
}

/** @param {Map<string, number>} stacks */
function filled(stacks) {
  return new Map([...stacks].filter(([, bytes]) => bytes > 0).sort());
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
  return filled(out);
}

/**
 * @param {(limit: number) => number} below
 * @returns {State}
 */
function randomState(below) {
  const lo = below(31);
  const flip = () => below(2) === 0;
  return {
    ...defaultState(limits),
    lo,
    hi: lo + below(31 - lo),
    mode: /** @type {const} */ (['peak', 'leaks', 'temporary'])[below(3)],
    metric: flip() ? 'bytes' : 'count',
    direction: flip() ? 'callers' : 'allocators',
    group: GROUPS[below(4)],
    hideIrrelevant: flip(),
    foldImports: flip(),
    collapse: flip(),
    thread: below(4) - 1,
    allocator: below(3) - 1,
  };
}

test('every option shows exactly the stacks it should', async () => {
  const answer = await open();
  const below = randomNumbers(2);
  for (let i = 0; i < 150; i++) {
    const state = randomState(below);
    answer.ask(state);
    assert.deepEqual(shownStacks(answer.view), explicitStacks(state, answer.slice), JSON.stringify(state));
  }
});

test('a view that was used before shows the same as a fresh one', async () => {
  const used = await open();
  const below = randomNumbers(5);
  for (let i = 0; i < 30; i++) {
    used.ask(randomState(below));
    for (let v = 0; v < 60 && v < used.view.n; v++) used.view.children(v);
    const state = randomState(below);
    used.ask(state);
    const fresh = await open();
    fresh.ask(state);
    const order = (/** @type {import('./view.js').View} */ view, v = 0) => {
      /** @type {string[]} */
      const out = [];
      for (let c = view.children(v); c >= 0; c = view.next[c]) out.push(view.framesTo(c).join() + ':' + view.weight(c), ...order(view, c));
      return out;
    };
    assert.deepEqual(order(used.view), order(fresh.view));
  }
});

test('every view has the same root, and threads and allocators add up to it', async () => {
  const answer = await open();
  const below = randomNumbers(8);
  for (let i = 0; i < 40; i++) {
    const state = { ...randomState(below), thread: -1, allocator: -1 };
    answer.ask(state);
    const whole = answer.bytes;
    assert.equal(answer.view.bytes(0), whole);
    if (state.mode === 'peak') assert.equal(whole, profile.slices[answer.slice].peak);
    answer.ask({ ...randomState(below), lo: state.lo, hi: state.hi, mode: state.mode, thread: -1, allocator: -1 });
    assert.equal(answer.view.bytes(0), whole);
    for (const [key, n] of /** @type {const} */ ([['thread', 3], ['allocator', 2]])) {
      let sum = 0;
      for (let value = 0; value < n; value++) {
        answer.ask({ ...state, [key]: value });
        assert.equal(answer.wholeBytes, whole);
        assert.equal(answer.view.bytes(0), answer.bytes);
        sum += answer.bytes;
      }
      assert.equal(sum, whole);
    }
  }
});

test('functions are added up by stack, recursion once', async () => {
  const answer = await open();
  const below = randomNumbers(14);
  for (let i = 0; i < 40; i++) {
    const state = randomState(below);
    answer.ask(state);
    const shape = answer.tableShape(state);
    const named = { ...state, group: shape.options.group };
    const own = new Map();
    const all = new Map();
    const put = (/** @type {Map<number, number>} */ map, /** @type {number} */ key, /** @type {number} */ bytes) => map.set(key, (map.get(key) ?? 0) + bytes);
    for (const { location, bytes } of held(state, answer.slice)) {
      const frames = shownFrames(named, profile.locations[location].node);
      put(own, frames[frames.length - 1] ?? 0, bytes);
      for (const frame of new Set(frames.length > 0 ? frames : [0])) put(all, frame, bytes);
    }
    const rows = functionRows(shape, answer.values);
    const sorted = (/** @type {Map<number, number>} */ map) => [...map].filter(([, bytes]) => bytes > 0).sort((a, b) => a[0] - b[0]);
    assert.deepEqual(rows.filter((r) => r.ownBytes > 0).map((r) => [r.frame, r.ownBytes]), sorted(own));
    assert.deepEqual(rows.filter((r) => r.bytes > 0).map((r) => [r.frame, r.bytes]), sorted(all));
    assert.equal(rows.reduce((sum, r) => sum + r.ownBytes, 0), answer.bytes);
    assert.equal(rows.reduce((sum, r) => sum + r.ownCount, 0), answer.count);
  }
});

test('both directions from a function hold what it holds with its callees', async () => {
  const answer = await open();
  const below = randomNumbers(23);
  for (let i = 0; i < 60; i++) {
    const state = { ...randomState(below), selected: 1 + below(39) };
    answer.ask(state);
    const { sandwich } = answer;
    const shape = answer.tableShape(state);
    const named = { ...state, group: shape.options.group };
    const frame = groupOf(named.group, state.selected);
    const callees = new Map();
    const callers = new Map();
    for (const { location, bytes } of held(state, answer.slice)) {
      const frames = shownFrames(named, profile.locations[location].node);
      const at = frames.indexOf(frame);
      if (at < 0) continue;
      for (const [map, part] of /** @type {const} */ ([[callees, frames.slice(at + 1)], [callers, frames.slice(0, at).reverse()]])) {
        for (let depth = 0; depth <= part.length; depth++) {
          const key = part.slice(0, depth).join();
          map.set(key, (map.get(key) ?? 0) + bytes);
        }
      }
    }
    if (sandwich === null) assert.equal(callees.size, 0);
    else {
      assert.equal(sandwich.frame, frame);
      assert.deepEqual(shownStacks(sandwich.callees), filled(callees));
      assert.deepEqual(shownStacks(sandwich.callers), filled(callers));
    }
  }
});

test('curves over time are what is live at the peak of each slice', async () => {
  const answer = await open();
  const below = randomNumbers(31);
  for (let i = 0; i < 6; i++) {
    const state = { ...randomState(below), mode: /** @type {const} */ ('peak') };
    answer.ask(state);
    const shape = answer.tableShape(state);
    const frames = functionRows(shape, answer.values).map((r) => r.frame).filter((f) => f !== 0).slice(0, 8);
    const series = await seriesOf(answer.model, groupsByOwner(shape, frames, frames.length), answer.keep, frames.length + 1);
    for (let s = 0; s < 31; s++) {
      answer.ask({ ...state, lo: s, hi: s });
      const own = new Map(functionRows(shape, answer.values).map((r) => [r.frame, r.ownBytes]));
      frames.forEach((frame, g) => assert.equal(series?.[g][s], own.get(frame) ?? 0));
      assert.equal(series?.reduce((sum, values) => sum + values[s], 0), answer.bytes);
    }
    const roots = shape.nodesOf(frames[0]);
    const chosen = await seriesOf(answer.model, groupBelow(answer.model, roots), answer.keep, 1);
    answer.ask({ ...state, lo: 12, hi: 12, selected: frames[0] });
    assert.equal(chosen?.[0][12], answer.sandwich?.callees.bytes(0));
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
  const seen = (/** @type {number[]} */ frames) => frames.filter((f) => ((profile.frames[f].flags ?? 0) & 1) === 0);
  answer.ask({ ...state, hideIrrelevant: false });
  const all = answer.view;
  for (let v = 0; v < 200 && v < all.n; v++) {
    all.children(v);
    answer.ask({ ...state, hideIrrelevant: false });
    const path = all.framesTo(v);
    assert.equal(answer.follow(path), v);
    answer.ask(state);
    assert.deepEqual(answer.view.framesTo(answer.follow(path)), seen(path));
    answer.ask({ ...state, hideIrrelevant: false });
    assert.deepEqual(seen(all.framesTo(answer.follow(seen(path)))), seen(path));
    answer.ask({ ...state, hideIrrelevant: false, group: 'function' });
    assert.deepEqual(answer.view.framesTo(answer.follow(path)), path.map((f) => groupOf('function', f)));
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
    const below = randomNumbers(77);
    for (let i = 0; i < 12; i++) {
      const state = { ...randomState(below), group: /** @type {const} */ ('line') };
      answer.ask(state);
      let expected = 0;
      for (const { location, bytes } of held(state, answer.slice)) {
        if (shownFrames(state, profile.locations[location].node).some(matches)) expected += bytes;
      }
      assert.equal(search.total(answer.shape, answer.values.sumBytes), expected);
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
