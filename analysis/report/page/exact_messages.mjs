// Who sends how much to whom in the whole run, of the summary's calls by partner. Pure.
//
// A partner is relative to the own rank in the communicator of the call, and which one that was is not known. So this is said only if
// the pairs that come of it, as if all were in that of all ranks, are those of the messages that are in the archive, no more and no less.

// rows: by_partner of `refrain profile --messages`; sent: [row, rank, calls, bytes]; classOf: of a procedure; written: [from, to, messages,
// bytes] by groups of ranks. Returns {cells (as `written`), messages} or {why}: in words.
export function exactMessages({ rows, sent, classOf, groups, ranks, written, elsewhere = 0 }) {
  if (!rows || !sent.length) return { why: 'the summary has no partners of calls' };
  if (elsewhere > 0) return { why: 'the memory of the summary was too small for all calls' };
  const sends = (row) => classOf(row.procedure) === 'mpi_point_to_point' && row.bytes_sent > 0;
  if (rows.some((row) => sends(row) && row.to?.kind !== 'relative')) return { why: 'some calls send to several ranks, or their partner is unknown' };
  const groupOf = new Int32Array(ranks).fill(-1), sums = new Map();
  groups.forEach(([first, last], g) => groupOf.fill(g, first, last + 1));
  let messages = 0;
  for (let i = 0; i < sent.length; i += 4) {
    const [r, rank, calls, bytes] = sent.subarray(i, i + 4), row = rows[r];
    // What makes a request that is started later is no message.
    if (!row || classOf(row.procedure) !== 'mpi_point_to_point' || /_init$/.test(row.procedure) || !calls) continue;
    // A ring is closed.
    const to = (((rank + row.to.rank) % ranks) + ranks) % ranks, key = groupOf[rank] * groups.length + groupOf[to];
    const cell = sums.get(key) ?? [groupOf[rank], groupOf[to], 0, 0];
    cell[2] += calls;
    cell[3] += bytes;
    messages += calls;
    sums.set(key, cell);
  }
  for (let i = 0; i < written.length; i += 4) {
    const cell = sums.get(written[i] * groups.length + written[i + 1]);
    if (!cell || cell[2] < written[i + 2]) return { why: 'ranks in communicators of their own are not those of the run' };
  }
  if (sums.size * 4 !== written.length) return { why: 'some pairs of ranks have no message in the archive that would confirm them' };
  return { cells: Float64Array.from([...sums.values()].flat()), messages };
}
