// Iterations of loops: how long each took, which are in the archive, and which one a span of the timeline is. Pure.

import { lowerBound } from './spans.mjs';

// Iterations of an outermost loop, one by one or merged, as columns of numbers. skipped: how much of each is not in the archive, 0 to 1.
export async function iterationsOf(page, loop) {
  if (page.has(`loop/${loop}/iterations`)) {
    const { values } = await page.array(`loop/${loop}/iterations`);
    const n = values.length / 5, column = (i) => Float64Array.from({ length: n }, (_, k) => values[5 * k + i]);
    const duration = column(2);
    return { n, per: 1, number: column(0), begin: column(1), duration, low: duration, high: duration, state: column(3), why: column(4), count: new Float64Array(n).fill(1), skipped: column(3).map((state) => (state === 0 ? 1 : 0)) };
  }
  const [{ values }, { gaps = [] }] = await Promise.all([page.array(`loop/${loop}/merged`), page.json('nest')]);
  const n = values.length / 8, column = (i) => Float64Array.from({ length: n }, (_, k) => values[8 * k + i]);
  return { n, per: n > 0 ? values[7] : 1, number: column(0), begin: column(1), duration: column(2), state: column(3), why: column(4), low: column(5), high: column(6), count: column(7), skipped: skippedOf(column(0), column(7), gaps.filter((gap) => gap.loop === loop && gap.first != null)) };
}

// Times from the start of iteration `first` to the end of `last`.
export function timesOf(list, first, last) {
  if (list.n === 0) return {};
  const a = Math.min(list.n - 1, Math.max(0, lowerBound(list.number, first + 1) - 1));
  const b = Math.min(list.n - 1, Math.max(a, lowerBound(list.number, last + 1) - 1));
  return { begin_ns: list.begin[a], end_ns: list.begin[b] + list.duration[b] * list.count[b] };
}

// Of merged rows (numbers of the first, and how many) what gaps, from `first` to `last`, have of each.
export function skippedOf(number, count, gaps) {
  const out = new Float64Array(number.length);
  for (const { first, last } of gaps)
    for (let i = Math.max(0, lowerBound(number, first + 1) - 1); i < number.length && number[i] <= last; ++i)
      out[i] += Math.max(0, Math.min(number[i] + count[i] - 1, last) - Math.max(number[i], first) + 1) / count[i];
  return out.map((v) => Math.min(1, v));
}

// How many of the iterations in rows from `from` to before `to` are written, partly written and skipped, as shares of them.
export function sharesOf(list, from, to) {
  const out = [0, 0, 0];
  let all = 0;
  for (let i = from; i < to; ++i) {
    all += list.count[i];
    out[2] += list.count[i] * list.skipped[i];
    out[list.state[i] === 1 ? 1 : 0] += list.count[i] * (1 - list.skipped[i]);
  }
  return out.map((v) => (all ? v / all : 0));
}

// Of each span of a row: the number of the iteration that it is (-1: it is none, or not known), and whether that was skipped, so that
// nothing but its duration is in the archive. lists: of iterations, by loop; gaps: where iterations are not known one by one.
export function iterationsOfSpans(spans, regions, lists, gaps = []) {
  const numbers = new Int32Array(spans.size).fill(-1), skipped = new Uint8Array(spans.size), byLoop = new Map();
  for (let i = 0; i < spans.size; ++i) {
    const { loop } = regions[spans.region[i]];
    if (loop == null) continue;
    if (!byLoop.has(loop)) byLoop.set(loop, []);
    byLoop.get(loop).push(i);
  }
  const sorted = [...gaps].sort((a, b) => a.begin_ns - b.begin_ns), begins = Float64Array.from(sorted, (gap) => gap.begin_ns);
  for (const [loop, ids] of byLoop) {
    const list = lists.get(loop), written = [];
    for (let i = 0; i < (list?.n ?? 0); ++i) if (list.state[i] > 0) written.push(i);
    // Ranks are in the same iteration at different times, so that their order says more, if all are there, or all that are written.
    const inOrder = list?.per === 1 && (ids.length === list.n ? (k) => k : ids.length === written.length ? (k) => written[k] : null);
    ids.forEach((id, k) => {
      const middle = spans.begin[id] + spans.duration[id] / 2;
      const at = inOrder ? inOrder(k) : list ? lowerBound(list.begin, middle) - 1 : -1;
      if (at >= 0 && list.count[at] === 1) {
        numbers[id] = list.number[at];
        skipped[id] = list.state[at] === 0 ? 1 : 0;
      } else skipped[id] = middle < (sorted[lowerBound(begins, middle) - 1]?.end_ns ?? -Infinity) ? 1 : 0;
    });
  }
  return { numbers, skipped };
}

// When the loop with most of the run's time is at work: without it, starting and ending MPI may be most of a picture. Null where none
// has a tenth of it.
export function mainLoop(nest, length) {
  const loops = (nest?.loops ?? []).filter((loop) => loop.level === 0).sort((a, b) => b.total_ns - a.total_ns);
  const bars = (nest?.bars ?? []).filter(([loop]) => loop === loops[0]?.loop);
  if (!bars.length || !(loops[0].total_ns >= 0.1 * length)) return null;
  const begin = bars.reduce((least, bar) => Math.min(least, bar[1]), Infinity), end = bars.reduce((most, bar) => Math.max(most, bar[2]), 0);
  return end > begin ? { loop: loops[0], begin, end } : null;
}
