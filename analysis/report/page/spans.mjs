// The spans of one row of the timeline, ready to be drawn at any zoom: for each depth a tree over
// groups of four neighbours, made once. Drawing takes time by pixels, not by spans. Pure.

const kFan = 4;

// The first index whose value is not less.
export function lowerBound(values, value, from = 0, to = values.length) {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (values[middle] < value) from = middle + 1;
    else to = middle;
  }
  return from;
}

function visitLevel(lane, number, first, last, from, to, pixel, paint) {
  const { begin, end, color, sum } = lane.levels[number];
  // Ends ascend as begins do: what is before `from` is left out at once.
  let i = last - first > 8 ? lowerBound(end, from, first, last) : first;
  if (number === 0) {
    const { ids } = lane;
    for (; i < last && begin[i] <= to; ++i)
      if (end[i] >= from) paint(begin[i], end[i], color[i], end[i] - begin[i], ids[i]);
    return;
  }
  const below = lane.levels[number - 1].begin.length;
  for (; i < last && begin[i] <= to; ++i) {
    if (end[i] < from) continue;
    if (end[i] - begin[i] <= pixel) paint(begin[i], end[i], color[i], sum[i], -1);
    else visitLevel(lane, number - 1, i * kFan, Math.min(i * kFan + kFan, below), from, to, pixel, paint);
  }
}

// Spans of one depth, which do not overlap: begin (ascending), end, color of each.
export class Lane {
  constructor(begin, end, color, ids) {
    this.levels = [{ begin, end, color, sum: null }];
    this.ids = ids;
    for (let level = this.levels[0]; level.begin.length > kFan; level = this.levels.at(-1))
      this.levels.push(Lane.above(level));
  }

  get size() { return this.ids.length; }

  static above(below) {
    const n = Math.ceil(below.begin.length / kFan);
    const up = {
      begin: new Float64Array(n), end: new Float64Array(n),
      color: new Uint8Array(n), sum: new Float32Array(n),
    };
    const byColor = new Float64Array(256);
    for (let i = 0; i < n; ++i) {
      const first = i * kFan, last = Math.min(first + kFan, below.begin.length);
      up.begin[i] = below.begin[first];
      up.end[i] = below.end[last - 1];
      let sum = 0, best = below.color[first];
      for (let j = first; j < last; ++j) {
        const each = below.sum ? below.sum[j] : below.end[j] - below.begin[j];
        sum += each;
        byColor[below.color[j]] += each;
      }
      for (let j = first; j < last; ++j)
        if (byColor[below.color[j]] > byColor[best]) best = below.color[j];
      for (let j = first; j < last; ++j) byColor[below.color[j]] = 0;
      up.sum[i] = sum;
      up.color[i] = best;
    }
    return up;
  }

  // Calls paint(begin, end, color, time inside, id or -1) for what lies between from and to, nothing of
  // it that is parted finer than `pixel`.
  visit(from, to, pixel, paint) {
    const top = this.levels.length - 1;
    visitLevel(this, top, 0, this.levels[top].begin.length, from, to, pixel, paint);
  }

  // The span at that time, or -1.
  at(time) {
    const { begin, end } = this.levels[0];
    const i = lowerBound(begin, time + 1e-9) - 1;
    return i >= 0 && end[i] >= time ? this.ids[i] : -1;
  }
}

// Intervals as a lane: what overlaps is joined, and each has its index. keep(i) says which.
export function laneOf(begin, end, keep = () => true, shown = (t) => t) {
  const order = Array.from(begin.keys()).filter(keep).sort((a, b) => begin[a] - begin[b]);
  const b = [], e = [], ids = [];
  for (const i of order) {
    const from = shown(begin[i]), to = shown(end[i]);
    if (b.length && from <= e.at(-1)) { e[e.length - 1] = Math.max(e.at(-1), to); continue; }
    b.push(from);
    e.push(to);
    ids.push(i);
  }
  return new Lane(Float64Array.from(b), Float64Array.from(e), new Uint8Array(b.length), Uint32Array.from(ids));
}

// All spans of a row. colorOf[region] is the number of a colour, below 256.
export class Spans {
  constructor(begin, duration, region, depth) {
    Object.assign(this, { begin, duration, region, depth });
    let most = -1;
    for (const each of depth) if (each > most) most = each;
    this.depths = most + 1;
    this.lanes = [];
  }

  get size() { return this.begin.length; }

  // shown maps a time to where it is drawn (gaps folded); times come in ascending order. Spans that are `apart` have a colour of their own.
  arrange(colorOf, shown = (t) => t, apart = null, colorApart = 0) {
    const counts = new Uint32Array(this.depths);
    for (const each of this.depth) ++counts[each];
    const lanes = Array.from(counts, (n) => ({
      begin: new Float64Array(n), end: new Float64Array(n), color: new Uint8Array(n),
      ids: new Uint32Array(n), at: 0,
    }));
    for (let i = 0; i < this.begin.length; ++i) {
      const lane = lanes[this.depth[i]];
      const at = lane.at++;
      lane.begin[at] = shown(this.begin[i]);
      lane.end[at] = shown(this.begin[i] + this.duration[i]);
      lane.color[at] = apart?.[i] ? colorApart : colorOf[this.region[i]] ?? 0;
      lane.ids[at] = i;
    }
    this.lanes = lanes.map((lane) => new Lane(lane.begin, lane.end, lane.color, lane.ids));
    return this;
  }

  // Time between two times by key (its region, or what else a span has there), each moment given to the innermost span. clock: what
  // counts of the time before a time (gaps.mjs).
  ownTimes(from, to, keys, keyOf = this.region, clock = (t) => t) {
    const own = new Float64Array(keys);
    const open = [];
    let at = from;
    const until = (t) => {
      const stop = Math.min(t, to);
      while (open.length > 0) {
        const top = open.at(-1);
        const end = Math.min(top.end, stop);
        if (end > at) { if (top.key >= 0) own[top.key] += clock(end) - clock(at); at = end; }
        if (top.end > stop) return;
        open.pop();
      }
      if (stop > at) at = stop;
    };
    for (let i = 0; i < this.begin.length; ++i) {
      const begin = this.begin[i], end = begin + this.duration[i];
      if (begin >= to) break;
      if (end <= from) continue;
      until(begin);
      at = Math.max(at, Math.min(begin, to), from);
      open.push({ end, key: keyOf[i] });
    }
    until(to);
    return own;
  }
}

// One line of pixels: of each pixel the colour with most time in it, and how much of the pixel is
// covered. Used again for every lane, so nothing is allocated while drawing.
export class PixelLine {
  constructor(width, colors) {
    this.width = width;
    this.colors = colors;
    this.time = new Float32Array(width * colors);
    this.cover = new Float32Array(width);
    this.best = new Uint8Array(width);
    this.from = width;  // what has been touched
    this.to = 0;
  }

  clear() {
    if (this.to > this.from) {
      this.time.fill(0, this.from * this.colors, this.to * this.colors);
      this.cover.fill(0, this.from, this.to);
    }
    this.from = this.width;
    this.to = 0;
  }

  one(p, part, color, weight) {
    const { time, best, colors } = this, at = p * colors;
    this.cover[p] += part;
    const sum = (time[at + color] += part * weight);
    if (sum > time[at + best[p]] || best[p] === color) best[p] = color;
  }

  // x0, x1 in pixels; share of it that is really time of that colour; weight against other colours.
  add(x0, x1, color, share, weight = 1) {
    const { width } = this;
    if (x1 <= 0 || x0 >= width) return;
    const from = x0 > 0 ? x0 : 0, to = x1 < width ? x1 : width;
    const first = Math.floor(from), last = Math.min(Math.ceil(to), width);
    if (first < this.from) this.from = first;
    if (last > this.to) this.to = last;
    if (last - first <= 1) {
      if (first < width) this.one(first, (to - from) * share, color, weight);
      return;
    }
    this.one(first, (first + 1 - from) * share, color, weight);
    for (let p = first + 1; p < last - 1; ++p) this.one(p, share, color, weight);
    this.one(last - 1, (to - (last - 1)) * share, color, weight);
  }

  dominant(p) { return this.best[p]; }
}
