// What locations (threads) are called on pictures.

import { count } from './quantities.mjs';

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

export function groupName(names, first, last) {
  return first === last ? names[first] ?? `location ${first}` : `${names[first] ?? first} – ${(names[last] ?? String(last)).replace(/^(rank|thread) /, '')} (${count(last - first + 1)})`;
}
