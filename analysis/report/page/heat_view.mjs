// View 4: location by iteration, a colour for the time in a class or for a counter (Furlinger and
// Moore, figure 5). Any size: levels of detail are made once, drawing takes time by pixels.

import { ticks } from 'd3-array';
import { choice, el, empty, section } from './elements.mjs';
import { HeatLevels, usualRange } from './heat_levels.mjs';
import { groupName, locationNames } from './locations.mjs';
import { loopTitle } from './run_view.mjs';
import { className, pixel, rgb, scaleColor, scalePixels } from './palette.mjs';
import { count, digits, percent, time } from './quantities.mjs';
import { lowerBound } from './spans.mjs';
import { usualTop } from './series.mjs';
import { axisBelow, fitText, rowsHeight, Surface } from './surface.mjs';
import { kViewTitles } from './view_titles.mjs';
import { Zoom } from './zoom.mjs';

// What the kernel counts of threads (base/thread_use.h).
const kUseTitles = { core_ns: 'time on a core', core_wait_ns: 'time without a core', core_cycles: 'cycles of the core', page_faults: 'page faults' };

const kLeft = 124, kSide = 74, kTop = 44, kBottom = 28;

export const kOver = '#d55e00';

// most: the largest value, where the scale ends before it.
export function scaleLegend(low, high, format, scale = 'viridis', most = high) {
  const stops = Array.from({ length: 11 }, (_, i) => scaleColor(i / 10, scale)).join(', ');
  return el('span', { class: 'scale' }, format(low), el('span', { class: 'ramp', role: 'img', 'aria-label': 'colour scale', style: { background: `linear-gradient(to right, ${stops})` } }), format(high), most > high && el('span', { class: 'over', title: 'the scale ends at the 99th percentile' }, el('i', { class: 'dot', style: { background: kOver } }), ` beyond it, up to ${format(most)}`));
}

class HeatMap {
  constructor(page, rows) {
    Object.assign(this, { page, ...rows });
    this.levels = new Map();
    this.buffer = document.createElement('canvas');
    this.surface = new Surface({ height: () => rowsHeight(this.m, 150) + kTop + kBottom, label: 'heat map of locations and iterations', draw: (...all) => this.draw(...all), tip: (x, y) => this.tip(x, y),
      describe: 'Plus and minus zoom, arrows move, Shift with up and down zooms rows, Home shows everything, Enter selects the visible range, Shift with left and right a part of it' });
    this.zoom = new Zoom(this.surface, { limits: [0, this.n], least: Math.min(this.n, 4), unit: 1, rows: this.m, fewest: 2, plot: () => ({ x0: kLeft, x1: this.surface.width - kSide, y0: kTop, y1: this.surface.height - kBottom }), choose: (a, b) => this.choose(a, b) });
  }

  columnOf(iteration) { return Math.max(0, Math.min(this.n - 1, lowerBound(this.first, iteration + 1) - 1)); }

  choose(a, b) {
    const i = Math.max(0, Math.floor(a)), j = Math.min(this.n - 1, Math.max(i, Math.ceil(b) - 1));
    this.page.selection.set({ loop: this.loop.loop, first: this.first[i], last: this.first[j] + this.count[j] - 1, begin_ns: this.begin[i], end_ns: this.end[j] });
  }

  // Which number is shown: of class or counter k, as it is or as a share of the iteration's time.
  pick(k, share) {
    Object.assign(this, { k, share: share && k < this.about.classes.length });
    const key = `${k}/${this.share}`;
    if (!this.levels.has(key)) this.levels.set(key, this.make());
    Object.assign(this, this.levels.get(key));
    this.surface.change();
  }

  make() {
    const { k, m, n } = this;
    const values = new Float32Array(m * n);
    const from = k * m * n;
    for (let r = 0; r < m; ++r)
      for (let j = 0; j < n; ++j) {
        const i = r * n + j, v = this.values[from + i];
        values[i] = this.share ? v / (this.sum[i] || NaN) : v / Math.max(1, this.count[j]);
      }
    const byRow = new Float64Array(m), byColumn = new Float64Array(n), n1 = new Uint32Array(m), n2 = new Uint32Array(n);
    for (let r = 0; r < m; ++r)
      for (let j = 0; j < n; ++j) {
        const v = values[r * n + j];
        if (v === v) { byRow[r] += v; ++n1[r]; byColumn[j] += v; ++n2[j]; }
      }
    byRow.forEach((v, r) => { byRow[r] = n1[r] ? v / n1[r] : 0; });
    byColumn.forEach((v, j) => { byColumn[j] = n2[j] ? v / n2[j] : 0; });
    const usual = usualRange(values), [low, high, most] = this.share ? [0, Math.max(usual[1], 0.01), usual[2]] : usual;
    return { heat: new HeatLevels(values, m, n), byRow, byColumn, low, high, most, rowTop: usualTop(byRow), columnTop: usualTop(byColumn) };
  }

  format(v) {
    if (this.share) return percent(v);
    const counter = this.about.counters[this.k - this.about.classes.length];
    return counter === undefined || counter.endsWith('_ns') ? time(v, 3) : digits(v, 3);
  }

  rowName(r) {
    const { groups, locations } = this.about;
    return groups ? groupName(this.names, ...groups[r]) : this.names[locations?.[r] ?? r] ?? `location ${r}`;
  }
  columnName(j) {
    return this.count[j] > 1 ? `iterations ${count(this.first[j])}–${count(this.first[j] + this.count[j] - 1)}` : `iteration ${count(this.first[j])}`;
  }

  tip(x, y) {
    const { x0, x1, y0, y1 } = this.zoom.plot();
    if (x < x0 || x > x1 || y < y0 || y > y1) return null;
    const j = Math.min(this.n - 1, Math.floor(this.zoom.at(x))), r = Math.min(this.m - 1, Math.floor(this.zoom.rowAt(y)));
    return [el('div', {}, el('b', {}, this.rowName(r)), `, ${this.columnName(j)}`), el('div', {}, `${this.title}: ${this.format(this.heat.at(r, j))}`),
      el('div', { class: 'hint' }, `begins at ${time(this.begin[j])}`)];
  }

  draw(c, width, height, theme) {
    if (!this.heat) return;
    const { zoom } = this, { x0, x1, y0, y1 } = zoom.plot();
    const w = Math.max(1, Math.round((x1 - x0) * this.surface.ratio)), h = Math.max(1, Math.round((y1 - y0) * this.surface.ratio));
    if (this.buffer.width !== w || this.buffer.height !== h || !this.image) {
      Object.assign(this.buffer, { width: w, height: h });
      this.image = new ImageData(w, h);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.heat.paint(this.pixels, w, h, zoom.x, zoom.y, scalePixels(), this.low, this.high, pixel(hexOr(theme('hatch'))), pixel(rgb(kOver)));
    this.buffer.getContext('2d').putImageData(this.image, 0, 0);
    c.imageSmoothingEnabled = false;
    c.drawImage(this.buffer, x0, y0, x1 - x0, y1 - y0);
    // Rows' names.
    const rowHeight = (y1 - y0) / (zoom.y[1] - zoom.y[0]);
    const step = Math.max(1, Math.ceil(15 / rowHeight));
    c.textAlign = 'right';
    for (let r = Math.ceil(zoom.y[0] / step) * step; r < zoom.y[1]; r += step) {
      const y = y0 + (r + 0.5 - zoom.y[0]) * rowHeight;
      if (y < y0 || y > y1) continue;
      c.fillStyle = theme('muted');
      c.fillText(fitText(c, this.rowName(r), kLeft - 10), x0 - 7, y);
    }
    c.textAlign = 'left';
    // Means: of each row at the right, of each column above.
    const mostRow = this.rowTop.top || 1;
    c.fillStyle = theme('accent');
    for (let r = Math.floor(zoom.y[0]); r < zoom.y[1]; ++r) {
      const top = y0 + (r - zoom.y[0]) * rowHeight, gap = rowHeight > 4 ? 1 : 0;
      const a = Math.max(y0, Math.round(top) + gap), b = Math.min(y1, Math.max(a + 1, Math.round(top + rowHeight) - gap));
      c.fillStyle = this.byRow[r] > mostRow ? kOver : theme('accent');
      c.fillRect(x1 + 6, a, Math.min(1, this.byRow[r] / mostRow) * (kSide - 12), b - a);
    }
    const mostColumn = this.columnTop.top || 1;
    const top = 18, foot = kTop - 4;
    for (let x = Math.floor(x0); x < x1; ++x) {
      const j0 = Math.max(0, Math.floor(zoom.at(x))), j1 = Math.min(this.n, Math.max(j0 + 1, Math.floor(zoom.at(x + 1))));
      let v = 0;
      for (let j = j0; j < j1; ++j) v = Math.max(v, this.byColumn[j]);
      const part = Math.min(1, v / mostColumn) * (foot - top);
      c.fillStyle = v > mostColumn ? kOver : theme('accent');
      c.fillRect(x, foot - part, 1, part);
    }
    c.fillStyle = theme('muted');
    c.fillText(`mean of all rows${this.columnTop.most > mostColumn ? `, up to ${this.format(this.columnTop.most)}` : ''}`, x0, 8);
    c.textAlign = 'right';
    c.fillText(this.format(mostColumn), x0 - 7, top + 2);
    c.textAlign = 'left';
    c.fillText('mean', x1 + 6, kTop - 10);
    zoom.drawRange(c, theme, this.chosen);
    // Round numbers of iterations, in the column that has them.
    const seen = [Math.floor(zoom.x[0]), Math.min(this.n - 1, Math.ceil(zoom.x[1]) - 1)];
    const labels = ticks(this.first[seen[0]], this.first[seen[1]] + this.count[seen[1]] - 1, Math.max(2, Math.floor((x1 - x0) / 90))).filter(Number.isInteger);
    const at = (v) => { const j = this.columnOf(v); return j + Math.min(1, Math.max(0, (v + 0.5 - this.first[j]) / this.count[j])); };
    axisBelow(c, theme, (v) => zoom.pixel(at(v)), labels.filter((v) => at(v) >= zoom.x[0] && at(v) <= zoom.x[1]), y1 + 1, count);
    c.textAlign = 'right';
    c.fillStyle = theme('muted');
    c.fillText('iteration', x0 - 7, y1 + 14);
    c.textAlign = 'left';
  }
}

const hexOr = (color) => rgb(color.startsWith('#') ? color : '#dcdcd6');

async function rowsOf(page, loop) {
  const id = loop.loop;
  const [about, columns, cells, profile] = await Promise.all([page.json(`rows/${id}`), page.array(`rows/${id}/columns`), page.array(`rows/${id}/values`), page.jsonOr('profile', null)]);
  const [, m, n] = cells.shape, k = about.classes.length;
  const column = (i) => Float64Array.from({ length: n }, (_, j) => columns.values[4 * j + i]);
  const sum = new Float32Array(m * n);
  for (let i = 0; i < k; ++i) for (let at = 0; at < m * n; ++at) { const v = cells.values[i * m * n + at]; if (v === v) sum[at] += v; }
  return { loop, about, m, n, values: cells.values, sum, first: column(0), count: column(1), begin: column(2), end: column(3), names: locationNames(profile) };
}

async function create(root, page) {
  const nest = await page.jsonOr('nest', { loops: [] });
  const ids = page.data.names(`${page.run}/rows/`).map((each) => each.split('/')).filter((parts) => parts.length === 3).map((parts) => Number(parts[2]));
  const loops = ids.map((id) => nest.loops.find((loop) => loop.loop === id) ?? { loop: id, total_ns: 0, iterations: 0 }).sort((a, b) => b.total_ns - a.total_ns);
  let map = null, wantedClass = null;
  const body = el('div'), bar = el('div', { class: 'bar-row' }), scale = el('span');
  const loopSelect = el('select', { 'aria-label': 'loop', on: { change: () => page.selection.set({ loop: Number(loopSelect.value), first: null, last: null, begin_ns: null, end_ns: null }) } },
    loops.map((loop) => el('option', { value: loop.loop }, loopTitle(loop).slice(0, 80))));
  const what = el('select', { 'aria-label': 'what is shown', id: 'heat-what', on: { change: () => { wantedClass = what.value; pick(); } } });
  const as = choice('as', [['time', 'time'], ['share', 'share of the iteration']], 'time', () => pick());
  bar.append(...(loops.length > 1 ? [loopSelect] : []), what, as, scale);
  root.append(section('Location by iteration', 'wheel zooms (with Shift: rows); Shift and drag selects iterations', bar, body));

  function pick() {
    const k = Number(what.selectedOptions[0]?.dataset.k ?? 0);
    const share = as.querySelector('[aria-checked="true"]')?.dataset.value === 'share';
    map.title = what.selectedOptions[0]?.textContent ?? '';
    map.pick(k, share);
    map.surface.canvas.setAttribute('aria-label', `${map.title}, locations by iterations`);
    scale.replaceChildren(scaleLegend(map.low, map.high, (v) => map.format(v), 'viridis', map.most));
    if (!map.share && map.k < map.about.classes.length) scale.append(el('span', { class: 'hint' }, ' in an iteration'));
  }

  async function open(id) {
    const loop = loops.find((each) => each.loop === id) ?? loops[0];
    loopSelect.value = String(loop.loop);
    map = new HeatMap(page, await rowsOf(page, loop));
    const totals = map.about.classes.map((each, i) => ({ ...each, i, sum: map.values.subarray(i * map.m * map.n, (i + 1) * map.m * map.n).reduce((s, v) => s + (v === v ? v : 0), 0) })).sort((a, b) => b.sum - a.sum);
    // First what varies: the largest class that is a loss.
    const first = totals.find((each) => each.key !== 'useful' && each.sum > 0.02 * totals.reduce((s, t) => s + t.sum, 0)) ?? totals[0];
    what.replaceChildren(el('optgroup', { label: 'classes of time' }, totals.map((each) => el('option', { value: each.key, data: { k: String(each.i) } }, each.name ?? className(each.key)))),
      ...(map.about.counters.length ? [el('optgroup', { label: 'counters' }, map.about.counters.map((each, i) => el('option', { value: `counter ${each}`, data: { k: String(map.about.classes.length + i) } }, kUseTitles[each] ?? each)))] : []));
    what.value = [...what.options].some((o) => o.value === wantedClass) ? wantedClass : first.key;
    body.replaceChildren(map.surface.box);
    pick();
  }

  return {
    async update(selection, patch) {
      const wanted = selection.get('loop');
      const id = loops.some((each) => each.loop === wanted) ? wanted : map?.loop.loop ?? loops[0].loop;
      const cls = selection.get('class');
      if (cls && (!patch || 'class' in patch)) wantedClass = cls;
      if (!map || map.loop.loop !== id) await open(id);
      else if (cls && wantedClass === cls && what.value !== cls && [...what.options].some((o) => o.value === cls)) { what.value = cls; pick(); }
      const { first, last, loop } = selection.state;
      map.chosen = first != null && (loop == null || loop === id) ? [map.columnOf(first), map.columnOf(last ?? first) + 1] : null;
      map.surface.change();
    },
    repaint: () => map?.surface.paint(),
    get map() { return map; },
  };
}

export const heat = {
  id: 'heat', title: kViewTitles.heat, print: true, create,
  missing: (page) => !page.data.names(`${page.run}/rows/`).length && 'The summary of this archive has no iteration rows: it is from another tool or version, or no loop was detected.',
};
