// Ticks of time with as many digits as tell neighbours apart.

import { ticks, tickStep } from 'd3-array';
import { time } from './quantities.mjs';

const kUnits = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

export function timeTicks(from, to, pixels) {
  const n = Math.max(2, Math.floor(pixels / 110));
  const [unit, suffix] = kUnits.find(([u]) => Math.max(Math.abs(from), Math.abs(to)) >= u) ?? kUnits[3];
  const list = ticks(from / unit, to / unit, n);
  const step = Math.abs(tickStep(from / unit, to / unit, n)) || 1;
  const decimals = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step) - 1e-9)));
  return { ticks: list.map((t) => t * unit), format: (t) => (t === 0 ? '0' : (t / unit).toFixed(decimals)) + '\u00a0' + suffix };
}

export const valueTicks = (to, n = 4) => ({ ticks: ticks(0, to, n), format: (v) => (v === 0 ? '0' : time(v, 3)) });
