// View 3: how long each iteration of a loop took, also of those that are not in the archive, and of what
// it consists (Furlinger and Moore, figure 4). A range of iterations chosen here holds on all views.

import { range as d3range, ticks } from 'd3-array';
import { classLegend } from './class_bars.mjs';
import { choice, el, empty, legend, number, replace, section } from './elements.mjs';
import { loopTitle } from './run_view.mjs';
import { classColor, className } from './palette.mjs';
import { count, percent, plural, time } from './quantities.mjs';
import { iterationsOf, sharesOf, timesOf } from './iterations.mjs';
import { histogram, quantile, Series, usualTop } from './series.mjs';
import { lowerBound } from './spans.mjs';
import { axisBelow, axisLeft, breakBar, Surface, widthOf } from './surface.mjs';
import { table } from './tables.mjs';
import { valueTicks } from './time_axis.mjs';
import { kViewTitles } from './view_titles.mjs';
import { Zoom } from './zoom.mjs';

const kLeft = 74, kRight = 14;
const kStates = ['skipped', 'partly in the archive', 'in the archive'];
const kWhy = [[1, 'among the first'], [2, 'slow'], [4, 'before a break'], [8, 'in a break'], [16, 'other reason']];
const stateColors = (theme) => [theme('hatch'), '#56b4e9', '#0072b2'];

export const whyText = (bits) => kWhy.filter(([bit]) => bits & bit).map(([, text]) => text).join(', ');

class Charts {
  constructor(page, loop, list, rows) {
    Object.assign(this, { page, loop, list, rows });
    this.series = new Series(list.number, list.duration, list.low, list.high);
    this.end = list.n ? list.number[list.n - 1] + list.count[list.n - 1] : 1;
    // A few very long ones would flatten all others: the scale ends before them.
    this.usual = usualTop(list.high);
    this.log = this.usual.top > 40 * (loop.median_ns || loop.mean_ns || Infinity);
    this.share = true;
    const limits = [list.n ? list.number[0] : 0, this.end];
    const plot = (surface, bottom) => () => ({ x0: kLeft, x1: surface().width - kRight, y0: 8, y1: surface().height - bottom });
    this.upper = new Surface({ height: 230, label: `duration of each iteration of loop ${loop.loop}`, draw: (...all) => this.drawDurations(...all), tip: (x) => this.tip(x),
      describe: 'Dragging selects iterations; plus and minus zoom, arrows move, Enter selects the visible range, Shift with left and right a part of it' });
    this.lower = new Surface({ height: 210, label: 'classes of time over the iterations', draw: (...all) => this.drawClasses(...all), tip: (x, y) => this.classTip(x, y) });
    const options = { limits, least: 4, unit: 1, chooses: true, choose: (a, b) => this.choose(a, b) };
    this.zoomUpper = new Zoom(this.upper, { ...options, plot: plot(() => this.upper, 34) });
    this.zoomLower = new Zoom(this.lower, { ...options, plot: plot(() => this.lower, 26) });
    // Both show the same iterations.
    const change = (from, to) => {
      const set = from.set.bind(from);
      from.set = (a, b) => { set(a, b); to.x = [...from.x]; to.surface.change(); };
    };
    change(this.zoomUpper, this.zoomLower);
    change(this.zoomLower, this.zoomUpper);
  }

  choose(a, b) {
    const first = Math.max(0, Math.floor(a)), last = Math.max(first, Math.min(this.end - 1, Math.ceil(b) - 1));
    this.page.selection.set({ loop: this.loop.loop, first, last, ...timesOf(this.list, first, last) });
  }

  index(x) {
    const at = this.zoomUpper.at(x);
    return Math.min(this.list.n - 1, Math.max(0, lowerBound(this.list.number, at + 1e-9) - 1));
  }

  tip(x) {
    if (x < kLeft || !this.list.n) return null;
    const { list } = this, i = this.index(x);
    const many = list.count[i] > 1;
    return [el('div', {}, el('b', {}, many ? `iterations ${count(list.number[i])}–${count(list.number[i] + list.count[i] - 1)}` : `iteration ${count(list.number[i])}`)),
      el('div', {}, many ? `mean ${time(list.duration[i])}, from ${time(list.low[i])} to ${time(list.high[i])}` : time(list.duration[i])),
      el('div', {}, many ? `${percent(list.skipped[i])} of them skipped` : `${kStates[list.state[i]] ?? ''}${list.why[i] ? ': ' + whyText(list.why[i]) : ''}`),
      el('div', { class: 'hint' }, `begins at ${time(list.begin[i])}`)];
  }

  drawDurations(c, width, height, theme) {
    const { list, zoomUpper: zoom } = this;
    const { x0, x1, y0, y1 } = zoom.plot();
    const i0 = Math.max(0, lowerBound(list.number, zoom.x[0]) - 1), i1 = Math.min(list.n, lowerBound(list.number, zoom.x[1]) + 1);
    const extent = this.series.range(i0, i1);
    const top = this.log ? extent.high : topOf(list.high, i0, i1, extent.high, this.usual), high = Math.max(top, 1) * 1.05, low = this.log ? Math.max(extent.low / 1.3, 1) : 0;
    const y = this.log
      ? (v) => y1 - ((Math.log(Math.max(v, low)) - Math.log(low)) / (Math.log(high) - Math.log(low) || 1)) * (y1 - y0)
      : (v) => y1 - Math.min(1, v / high) * (y1 - y0);
    this.clipped = extent.high > high ? [high, extent.high] : null;
    axisLeft(c, theme, y, this.log ? logTicks(low, high) : valueTicks(high).ticks, x0, valueTicks(high).format, x1 - x0);
    const colors = stateColors(theme);
    const each = (x1 - x0) / (zoom.x[1] - zoom.x[0]);
    const wide = each * list.per;
    if (wide >= 3) {
      for (let i = i0; i < i1; ++i) {
        const a = Math.max(x0, zoom.pixel(list.number[i])), b = Math.min(x1, zoom.pixel(list.number[i] + list.count[i]));
        if (b <= a) continue;
        c.fillStyle = list.state[i] === 0 ? theme('muted') : colors[list.state[i]];
        c.globalAlpha = list.state[i] === 0 ? 0.45 : 1;
        c.fillRect(a + 0.5, y(list.duration[i]), Math.max(1, b - a - 1), y1 - y(list.duration[i]));
        c.globalAlpha = 1;
        if (list.duration[i] > high) breakBar(c, theme, a + 0.5, y0, Math.max(1, b - a - 1));
      }
    } else {
      for (let x = Math.floor(x0); x < x1; ++x) {
        const a = Math.max(0, lowerBound(list.number, zoom.at(x))), b = Math.max(a + 1, lowerBound(list.number, zoom.at(x + 1)));
        if (a >= list.n) break;
        const r = this.series.range(a, Math.min(b, list.n));
        c.fillStyle = theme('muted');
        c.globalAlpha = 0.3;
        c.fillRect(x, y(r.high), 1, Math.max(1, y(r.low) - y(r.high)));
        c.globalAlpha = 1;
        // What most of them are.
        const shares = sharesOf(list, a, Math.min(b, list.n)), most = shares.indexOf(Math.max(...shares));
        c.fillStyle = most === 2 ? theme('muted') : colors[2 - most];
        c.fillRect(x, y(r.mean) - 1, 1, 2);
        if (r.high > high) breakBar(c, theme, x, y0, 1);
      }
    }
    // The strip below says how many are in the archive; triangles are the slow ones.
    const strip = y1 + 3;
    for (let x = Math.floor(x0); x < x1 && list.n; ++x) {
      const a = Math.max(0, lowerBound(list.number, zoom.at(x) + 1e-9) - 1), b = Math.max(a + 1, lowerBound(list.number, zoom.at(x + 1)));
      let at = strip + 6;
      sharesOf(list, a, Math.min(b, list.n)).forEach((share, i) => {
        c.fillStyle = colors[2 - i];
        c.fillRect(x, at - 6 * share, 1, 6 * share);
        at -= 6 * share;
      });
    }
    c.fillStyle = '#d55e00';
    let drawn = -9;
    for (let i = i0; i < i1; ++i) {
      if (!(list.why[i] & 2)) continue;
      const x = zoom.pixel(list.number[i] + list.count[i] / 2);
      if (x - drawn < 2 || x < x0 || x > x1) continue;
      drawn = x;
      const top = y(list.high[i]);
      c.beginPath();
      c.moveTo(x, top - 1);
      c.lineTo(x - 4, top - 8);
      c.lineTo(x + 4, top - 8);
      c.fill();
    }
    if (this.loop.median_ns > 0 && y(this.loop.median_ns) > y0) {
      c.strokeStyle = theme('text');
      c.setLineDash([5, 4]);
      c.beginPath();
      c.moveTo(x0, y(this.loop.median_ns));
      c.lineTo(x1, y(this.loop.median_ns));
      c.stroke();
      c.setLineDash([]);
    }
    if (this.clipped) sayClipped(c, theme, x1, y0, ...this.clipped);
    zoom.drawRange(c, theme, this.chosen);
    axisBelow(c, theme, (v) => zoom.pixel(v), whole(zoom.x, x1 - x0), y1 + 10, count);
  }

  drawClasses(c, width, height, theme) {
    const { rows, zoomLower: zoom } = this;
    const { x0, x1, y0, y1 } = zoom.plot();
    if (!rows) {
      c.fillStyle = theme('muted');
      c.fillText('Time classes per iteration are unknown for this loop.', x0, height / 2);
      return;
    }
    const { k, n, first, sums, each } = rows;
    const { top, most } = this.share ? { top: 1, most: 1 } : rows.usual, high = this.share ? 1 : Math.max(1, top) * 1.03;
    axisLeft(c, theme, (v) => y1 - (v / high) * (y1 - y0), this.share ? [0, 0.25, 0.5, 0.75, 1] : valueTicks(high).ticks, x0, this.share ? percentTick : valueTicks(high).format, 0);
    const j0 = Math.max(0, lowerBound(first, zoom.x[0]) - 1), j1 = Math.min(n, lowerBound(first, zoom.x[1]) + 1);
    const bars = Math.max(1, (x1 - x0));
    const perPixel = (zoom.x[1] - zoom.x[0]) / bars;
    const column = new Float64Array(k);
    const bar = (a, b, from, to) => {
      column.fill(0);
      let total = 0, weight = 0;
      for (let j = from; j < to; ++j) {
        for (let i = 0; i < k; ++i) { column[i] += sums[i * n + j]; total += sums[i * n + j]; }
        weight += each[j];
      }
      if (!total) return;
      let at = y1;
      for (let i = 0; i < k; ++i) {
        const h = Math.min(at - y0, (column[i] / (this.share ? total : weight) / high) * (y1 - y0));
        c.fillStyle = rows.colors[i];
        c.fillRect(a, at - h, b - a, h + 0.4);
        at -= h;
      }
      if (!this.share && total / weight > high) breakBar(c, theme, a, y0, b - a);
    };
    if ((j1 - j0) < bars) {
      for (let j = j0; j < j1; ++j) {
        const a = Math.max(x0, zoom.pixel(first[j])), b = Math.min(x1, zoom.pixel(first[j] + rows.count[j]));
        if (b > a) bar(a, b - a > 5 ? b - 1 : b, j, j + 1);
      }
    } else {
      for (let x = x0; x < x1; ++x) {
        const from = Math.max(0, lowerBound(first, zoom.x[0] + (x - x0) * perPixel) - 1);
        const to = Math.max(from + 1, lowerBound(first, zoom.x[0] + (x + 1 - x0) * perPixel));
        bar(x, x + 1, from, Math.min(to, n));
      }
    }
    if (most > high) sayClipped(c, theme, x1, y0, high, most);
    const begin = Math.min(x1, zoom.pixel(first[0]));
    const text = 'before the loop was detected';
    if (begin > x0 + 2) {
      c.fillStyle = theme('hatch');
      c.fillRect(x0, y0, begin - x0, y1 - y0);
      c.fillStyle = theme('muted');
      if (widthOf(c, text) < begin - x0 - 8) c.fillText(text, x0 + 6, (y0 + y1) / 2);
    }
    zoom.drawRange(c, theme, this.chosen);
    axisBelow(c, theme, (v) => zoom.pixel(v), whole(zoom.x, x1 - x0), y1 + 2, count);
  }

  classTip(x) {
    const { rows } = this;
    if (!rows || x < kLeft || !rows.n) return null;
    const j = Math.min(rows.n - 1, Math.max(0, lowerBound(rows.first, this.zoomLower.at(x) + 1e-9) - 1));
    const total = rows.total[j] || 1;
    const list = rows.keys.map((key, i) => [key, rows.sums[i * rows.n + j]]).filter(([, v]) => v > 0).sort((a, b) => b[1] - a[1]);
    return [el('div', {}, el('b', {}, rows.count[j] > 1 ? `iterations ${count(rows.first[j])}–${count(rows.first[j] + rows.count[j] - 1)}` : `iteration ${count(rows.first[j])}`)),
      ...list.map(([key, v]) => el('div', {}, el('i', { class: 'dot', style: { background: classColor(key) } }), ` ${className(key)} ${percent(v / total)}, ${time(v / rows.each[j])}`)),
      el('div', { class: 'hint' }, 'mean time of a thread in an iteration')];
  }
}

// Where the scale of what is seen ends: of some thousand iterations it is their own, of more that of all.
function topOf(high, from, to, most, usual) {
  const own = to - from <= 5000 ? usualTop(high.subarray(from, to)).top : usual.top;
  return own > 0 ? Math.min(most, own) : most;
}

function sayClipped(c, theme, x1, y0, high, most) {
  const text = `cut off above ${time(high, 3)}; the longest: ${time(most, 3)}`;
  c.save();
  c.globalAlpha = 0.85;
  c.fillStyle = theme('card');
  c.fillRect(x1 - widthOf(c, text) - 12, y0 + 10, widthOf(c, text) + 8, 18);
  c.globalAlpha = 1;
  c.fillStyle = theme('warn');
  c.fillText(text, x1 - widthOf(c, text) - 8, y0 + 19);
  c.restore();
}

const wideSpread = (list, loop) => list.high.reduce((a, b) => Math.max(a, b), 0) > 40 * (loop.median_ns || loop.mean_ns || Infinity);
const percentTick = (v) => `${Math.round(100 * v)}\u00a0%`;
const logTicks = (low, high) => d3range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1).flatMap((e) => [10 ** e, 3 * 10 ** e]).filter((v) => v >= low && v <= high);
const whole = ([a, b], pixels) => ticks(a, b, Math.max(2, Math.floor(pixels / 90))).filter(Number.isInteger);

// Sums over all locations of each class and column.
async function classRows(page, id) {
  if (!page.has(`rows/${id}`)) return null;
  const [about, columns, cells] = await Promise.all([page.json(`rows/${id}`), page.array(`rows/${id}/columns`), page.array(`rows/${id}/values`)]);
  const [, m, n] = cells.shape, k = about.classes.length;
  if (!n) return null;
  const first = Float64Array.from({ length: n }, (_, j) => columns.values[4 * j]);
  const counts = Float64Array.from({ length: n }, (_, j) => columns.values[4 * j + 1]);
  const weights = about.groups ? about.groups.map(([a, b]) => b - a + 1) : new Array(m).fill(1);
  const threads = weights.reduce((s, w) => s + w, 0) || 1;
  const sums = new Float64Array(k * n), total = new Float64Array(n);
  for (let i = 0; i < k; ++i)
    for (let r = 0; r < m; ++r)
      for (let j = 0; j < n; ++j) {
        const v = cells.values[(i * m + r) * n + j];
        if (v === v) { sums[i * n + j] += v * weights[r]; total[j] += v * weights[r]; }
      }
  const keys = about.classes.map((each) => each.key);
  const each = counts.map((v) => Math.max(1, v) * threads);
  return { k, n, keys, first, count: counts, sums, total, usual: usualTop(total.map((t, j) => t / each[j])), each, colors: keys.map(classColor) };
}

function distribution(list, loop) {
  const values = list.duration;
  const sorted = Float64Array.from(values).sort();
  const log = wideSpread(list, loop), map = log ? (v) => Math.log10(Math.max(v, 1)) : (v) => v, back = log ? (v) => 10 ** v : (v) => v;
  const low = map(sorted[0] ?? 0), high = log ? map(sorted.at(-1)) + 0.01 : Math.max(quantile(sorted, 0.995) * 1.15, low + 1);
  const bins = histogram(log ? values.map(map) : values, 48, low, high);
  const most = Math.max(1, ...bins);
  const surface = new Surface({
    height: 190, label: 'distribution of durations',
    draw(c, width, height, theme) {
      const x0 = 56, x1 = width - 12, y0 = 8, y1 = height - 26;
      axisLeft(c, theme, (v) => y1 - (v / most) * (y1 - y0), ticks(0, most, 4).filter(Number.isInteger), x0, count, x1 - x0);
      bins.forEach((n, i) => {
        const a = x0 + (i / bins.length) * (x1 - x0), b = x0 + ((i + 1) / bins.length) * (x1 - x0);
        const h = n ? Math.max(1.5, (n / most) * (y1 - y0)) : 0;
        c.fillStyle = i === bins.length - 1 && sorted.at(-1) > back(high) ? theme('warn') : '#0072b2';
        c.fillRect(a + 0.5, y1 - h, b - a - 1, h);
      });
      axisBelow(c, theme, (v) => x0 + ((map(v) - low) / (high - low)) * (x1 - x0), log ? logTicks(back(low), back(high)).filter((_, i, all) => all.length < 9 || i % 2 === 0) : ticks(low, high, Math.max(2, Math.floor(width / 130))), y1 + 1, (v) => time(v, 3));
    },
    tip: (x) => {
      const i = Math.floor(((x - 56) / (surface.width - 68)) * bins.length);
      if (i < 0 || i >= bins.length) return null;
      const a = back(low + (i * (high - low)) / bins.length), b = back(low + ((i + 1) * (high - low)) / bins.length);
      return [el('div', {}, plural(bins[i], list.per > 1 ? 'group of iterations' : 'iteration', list.per > 1 ? 'groups of iterations' : 'iterations')),
        el('div', {}, i === bins.length - 1 ? `${time(a)} and longer` : `${time(a)} – ${time(b)}`)];
    },
  });
  const facts = [['median', loop.median_ns ?? quantile(sorted, 0.5)], ['mean', loop.mean_ns], ['95th percentile', quantile(sorted, 0.95)], ['shortest', loop.min_ns ?? low], ['longest', loop.max_ns ?? sorted.at(-1)]];
  return { surface, facts: el('dl', { class: 'facts' }, facts.map(([what, ns]) => [el('dt', {}, what), el('dd', {}, number(ns, time(ns)))])) };
}

function slowest(page, loop, list) {
  const some = (loop.slowest ?? []).length ? loop.slowest : [];
  if (!some.length) return empty('No iteration stands out.');
  const index = (it) => Math.max(0, lowerBound(list.number, it + 1) - 1);
  return table('slowest iterations', [
    { title: 'Iteration', value: (s) => s.iteration },
    { title: 'Duration', csv: 'ns', value: (s) => s.ns, text: (s) => time(s.ns), bar: (s) => s.ns / some[0].ns },
    { title: 'of the median', csv: 'times_median', value: (s) => s.ns / (loop.median_ns || s.ns), text: (s) => `${(s.ns / (loop.median_ns || s.ns)).toFixed(2)}\u00a0×` },
    { title: 'in the archive', left: true, value: (s) => { const i = index(s.iteration); return list.count[i] > 1 && list.skipped[i] > 0 ? (list.skipped[i] === 1 ? kStates[0] : '?') : kStates[list.state[i]] ?? '?'; } },
  ], some, { most: 8, pick: (s) => page.go('timeline', { loop: loop.loop, first: s.iteration, last: s.iteration, begin_ns: s.begin_ns, end_ns: s.begin_ns + s.ns }) });
}

function inRange(box, charts, selection) {
  const { first, last, loop } = selection.state;
  if (first == null || loop !== charts.loop.loop) return replace(box);
  const { list, rows } = charts;
  const a = Math.max(0, lowerBound(list.number, first + 1) - 1), b = Math.min(list.n, lowerBound(list.number, last + 1));
  const r = charts.series.range(a, Math.max(b, a + 1));
  let text = '';
  if (rows) {
    const sums = new Float64Array(rows.k);
    let total = 0;
    for (let j = 0; j < rows.n; ++j)
      if (rows.first[j] + rows.count[j] > first && rows.first[j] <= last)
        for (let i = 0; i < rows.k; ++i) { sums[i] += rows.sums[i * rows.n + j]; total += rows.sums[i * rows.n + j]; }
    text = [...sums].map((v, i) => [rows.keys[i], v]).filter(([, v]) => v / total > 0.001).sort((x, y) => y[1] - x[1]).map(([key, v]) => `${className(key)} ${percent(v / total)}`).join(' · ');
  }
  replace(box, section(`Iterations ${count(first)}–${count(last)}`, null, el('p', {}, `mean ${time(r.mean)}, from ${time(r.low)} to ${time(r.high)}`), text && el('p', { class: 'hint' }, text)));
}

async function create(root, page) {
  const nest = await page.json('nest');
  const loops = nest.loops.filter((loop) => page.has(`loop/${loop.loop}/iterations`) || page.has(`loop/${loop.loop}/merged`)).sort((a, b) => b.total_ns - a.total_ns);
  if (!loops.length) {
    root.append(el('div', { class: 'card' }, empty('No outermost loop was detected, so there are no iterations to show.')));
    return {};
  }
  const body = el('div', { class: 'view' });
  const select = el('select', { 'aria-label': 'loop', on: { change: () => page.selection.set({ loop: Number(select.value), first: null, last: null, begin_ns: null, end_ns: null }) } },
    loops.map((loop) => el('option', { value: loop.loop }, `${loopTitle(loop).slice(0, 90)} – ${count(loop.iterations)} iterations, ${time(loop.total_ns)}`)));
  root.append(el('div', { class: 'bar-row' }, loops.length > 1 ? select : el('b', {}, select.options[0].textContent)), body);
  let charts = null, box = null;

  async function open(id) {
    const loop = loops.find((each) => each.loop === id) ?? loops[0];
    select.value = String(loop.loop);
    const [list, rows] = await Promise.all([iterationsOf(page, loop.loop), classRows(page, loop.loop)]);
    charts = new Charts(page, loop, list, rows);
    box = el('div');
    const { surface, facts } = distribution(list, loop);
    replace(body,
      section('Duration of iterations', list.per > 1 ? `each point covers ${count(list.per)} iterations: minimum, mean and maximum; drag to select` : 'drag to select (all pictures follow); wheel zooms',
        el('div', { class: 'bar-row' },
          legend([['#0072b2', 'in the archive'], ['#56b4e9', 'partly in the archive'], ['var(--hatch)', 'skipped: only the duration is known'], ['#d55e00', '▼ unusually long or short'], ['var(--text)', '- - median'], ['var(--warn)', 'cut off: longer than the scale']]),
          choice('scale', [['linear', 'linear'], ['log', 'logarithmic']], charts.log ? 'log' : 'linear', (v) => { charts.log = v === 'log'; charts.upper.change(); })),
        charts.upper.box),
      section('Time in an iteration', `time of all threads by class, over the iterations${rows && rows.first[0] > list.number[0] ? `; known from iteration ${count(rows.first[0])} on, when the loop was detected` : ''}`,
        el('div', { class: 'bar-row' }, rows && classLegend(rows.keys), rows && choice('as', [['share', 'share'], ['time', 'time']], 'share', (v) => { charts.share = v === 'share'; charts.lower.change(); })),
        charts.lower.box),
      box,
      el('div', { class: 'columns' }, section('Distribution', 'number of iterations by duration', surface.box, facts), section('Slowest iterations', 'click to show in timeline', slowest(page, loop, list))));
  }

  return {
    async update(selection) {
      const wanted = selection.get('loop');
      const id = loops.some((each) => each.loop === wanted) ? wanted : charts?.loop.loop ?? loops[0].loop;
      if (!charts || charts.loop.loop !== id) await open(id);
      const { first, last, loop } = selection.state;
      charts.chosen = first != null && (loop == null || loop === id) ? [first, (last ?? first) + 1] : null;
      charts.upper.change();
      charts.lower.change();
      inRange(box, charts, selection);
    },
    repaint: () => { charts?.upper.paint(); charts?.lower.paint(); },
  };
}

export const iterations = {
  id: 'iterations', title: kViewTitles.iterations, print: true, create,
  missing: (page) => !page.has('nest') && 'The archive has no loop information, so there are no iterations to show.',
};
