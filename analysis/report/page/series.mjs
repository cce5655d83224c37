// Long rows of numbers: least, mean and largest of any range in time that does not grow with it,
// and their distribution. Pure.

export class Series {
  // value[i] belongs to position[i]; positions ascend. lows and highs where each is of many.
  constructor(position, value, lows = value, highs = value) {
    this.position = position;
    this.levels = [{ low: lows, high: highs, mean: value }];
    for (let level = this.levels[0]; level.low.length > 512; level = this.levels.at(-1)) {
      const n = Math.ceil(level.low.length / 4);
      const up = { low: new Float64Array(n), high: new Float64Array(n), mean: new Float64Array(n) };
      for (let i = 0; i < n; ++i) {
        let low = Infinity, high = -Infinity, sum = 0, k = 0;
        for (let j = 4 * i; j < Math.min(4 * i + 4, level.low.length); ++j, ++k) {
          low = Math.min(low, level.low[j]);
          high = Math.max(high, level.high[j]);
          sum += level.mean[j];
        }
        up.low[i] = low; up.high[i] = high; up.mean[i] = sum / k;
      }
      this.levels.push(up);
    }
  }

  // Of the values from index `from` to before `to`.
  range(from, to) {
    let low = Infinity, high = -Infinity, sum = 0, weight = 0;
    const add = (level, i, w) => {
      low = Math.min(low, level.low[i]);
      high = Math.max(high, level.high[i]);
      sum += level.mean[i] * w;
      weight += w;
    };
    let a = from, b = to, w = 1;
    for (const level of this.levels) {
      if (level === this.levels.at(-1)) {
        for (let i = a; i < b; ++i) add(level, i, w);
        break;
      }
      while (a < b && a % 4 !== 0) add(level, a++, w);
      while (a < b && b % 4 !== 0) add(level, --b, w);
      if (a >= b) break;
      a /= 4; b /= 4; w *= 4;
    }
    return { low, high, mean: weight ? sum / weight : NaN };
  }
}

// Where a scale ends: at the largest value, or, if that would flatten the others, at the 99th percentile. Of few values all are shown.
export function usualTop(values) {
  const step = Math.max(1, Math.floor(values.length / 50000)), some = [];
  let most = 0;
  for (let i = 0; i < values.length; ++i) {
    if (values[i] > most) most = values[i];
    if (i % step === 0 && values[i] === values[i]) some.push(values[i]);
  }
  some.sort((a, b) => a - b);
  const usual = some[Math.floor((some.length - 1) * 0.99)] ?? 0;
  return some.length >= 20 && usual > 0 && most > 1.5 * usual ? { top: usual, most } : { top: most, most };
}

export function histogram(values, bins, low, high) {
  const out = new Uint32Array(bins);
  const width = (high - low) / bins || 1;
  for (const v of values)
    ++out[Math.max(0, Math.min(bins - 1, Math.floor((v - low) / width)))];
  return out;
}

export function quantile(sorted, q) {
  if (sorted.length === 0) return NaN;
  const at = (sorted.length - 1) * q;
  const i = Math.floor(at);
  return i + 1 < sorted.length ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[i];
}
