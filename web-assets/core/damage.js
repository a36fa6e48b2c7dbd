/** The error of a report whose data are missing or do not add up; its message is shown to the reader. */
export class DamagedReport extends Error {
  /** @param {string} what what does not add up */
  constructor(what) {
    super(what);
    this.name = 'DamagedReport';
  }
}

/**
 * @param {unknown} error
 * @returns {string} what it says
 */
export function reasonOf(error) {
  return error instanceof Error ? error.message : String(error);
}
