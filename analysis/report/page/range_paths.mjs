// Which call path each span of the timeline is on, and so what a range of the run is by call path. Pure.

import { clockOf } from './gaps.mjs';

// Finds call paths by their regions: those of the profile, or of the analysis of waits, whose path 0 is the program.
export class PathFinder {
  // paths: [{parent, name, site}]; regions: those of the timeline; root: of what the outermost regions are children (null or 0).
  constructor(paths, regions, root = null) {
    this.regions = regions;
    this.root = root ?? -1;
    this.children = new Map();
    const named = new Map();
    paths.forEach((path, i) => {
      const key = JSON.stringify([path.name, path.site ?? '']);
      this.children.set(`${path.parent ?? -1} ${key}`, i);
      named.set(key, named.has(key) ? -1 : i);
    });
    this.keys = regions.map((region) => JSON.stringify([region.name, region.site ?? '']));
    // Where regions around it are missing, the only path of that name.
    this.only = this.keys.map((key) => named.get(key) ?? -1);
    this.known = new Map();
  }

  child(parent, region) {
    if (this.regions[region]?.loop != null) return parent;
    const at = parent * this.regions.length + region;
    let found = this.known.get(at);
    if (found === undefined) {
      found = this.children.get(`${parent} ${this.keys[region]}`) ?? this.only[region];
      this.known.set(at, found < 0 ? (found = parent) : found);
    }
    return found;
  }

  // The path of each span of a row; iterations of loops are on that around them.
  of(spans) {
    const out = new Int32Array(spans.size);
    const open = [];
    for (let i = 0; i < spans.size; ++i) {
      // Durations have seven digits.
      const begin = spans.begin[i], end = begin + spans.duration[i] * (1 - 1e-7), depth = spans.depth[i];
      while (open.length && (open.at(-1).depth >= depth || open.at(-1).end <= begin)) open.pop();
      out[i] = this.child(open.length ? open.at(-1).path : this.root, spans.region[i]);
      open.push({ end, depth, path: out[i] });
    }
    return out;
  }
}

// Own time and visits of each path between two times, of all rows; a row of several threads counts for all of them.
export function pathsOfRange(rows, finder, paths, from, to) {
  const own = new Float64Array(paths), visits = new Float64Array(paths);
  rows.spans.forEach((spans, r) => {
    if (!spans) return;
    const known = (finder.rows ??= []), of = (known[r] ??= finder.of(spans));
    const [first, last] = rows.about.rows[r], weight = last - first + 1;
    spans.ownTimes(from, to, paths, of, clockOf(rows, r)).forEach((ns, i) => { own[i] += ns * weight; });
    for (let i = 0; i < spans.size && spans.begin[i] < to; ++i)
      if (spans.begin[i] >= from && of[i] >= 0 && rows.about.regions[spans.region[i]].loop == null) visits[of[i]] += weight;
  });
  return { own, visits };
}

// The waits between two times as severities: metric, path, location (of the analysis), seconds. locationOf: by row.
export function waitsOfRange(rows, finder, locationOf, from, to) {
  const { values } = rows.waits, out = [], byRow = new Map();
  for (let i = 0; i < values.length; i += 4) {
    const part = Math.min(values[i + 2], to) - Math.max(values[i + 1], from);
    if (part <= 0) continue;
    if (!byRow.has(values[i])) byRow.set(values[i], []);
    byRow.get(values[i]).push({ middle: (values[i + 1] + values[i + 2]) / 2, metric: values[i + 3], part });
  }
  for (const [r, list] of byRow) {
    const spans = rows.spans[r], location = locationOf(r);
    if (location < 0) continue;
    list.sort((a, b) => a.middle - b.middle);
    const known = (finder.rows ??= []), of = spans ? (known[r] ??= finder.of(spans)) : [];
    const open = [];
    let next = 0;
    for (const { middle, metric, part } of list) {
      for (; spans && next < spans.size && spans.begin[next] <= middle; ++next) {
        while (open.length && spans.depth[open.at(-1)] >= spans.depth[next]) open.pop();
        open.push(next);
      }
      while (open.length && spans.begin[open.at(-1)] + spans.duration[open.at(-1)] < middle) open.pop();
      const path = open.length ? of[open.at(-1)] : finder.root;
      if (path >= 0) out.push(metric, path, location, part / 1e9);
    }
  }
  return Float64Array.from(out);
}

// How often one call path came right after another in the same region, between two times: by the path of the region around
// them (finder.root: the program) a Map of "from to" to how often. Paths are numbers; 'start' and 'end' are those of a visit of the
// region around, 'unknown' is what was skipped. A transition to a path is at its start, one to the end at the end of the region.
// Null where spans of the range are missing (too short for the timeline): control flow is not known there.
export function transitionsOfRange(rows, finder, from, to) {
  const { detail, regions, gaps = [] } = rows.about;
  if (detail?.all === false && to > detail.until_ns) return null;
  const levels = new Map();
  rows.spans.forEach((spans, r) => {
    if (!spans?.size) return;
    const known = (finder.rows ??= []), of = (known[r] ??= finder.of(spans));
    const [first, last] = rows.about.rows[r], weight = last - first + 1;
    const add = (level, a, b) => {
      const counts = levels.get(level.path) ?? new Map(), key = `${a} ${b}`;
      counts.set(key, (counts.get(key) ?? 0) + weight);
      levels.set(level.path, counts);
    };
    const before = (level, time) => {
      if (gaps.some((gap) => gap.begin_ns >= level.since && gap.end_ns <= time)) return 'unknown';
      return level.last;
    };
    const close = (level) => { if (level.end >= from && level.end < to) add(level, before(level, level.end), 'end'); };
    // Levels that are open, outermost first: since: the end of the last one in it, or its own begin.
    const open = [{ path: finder.root, depth: -1, end: spans.begin.reduce((most, begin, i) => Math.max(most, begin + spans.duration[i]), 0), since: spans.begin[0], last: 'start' }];
    for (let i = 0; i < spans.size && spans.begin[i] < to; ++i) {
      const begin = spans.begin[i], end = begin + spans.duration[i] * (1 - 1e-7), depth = spans.depth[i];
      while (open.length > 1 && (open.at(-1).depth >= depth || open.at(-1).end <= begin)) close(open.pop());
      const level = open.at(-1);
      // Iterations of loops and regions that no call path has are no level of their own.
      if (regions[spans.region[i]].loop != null || of[i] < 0 || of[i] === level.path) continue;
      if (begin >= from) add(level, before(level, begin), of[i]);
      level.last = of[i];
      level.since = end;
      open.push({ path: of[i], depth, end, since: begin, last: 'start' });
    }
    while (open.length) close(open.pop());
  });
  return levels;
}

// A level of the flow graph as it is in a range: figures by path, and how often each edge was taken in it.
export function levelOfRange(level, { time, own, visits }, transitions, whole, root = -1) {
  const ids = new Set(level.nodes.map((node) => node.id));
  const place = (at) => (/^\d+$/.test(at) ? (ids.has(`p${at}`) ? `p${at}` : 'rest') : at);
  const counts = new Map();
  for (const [key, count] of transitions.get(level.path ?? root) ?? []) {
    const at = key.split(' ').map(place).join(' ');
    counts.set(at, (counts.get(at) ?? 0) + count);
  }
  return {
    ...level,
    nodes: level.nodes.map((node) => (node.path == null ? node : { ...node, time_ns: time[node.path], own_ns: own[node.path], visits: visits[node.path], share: time[node.path] / (whole || 1), bytes: null })),
    edges: level.edges.map((edge) => ({ ...edge, count: counts.get(`${edge.from} ${edge.to}`) ?? 0, label: null })),
  };
}
