import { csvText } from './csv.js';

/**
 * Rows of the table, in their order; sizes in bytes.
 * @param {import('./diff_answer.js').ChangedFunction[]} rows
 * @param {import('./names.js').FrameNames} names
 * @returns {string}
 */
export function diffCsv(rows, names) {
  const head = ['own_bytes_base', 'own_bytes_new', 'bytes_base', 'bytes_new', 'own_allocations_base', 'own_allocations_new', 'function', 'module'];
  const lines = rows.map(({ frame, ownBytes, bytes, ownCount }) => [
    ...ownBytes, ...bytes, ...ownCount,
    frame === 0 ? '' : names.title(frame, 'function'), frame === 0 ? '' : names.place(frame, 'function'),
  ]);
  return csvText([head, ...lines]);
}
