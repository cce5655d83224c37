// Time that is in the archive: gaps, of which nothing was written, count for nothing in figures of a range. Pure.

import { lowerBound } from './spans.mjs';

// gaps: [[begin, end]] that do not overlap, ascending. written(t): how much of the time before t is none of theirs.
export function writtenClock(gaps) {
  if (!gaps.length) return (t) => t;
  const ends = Float64Array.from(gaps, ([, end]) => end), before = new Float64Array(gaps.length + 1);
  gaps.forEach(([begin, end], i) => { before[i + 1] = before[i] + (end - begin); });
  return (t) => {
    const i = lowerBound(ends, t);
    return t - before[i] - (i < gaps.length ? Math.max(0, t - gaps[i][0]) : 0);
  };
}

function joined(gaps) {
  const out = [];
  for (const { begin_ns: begin, end_ns: end } of [...gaps].sort((a, b) => a.begin_ns - b.begin_ns))
    if (out.length && begin <= out.at(-1)[1]) out.at(-1)[1] = Math.max(out.at(-1)[1], end);
    else if (end > begin) out.push([begin, end]);
  return out;
}

// A row's own gaps. Those that are known are of one process; others are a little earlier or later in the iterations that were skipped.
// skipped: which spans are such iterations.
function ownGaps(gaps, spans, skipped) {
  const own = [];
  for (let i = 0; i < (skipped?.length ?? 0); ++i)
    if (skipped[i]) own.push({ begin_ns: spans.begin[i], end_ns: spans.begin[i] + spans.duration[i] });
  if (!own.length) return gaps;
  // Between two iterations there may be a moment.
  const runs = [];
  for (const { begin_ns: begin, end_ns: end } of own.sort((a, b) => a.begin_ns - b.begin_ns)) {
    const last = runs.at(-1);
    if (last && begin - last[1] <= 0.5 * (end - begin)) last[1] = Math.max(last[1], end);
    else runs.push([begin, end]);
  }
  const ends = runs.map(([, end]) => end);
  const apart = gaps.filter(([begin, end]) => !(runs[lowerBound(ends, begin)]?.[0] < end));
  return joined([...runs, ...apart].map(([begin_ns, end_ns]) => ({ begin_ns, end_ns })));
}

// rows: of the timeline. The clock of row r; threads without iterations have that of the row before.
export function clockOf(rows, r) {
  const clocks = (rows.clocks ??= []);
  if (clocks.length === 0) {
    const all = joined(rows.about.gaps ?? []);
    rows.spans.forEach((spans, i) => {
      const own = all.length ? ownGaps(all, spans, rows.skipped?.[i]) : all;
      clocks.push(own === all && i > 0 ? clocks[i - 1] : writtenClock(own));
    });
  }
  return clocks[r];
}

// Of all threads, the time between two points that is in the archive; rows of several threads count for all of them.
export function writtenTime(rows, from, to) {
  return rows.spans.reduce((sum, spans, r) => {
    const [first, last] = rows.about.rows[r], clock = clockOf(rows, r);
    return sum + (clock(to) - clock(from)) * (last - first + 1);
  }, 0);
}
