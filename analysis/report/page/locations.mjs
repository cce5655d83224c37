// What locations (threads) are called on pictures.

// Short names of the profile's locations: "rank 3, thread 1", "thread 1", "rank 3".
export function locationNames(profile, listed = null) {
  const locations = profile?.locations ?? listed ?? [];
  const of = locations.map((each) => profile
    ? { rank: profile.processes?.[each.process]?.rank ?? each.process, thread: each.thread }
    : { rank: each.rank, thread: each.thread });
  const ranks = new Set(of.map((each) => each.rank)).size;
  const threads = Math.max(1, ...of.map((each) => each.thread + 1));
  return of.map(({ rank, thread }) =>
    ranks > 1 && threads > 1 ? `rank ${rank}.${thread}` : ranks > 1 ? `rank ${rank}` : `thread ${thread}`);
}

// "ranks 4–7", "rank 3.0–3": locations from the first to the last.
export function groupName(names, first, last) {
  const a = names[first] ?? `location ${first}`, b = names[last] ?? `location ${last}`;
  if (first === last) return a;
  const [, word, rank, thread] = a.match(/^(\w+) (\d+)(?:\.(\d+))?$/) ?? [];
  const [, , rank2, thread2] = b.match(/^(\w+) (\d+)(?:\.(\d+))?$/) ?? [];
  if (rank === undefined || rank2 === undefined) return `${a} – ${b}`;
  if (thread === undefined) return `${word}s ${rank}–${rank2}`;
  if (rank === rank2) return `rank ${rank}.${thread}–${thread2}`;
  return `ranks ${rank}–${rank2}`;
}
