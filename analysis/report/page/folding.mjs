// Where a time is on the timeline when the gaps, of which nothing is in the archive, are folded to
// a short width. Pure.

import { lowerBound } from './spans.mjs';

export class Folding {
  // gaps: [{begin_ns, end_ns}] in any order; each is shown at most `width` of the rest long.
  constructor(begin, end, gaps, fold = true, share = 0.025) {
    this.begin = begin;
    this.end = end;
    const sorted = gaps.map((gap) => ({ ...gap, begin_ns: Math.max(gap.begin_ns, begin), end_ns: Math.min(gap.end_ns, end) }))
      .filter((gap) => gap.end_ns > gap.begin_ns).sort((a, b) => a.begin_ns - b.begin_ns);
    this.gaps = [];
    for (const gap of sorted) {
      const previous = this.gaps.at(-1);
      if (previous && gap.begin_ns < previous.end_ns) {
        previous.end_ns = Math.max(previous.end_ns, gap.end_ns);
        continue;
      }
      this.gaps.push({ ...gap });
    }
    const inGaps = this.gaps.reduce((sum, gap) => sum + gap.end_ns - gap.begin_ns, 0);
    const rest = Math.max(end - begin - inGaps, 1);
    // Many gaps together take at most as much as the rest.
    const width = Math.min(share, 0.6 / Math.max(1, this.gaps.length)) * rest;
    this.times = [begin];
    this.shown = [0];
    let at = begin, x = 0;
    const step = (time, length) => {
      this.times.push((at = time));
      this.shown.push((x += length));
    };
    for (const gap of this.gaps) {
      step(gap.begin_ns, gap.begin_ns - at);
      const length = gap.end_ns - gap.begin_ns;
      gap.folded = fold && length > width;
      step(gap.end_ns, gap.folded ? width : length);
    }
    step(end, end - at);
    this.length = x;
  }

  #between(from, to, value, last) {
    let i = lowerBound(from, value);
    if (i === 0) return to[0] + (value - from[0]);
    if (i >= from.length) return to[last] + (value - from[last]);
    const span = from[i] - from[i - 1];
    return span === 0 ? to[i] : to[i - 1] + ((value - from[i - 1]) / span) * (to[i] - to[i - 1]);
  }

  show(time) { return this.#between(this.times, this.shown, time, this.times.length - 1); }
  time(shown) { return this.#between(this.shown, this.times, shown, this.times.length - 1); }

  // For times in ascending order: no search.
  follower() {
    let i = 1;
    const { times, shown } = this;
    return (time) => {
      while (i < times.length - 1 && times[i] < time) ++i;
      while (i > 1 && times[i - 1] > time) --i;
      const span = times[i] - times[i - 1];
      return span === 0 ? shown[i] : shown[i - 1] + ((time - times[i - 1]) / span) * (shown[i] - shown[i - 1]);
    };
  }

  // The pieces of time between `from` and `to` (as shown) that are not folded gaps.
  pieces(from, to) {
    const out = [];
    for (let i = 1; i < this.times.length; ++i) {
      if (this.shown[i] < from || this.shown[i - 1] > to || this.times[i] <= this.times[i - 1]) continue;
      const gap = i % 2 === 0 ? this.gaps[i / 2 - 1] : null;
      if (gap?.folded) continue;
      out.push({ from: this.times[i - 1], to: this.times[i], x0: this.shown[i - 1], x1: this.shown[i] });
    }
    return out;
  }
}
