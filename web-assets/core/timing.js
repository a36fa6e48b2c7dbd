/**
 * Runs `work` and leaves a `memreport:<phase>` measure in the browser's performance timeline.
 * @template T
 * @param {string} phase
 * @param {() => T} work
 * @returns {T}
 */
export function timed(phase, work) {
  const start = performance.now();
  const result = work();
  measure(phase, start);
  return result;
}

/**
 * Leaves a `memreport:<phase>` measure that began at `start` and ends now.
 * @param {string} phase
 * @param {number} start a value of `performance.now()`
 */
export function measure(phase, start) {
  performance.measure('memreport:' + phase, { start, end: performance.now() });
}

/**
 * A function that lets the browser breathe, but only if `budget` ms have passed since it last did.
 * @param {number} budget
 * @returns {() => Promise<void>}
 */
export function breather(budget) {
  let last = performance.now();
  return async () => {
    if (performance.now() - last < budget) return;
    await new Promise((resolve) => setTimeout(resolve, 0));
    last = performance.now();
  };
}
