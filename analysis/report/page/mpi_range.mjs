// Calls and messages of MPI between two times, of the spans and messages of the timeline. Pure.

import { clockOf } from './gaps.mjs';
import { lowerBound } from './spans.mjs';

// Time of each procedure on each rank: [procedure, rank].
export function timesOfRange(rows, calls, begin, end) {
  const { regions } = rows.about, index = new Map(calls.procedures.map((procedure, i) => [procedure, i]));
  const of = regions.map((region) => index.get(region.name) ?? -1), out = new Float64Array(calls.procedures.length * calls.ranks);
  rows.spans.forEach((spans, r) => {
    const rank = rows.about.locations[rows.about.rows[r][2]]?.rank ?? -1;
    if (!spans || rank < 0 || rank >= calls.ranks) return;
    spans.ownTimes(begin, end, regions.length, undefined, clockOf(rows, r)).forEach((ns, i) => { if (of[i] >= 0) out[of[i] * calls.ranks + rank] += ns; });
  });
  return out;
}

// Calls that begin in the range, with their whole time, as the profile has them of the run: [{name, calls, time_ns, maximum_ns}].
export function callsOfRange(rows, procedures, begin, end) {
  const known = new Set(procedures), sums = new Map();
  rows.spans.forEach((spans) => {
    if (!spans) return;
    for (let i = lowerBound(spans.begin, begin); i < spans.size && spans.begin[i] < end; ++i) {
      const { name } = rows.about.regions[spans.region[i]];
      if (!known.has(name)) continue;
      if (!sums.has(name)) sums.set(name, { name, calls: 0, time_ns: 0, maximum_ns: 0 });
      const sum = sums.get(name), ns = spans.duration[i];
      ++sum.calls;
      sum.time_ns += ns;
      sum.maximum_ns = Math.max(sum.maximum_ns, ns);
    }
  });
  return [...sums.values()].sort((a, b) => b.time_ns - a.time_ns);
}

// The call of MPI that a row is in at that time, or ''.
export function callAt(rows, procedures, r, time) {
  const spans = rows.spans[r];
  if (!spans) return '';
  // Calls lie in few regions: the one that began last and has not ended is near.
  for (let i = lowerBound(spans.begin, time + 1e-3) - 1, tries = 64; i >= 0 && tries > 0; --i, --tries) {
    if (spans.begin[i] + spans.duration[i] * (1 + 1e-7) < time) continue;
    const { name } = rows.about.regions[spans.region[i]];
    if (procedures.has(name)) return name;
  }
  return '';
}

// Messages that are sent in the range, by the call that sends them and by powers of two of their size, and by partner:
// { bySize: [{procedure, size_least, size_greatest, messages, bytes, mean_ns}], byPartner: [{procedure, partner, messages, bytes, mean_ns}] }.
// mean_ns: from the start of the call that sends to the receive. messages: 5 numbers each (report-format.md).
export function messagesOfRange(rows, procedures, messages, begin, end) {
  const known = new Set(procedures), sizes = new Map(), partners = new Map();
  const rankOf = (r) => rows.about.locations[rows.about.rows[r][2]]?.rank ?? 0;
  const put = (sums, key, what, bytes, ns) => {
    if (!sums.has(key)) sums.set(key, { ...what, messages: 0, bytes: 0, time_ns: 0 });
    const sum = sums.get(key);
    ++sum.messages;
    sum.bytes += bytes;
    sum.time_ns += ns;
  };
  for (let i = 0; i < messages.length; i += 5) {
    const [from, sent, to, received, bytes] = messages.subarray(i, i + 5);
    if (sent < begin || sent >= end) continue;
    const procedure = callAt(rows, known, from, sent), power = bytes < 1 ? -1 : Math.floor(Math.log2(bytes));
    put(sizes, `${procedure} ${power}`, { procedure, size_least: power < 0 ? 0 : 2 ** power, size_greatest: power < 0 ? 0 : 2 ** (power + 1) - 1 }, bytes, received - sent);
    const step = rankOf(to) - rankOf(from), partner = step > 0 ? `+${step}` : String(step);
    put(partners, `${procedure} ${partner}`, { procedure, partner }, bytes, received - sent);
  }
  const list = (sums) => [...sums.values()].map((sum) => ({ ...sum, mean_ns: sum.time_ns / sum.messages })).sort((a, b) => b.bytes - a.bytes || b.messages - a.messages);
  return { bySize: list(sizes), byPartner: list(partners) };
}
