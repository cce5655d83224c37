// View 8: who sends to whom, how much at once, and which rank is how long in which call.

import { ticks } from 'd3-array';
import { choice, el, empty, legend, name, number, replace, section } from './elements.mjs';
import { writtenTime } from './gaps.mjs';
import { scaleLegend } from './heat_view.mjs';
import { kSeries, scaleColor, scalePixels } from './palette.mjs';
import { bytes, count, percent, rate, time } from './quantities.mjs';
import { rangeFollower, rangeHint } from './chosen_range.mjs';
import { exactMessages } from './exact_messages.mjs';
import { callsOfRange, messagesOfRange, timesOfRange } from './mpi_range.mjs';
import { usualTop } from './series.mjs';
import { axisBelow, axisLeft, breakBar, Surface } from './surface.mjs';
import { table } from './tables.mjs';
import { valueTicks } from './time_axis.mjs';
import { kViewTitles } from './view_titles.mjs';

const groupText = ([first, last]) => (first === last ? `rank ${first}` : `ranks ${first}–${last}`);

// all: {cells, text} of the whole run; messages: reads those of the timeline, or null.
function matrix(about, all, messages, page) {
  const n = about.groups.length;
  let measure = 'bytes', sums = null, most = 0;
  const scale = el('span'), note = el('p', { class: 'hint' });
  const format = (v) => (measure === 'bytes' ? bytes(v, 3) : count(Math.round(v)));
  const size = Math.max(240, Math.min(560, n * 44)), left = 78, top = 30;
  const surface = new Surface({
    height: size + top + 8, label: 'matrix of senders and receivers',
    draw(c, width, height, theme) {
      const side = Math.min(size, width - left - 10), cell = side / n;
      if (height !== Math.round(side) + top + 8) return requestAnimationFrame(() => surface.setHeight(Math.round(side) + top + 8));
      if (cell >= 1) {
        for (const [key, v] of sums) {
          const from = Math.floor(key / n), to = key % n;
          c.fillStyle = scaleColor(Math.log1p(v) / Math.log1p(most));
          c.fillRect(left + to * cell, top + from * cell, Math.max(1, cell - (cell > 6 ? 1 : 0)), Math.max(1, cell - (cell > 6 ? 1 : 0)));
        }
      } else {
        const image = new ImageData(Math.ceil(side), Math.ceil(side)), pixels = new Uint32Array(image.data.buffer), table256 = scalePixels();
        const best = new Float64Array(pixels.length);
        for (const [key, v] of sums) {
          const at = Math.floor(Math.floor(key / n) * cell) * image.width + Math.floor((key % n) * cell);
          if (v > best[at]) { best[at] = v; pixels[at] = table256[Math.round(255 * Math.log1p(v) / Math.log1p(most))]; }
        }
        const canvas = document.createElement('canvas');
        Object.assign(canvas, { width: image.width, height: image.height });
        canvas.getContext('2d').putImageData(image, 0, 0);
        c.drawImage(canvas, left, top, side, side);
      }
      c.strokeStyle = theme('line');
      c.strokeRect(left - 0.5, top - 0.5, side + 1, side + 1);
      const step = Math.max(1, Math.ceil((n > 99 ? 36 : 26) / cell));
      c.fillStyle = theme('muted');
      for (let i = 0; i < n; i += step) {
        c.textAlign = 'center';
        c.fillText(String(about.groups[i][0]), left + (i + 0.5) * cell, top - 9);
        c.textAlign = 'right';
        c.fillText(i === 0 ? groupText(about.groups[0]) : String(about.groups[i][0]), left - 7, top + (i + 0.5) * cell);
      }
      c.textAlign = 'left';
      c.fillText('sender ↓ to receiver →', 2, 9);
      if (cell >= 58) for (const [key, v] of sums) {
        c.fillStyle = Math.log1p(v) / Math.log1p(most) > 0.6 ? '#101214' : '#ffffff';
        c.textAlign = 'center';
        c.fillText(format(v), left + ((key % n) + 0.5) * cell, top + (Math.floor(key / n) + 0.5) * cell);
        c.textAlign = 'left';
      }
    },
    tip(x, y) {
      const side = Math.min(size, surface.width - left - 10), cell = side / n;
      const to = Math.floor((x - left) / cell), from = Math.floor((y - top) / cell);
      if (to < 0 || from < 0 || to >= n || from >= n) return null;
      return [el('div', {}, el('b', {}, `${groupText(about.groups[from])} to ${groupText(about.groups[to])}`)), el('div', {}, sums.has(from * n + to) ? format(sums.get(from * n + to)) : 'nothing')];
    },
  });
  let source = all.cells;
  function show() {
    sums = new Map();
    for (let i = 0; i < source.length; i += 4) {
      const key = source[i] * n + source[i + 1];
      sums.set(key, (sums.get(key) ?? 0) + source[i + (measure === 'bytes' ? 3 : 2)]);
    }
    most = Math.max(1, ...sums.values());
    replace(scale, scaleLegend(0, most, format), el('span', { class: 'hint' }, ' logarithmic'));
    surface.change();
  }
  // Of a range of the run: the messages that are in it.
  async function during(begin, end) {
    if (begin == null || !messages) {
      source = all.cells;
      note.textContent = all.text;
    } else {
      const [{ values }, line] = await Promise.all([messages(), page.json('timeline')]);
      const groupOf = new Map();
      about.groups.forEach(([first, last], g) => { for (let r = first; r <= last; ++r) groupOf.set(r, g); });
      const rowGroup = line.rows.map(([, , shown]) => groupOf.get(line.locations[shown]?.rank) ?? 0);
      const list = [];
      for (let i = 0; i < values.length; i += 5)
        if (values[i + 3] >= begin && values[i + 1] <= end) list.push(rowGroup[values[i]], rowGroup[values[i + 2]], 1, values[i + 4]);
      source = list;
      note.textContent = `of the ${count(list.length / 4)} messages on the timeline from ${time(begin)} to ${time(end)}`;
    }
    show();
  }
  const switcher = choice('cells are', [['bytes', 'data'], ['messages', 'messages']], 'bytes', (v) => { measure = v; show(); });
  during(null);
  return { element: section('Who sends to whom', n < about.ranks ? `${count(about.ranks)} ranks in ${count(n)} groups of neighbours` : null, el('div', { class: 'bar-row' }, switcher, scale), surface.box, note), during, surface };
}

const sizeText = (row) => (row.size_least === row.size_greatest ? `${count(row.size_least)}\u00a0B` : `${power(row.size_least)} – ${power(row.size_greatest + 1)}`);
function power(v) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  while (v >= 1024 && i < 4) { v /= 1024; ++i; }
  return `${Number(v.toPrecision(3))}\u00a0${units[i]}`;
}

function sizes(rows, whole) {
  const top = Math.max(...rows.map((row) => row.time_ns));
  return table('MPI by message size', [
    { title: 'Procedure', left: true, value: (r) => r.procedure, text: (r) => name(r.procedure || '(no name)', 40) },
    { title: 'Size of a call', csv: 'size_least', value: (r) => r.size_least, text: sizeText },
    { title: 'Calls', value: (r) => r.calls },
    { title: 'Time', csv: 'time_ns', value: (r) => r.time_ns, text: (r) => time(r.time_ns), bar: (r) => r.time_ns / top },
    { title: 'Share', csv: 'share', value: (r) => r.time_ns / whole, text: (r) => percent(r.time_ns / whole) },
    { title: 'Data', csv: 'bytes', value: (r) => r.bytes_sent + r.bytes_received, text: (r) => (r.bytes_sent + r.bytes_received ? bytes(r.bytes_sent + r.bytes_received) : '–') },
    { title: 'Bandwidth', csv: 'bytes_per_second', value: (r) => r.bytes_per_second ?? 0, text: (r) => (r.bytes_per_second ? rate(r.bytes_per_second) : '–') },
  ], rows, { most: 10 });
}

// Of the run, or of a range, whose data is in its messages.
function procedures(list, whole, ofRun = true) {
  const top = Math.max(1, ...list.map((p) => p.time_ns));
  return table('MPI procedures', [
    { title: 'Procedure', left: true, value: (p) => p.name, text: (p) => name(p.name, 40) },
    { title: 'Calls', value: (p) => p.calls, key: (p) => (ofRun ? `profile.mpi.${p.name}.calls` : null) },
    { title: 'Time', csv: 'time_ns', value: (p) => p.time_ns, text: (p) => number(p.time_ns, time(p.time_ns), ofRun && `profile.mpi.${p.name}.time_ns`), bar: (p) => p.time_ns / top },
    { title: 'Share', csv: 'share', value: (p) => p.time_ns / whole, text: (p) => percent(p.time_ns / whole) },
    { title: 'Mean', csv: 'mean_ns', value: (p) => p.time_ns / Math.max(1, p.calls), text: (p) => time(p.time_ns / Math.max(1, p.calls)) },
    { title: 'Longest', csv: 'maximum_ns', value: (p) => p.maximum_ns, text: (p) => time(p.maximum_ns) },
    ...(ofRun ? [{ title: 'Data', csv: 'bytes', value: (p) => p.bytes_sent + p.bytes_received, text: (p) => (p.bytes_sent + p.bytes_received ? bytes(p.bytes_sent + p.bytes_received) : '–') }] : []),
  ], list, { most: 10 });
}

// Messages of a range, each sum of them by what `first` says.
function messageTable(title, first, list) {
  const top = Math.max(1, ...list.map((row) => row.bytes));
  return table(title, [
    { title: 'Sent by', left: true, value: (r) => r.procedure, text: (r) => (r.procedure ? name(r.procedure, 40) : '–') }, first,
    { title: 'Messages', value: (r) => r.messages },
    { title: 'Data', csv: 'bytes', value: (r) => r.bytes, text: (r) => bytes(r.bytes), bar: (r) => r.bytes / top },
    { title: 'Mean to the receive', csv: 'mean_ns', value: (r) => r.mean_ns, text: (r) => time(r.mean_ns), hint: 'from the start of the send call to the receive' },
  ], list, { most: 10 });
}

// Ranks side by side, procedures on each other.
function byRank(calls, times) {
  const n = calls.ranks, p = Math.min(calls.procedures.length, 8);
  const rest = new Float64Array(n), total = new Float64Array(n);
  let values = times.values, most = 1, greatest = 1;
  function add() {
    rest.fill(0);
    total.fill(0);
    calls.procedures.forEach((_, i) => { for (let r = 0; r < n; ++r) { total[r] += values[i * n + r]; if (i >= p) rest[r] += values[i * n + r]; } });
    const usual = usualTop(total);
    most = Math.max(1, usual.top) * 1.04;
    greatest = usual.most;
  }
  add();
  const stack = (r) => [...Array.from({ length: p }, (_, i) => [calls.procedures[i], values[i * n + r], kSeries[i]]), ['others', rest[r], '#8a9199']];
  const surface = new Surface({
    height: 250, label: 'time in MPI of each rank',
    draw(c, width, height, theme) {
      const x0 = 66, x1 = width - 8, y0 = 8, y1 = height - 40, each = (x1 - x0) / n;
      const axis = valueTicks(most);
      axisLeft(c, theme, (v) => y1 - (v / most) * (y1 - y0), axis.ticks, x0, axis.format, x1 - x0);
      for (let r = 0; r < n; ++r) {
        let y = y1;
        for (const [, v, color] of stack(r)) {
          const h = Math.min(y - y0, (v / most) * (y1 - y0));
          c.fillStyle = color;
          c.fillRect(x0 + r * each + (each > 4 ? each * 0.12 : 0), y - h, Math.max(1, each > 4 ? each * 0.76 : each), h);
          y -= h;
        }
        if (total[r] > most) breakBar(c, theme, x0 + r * each + (each > 4 ? each * 0.12 : 0), y0, Math.max(1, each > 4 ? each * 0.76 : each));
      }
      if (greatest > most) {
        c.fillStyle = theme('warn');
        c.textAlign = 'right';
        c.fillText(`cut off above ${time(most, 3)}; maximum: ${time(greatest, 3)}`, x1, y0 + 16);
        c.textAlign = 'left';
      }
      axisBelow(c, theme, (r) => x0 + (r + 0.5) * each, ticks(0, n - 1, Math.min(n, Math.floor((x1 - x0) / 44))).filter(Number.isInteger), y1 + 1, String);
      c.fillStyle = theme('muted');
      c.textAlign = 'center';
      c.fillText('rank', (x0 + x1) / 2, y1 + 31);
      c.textAlign = 'left';
    },
    tip(x) {
      const r = Math.floor(((x - 66) / (surface.width - 74)) * n);
      if (r < 0 || r >= n) return null;
      return [el('div', {}, el('b', {}, `rank ${r}`), ` ${time(total[r])} in MPI`), ...stack(r).filter(([, v]) => v > 0).map(([text, v, color]) => el('div', {}, el('i', { class: 'dot', style: { background: color } }), ' ', name(text, 40), ` ${time(v)}`))];
    },
  });
  // Of a range: [procedure, rank] like `times`; null: of the whole run.
  const use = (other) => { values = other ?? times.values; add(); surface.change(); };
  return { surface, use, total, element: section('Time in MPI by rank', null, el('div', { class: 'bar-row' }, legend([...Array.from({ length: p }, (_, i) => [kSeries[i], name(calls.procedures[i], 32)]), ...(calls.procedures.length > p ? [['#8a9199', 'others']] : [])])), surface.box) };
}

// Exact where that is known: all is written, or the summary says it.
async function messagesOfRun(page, { about, cells, messages, profile }) {
  const inArchive = () => { let n = 0; for (let i = 2; i < cells.values.length; i += 4) n += cells.values[i]; return count(n); };
  if (about.of === 'run' || (profile && profile.events_written === profile.events_seen && !profile.intervals_not_written)) return { cells: cells.values, exact: true, text: `Exact: all ${inArchive()} messages of the run are in the archive.` };
  const { values: sent } = await page.arrayOr('messages/sent', [0, 4]), classes = new Map((profile?.mpi ?? []).map((each) => [each.name, String(each.class).replace(/_ns$/, '')]));
  const exact = messages?.source === 'summary' ? exactMessages({ rows: messages.by_partner, sent, classOf: (each) => classes.get(each), groups: about.groups, ranks: about.ranks, written: cells.values, elsewhere: messages.calls_elsewhere })
    : { why: 'there is no summary of them' };
  return exact.cells ? { cells: exact.cells, exact: true, text: `Exact: all ${count(exact.messages)} messages of the run, from the summary.` }
    : { cells: cells.values, text: `Only the ${inArchive()} messages in the archive, not the whole run: ${exact.why}.` };
}

async function create(root, page) {
  const [messages, about, cells, calls, times, profile] = await Promise.all([page.jsonOr('messages', null), page.jsonOr('matrix', null), page.arrayOr('matrix/values', [0, 4]), page.jsonOr('calls', null), page.arrayOr('calls/time', [0, 0]), page.jsonOr('profile', null)]);
  const whole = profile?.time_ns || 1, all = about && (await messagesOfRun(page, { about, cells, messages, profile }));
  const left = [], parts = {};
  if (about && cells.values.length) left.push((parts.matrix = matrix(about, all, page.has('timeline/messages') ? () => page.array('timeline/messages') : null, page)).element);
  else left.push(section('Who sends to whom', null, empty('No message between two ranks is in the archive.')));
  const rank = calls?.procedures?.length ? (parts.rank = byRank(calls, times)).element : null;
  const note = el('p', { class: 'hint', role: 'status', hidden: true }, '');
  const right = el('div', { class: 'view' }), inRange = el('div', { class: 'view' });
  if (profile?.mpi?.length > 0) right.append(section('Procedures', 'all calls of the run', procedures(profile.mpi, whole)));
  const bySize = messages?.by_size ?? profile?.mpi_by_size;
  if (bySize?.length) right.append(section('By message size', 'bytes per call, and time of such calls', sizes(bySize, whole)));
  const partners = messages?.by_partner ?? profile?.mpi_by_partner;
  if (partners?.length) {
    const top = Math.max(...partners.map((p) => p.time_ns));
    right.append(section('By partner', 'relative to the own rank in the communicator', table('MPI by partner', [
      { title: 'Procedure', left: true, value: (r) => r.procedure, text: (r) => name(r.procedure || '(no name)', 40) }, { title: 'Partner', left: true, value: (r) => r.partner || '–' },
      { title: 'Calls', value: (r) => r.calls }, { title: 'Time', csv: 'time_ns', value: (r) => r.time_ns, text: (r) => time(r.time_ns), bar: (r) => r.time_ns / top },
      { title: 'Data', csv: 'bytes', value: (r) => r.bytes_sent + r.bytes_received, text: (r) => (r.bytes_sent + r.bytes_received ? bytes(r.bytes_sent + r.bytes_received) : '–') },
      { title: 'Min per rank', csv: 'process_minimum_ns', value: (r) => r.process_minimum_ns ?? 0, text: (r) => time(r.process_minimum_ns) }, { title: 'Max per rank', csv: 'process_maximum_ns', value: (r) => r.process_maximum_ns ?? 0, text: (r) => time(r.process_maximum_ns) },
    ], partners, { most: 10 })));
  }
  // Where a row stands for several threads, what others do is not known.
  async function ofRange(rows, begin, end) {
    if (rows.count < rows.about.locations.length) return null;
    const sent = page.has('timeline/messages') ? (await page.array('timeline/messages')).values : new Float64Array(0);
    return { times: timesOfRange(rows, calls, begin, end), calls: callsOfRange(rows, calls.procedures, begin, end), messages: messagesOfRange(rows, calls.procedures, sent, begin, end) };
  }
  const follow = parts.rank && rangeFollower(page, ofRange, (figures, rows, begin, end) => {
    parts.rank.use(figures?.times ?? null);
    right.hidden = !!figures;
    inRange.hidden = !figures;
    if (rows) note.textContent = `${rangeHint(rows, begin, end)}${figures ? '' : ': the matrix. Procedures, sizes, partners and times by rank are for the whole run'}.`;
    if (!figures) return replace(inRange);
    const all = writtenTime(rows, begin, end) || 1;
    replace(inRange,
      section('Procedures', 'calls that start in the range', figures.calls.length ? procedures(figures.calls, all, false) : empty('No MPI call starts in the range.')),
      figures.messages.bySize.length > 0 && section('By message size', 'messages on the timeline sent in the range', messageTable('messages of the range by size', { title: 'Size', csv: 'size_least', value: (r) => r.size_least, text: sizeText }, figures.messages.bySize)),
      figures.messages.byPartner.length > 0 && section('By partner', 'rank of the receiver - rank of the sender', messageTable('messages of the range by partner', { title: 'Partner', value: (r) => Number(r.partner), text: (r) => r.partner }, figures.messages.byPartner)));
  });
  inRange.hidden = true;
  root.append(note, el('div', { class: 'columns uneven' }, el('div', { class: 'view' }, left, rank), right, inRange));
  return {
    parts,
    update(selection) {
      const { begin_ns: begin, end_ns: end } = selection.state;
      parts.matrix?.during(begin, end);
      follow?.(selection);
      note.hidden = begin == null;
    },
    repaint: () => { parts.matrix?.surface.paint(); parts.rank?.surface.paint(); },
  };
}

export const mpi = {
  id: 'mpi', title: kViewTitles.mpi, print: true, create,
  missing: (page) => !page.has('calls') && !page.has('matrix') && !page.has('messages') && 'This program does not use MPI.',
};
