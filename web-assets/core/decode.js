import { compact } from './columns.js';
import { DamagedReport } from './damage.js';

/** The end tick of a row whose memory was never freed. */
export const NEVER = 0xffffffff;

/** @typedef {import('./columns.js').Column} Column */

/** Bits of `frameFlags`. */
export const FLAG_IRRELEVANT = 1;
export const FLAG_IMPORT = 2;
export const FLAG_NATIVE = 4;

/**
 * Facts about the capture, written as JSON.
 *
 * @typedef {object} Meta
 * @property {number} schema
 * @property {string} generator
 * @property {string} command
 * @property {number} pid
 * @property {number} format version of the capture format
 * @property {string | null} python
 * @property {string} allocator
 * @property {number} start_ms ms since the epoch, UTC
 * @property {number} end_ms
 * @property {boolean} native
 * @property {boolean | null} python_allocators_traced
 * @property {'peak' | 'leaks'} mode the first view
 * @property {number} peak_bytes
 * @property {number} leaked_bytes heap at the end
 * @property {number | null} allocations null if the capture does not say
 * @property {number | null} allocated_bytes the same
 * @property {number | null} records the same
 * @property {string[]} threads
 * @property {string[]} allocators
 * @property {string[]} warnings
 * @property {number} snapshot_stride
 * @property {{stacks: number, peak_bytes: number}} [folded] stacks that are shown as "other" frames, and their bytes at the whole run's peak
 * @property {boolean} temporary whether temporary allocations are known: those that their own thread freed soon after
 * @property {number} [temporary_threshold] if so, how many allocations of the thread may lie in between
 * @property {boolean} [aggregated] the capture holds only sums: what was live at the peak, and what was left at the end
 * @property {number} [peak_slice] if so, the slice of that peak; no row starts before it
 * @property {{strings: number, frames: number, nodes: number, locations: number, snapshots: number, rows: number}} counts
 * @property {Record<string, number>} sections length of each binary section before compression, in the order of the file
 */

/**
 * Stacks, and the locations that they have. Nodes are in preorder, so a subtree is a run of nodes, and of locations.
 *
 * @typedef {object} Tree
 * @property {{counts: {strings: number, frames: number, nodes: number, locations: number}}} meta
 * @property {(index: number) => string} string
 * @property {Uint32Array} frameFunction strings
 * @property {Uint32Array} frameFile strings
 * @property {Uint32Array} frameLine 0 = none
 * @property {Uint32Array} frameSource strings, 0 = none
 * @property {Uint8Array} frameFlags
 * @property {Uint32Array} nodeFrame
 * @property {Uint32Array} nodeParent
 * @property {Uint32Array} nodeEnd first node behind the subtree
 * @property {Uint32Array} firstLocation of each node, and one more entry: the number of locations
 */

/**
 * What a run held over time, by location.
 *
 * * Slices: S snapshots make S + 1; slice s lies between snapshot s - 1 and s
 * * Ticks: slice s has tick 2s, up to and including its peak, and tick 2s + 1 after it
 *
 * @typedef {object} History
 * @property {{aggregated?: boolean, peak_slice?: number, leaked_bytes: number, counts: {locations: number, snapshots: number}}} meta
 * @property {Float64Array} snapshotTime ms since the start
 * @property {Float64Array} snapshotRss bytes
 * @property {Float64Array} snapshotHeap bytes, at the end of the slice before it
 * @property {Float64Array} slicePeak bytes
 * @property {Float64Array} sliceMoment records processed when the peak was last reached
 * @property {Uint32Array} rowStart first row of each start tick, and one more entry: the number of rows
 * @property {Uint32Array} rowLocation
 * @property {Uint32Array} rowEnd tick, or `NEVER`
 * @property {Column} rowCount allocations
 * @property {Column} rowBytes
 */

/**
 * Threads, allocators and temporary allocations of the locations.
 *
 * @typedef {object} Locations
 * @property {Meta} meta
 * @property {Column} locationThread
 * @property {Column} locationAllocator
 * @property {Column} locationTemporaryCount temporary allocations; zeros where they are not known
 * @property {Column} locationTemporaryBytes the same
 */

/** @typedef {Tree & History & Locations} Model a capture's profile as columns */

/** Reads numbers one after another. Past the end come zeros, which `finish` turns into an error. */
export class Reader {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.pos = 0;
  }

  /** @returns {number} an unsigned varint, exact up to 2^53 */
  unsigned() {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.bytes[this.pos++] ?? 0;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  }

  /** @returns {number} a signed varint (zig-zag) */
  signed() {
    const value = this.unsigned();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /**
   * Fills `out` with unsigned varints. Most have one byte, hardly any more than four.
   * @template {Uint32Array | Float64Array} T
   * @param {T} out
   * @returns {T}
   */
  column(out) {
    const bytes = this.bytes;
    let pos = this.pos;
    for (let i = 0, n = out.length; i < n; i++) {
      let byte = bytes[pos++];
      if (byte < 128) {
        out[i] = byte;
        continue;
      }
      let value = byte & 127;
      byte = bytes[pos++];
      value |= (byte & 127) << 7;
      if (byte >= 128) {
        byte = bytes[pos++];
        value |= (byte & 127) << 14;
        if (byte >= 128) {
          byte = bytes[pos++];
          value |= (byte & 127) << 21;
          for (let scale = 0x10000000; byte >= 128; scale *= 128) {
            byte = bytes[pos++];
            value += (byte & 127) * scale;
          }
        }
      }
      out[i] = value;
    }
    this.pos = pos;
    return out;
  }

  /**
   * Fills `out` with the running sum of signed varints.
   * @param {Float64Array} out
   * @returns {Float64Array}
   */
  signedDeltas(out) {
    for (let i = 0, value = 0; i < out.length; i++) out[i] = value += this.signed();
    return out;
  }

  /**
   * @param {number} length
   * @returns {Uint8Array}
   */
  raw(length) {
    this.pos += length;
    return this.bytes.subarray(this.pos - length, this.pos);
  }

  /** @param {string} tag name of the section that must end here */
  finish(tag) {
    if (this.pos !== this.bytes.length) throw new DamagedReport('section ' + tag + ' does not hold what was announced');
  }
}

/** @typedef {(tag: string) => Reader} Open opens a section */
/** @typedef {{counts: {strings: number, frames: number, nodes: number}}} Counted */

/**
 * Decodes all sections. Each is taken out of the map once read, so that its bytes can go.
 * @param {Meta} meta
 * @param {Map<string, Uint8Array>} sections
 * @param {() => Promise<void>} [pause] called between columns
 * @returns {Promise<Model>}
 */
export async function decodeModel(meta, sections, pause = async () => {}) {
  const open = openerOf(sections);
  const tree = await decodeTree(meta, open, pause);
  await pause();
  const locations = decodeLocations(open('LOCS'), meta);
  await pause();
  const history = await decodeHistory(meta, open, '', pause);
  await pause();
  const [locationTemporaryCount, locationTemporaryBytes] = decodeSums(meta.temporary ? open : null, 'TEMP', meta.counts.locations);
  return { ...tree, ...locations, ...history, locationTemporaryCount, locationTemporaryBytes, meta };
}

/**
 * @param {Map<string, Uint8Array>} sections
 * @returns {Open} takes out of the map what it opens
 */
export function openerOf(sections) {
  return (tag) => {
    const bytes = sections.get(tag);
    if (bytes === undefined) throw new DamagedReport('section ' + tag + ' is missing');
    sections.delete(tag);
    return new Reader(bytes);
  };
}

/**
 * Names, frames and nodes.
 * @template {Counted} T
 * @param {T} meta
 * @param {Open} open
 * @param {() => Promise<void>} pause
 */
export async function decodeTree(meta, open, pause) {
  if (!(meta.counts.nodes >= 1)) throw new DamagedReport('no root');
  const string = decodeStrings(open('STRS'), meta.counts.strings);
  const frames = decodeFrames(open('FRAM'), meta);
  await pause();
  const nodes = await decodeNodes(open('NODE'), meta, pause);
  return { string, ...frames, ...nodes };
}

/**
 * Curves and rows.
 * @template {History['meta'] & {counts: {rows: number}}} T
 * @param {T} meta
 * @param {Open} open
 * @param {string} side what the names of its sections end in
 * @param {() => Promise<void>} pause
 */
export async function decodeHistory(meta, open, side, pause) {
  const snapshots = decodeSnapshots(open('SNAP' + side), meta.counts.snapshots);
  if (meta.aggregated && snapshots.slicePeak[meta.peak_slice ?? -1] === undefined) throw new DamagedReport('no slice of the peak');
  await pause();
  const rows = await decodeRows(open('ROWS' + side), meta, pause);
  return { ...snapshots, ...rows };
}

/**
 * @param {Reader} reader
 * @param {number} snapshots
 */
function decodeSnapshots(reader, snapshots) {
  const snapshotTime = reader.signedDeltas(new Float64Array(snapshots));
  const snapshotRss = reader.signedDeltas(new Float64Array(snapshots));
  const snapshotHeap = reader.signedDeltas(new Float64Array(snapshots));
  const slicePeak = reader.signedDeltas(new Float64Array(snapshots + 1));
  const sliceMoment = reader.column(new Float64Array(snapshots + 1));
  for (let s = 1; s <= snapshots; s++) sliceMoment[s] += sliceMoment[s - 1];
  reader.finish('SNAP');
  return { snapshotTime, snapshotRss, snapshotHeap, slicePeak, sliceMoment };
}

/**
 * Strings are decoded when first asked for: most are never shown.
 * @param {Reader} reader
 * @param {number} count
 * @returns {(index: number) => string}
 */
function decodeStrings(reader, count) {
  const start = new Uint32Array(count + 1);
  for (let i = 0; i < count; i++) start[i + 1] = start[i] + reader.unsigned();
  const text = reader.raw(start[count]);
  reader.finish('STRS');
  const decoder = new TextDecoder();
  /** @type {(string | undefined)[]} */
  const cache = new Array(count);
  return (i) => (cache[i] ??= decoder.decode(text.subarray(start[i], start[i + 1])));
}

/**
 * @param {Reader} reader
 * @param {Counted} meta
 */
function decodeFrames(reader, meta) {
  const { frames, strings } = meta.counts;
  const frameFunction = reader.column(new Uint32Array(frames));
  const frameFile = reader.column(new Uint32Array(frames));
  const frameLine = reader.column(new Uint32Array(frames));
  const frameSource = reader.column(new Uint32Array(frames));
  const frameFlags = reader.raw(frames);
  reader.finish('FRAM');
  for (const column of [frameFunction, frameFile, frameSource]) checkIndices(column, strings, 'string');
  return { frameFunction, frameFile, frameLine, frameSource, frameFlags };
}

/**
 * @param {Reader} reader
 * @param {Counted} meta
 * @param {() => Promise<void>} pause
 */
async function decodeNodes(reader, meta, pause) {
  const { nodes, frames } = meta.counts;
  const climb = reader.column(new Uint32Array(nodes - 1));
  const nodeParent = new Uint32Array(nodes);
  const nodeEnd = new Uint32Array(nodes).fill(nodes);
  let parent = 0;
  for (let i = 1; i < nodes; i++) {
    for (let up = climb[i - 1]; up > 0; up--) {
      if (parent === 0) throw new DamagedReport('a second root');
      nodeEnd[parent] = i;
      parent = nodeParent[parent];
    }
    nodeParent[i] = parent;
    parent = i;
  }
  await pause();
  const nodeFrame = reader.column(new Uint32Array(nodes));
  reader.finish('NODE');
  checkIndices(nodeFrame, frames, 'frame');
  return { nodeFrame, nodeParent, nodeEnd };
}

/**
 * @param {Reader} reader
 * @param {Meta} meta
 */
function decodeLocations(reader, meta) {
  const { locations, nodes } = meta.counts;
  const firstLocation = new Uint32Array(nodes + 1);
  for (let i = 0, node = 0; i < locations; i++) {
    node += reader.unsigned();
    if (node >= nodes) throw new DamagedReport('a location without a node');
    firstLocation[node + 1]++;
  }
  for (let i = 0; i < nodes; i++) firstLocation[i + 1] += firstLocation[i];
  const locationThread = compact(reader.column(new Uint32Array(locations)));
  const locationAllocator = compact(reader.column(new Uint32Array(locations)));
  reader.finish('LOCS');
  return { firstLocation, locationThread, locationAllocator };
}

/**
 * @param {Reader} reader
 * @param {{counts: {rows: number, locations: number, snapshots: number}}} meta
 * @param {() => Promise<void>} pause
 */
async function decodeRows(reader, meta, pause) {
  const { rows, locations, snapshots } = meta.counts;
  const ticks = 2 * (snapshots + 1);
  const rowStart = new Uint32Array(ticks + 1);
  reader.column(rowStart.subarray(1));
  for (let t = 0; t < ticks; t++) rowStart[t + 1] += rowStart[t];
  if (rowStart[ticks] !== rows) throw new DamagedReport('rows are missing');
  await pause();
  const rowLocation = reader.column(new Uint32Array(rows));
  await pause();
  const rowEnd = reader.column(new Uint32Array(rows));
  await pause();
  for (let t = 0; t < ticks; t++) {
    for (let i = rowStart[t], end = rowStart[t + 1], location = 0; i < end; i++) {
      location += rowLocation[i];
      rowLocation[i] = location;
      if (rowEnd[i] === 0) rowEnd[i] = NEVER;
      else if ((rowEnd[i] += t) >= ticks) throw new DamagedReport('a row beyond the last slice');
    }
  }
  await pause();
  checkIndices(rowLocation, locations, 'location');
  const rowCount = compact(reader.column(new Float64Array(rows)));
  await pause();
  const rowBytes = compact(reader.column(new Float64Array(rows)));
  reader.finish('ROWS');
  return { rowStart, rowLocation, rowEnd, rowCount, rowBytes };
}

/**
 * Sums of the whole run by location.
 * @param {Open | null} open null if they are not known
 * @param {string} tag
 * @param {number} locations
 * @returns {[count: Column, bytes: Column]}
 */
export function decodeSums(open, tag, locations) {
  if (open === null) return [new Uint8Array(locations), new Uint8Array(locations)];
  const reader = open(tag);
  const column = () => compact(reader.column(new Float64Array(locations)));
  const count = column();
  const bytes = column();
  reader.finish(tag);
  return [count, bytes];
}

/**
 * @param {Uint32Array} column
 * @param {number} limit
 * @param {string} what
 */
function checkIndices(column, limit, what) {
  for (let i = 0, n = column.length; i < n; i++) {
    if (column[i] >= limit) throw new DamagedReport('a ' + what + ' that does not exist');
  }
}
