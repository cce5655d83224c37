// The picture of the timeline: its zoom, what lies under the pointer, and the order in which it is drawn.

import { el, name } from './elements.mjs';
import { count, place, shortSite, time } from './quantities.mjs';
import { rowsHeight, Surface } from './surface.mjs';
import { drawAxis, drawCollectives, drawGaps, drawMessages, drawNames, drawPicked, drawWaits, kLeft, kTop, kWait } from './timeline_overlays.mjs';
import { drawLabels, drawOverview, drawSpans } from './timeline_spans.mjs';
import { Zoom } from './zoom.mjs';

const kMostLanes = 8;

export class TimeLine {
  constructor(page, rows) {
    Object.assign(this, { page, rows });
    this.buffer = document.createElement('canvas');
    this.found = null;
    this.show = { messages: true, collectives: true, waits: true };
    this.surface = new Surface({ height: () => rowsHeight(rows.count, 150) + kTop + 4, label: 'timeline of all locations', draw: (...all) => this.draw(...all), tip: (x, y) => this.tip(x, y),
      describe: 'Plus and minus zoom, arrows move, Shift with up and down makes rows taller, Home shows the whole run, Enter selects the visible range, Shift with left and right a part of it, F folds gaps, slash searches' });
    this.zoom = this.makeZoom();
    this.surface.canvas.addEventListener('keydown', (event) => {
      if (event.key === 'f') { this.setFolded(!this.rows.folded); event.stopPropagation(); }
    });
  }

  makeZoom() {
    const { rows, page } = this;
    return new Zoom(this.surface, {
      limits: [0, rows.folding.length], least: 200, rows: rows.count, fewest: 1,
      plot: () => ({ x0: kLeft, x1: this.surface.width, y0: kTop, y1: this.surface.height - 4 }),
      choose: (a, b) => page.selection.set({ begin_ns: rows.folding.time(a), end_ns: rows.folding.time(b), first: null, last: null }),
      press: (x, y) => this.press(x, y) });
  }

  setFolded(folded) {
    const [a, b] = this.zoom.x.map((x) => this.rows.folding.time(x));
    const whole = this.zoom.x[0] === 0 && this.zoom.x[1] === this.rows.folding.length;
    this.rows.fold(folded);
    this.rows.arrange();
    this.zoom.limits = [0, this.rows.folding.length];
    if (whole) this.zoom.reset();
    else this.zoomTo(a, b, 0);
    this.folds?.choose(folded ? 'folded' : 'true');
  }

  // Times of the run, with some room on both sides.
  zoomTo(begin, end, room = 0.08) {
    const { folding } = this.rows;
    const a = folding.show(begin), b = folding.show(end), more = (b - a) * room;
    this.zoom.set(a - more, b + more);
  }

  lanes(rowHeight) {
    const depths = this.rows.depths ?? 1;
    return Math.max(1, Math.min(kMostLanes, depths, Math.floor(rowHeight / 12)));
  }

  // A row with fewer depths has them taller.
  lanesOf(spans, lanes) { return Math.max(1, Math.min(lanes, spans.depths));
  }

  spanAt(x, y) {
    const { rows, zoom } = this;
    if (!rows.spans || x < kLeft || y < kTop) return null;
    const r = Math.floor(zoom.rowAt(y));
    const spans = rows.spans[r];
    if (!spans) return { row: r };
    const { y0, y1 } = zoom.plot();
    const rowHeight = (y1 - y0) / (zoom.y[1] - zoom.y[0]);
    const lanes = this.lanesOf(spans, this.lanes(rowHeight));
    const within = (zoom.rowAt(y) - r) * lanes, at = zoom.at(x);
    const deepest = lanes >= spans.depths ? Math.min(Math.floor(within), spans.depths - 1) : Math.floor(within) < lanes - 1 ? Math.floor(within) : spans.depths - 1;
    for (let d = deepest; d >= 0; --d) {
      const id = spans.lanes[d]?.at(at) ?? -1;
      if (id >= 0) return { row: r, id, spans };
    }
    return { row: r };
  }

  press(x, y) {
    const hit = this.spanAt(x, y);
    if (hit?.id == null) return;
    const { spans, id } = hit;
    this.picked = { row: hit.row, id };
    this.surface.change();
    this.details?.(hit.row, id, spans);
  }

  gapAt(t) { return this.rows.folding.gaps.find((gap) => gap.begin_ns <= t && t <= gap.end_ns); }

  tip(x, y) {
    if (x < kLeft) return null;
    const { rows } = this, t = rows.folding.time(this.zoom.at(x));
    const hit = this.spanAt(x, y);
    if (hit?.id == null) {
      const gap = this.gapAt(t);
      if (gap) return [el('div', {}, el('b', {}, 'not in the archive')), el('div', {}, name(gap.text ?? '', 200)), el('div', {}, `${time(gap.end_ns - gap.begin_ns)}, from ${time(gap.begin_ns)}`)];
      return [el('div', {}, `${hit && rows.about.rows[hit.row] ? rows.name(hit.row) + ', ' : ''}at ${time(t, 7)}`)];
    }
    const { spans, id } = hit, region = rows.about.regions[spans.region[id]];
    const number = rows.numbers[hit.row]?.[id] ?? -1, inside = rows.functionNames[spans.region[id]];
    return [el('div', {}, el('b', {}, name(number >= 0 ? `iteration ${count(number)} of ${region.name}` : region.name, 90))), el('div', {}, time(spans.duration[id]), rows.skipped[hit.row]?.[id] ? ', skipped: only its duration is in the archive' : ''),
      el('div', { class: 'hint' }, `${rows.name(hit.row)}, at ${time(spans.begin[id], 7)}`),
      el('div', { class: 'hint' }, name([inside && `in ${inside}`, shortSite(region.site) || place(region.file, region.line), rows.about.classes[region.class]?.name].filter(Boolean).join(', '), 120)),
      this.waitText(hit.row, t)];
  }

  waitText(row, t) {
    const { values } = this.rows.waits;
    for (let i = 0; i < values.length; i += 4)
      if (values[i] === row && values[i + 1] <= t && t <= values[i + 2])
        return el('div', {}, el('i', { class: 'dot', style: { background: kWait } }), ` ${this.metricTitle?.(values[i + 3]) ?? 'waits'}, ${time(values[i + 2] - values[i + 1])}`);
    return null;
  }

  draw(c, width, height, theme) {
    const { rows, zoom } = this;
    rows.palette.splice(-2, 2, theme('loop'), theme('hatch'));
    const { x0, x1, y0, y1 } = zoom.plot();
    const w = Math.max(1, Math.round(x1 - x0));
    const from = Math.floor(zoom.y[0]), to = Math.min(rows.count, Math.ceil(zoom.y[1]));
    const rowHeight = (y1 - y0) / (zoom.y[1] - zoom.y[0]);
    const lanes = this.lanes(rowHeight);
    const space = rowHeight > 12 ? 3 : rowHeight > 5 ? 1 : 0;
    drawGaps(this, c, theme, x0, x1, y0, y1, false);
    // Where visits were left out, what took most of the time stands for them.
    const whole = rows.about.detail?.all !== false;
    if (rows.spans && !whole) drawOverview(this, c, { x0, x1, y0, from, to, rowHeight, space, lanes, since: rows.about.detail.until_ns ?? 0 });
    // Nor have rows that are still being read.
    if (rows.spans && rows.loaded < rows.count) drawOverview(this, c, { x0, x1, y0, from: Math.max(from, rows.loaded), to, rowHeight, space });
    if (rows.spans) drawSpans(this, c, { x0, y0, w, from, to, rowHeight, lanes, space });
    else drawOverview(this, c, { x0, x1, y0, from, to, rowHeight, space });
    c.save();
    c.beginPath();
    c.rect(x0, y0, x1 - x0, y1 - y0);
    c.clip();
    if (rows.spans) drawLabels(this, c, theme, { x0, x1, y0, from, to, rowHeight, lanes, space });
    if (this.show.waits) drawWaits(this, c, { x0, x1, y0, from, to, rowHeight, space });
    if (this.show.collectives) drawCollectives(this, c, theme, { y0, rowHeight });
    if (this.show.messages) drawMessages(this, c, theme, { y0, rowHeight });
    drawPicked(this, c, theme, { y0, y1, rowHeight, space, lanes });
    c.restore();
    drawGaps(this, c, theme, x0, x1, y0, y1, true);
    zoom.drawRange(c, theme, this.chosen?.map((t) => rows.folding.show(t)));
    drawNames(this, c, theme, { x0, y0, y1, rowHeight });
    drawAxis(this, c, theme, x0, x1);
  }
}
