import { decodeHistory, decodeSums, decodeTree, openerOf } from './decode.js';

/** @typedef {import('./columns.js').Column} Column */
/** @typedef {import('./decode.js').History} History */
/** @typedef {import('./decode.js').Meta} Meta */
/** @typedef {import('./decode.js').Tree} Tree */
/** @typedef {import('./format.js').Units} Units */
/** @typedef {'peak' | 'leaks' | 'temporary' | 'made'} DiffMode the last two are of whole runs */

/**
 * Facts about one of the captures.
 *
 * @typedef {object} CaptureFacts
 * @property {string} name what it was called when the page was made
 * @property {string} memray releases that write this format
 * @property {number | null} rss_peak bytes
 * @property {[number, number]} range slices that the page shows first
 * @property {{snapshots: number, rows: number}} counts
 */

/** @typedef {Omit<Meta, 'counts'> & CaptureFacts} CaptureMeta */

/**
 * Facts about the page, written as JSON.
 *
 * @typedef {object} DiffMeta
 * @property {DiffMode} mode the first view
 * @property {number} threshold how many allocations of the thread may lie between a temporary allocation and its end
 * @property {Units} units at first
 * @property {boolean} exact whether frames differ by their lines
 * @property {boolean} filtered whether stacks were left out when the page was made
 * @property {boolean} sums whether temporary allocations, and all that were made, are known of both
 * @property {[CaptureMeta, CaptureMeta]} captures base and new
 * @property {string[]} cautions what keeps the two from being compared
 * @property {{strings: number, frames: number, nodes: number}} counts
 */

/** @typedef {{count: Column, bytes: Column}} NodeSums sums of a whole run by node */

/**
 * What one of the captures has. Its locations are the nodes of the tree.
 *
 * @typedef {History & {meta: CaptureMeta & {counts: {locations: number}}, temporary: NodeSums, made: NodeSums}} Side
 */

/** @typedef {{meta: DiffMeta, tree: Tree, sides: [Side, Side]}} DiffModel base comes first */

/**
 * Decodes all sections of a page of two captures.
 * @param {DiffMeta} meta
 * @param {Map<string, Uint8Array>} sections
 * @param {() => Promise<void>} [pause] called between columns
 * @returns {Promise<DiffModel>}
 */
export async function decodeDiff(meta, sections, pause = async () => {}) {
  const open = openerOf(sections);
  const { nodes } = meta.counts;
  const stacks = await decodeTree(meta, open, pause);
  await pause();
  const tree = { ...stacks, firstLocation: Uint32Array.from({ length: nodes + 1 }, (_, node) => node), meta: { counts: { ...meta.counts, locations: nodes } } };
  /** @param {0 | 1} i */
  const side = async (i) => {
    const facts = meta.captures[i];
    const ofSide = { ...facts, counts: { ...facts.counts, locations: nodes } };
    const history = await decodeHistory(ofSide, open, String(i), pause);
    await pause();
    /** @param {string} tag */
    const sums = (tag) => {
      const [count, bytes] = decodeSums(meta.sums ? open : null, tag + i, nodes);
      return { count, bytes };
    };
    return { ...history, meta: ofSide, temporary: sums('TEMP'), made: sums('MADE') };
  };
  return { meta, tree, sides: [await side(0), await side(1)] };
}
