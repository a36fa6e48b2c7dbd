import { NEVER } from './decode.js';

/** @typedef {import('./decode.js').Meta} Meta */
/** @typedef {{function: string, file: string, line: number, source?: string, flags?: number}} TestFrame */
/** @typedef {{start: number, end: number, location: number, count: number, bytes: number}} TestRow */

/**
 * A profile as plain objects, for tests and measurements; never part of a report.
 *
 * @typedef {object} TestProfile
 * @property {TestFrame[]} frames frame 0 is the root's
 * @property {{parent: number, frame: number}[]} nodes in preorder
 * @property {{node: number, thread: number, allocator: number}[]} locations sorted
 * @property {{time: number, rss: number, heap: number}[]} snapshots
 * @property {{peak: number, moment: number}[]} slices
 * @property {TestRow[]} rows
 * @property {{count: number, bytes: number}[]} [temporary] temporary allocations of each location; none if left out
 * @property {Partial<Meta>} [meta]
 */

/** Appends bytes and varints. */
export class Writer {
  constructor() {
    this.bytes = new Uint8Array(1024);
    this.length = 0;
  }

  /** @param {number} byte */
  byte(byte) {
    if (this.length === this.bytes.length) {
      const old = this.bytes;
      this.bytes = new Uint8Array(2 * old.length);
      this.bytes.set(old);
    }
    this.bytes[this.length++] = byte;
  }

  /** @param {number} value */
  unsigned(value) {
    let rest = value;
    while (rest >= 128) {
      this.byte((rest % 128) + 128);
      rest = Math.floor(rest / 128);
    }
    this.byte(rest);
  }

  /** @param {number} value */
  signed(value) {
    this.unsigned(value < 0 ? -2 * value - 1 : 2 * value);
  }

  /** @param {number[]} values */
  deltas(values) {
    values.forEach((value, i) => this.signed(value - (i > 0 ? values[i - 1] : 0)));
  }

  /** @returns {Uint8Array<ArrayBuffer>} */
  finish() {
    return this.bytes.slice(0, this.length);
  }
}

/**
 * @param {TestProfile} profile
 * @returns {{meta: Meta, sections: Map<string, Uint8Array<ArrayBuffer>>}}
 */
export function encode(profile) {
  const strings = new Map([['', 0]]);
  /** @param {string} text */
  const intern = (text) => {
    if (!strings.has(text)) strings.set(text, strings.size);
    return /** @type {number} */ (strings.get(text));
  };
  const frames = encodeFrames(profile, intern);
  const sections = new Map([
    ['SNAP', encodeSnapshots(profile)],
    ['STRS', encodeStrings([...strings.keys()])],
    ['FRAM', frames],
    ['NODE', encodeNodes(profile)],
    ['LOCS', encodeLocations(profile)],
    ['ROWS', encodeRows(profile)],
  ]);
  if (profile.meta?.temporary !== false) sections.set('TEMP', encodeTemporaries(profile));
  const end = profile.snapshots.reduce((latest, s) => Math.max(latest, s.time), 0);
  const meta = {
    schema: 1,
    generator: 'memreport 0.1.0',
    command: 'python example.py',
    pid: 4242,
    format: 13,
    python: '3.11',
    allocator: 'pymalloc',
    start_ms: 1780000000000,
    end_ms: 1780000000000 + end + 5,
    native: false,
    python_allocators_traced: false,
    mode: /** @type {'peak'} */ ('peak'),
    peak_bytes: Math.max(0, ...profile.slices.map((s) => s.peak)),
    leaked_bytes: profile.rows.reduce((sum, r) => sum + (r.end === NEVER ? r.bytes : 0), 0),
    allocations: profile.rows.reduce((sum, r) => sum + r.count, 0),
    allocated_bytes: profile.rows.reduce((sum, r) => sum + r.bytes, 0),
    records: profile.rows.length * 2,
    threads: ['MainThread'],
    allocators: ['malloc'],
    warnings: [],
    snapshot_stride: 1,
    temporary: true,
    ...(profile.meta?.temporary === false ? {} : { temporary_threshold: 1 }),
    ...profile.meta,
    counts: {
      strings: strings.size,
      frames: profile.frames.length,
      nodes: profile.nodes.length,
      locations: profile.locations.length,
      snapshots: profile.snapshots.length,
      rows: profile.rows.length,
    },
    sections: Object.fromEntries([...sections].map(([tag, bytes]) => [tag, bytes.length])),
  };
  return { meta, sections };
}

/** @param {TestProfile} profile */
function encodeSnapshots({ snapshots, slices }) {
  const out = new Writer();
  out.deltas(snapshots.map((s) => s.time));
  out.deltas(snapshots.map((s) => s.rss));
  out.deltas(snapshots.map((s) => s.heap));
  out.deltas(slices.map((s) => s.peak));
  slices.forEach((s, i) => out.unsigned(s.moment - (i > 0 ? slices[i - 1].moment : 0)));
  return out.finish();
}

/** @param {string[]} strings */
function encodeStrings(strings) {
  const out = new Writer();
  const encoded = strings.map((s) => new TextEncoder().encode(s));
  for (const bytes of encoded) out.unsigned(bytes.length);
  for (const bytes of encoded) for (const byte of bytes) out.byte(byte);
  return out.finish();
}

/**
 * @param {TestProfile} profile
 * @param {(text: string) => number} intern
 */
function encodeFrames({ frames }, intern) {
  const out = new Writer();
  for (const f of frames) out.unsigned(intern(f.function));
  for (const f of frames) out.unsigned(intern(f.file));
  for (const f of frames) out.unsigned(f.line);
  for (const f of frames) out.unsigned(intern(f.source ?? ''));
  for (const f of frames) out.byte(f.flags ?? 0);
  return out.finish();
}

/** @param {TestProfile} profile */
function encodeNodes({ nodes }) {
  const out = new Writer();
  const depth = [0];
  for (let i = 1; i < nodes.length; i++) {
    depth.push(depth[nodes[i].parent] + 1);
    out.unsigned(depth[i - 1] + 1 - depth[i]);
  }
  for (const node of nodes) out.unsigned(node.frame);
  return out.finish();
}

/** @param {TestProfile} profile */
function encodeLocations({ locations }) {
  const out = new Writer();
  locations.forEach((l, i) => out.unsigned(l.node - (i > 0 ? locations[i - 1].node : 0)));
  for (const l of locations) out.unsigned(l.thread);
  for (const l of locations) out.unsigned(l.allocator);
  return out.finish();
}

/** @param {TestProfile} profile */
function encodeRows({ rows, slices }) {
  const out = new Writer();
  const sorted = rows.slice().sort((a, b) => a.start - b.start || a.location - b.location || a.end - b.end);
  const perTick = new Array(2 * slices.length).fill(0);
  for (const row of sorted) perTick[row.start]++;
  for (const n of perTick) out.unsigned(n);
  sorted.forEach((row, i) => out.unsigned(row.location - (i > 0 && sorted[i - 1].start === row.start ? sorted[i - 1].location : 0)));
  for (const row of sorted) out.unsigned(row.end === NEVER ? 0 : row.end - row.start);
  for (const row of sorted) out.unsigned(row.count);
  for (const row of sorted) out.unsigned(row.bytes);
  return out.finish();
}

/** @param {TestProfile} profile */
function encodeTemporaries({ locations, temporary = locations.map(() => ({ count: 0, bytes: 0 })) }) {
  const out = new Writer();
  for (const t of temporary) out.unsigned(t.count);
  for (const t of temporary) out.unsigned(t.bytes);
  return out.finish();
}

/**
 * Compresses a section into base64 parts of at most `partLength` characters.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {number} [partLength] a multiple of 4
 * @returns {Promise<string[]>}
 */
export async function toParts(bytes, partLength = 4 << 20) {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream('gzip'));
  const packed = new Uint8Array(await new Response(stream).arrayBuffer());
  const parts = [];
  const step = (partLength / 4) * 3;
  for (let at = 0; at < packed.length; at += step) {
    let binary = '';
    for (const byte of packed.subarray(at, at + step)) binary += String.fromCharCode(byte);
    parts.push(btoa(binary));
  }
  return parts;
}

/**
 * Numbers that look random and are the same every time (mulberry32).
 * @param {number} seed
 * @returns {(limit: number) => number} a whole number below `limit`
 */
export function randomNumbers(seed) {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * limit);
  };
}

/**
 * A profile with a random tree and random rows, and slice peaks that fit them.
 * @param {{seed: number, nodes: number, rows: number, snapshots: number, frames: number, threads: number}} size
 * @returns {TestProfile}
 */
export function randomProfile({ seed, nodes, rows, snapshots, frames, threads }) {
  const below = randomNumbers(seed);
  const profile = {
    frames: randomFrames(frames, below),
    nodes: randomNodes(nodes, frames, below),
    locations: Array.from({ length: nodes - 1 }, (_, i) => ({ node: i + 1, thread: below(threads), allocator: below(2) })),
    snapshots: Array.from({ length: snapshots }, (_, i) => ({ time: 10 * (i + 1) + below(5), rss: 1e6 + below(1e6), heap: 0 })),
    slices: Array.from({ length: snapshots + 1 }, (_, i) => ({ peak: 0, moment: i * 100 + below(100) })),
    rows: randomRows(rows, nodes - 1, 2 * (snapshots + 1), below),
    meta: { threads: Array.from({ length: threads }, (_, i) => 'Thread-' + i) },
  };
  setCurves(profile);
  return profile;
}

/**
 * Sets slice peaks and heap so that they are what the rows add up to.
 * @param {TestProfile} profile
 */
export function setCurves({ rows, slices, snapshots }) {
  const change = new Array(2 * slices.length + 1).fill(0);
  for (const row of rows) {
    change[row.start] += row.bytes;
    if (row.end !== NEVER) change[row.end] -= row.bytes;
  }
  for (let tick = 0, live = 0; tick < 2 * slices.length; tick++) {
    live += change[tick];
    if (tick % 2 === 0) slices[tick / 2].peak = live;
    else if (tick >> 1 < snapshots.length) snapshots[tick >> 1].heap = live;
  }
}

/**
 * @param {number} n
 * @param {(limit: number) => number} below
 * @returns {TestFrame[]}
 */
function randomFrames(n, below) {
  const out = [{ function: '<root>', file: '', line: 0, flags: 0 }];
  for (let i = 1; i < n; i++) out.push({ function: 'function_' + (1 + below(n - 1)), file: 'package_' + below(3) + '/module_' + below(4) + '.py', line: 1 + below(500), flags: (below(5) === 0 ? 1 : 0) + (below(12) === 0 ? 2 : 0) });
  return out;
}

/**
 * @param {number} n
 * @param {number} frames
 * @param {(limit: number) => number} below
 */
function randomNodes(n, frames, below) {
  const nodes = [{ parent: -1, frame: 0 }];
  /** @type {{node: number, used: Set<number>}[]} */
  const path = [{ node: 0, used: new Set() }];
  for (let i = 1; i < n; i++) {
    // Mostly down, now and then far up; siblings have distinct frames, so climb on where they run out.
    const climb = below(20) === 0 ? below(path.length) : below(2);
    for (let up = climb; path.length > 1 && (up > 0 || path[path.length - 1].used.size >= frames / 2); up--) path.pop();
    const top = path[path.length - 1];
    let frame = 1 + below(frames - 1);
    while (top.used.has(frame)) frame = 1 + (frame % (frames - 1));
    top.used.add(frame);
    nodes.push({ parent: top.node, frame });
    path.push({ node: i, used: new Set() });
  }
  return nodes;
}

/**
 * @param {number} n
 * @param {number} locations
 * @param {number} ticks
 * @param {(limit: number) => number} below
 * @returns {TestRow[]}
 */
function randomRows(n, locations, ticks, below) {
  return Array.from({ length: n }, () => {
    const start = below(ticks);
    const end = start + 1 + below(below(4) === 0 ? ticks : 12);
    return { start, end: end < ticks ? end : NEVER, location: below(locations), count: 1 + below(9), bytes: below(5000) };
  });
}

/**
 * The payload of a page of two captures that have their tree in common.
 * @param {[TestProfile, TestProfile]} profiles with the same frames and nodes
 * @param {Partial<import('./diff_model.js').DiffMeta>} [facts]
 * @returns {{meta: import('./diff_model.js').DiffMeta, sections: Map<string, Uint8Array<ArrayBuffer>>}}
 */
export function encodeDiff(profiles, facts = {}) {
  const sections = new Map();
  const captures = profiles.map((profile, side) => {
    const locations = profile.nodes.map((_, node) => ({ node, thread: 0, allocator: 0 }));
    const sums = (/** @type {'temporary'} */ key) => locations.map(({ node }) => profile[key]?.[node - 1] ?? { count: 0, bytes: 0 });
    const rows = profile.rows.map((row) => ({ ...row, location: profile.locations[row.location].node }));
    const { meta, sections: encoded } = encode({ ...profile, locations, rows, temporary: sums('temporary') });
    for (const tag of ['STRS', 'FRAM', 'NODE']) sections.set(tag, encoded.get(tag));
    for (const tag of ['SNAP', 'ROWS', 'TEMP']) sections.set(tag + side, encoded.get(tag));
    sections.set('MADE' + side, encoded.get('TEMP'));
    const { snapshots, rows: n, strings, frames, nodes } = meta.counts;
    return { ...meta, counts: { snapshots, rows: n }, shared: { strings, frames, nodes }, name: side === 0 ? 'old.bin' : 'new.bin', memray: '1.20', rss_peak: null, range: /** @type {[number, number]} */ ([0, snapshots]) };
  });
  const [base, next] = captures;
  const meta = {
    mode: /** @type {const} */ ('peak'), threshold: 1, units: /** @type {const} */ ('iec'), exact: false, filtered: false, sums: true, cautions: [],
    captures: /** @type {[typeof base, typeof next]} */ ([base, next]), counts: base.shared, ...facts,
  };
  return { meta, sections };
}

/**
 * Two profiles with the same random tree, and rows of their own.
 * @param {number} seed
 * @returns {[TestProfile, TestProfile]}
 */
export function randomPair(seed) {
  const of = (/** @type {number} */ s, /** @type {number} */ snapshots) => {
    const profile = randomProfile({ seed: s, nodes: 60, rows: 400, snapshots, frames: 14, threads: 2 });
    const below = randomNumbers(s);
    return { ...profile, temporary: profile.locations.map(() => ({ count: below(3), bytes: below(900) })) };
  };
  const base = of(seed, 12);
  const { frames, nodes } = base;
  return [base, { ...of(seed + 1000, 9), frames, nodes }];
}
