/** The error of a report whose data are missing or do not add up; its message is shown to the reader. */
export class DamagedReport extends Error {
  /** @param {string} what what does not add up */
  constructor(what) {
    super(what);
    this.name = 'DamagedReport';
  }
}
