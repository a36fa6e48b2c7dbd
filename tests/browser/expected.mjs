// What the page must show, from the JSON of the same pass.

/** Whether a capture holds only sums. */
export const isAggregated = (profile) => profile.metadata.file_format === 'AGGREGATED_ALLOCATIONS';

/** The bytes that the page must show in a state; `thread` is memray's number, or null for all. */
export function expectedBytes(profile, { mode, lo, hi, thread }) {
  const part = (section) => (thread === null ? section.merged : section.by_thread);
  const ofThread = (rows) => (thread === null ? rows : rows.filter((row) => row[0] === thread));
  const sum = (rows) => rows.reduce((bytes, row) => bytes + row[4], 0);
  if (mode === 'temporary') return sum(ofThread(part(profile.temporary_1).rows));
  // Only the whole run has an answer in an aggregated capture.
  if (isAggregated(profile)) return sum(ofThread(part(mode === 'peak' ? profile.high_water_mark : profile.leaks).rows));
  const intervals = (section) => ofThread(part(section).rows).flatMap((row) => row[4]);
  const added = (kept) => kept.reduce((bytes, interval) => bytes + interval[3], 0);
  if (mode === 'leaks') {
    return added(intervals(profile.temporal_leaks).filter(([from, to]) => from >= lo && from <= hi && (to === null || to > hi)));
  }
  const slice = highestSlice(profile.slices, lo, hi);
  return added(intervals(profile.temporal_high_water_mark).filter(([from, to]) => from <= slice && (to === null || to > slice)));
}

/** Of equal peaks the one that is reached last; of those, when nothing happened in between, the first. */
function highestSlice(slices, lo, hi) {
  let best = lo;
  for (let s = lo + 1; s <= hi; s++) {
    const [peak, moment] = slices[s];
    if (peak > slices[best][0] || (peak === slices[best][0] && moment > slices[best][1])) best = s;
  }
  return best;
}
