// A matrix of numbers at every zoom: levels with the means of 2, 4, 8 ... rows and as many columns; with other numbers of both
// when they are needed. Each is made once; drawing takes time by pixels of the screen. Pure.

export class HeatLevels {
  constructor(values, rows, columns) {
    this.levels = new Map([['0 0', { values, rows, columns }]]);
    Object.assign(this, { rows, columns });
    // Those of as many rows as columns, of which others are made.
    for (let i = 0; (rows * columns) / 4 ** i >= 4096; ++i) this.#level(i, i);
  }

  // With 2^r rows and 2^c columns in a cell.
  #level(r, c) {
    const key = `${r} ${c}`;
    if (!this.levels.has(key)) this.levels.set(key, r > c ? HeatLevels.#halved(this.#level(r - 1, c), 2, 1) : c > r ? HeatLevels.#halved(this.#level(r, c - 1), 1, 2) : HeatLevels.#halved(this.#level(r - 1, c - 1), 2, 2));
    return this.levels.get(key);
  }

  static #halved({ values, rows, columns }, down, across) {
    const r = Math.ceil(rows / down), c = Math.ceil(columns / across);
    const out = new Float32Array(r * c);
    for (let i = 0; i < r; ++i) {
      const a = down * i * columns, b = Math.min(down * i + down - 1, rows - 1) * columns;
      for (let j = 0; j < c; ++j) {
        const p = across * j, q = Math.min(p + across - 1, columns - 1);
        let sum = 0, n = 0, v = values[a + p];
        if (v === v) { sum += v; ++n; }
        if (q > p) { v = values[a + q]; if (v === v) { sum += v; ++n; } }
        if (b > a) {
          v = values[b + p];
          if (v === v) { sum += v; ++n; }
          if (q > p) { v = values[b + q]; if (v === v) { sum += v; ++n; } }
        }
        out[i * c + j] = n ? sum / n : NaN;
      }
    }
    return { values: out, rows: r, columns: c };
  }

  at(row, column) { return this.#level(0, 0).values[row * this.columns + column]; }

  // Fills pixels (Uint32Array of width x height) with the rows and columns of the window, by colours
  // of table, for values from low to high. Cells without value are `none`.
  paint(pixels, width, height, [c0, c1], [r0, r1], table, low, high, none) {
    const perX = (c1 - c0) / width, perY = (r1 - r0) / height;
    // Cells are at most as large as a pixel, and larger than half of one. A pixel lies between two of them in either direction, so
    // that none is left out.
    const level = (per, cells) => Math.max(0, Math.min(Math.floor(Math.log2(per) + 1e-9), Math.ceil(Math.log2(Math.max(1, cells)))));
    const down = level(perY, this.rows), across = level(perX, this.columns);
    const { values, rows, columns } = this.#level(down, across);
    const ofX = between(c0 / 2 ** across, perX / 2 ** across, width, columns), ofY = between(r0 / 2 ** down, perY / 2 ** down, height, rows);
    const { first, step, part } = ofX;
    const factor = high > low ? 255 / (high - low) : 0;
    let above = -1;
    for (let y = 0; y < height; ++y) {
      const to = y * width, a = ofY.first[y] * columns, b = a + ofY.step[y] * columns, v = ofY.part[y], u = 1 - v;
      if (v === 0 && a === above) {
        pixels.copyWithin(to, to - width, to);
        continue;
      }
      above = v === 0 ? a : -1;
      for (let x = 0; x < width; ++x) {
        const i = first[x], j = i + step[x], t = part[x];
        let value = u * values[a + i] + v * values[b + i];
        if (t !== 0) value += t * (u * values[a + j] + v * values[b + j] - value);
        // Beside cells without a value the nearest counts.
        if (value !== value) value = values[(v > 0.5 ? b : a) + (t > 0.5 ? j : i)];
        pixels[to + x] = value === value ? table[Math.max(0, Math.min(255, ((value - low) * factor) | 0))] : none;
      }
    }
  }
}

// Of each pixel the cell that it begins from, the step to the next (0 or 1) and how far it lies towards it. Pixels smaller than a
// cell are in one.
function between(begin, per, pixels, cells) {
  const first = new Uint32Array(pixels), step = new Uint8Array(pixels), part = new Float64Array(pixels);
  for (let p = 0; p < pixels; ++p) {
    const middle = begin + (p + 0.5) * per, at = per <= 1 + 1e-9 ? middle : middle - 0.5;
    first[p] = Math.min(cells - 1, Math.max(0, Math.floor(at)));
    if (per <= 1 + 1e-9 || first[p] + 1 >= cells || at < 0) continue;
    step[p] = 1;
    part[p] = at - first[p];
  }
  return { first, step, part };
}

// The least and the greatest value, but for the greatest thousandth, which would hide the rest.
export function usualRange(values) {
  const step = Math.max(1, Math.floor(values.length / 50000));
  const some = [];
  for (let i = 0; i < values.length; i += step) if (values[i] === values[i]) some.push(values[i]);
  if (some.length === 0) return [0, 1];
  some.sort((a, b) => a - b);
  const high = some[Math.min(some.length - 1, Math.floor(some.length * 0.999))];
  const low = Math.min(0, some[0]);
  return high > low ? [low, high] : [low, Math.max(some.at(-1), low + 1)];
}
