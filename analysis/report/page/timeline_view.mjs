// View 5: the events in the archive, locations by time, from the whole run to a microsecond.

import { button, choice, el, legend, name, replace, section } from './elements.mjs';
import { classColor, className, inkOn, pixel, rgb } from './palette.mjs';
import { count, place, shortSite, time } from './quantities.mjs';
import { regionTable, spansOf, timelineRows } from './stretch.mjs';
import { PixelLine } from './spans.mjs';
import { fitText, setFont, Surface, widthOf } from './surface.mjs';
import { timeTicks } from './time_axis.mjs';
import { kViewTitles } from './view_titles.mjs';
import { Zoom } from './zoom.mjs';

const kLeft = 118, kTop = 30, kMostLanes = 8;
const kWait = '#d55e00', kMessage = '#1b1b1b';

class TimeLine {
  constructor(page, rows) {
    Object.assign(this, { page, rows });
    this.buffer = document.createElement('canvas');
    this.found = null;
    this.show = { messages: true, collectives: true, waits: true };
    this.surface = new Surface({ height: this.height(), label: 'time line of all locations', draw: (...all) => this.draw(...all), tip: (x, y) => this.tip(x, y),
      describe: 'Plus and minus zoom, arrows move, Shift with up and down makes rows taller, Home shows the whole run, F folds gaps, slash searches' });
    this.zoom = this.makeZoom();
    this.surface.canvas.addEventListener('keydown', (event) => {
      if (event.key === 'f') { this.setFolded(!this.rows.folded); event.stopPropagation(); }
    });
  }

  // Rows of whole pixels, or they would make patterns that mean nothing.
  height() {
    const n = this.rows.count;
    return kTop + Math.max(Math.min(180, n * 120), n <= 10 ? n * 62 : n * Math.max(1, Math.min(34, Math.floor(660 / n)))) + 4;
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
    return [el('div', {}, el('b', {}, name(region.name, 90))), el('div', {}, time(spans.duration[id])),
      el('div', { class: 'hint' }, `${rows.name(hit.row)}, at ${time(spans.begin[id], 7)}`),
      el('div', { class: 'hint' }, name([place(region.file, region.line), rows.about.classes[region.class]?.name].filter(Boolean).join(', '), 120)),
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
    rows.palette[rows.palette.length - 1] = theme('loop');
    const { x0, x1, y0, y1 } = zoom.plot();
    const w = Math.max(1, Math.round(x1 - x0));
    const from = Math.floor(zoom.y[0]), to = Math.min(rows.count, Math.ceil(zoom.y[1]));
    const rowHeight = (y1 - y0) / (zoom.y[1] - zoom.y[0]);
    const lanes = this.lanes(rowHeight);
    const space = rowHeight > 12 ? 3 : rowHeight > 5 ? 1 : 0;
    this.#gaps(c, theme, x0, x1, y0, y1, false);
    // Where visits were left out, what took most of the time stands for them.
    const whole = rows.about.detail?.all !== false;
    if (rows.spans && !whole) this.#overview(c, { x0, x1, y0, from, to, rowHeight, space, lanes, since: rows.about.detail.until_ns ?? 0 });
    if (rows.spans) this.#spans(c, { x0, y0, w, from, to, rowHeight, lanes, space });
    else this.#overview(c, { x0, x1, y0, from, to, rowHeight, space });
    c.save();
    c.beginPath();
    c.rect(x0, y0, x1 - x0, y1 - y0);
    c.clip();
    if (rows.spans) this.#labels(c, theme, { x0, x1, y0, from, to, rowHeight, lanes, space });
    if (this.show.waits) this.#waits(c, { x0, x1, y0, from, to, rowHeight, space });
    if (this.show.collectives) this.#collectives(c, theme, { y0, rowHeight });
    if (this.show.messages) this.#messages(c, theme, { y0, rowHeight });
    this.#marks(c, theme, { y0, y1, rowHeight, space, lanes });
    c.restore();
    this.#gaps(c, theme, x0, x1, y0, y1, true);
    zoom.drawStretch(c, theme, this.chosen?.map((t) => rows.folding.show(t)));
    this.#names(c, theme, { x0, y0, y1, rowHeight });
    this.#axis(c, theme, x0, x1);
  }

  #spans(c, { x0, y0, w, from, to, rowHeight, lanes, space }) {
    const { rows, zoom } = this;
    const n = (to - from) * lanes;
    if (this.buffer.width !== w || this.buffer.height !== n || !this.image) {
      Object.assign(this.buffer, { width: w, height: Math.max(1, n) });
      this.image = new ImageData(w, Math.max(1, n));
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    const colors = rows.palette.length;
    if (this.line?.width !== w || this.line.colors !== colors) this.line = new PixelLine(w, colors);
    const { line, pixels } = this;
    const paint = rows.palette.map((color) => pixel(rgb(color), 0));
    pixels.fill(0);
    const [a, b] = zoom.x, scale = w / (b - a), px = 1 / scale;
    for (let r = from; r < to; ++r) {
      const spans = rows.spans[r];
      if (!spans) continue;
      const own = this.lanesOf(spans, lanes);
      for (let lane = 0; lane < own; ++lane) {
        line.clear();
        // Where there is no place for all depths, the last lane shows the innermost of the rest: what is
        // deeper weighs more.
        const deepest = lane === own - 1 ? spans.depths - 1 : lane;
        for (let d = lane, weight = 1; d <= deepest; ++d, weight *= 6)
          spans.lanes[d].visit(a, b, px, (begin, end, color, inside) => {
            line.add((begin - a) * scale, (end - a) * scale, color, end > begin ? Math.min(1, inside / (end - begin)) : 0, weight);
          });
        const at = ((r - from) * lanes + lane) * w;
        for (let p = line.from; p < line.to; ++p) {
          const cover = line.cover[p];
          if (cover < 0.004) continue;
          pixels[at + p] = (paint[line.best[p]] | (Math.round(255 * (cover < 1 ? 0.25 + 0.75 * cover : 1)) << 24)) >>> 0;
        }
      }
    }
    const image = this.buffer.getContext('2d');
    image.putImageData(this.image, 0, 0);
    c.imageSmoothingEnabled = false;
    const shift = y0 - (zoom.y[0] - from) * rowHeight;
    c.save();
    c.beginPath();
    c.rect(x0, y0, w, this.surface.height - y0);
    c.clip();
    if (space === 0) c.drawImage(this.buffer, x0, shift, w, (to - from) * rowHeight);
    else for (let r = 0; r < to - from; ++r) {
      const spans = rows.spans[from + r];
      if (spans) c.drawImage(this.buffer, 0, r * lanes, w, this.lanesOf(spans, lanes), x0, shift + r * rowHeight, w, rowHeight - space);
    }
    c.restore();
  }

  // Before the spans have been read, and where there are none: of all events, in a thousand parts.
  #overview(c, { x0, x1, y0, from, to, rowHeight, space, lanes = 1, since = -1 }) {
    const { rows, zoom } = this;
    if (!rows.overview) return;
    const bins = rows.overview.shape[1];
    const { begin_ns: begin, end_ns: end, classes } = rows.about;
    const times = Float64Array.from({ length: Math.ceil(x1 - x0) }, (_, i) => rows.folding.time(zoom.at(x0 + i + 0.5)));
    for (let r = from; r < to; ++r) {
      const own = rows.spans?.[r] ? this.lanesOf(rows.spans[r], lanes) : 1, height = (rowHeight - space) / own;
      for (let i = 0, x = x0; x < x1; ++i, ++x) {
        if (times[i] < since) continue;
        const bin = Math.floor(((times[i] - begin) / (end - begin)) * bins);
        const cls = rows.overview.values[r * bins + bin];
        if (cls === undefined || cls === 255 || ['skipped', 'outside'].includes(classes[cls]?.key)) continue;
        c.globalAlpha = 0.25 + 0.75 * ((rows.overviewShare?.values[r * bins + bin] ?? 255) / 255);
        c.fillStyle = classColor(classes[cls].key);
        c.fillRect(x, y0 + (r - zoom.y[0]) * rowHeight + (own - 1) * height, 1, height);
      }
    }
    c.globalAlpha = 1;
  }

  #labels(c, theme, { x0, x1, y0, from, to, rowHeight, lanes, space }) {
    const { rows, zoom } = this;
    if ((rowHeight - space) / lanes < 10.5) return;
    setFont(c, Math.min(12, Math.floor((rowHeight - space) / lanes - 1)));
    const [a, b] = zoom.x, px = (b - a) / (x1 - x0);
    for (let r = from; r < to; ++r) {
      const spans = rows.spans[r];
      if (!spans) continue;
      const own = this.lanesOf(spans, lanes), laneHeight = (rowHeight - space) / own;
      for (let d = 0; d < Math.min(spans.depths, own === 1 ? spans.depths : own); ++d) {
        if (own === 1 && d !== spans.depths - 1) continue;
        const y = y0 + (r - zoom.y[0]) * rowHeight + Math.min(d, own - 1) * laneHeight;
        spans.lanes[d].visit(a, b, px * 24, (begin, end, color, inside, id) => {
          if (id < 0 || end - begin < px * 24) return;
          const left = Math.max(x0, zoom.pixel(begin)), right = Math.min(x1, zoom.pixel(end));
          if (right - left > 3) {
            c.strokeStyle = theme('card');
            c.strokeRect(left + 0.5, y + 0.5, right - left - 1, laneHeight - 1);
          }
          const text = fitText(c, rows.shortNames[spans.region[id]] ?? '', right - left - 8);
          if (!text) return;
          c.fillStyle = inkOn(rows.palette[color]);
          c.fillText(text, left + 4, y + laneHeight / 2 + 0.5);
        });
      }
    }
    setFont(c, 12);
  }

  #waits(c, { x0, x1, y0, from, to, rowHeight, space }) {
    // In thin rows they would hide what they are about.
    if (rowHeight < 7) return;
    const { rows, zoom } = this, [a, b] = zoom.x;
    const key = `${this.metric}/${rows.folded}`;
    if (this.waitKey !== key) {
      this.waitKey = key;
      rows.arrangeWaits(this.metric == null ? undefined : (metric) => metric === this.metric || this.metricBelow?.[metric]);
    }
    c.fillStyle = kWait;
    const thin = Math.max(1, Math.min(4, rowHeight * 0.16)), scale = (x1 - x0) / (b - a);
    for (let r = from; r < to; ++r) {
      const y = y0 + (r - zoom.y[0] + 1) * rowHeight - space - thin;
      let last = -1;
      rows.waitLanes[r]?.visit(a, b, 1 / scale, (begin, end, color, inside) => {
        const left = x0 + (begin - a) * scale, wide = (end - begin) * scale;
        if (inside * scale < 0.25 || left + wide < last + 0.5) return;
        last = left + Math.max(0.7, wide);
        c.fillRect(left, y, Math.max(0.7, wide), thin);
      });
    }
  }

  #collectives(c, theme, { y0, rowHeight }) {
    const { rows, zoom } = this, { values } = rows.collectives;
    const show = rows.folding, t0 = show.time(zoom.x[0]), t1 = show.time(zoom.x[1]);
    const seen = [];
    for (let i = 0; i < values.length && seen.length < 400; i += 5)
      if (values[i + 4] >= t0 && values[i + 2] <= t1) seen.push(i);
    if (seen.length >= 400 || seen.length * 14 > this.surface.width) return;
    c.strokeStyle = theme('text');
    c.fillStyle = theme('text');
    for (const i of seen) {
      const members = rows.about.comms?.[values[i + 1]];
      const top = y0 + ((members?.length ? members[0] : 0) - zoom.y[0]) * rowHeight, bottom = y0 + ((members?.length ? members.at(-1) + 1 : rows.count) - zoom.y[0]) * rowHeight;
      const enter = zoom.pixel(show.show(values[i + 3])), leave = zoom.pixel(show.show(values[i + 4]));
      // From the last one's enter to the last one's leave all are in it.
      c.globalAlpha = 0.5;
      c.setLineDash([3, 3]);
      c.beginPath();
      c.moveTo(enter, top);
      c.lineTo(enter, bottom);
      if (leave - enter > 3) { c.moveTo(leave, top); c.lineTo(leave, bottom); }
      c.stroke();
      c.setLineDash([]);
    }
    c.globalAlpha = 1;
  }

  #messages(c, theme, { y0, rowHeight }) {
    const { rows, zoom } = this, { values } = rows.messages;
    const show = rows.folding, t0 = show.time(zoom.x[0]), t1 = show.time(zoom.x[1]);
    const seen = [];
    let n = 0;
    for (let i = 0; i < values.length; i += 5) {
      if (values[i + 3] < t0 || values[i + 1] > t1) continue;
      ++n;
      if (seen.length < 600) seen.push(i);
    }
    this.messagesSeen = n;
    // Thousands of lines say nothing; the nearer view has them.
    if (n > 600) return;
    c.strokeStyle = theme('text');
    c.globalAlpha = n > 300 ? 0.4 : 0.8;
    c.lineWidth = n > 300 ? 0.7 : 1.2;
    c.beginPath();
    const heads = [];
    for (const i of seen) {
      const xa = zoom.pixel(show.show(values[i + 1])), xb = zoom.pixel(show.show(values[i + 3]));
      const ya = y0 + (values[i] + 0.5 - zoom.y[0]) * rowHeight, yb = y0 + (values[i + 2] + 0.5 - zoom.y[0]) * rowHeight;
      c.moveTo(xa, ya);
      c.lineTo(xb, yb);
      if (n <= 300) heads.push([xa, ya, xb, yb]);
    }
    c.stroke();
    c.fillStyle = theme('text');
    for (const [xa, ya, xb, yb] of heads) {
      const angle = Math.atan2(yb - ya, xb - xa);
      c.beginPath();
      c.moveTo(xb, yb);
      c.lineTo(xb - 7 * Math.cos(angle - 0.4), yb - 7 * Math.sin(angle - 0.4));
      c.lineTo(xb - 7 * Math.cos(angle + 0.4), yb - 7 * Math.sin(angle + 0.4));
      c.fill();
    }
    c.lineWidth = 1;
    c.globalAlpha = 1;
  }

  // What was searched for, and what was picked.
  #marks(c, theme, { y0, y1, rowHeight, space, lanes }) {
    const { rows, zoom } = this;
    const box = (row, id, width) => {
      const spans = rows.spans?.[row];
      if (!spans) return;
      const a = zoom.pixel(rows.folding.show(spans.begin[id])), b = zoom.pixel(rows.folding.show(spans.begin[id] + spans.duration[id]));
      const own = this.lanesOf(spans, lanes), lane = Math.min(spans.depth[id], own - 1), h = (rowHeight - space) / own;
      c.lineWidth = width;
      c.strokeRect(a, y0 + (row - zoom.y[0]) * rowHeight + lane * h, Math.max(2, b - a), h);
      c.lineWidth = 1;
    };
    c.strokeStyle = theme('text');
    if (this.picked) box(this.picked.row, this.picked.id, 2.5);
  }

  #gaps(c, theme, x0, x1, y0, y1, labels) {
    const { rows, zoom } = this;
    let last = -1;
    for (const gap of rows.folding.gaps) {
      const a = Math.max(x0, zoom.pixel(rows.folding.show(gap.begin_ns))), b = Math.min(x1, zoom.pixel(rows.folding.show(gap.end_ns)));
      if (b <= a || b < last) continue;
      last = b;
      if (!labels) {
        c.fillStyle = theme('hatch');
        c.fillRect(a, y0, Math.max(0.7, b - a), y1 - y0);
        continue;
      }
      if (b - a < 13) continue;
      const text = `${gap.text ? gap.text + ', ' : 'not in the archive, '}${time(gap.end_ns - gap.begin_ns, 3)}`;
      const upright = widthOf(c, text) > b - a - 10 && b - a < 120;
      c.save();
      c.fillStyle = theme('muted');
      c.translate((a + b) / 2, (y0 + y1) / 2);
      if (upright) c.rotate(-Math.PI / 2);
      c.textAlign = 'center';
      // What does not fit is said shorter.
      const place = upright ? y1 - y0 - 10 : b - a - 6;
      c.fillText(widthOf(c, text) <= place ? text : fitText(c, `skipped, ${time(gap.end_ns - gap.begin_ns, 3)}`, place), 0, 0.5);
      c.restore();
    }
  }

  #names(c, theme, { x0, y0, y1, rowHeight }) {
    const { rows, zoom } = this;
    c.fillStyle = theme('card');
    c.fillRect(0, 0, x0 - 1, this.surface.height);
    const step = Math.max(1, Math.ceil(15 / rowHeight));
    c.textAlign = 'right';
    c.fillStyle = theme('text');
    for (let r = Math.ceil(zoom.y[0] / step) * step; r < zoom.y[1] && r < rows.count; r += step) {
      const y = y0 + (r + 0.5 - zoom.y[0]) * rowHeight;
      if (y > y0 && y < y1) c.fillText(fitText(c, rows.name(r), kLeft - 12), x0 - 8, y);
    }
    c.textAlign = 'left';
  }

  #axis(c, theme, x0, x1) {
    const { rows, zoom } = this;
    c.fillStyle = theme('card');
    c.fillRect(x0, 0, x1 - x0, kTop - 1);
    c.textAlign = 'center';
    let last = x0 - 50;
    for (const piece of rows.folding.pieces(...zoom.x)) {
      const a = Math.max(piece.x0, zoom.x[0]), b = Math.min(piece.x1, zoom.x[1]);
      const t0 = rows.folding.time(a + 1e-9), t1 = rows.folding.time(b - 1e-9);
      const pixels = zoom.pixel(b) - zoom.pixel(a);
      const axis = timeTicks(t0, t1, Math.max(pixels, 220));
      const few = pixels < 70 ? [t0] : axis.ticks;
      for (const t of few) {
        const x = zoom.pixel(rows.folding.show(t)), text = few.length === 1 ? time(t, 5) : axis.format(t), wide = widthOf(c, text);
        if (t < t0 - 1 || t > t1 + 1 || x - wide / 2 < last + 12 || x + wide / 2 > x1) continue;
        last = x + wide / 2;
        c.fillStyle = theme('muted');
        c.fillText(text, x, 11);
        c.fillRect(x, kTop - 8, 1, 5);
      }
    }
    c.textAlign = 'left';
  }
}

// Regions that match, with how much time their visits took.
function searcher(line, rows, result) {
  let found = [], at = -1, timer = 0;
  const input = el('input', { type: 'search', placeholder: 'search a region', 'aria-label': 'search by region', id: 'timeline-search' });
  function find() {
    clearTimeout(timer);
    timer = 0;
    const text = input.value.trim().toLowerCase();
    found = [];
    at = -1;
    if (text && rows.spans) {
      const match = rows.about.regions.map((region) => (region.name.toLowerCase().includes(text) || place(region.file, region.line).toLowerCase().includes(text)));
      let sum = 0;
      rows.spans.forEach((spans, row) => {
        for (let i = 0; i < (spans?.size ?? 0); ++i)
          if (match[spans.region[i]]) { found.push([row, i]); sum += spans.duration[i]; }
      });
      found.sort((a, b) => rows.spans[a[0]].begin[a[1]] - rows.spans[b[0]].begin[b[1]]);
      result.textContent = found.length ? `${count(found.length)} visits, ${time(sum)}` : 'nothing';
    } else result.textContent = '';
    line.surface.change();
  }
  function step(by) {
    if (!found.length) return;
    at = (at + by + found.length) % found.length;
    const [row, id] = found[at], spans = rows.spans[row];
    line.picked = { row, id };
    const length = spans.duration[id];
    line.zoomTo(spans.begin[id], spans.begin[id] + length, 2);
    result.textContent = `${count(at + 1)} of ${count(found.length)}`;
    line.details(row, id, spans);
  }
  input.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(find, 120); });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') { if (timer) find(); step(event.shiftKey ? -1 : 1); event.preventDefault(); }
    if (event.key === 'Escape') { input.value = ''; find(); line.surface.canvas.focus(); }
  });
  return { input, next: button('next', () => step(1)), again: () => { if (input.value && !found.length) find(); } };
}

async function create(root, page) {
  const rows = await timelineRows(page);
  const line = new TimeLine(page, rows);
  const { about } = rows;
  const result = el('span', { class: 'hint', role: 'status' }), state = el('span', { class: 'hint', role: 'status' });
  const search = searcher(line, rows, result);
  const below = el('div'), details = el('div');
  const keys = [...new Set(about.regions.map((region) => about.classes[region.class]?.key))].filter(Boolean);
  const box = el('div');
  const showLegend = () => replace(box, rows.byClass ? legend([...keys.filter((key) => key !== 'outside' && key !== 'skipped').map((key) => [classColor(key), className(key)]), ['var(--loop)', 'iteration of a loop'], [kWait, 'below a row: waits'], ['var(--hatch)', 'not in the archive']])
    : legend([['var(--hatch)', 'not in the archive'], ['var(--loop)', 'iteration of a loop']]));
  showLegend();
  line.folds = choice('gaps', [['folded', 'folded'], ['true', 'true length']], 'folded', (v) => line.setFolded(v === 'folded'));
  line.details = (row, id, spans) => {
    const region = about.regions[spans.region[id]];
    replace(details, el('dl', { class: 'facts' }, [['region', name(region.name, 400)], ['place', name([place(region.file, region.line), shortSite(region.site)].filter(Boolean).join(', ') || '–', 200)],
      ['where', rows.name(row)], ['from', time(spans.begin[id], 9)], ['took', time(spans.duration[id], 6)], ['class', about.classes[region.class]?.name ?? '–']].map(([a, b]) => [el('dt', {}, a), el('dd', {}, b)])));
  };
  const toggles = [['messages', 'messages', rows.messages], ['collectives', 'collectives', rows.collectives], ['waits', 'waits', rows.waits]].filter(([, , a]) => a.values.length).map(([key, text]) => {
    const input = el('input', { type: 'checkbox', checked: true, on: { change: () => { line.show[key] = input.checked; line.surface.change(); } } });
    return el('label', { class: 'hint' }, input, ' ', text);
  });
  const detail = about.detail?.all === false ? about.detail.why : null;
  root.append(section('Time line', `${rows.count < about.locations.length ? `${count(rows.count)} rows for ${count(about.locations.length)} threads, each shows one of its group; ` : ''}the wheel zooms, with Shift the rows; dragging moves, with Shift chooses`,
    el('div', { class: 'bar-row' }, search.input, search.next, result, line.folds,
      choice('colour', [['class', 'class'], ['region', 'region']], 'class', (v) => { rows.byClass = v === 'class'; rows.arrange(); showLegend(); line.surface.change(); }),
      toggles, button('whole run', () => line.zoom.reset()), state),
    line.surface.box, el('div', { style: { 'margin-top': '8px' } }, box), detail && el('p', { class: 'hint' }, name(detail, 300)), details), below);
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && page.current === 'timeline' && !/^(INPUT|SELECT)$/.test(event.target.tagName)) { event.preventDefault(); search.input.focus(); }
  });
  page.jsonOr('analyze', null).then((analyze) => { if (analyze) line.metricTitle = (i) => analyze.metric_tree[i]?.title ?? analyze.metric_tree[i]?.name; line.analyze = analyze; });
  // First the overview is seen.
  const loading = new Promise((go) => { requestAnimationFrame(() => setTimeout(go)); setTimeout(go, 200); }).then(() => spansOf(page, (done, of) => {
    state.textContent = done < of ? `reading ${count(done)} of ${count(of)} rows` : '';
    line.surface.change();
  })).then(() => { root.dataset.loaded = 'yes'; line.pending?.(); search.again(); });
  loading.catch((error) => { console.error(error); state.textContent = `the spans cannot be read: ${error.message}`; });

  return {
    line,
    update(selection, patch) {
      const { begin_ns: begin, end_ns: end, metric } = selection.state;
      const moved = begin != null && (!patch || 'begin_ns' in patch || 'first' in patch);
      line.chosen = begin != null ? [begin, end] : null;
      const index = metric ? line.analyze?.metric_tree.findIndex((each) => each.name === metric) : -1;
      line.metric = null;
      if (index >= 0 && line.analyze) {
        const tree = line.analyze.metric_tree;
        line.metricBelow = tree.map((each, i) => { for (let at = i, k = 0; at >= 0 && k < 64; ++k) { if (at === index) return true; at = tree.findIndex((o) => o.name === tree[at].parent); } return false; });
        if (rows.waits.values.some((v, i) => i % 4 === 3 && line.metricBelow[v])) line.metric = index;
      }
      if (moved) line.zoomTo(begin, end, 0.25);
      line.pending = () => {
        replace(below, line.chosen && rows.spans ? section(`From ${time(begin, 6)} to ${time(end, 6)}`, `own time of regions in the stretch of ${time(end - begin)}, of the events in the archive`, regionTable(rows, begin, end)) : null);
      };
      if (root.dataset.loaded) line.pending();
      line.surface.change();
    },
    repaint: () => line.surface.paint(),
  };
}

export const timeline = {
  id: 'timeline', title: kViewTitles.timeline, print: true, create,
  missing: (page) => !page.has('timeline') && 'There are no events in the archive (it has a summary only), so there is no time line.',
};
