/** @typedef {[size: number, count: number, thread: string, allocator: string, location: string]} TableRow */
/** @typedef {0 | 1 | 2 | 3 | 4} TableColumn */

/** The first column of text; those before it are numbers. */
const FIRST_TEXT = 2;

/**
 * Whether a column starts with its largest values when it is sorted by.
 * @param {TableColumn} column
 * @returns {boolean}
 */
export function isNumber(column) {
  return column < FIRST_TEXT;
}

/**
 * The rows that have a text in any of theirs, in whatever case.
 * @param {TableRow[]} rows
 * @param {string} text
 * @returns {TableRow[]}
 */
export function filtered(rows, text) {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return rows;
  return rows.filter((row) => row.slice(FIRST_TEXT).some((value) => String(value).toLowerCase().includes(wanted)));
}

/**
 * The rows by a column; of equals, those that came first stay first.
 * @param {TableRow[]} rows
 * @param {TableColumn} column
 * @param {boolean} isDescending
 * @returns {TableRow[]}
 */
export function sorted(rows, column, isDescending) {
  const sign = isDescending ? -1 : 1;
  return rows.toSorted((a, b) => {
    const [x, y] = [a[column], b[column]];
    return x === y ? 0 : x < y ? -sign : sign;
  });
}
