// A matrix of numbers at every zoom: each level has the means of two by two cells of the one below.
// Made once; drawing takes time by pixels of the screen, a few cells each. Pure.

import { usualTop } from './series.mjs';

export class HeatLevels {
  constructor(values, rows, columns) {
    this.levels = [{ values, rows, columns }];
    for (let level = this.levels[0]; level.rows > 1 || level.columns > 1; level = this.levels.at(-1)) {
      if (level.rows * level.columns < 4096) break;
      this.levels.push(HeatLevels.#above(level));
    }
    this.rows = rows;
    this.columns = columns;
  }

  static #above({ values, rows, columns }) {
    const r = Math.ceil(rows / 2), c = Math.ceil(columns / 2);
    const out = new Float32Array(r * c);
    for (let i = 0; i < r; ++i) {
      const a = 2 * i * columns, b = Math.min(2 * i + 1, rows - 1) * columns;
      for (let j = 0; j < c; ++j) {
        const p = 2 * j, q = Math.min(p + 1, columns - 1);
        let sum = 0, n = 0;
        for (const v of [values[a + p], values[a + q], values[b + p], values[b + q]])
          if (v === v) { sum += v; ++n; }
        out[i * c + j] = n ? sum / n : NaN;
      }
    }
    return { values: out, rows: r, columns: c };
  }

  at(row, column) { return this.levels[0].values[row * this.columns + column]; }

  // Fills pixels (Uint32Array of width x height) with the rows and columns of the window, by colours
  // of table, for values from low to high. Cells without value are `none`, those beyond the scale `over`.
  paint(pixels, width, height, [c0, c1], [r0, r1], table, low, high, none, over = table[255]) {
    const perX = (c1 - c0) / width, perY = (r1 - r0) / height;
    let number = 0;
    while (number + 1 < this.levels.length && Math.min(perX, perY) >= 2 ** (number + 1)) ++number;
    const { values, rows, columns } = this.levels[number], scale = 2 ** number;
    const fromX = edges(c0 / scale, perX / scale, width, columns), fromY = edges(r0 / scale, perY / scale, height, rows);
    // Sums of floats.
    const limit = high + 1e-6 * Math.abs(high);
    const factor = high > low ? 255 / (high - low) : 0;
    for (let y = 0; y < height; ++y) {
      const first = fromY[2 * y], last = fromY[2 * y + 1], to = y * width;
      if (y > 0 && first === fromY[2 * y - 2] && last === fromY[2 * y - 1]) {
        pixels.copyWithin(to, to - width, to);
        continue;
      }
      for (let x = 0; x < width; ++x) {
        const a = fromX[2 * x], b = fromX[2 * x + 1];
        let value = values[first * columns + a];
        if (b - a > 1 || last - first > 1) {
          let sum = 0, n = 0;
          for (let at = first * columns; at < last * columns; at += columns)
            for (let j = at + a; j < at + b; ++j) {
              const v = values[j];
              if (v === v) { sum += v; ++n; }
            }
          value = sum / n;
        }
        pixels[to + x] = value > limit ? over : value === value ? table[Math.max(0, Math.min(255, ((value - low) * factor) | 0))] : none;
      }
    }
  }
}

// Which cells each pixel is the mean of: from, and before which. Every cell in the window is in one pixel, and a pixel smaller than a
// cell in the one below its middle.
function edges(begin, per, pixels, cells) {
  const out = new Uint32Array(2 * pixels), within = (at) => Math.min(cells - 1, Math.max(0, Math.floor(at + 1e-9)));
  for (let p = 0; p < pixels; ++p) {
    const from = begin + p * per;
    out[2 * p] = within(per <= 1 ? from + per / 2 : from);
    out[2 * p + 1] = Math.max(out[2 * p] + 1, per <= 1 ? 0 : Math.min(cells, Math.floor(from + per + 1e-9)));
  }
  return out;
}

// Where a scale of colours begins and ends (series.mjs: usualTop), and the largest value, which may be beyond it.
export function usualRange(values) {
  const { top, most } = usualTop(values);
  let low = 0, some = false;
  for (const v of values) if (v === v) { some = true; if (v < low) low = v; }
  if (!some) return [0, 1, 1];
  return top > low ? [low, top, most] : [low, low + 1, low + 1];
}
