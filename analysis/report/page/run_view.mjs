// View 2: the run as a line: its loops as nested bars over time, what is in the archive and why, and
// the loop nest as text.

import { el, empty, legend, name, section } from './elements.mjs';
import { kSeries } from './palette.mjs';
import { count, nestLines, percent, place, time } from './quantities.mjs';
import { axisBelow, fitText, Surface } from './surface.mjs';
import { table } from './tables.mjs';
import { timeTicks } from './time_axis.mjs';
import { kViewTitles } from './view_titles.mjs';
import { Zoom } from './zoom.mjs';

const kLane = 26, kLeft = 12, kRight = 12;
const colorOf = (level) => ['#0072b2', '#56b4e9', '#009e73', '#cc79a7', '#e69f00'][level % 5];

export function loopTitle(loop) {
  const where = loop.title || [loop.function, place(loop.file, loop.line)].filter(Boolean).join(' ') || loop.name;
  return `${loop.named ? 'phase' : 'loop ' + loop.loop} ${where ?? ''}`;
}

class RunLine {
  constructor(page, nest, length) {
    Object.assign(this, { page, nest, length });
    this.loops = new Map(nest.loops.map((loop) => [loop.loop, loop]));
    this.levels = 1 + Math.max(0, ...nest.loops.map((loop) => loop.level));
    this.bars = nest.bars.map(([loop, begin, end, first, last, visits]) => ({ loop, begin, end, first, last, visits }))
      .filter((bar) => this.loops.has(bar.loop));
    this.bottom = 30 + this.levels * kLane;
    this.surface = new Surface({
      height: this.bottom + 52, label: 'loops over the run', draw: (...all) => this.draw(...all), tip: (x, y) => this.tip(x, y),
      describe: 'Plus and minus zoom, arrows move, Home shows the whole run' });
    this.zoom = new Zoom(this.surface, {
      limits: [0, length], least: 1000, plot: () => ({ x0: kLeft, x1: this.surface.width - kRight, y0: 24, y1: this.bottom + 22 }),
      choose: (a, b) => page.selection.set({ begin_ns: Math.round(a), end_ns: Math.round(b), first: null, last: null, loop: null }),
      press: (x, y) => this.press(x, y) });
  }

  lane(y) { return Math.floor((y - 26) / kLane); }

  hit(x, y) {
    const level = this.lane(y), at = this.zoom.at(x), slack = (this.zoom.x[1] - this.zoom.x[0]) / Math.max(1, this.surface.width);
    return this.bars.find((bar) => this.loops.get(bar.loop).level === level && bar.begin - slack <= at && at <= bar.end + slack);
  }

  press(x, y) {
    const bar = this.hit(x, y);
    if (!bar) return;
    const outer = this.loops.get(bar.loop).level === 0;
    this.page.selection.set({ begin_ns: bar.begin, end_ns: bar.end, loop: outer ? bar.loop : null, first: outer ? bar.first : null, last: outer ? bar.last : null });
  }

  tip(x, y) {
    const at = this.zoom.at(x);
    const mark = [...this.nest.breaks ?? [], ...this.nest.slow ?? []].find((each) => Math.abs(this.zoom.pixel(each.time_ns) - x) < 5);
    if (y < 24 && mark) return [el('div', {}, name(mark.text, 200)), el('div', {}, `at ${time(mark.time_ns)}`)];
    if (y > this.bottom) {
      const gap = this.gapAt(at);
      return gap ? [el('div', {}, el('b', {}, 'not in the archive')), el('div', {}, name(gap.text, 200)), el('div', {}, time(gap.end_ns - gap.begin_ns))]
        : [el('div', {}, 'in the archive'), el('div', {}, `at ${time(at)}`)];
    }
    const bar = this.hit(x, y);
    if (!bar) return null;
    const loop = this.loops.get(bar.loop);
    return [el('div', {}, el('b', {}, name(loopTitle(loop), 120))),
      el('div', {}, `${bar.visits > 1 ? `${count(bar.visits)} visits, ` : ''}iterations ${count(bar.first)}–${count(bar.last)}`),
      el('div', {}, `${time(bar.begin)} – ${time(bar.end)}, ${time(bar.end - bar.begin)}`)];
  }

  gapAt(t) { return (this.nest.gaps ?? []).find((gap) => gap.begin_ns <= t && t <= gap.end_ns); }

  draw(c, width, height, theme) {
    const { zoom } = this, x0 = kLeft, x1 = width - kRight;
    const clip = (t) => Math.max(x0, Math.min(x1, zoom.pixel(t)));
    const drawn = new Float64Array(this.levels).fill(-1);
    for (const bar of this.bars) {
      if (bar.end < zoom.x[0] || bar.begin > zoom.x[1]) continue;
      const loop = this.loops.get(bar.loop);
      const a = clip(bar.begin), b = Math.max(a + 1, clip(bar.end));
      if (b <= drawn[loop.level]) continue;
      drawn[loop.level] = b;
      const y = 26 + loop.level * kLane;
      c.fillStyle = colorOf(loop.level);
      c.fillRect(a, y, b - a > 3 ? b - a - 0.5 : b - a, kLane - 5);
      const label = fitText(c, `${loopTitle(loop)} · ${count(loop.iterations)} iterations`, b - a - 10);
      if (label) {
        c.fillStyle = '#ffffff';
        c.fillText(label, a + 6, y + (kLane - 5) / 2 + 0.5);
      }
    }
    // What is in the archive.
    const y = this.bottom + 4;
    c.fillStyle = '#009e73';
    c.fillRect(clip(0), y, clip(this.length) - clip(0), 10);
    c.fillStyle = theme('hatch');
    for (const gap of this.nest.gaps ?? [])
      if (gap.end_ns >= zoom.x[0] && gap.begin_ns <= zoom.x[1]) c.fillRect(clip(gap.begin_ns), y, Math.max(0.5, clip(gap.end_ns) - clip(gap.begin_ns)), 10);
    for (const [list, color, shape] of [[this.nest.slow ?? [], '#e69f00', 'slow'], [this.nest.breaks ?? [], '#d55e00', 'break']]) {
      c.fillStyle = c.strokeStyle = color;
      for (const each of list) {
        if (each.time_ns < zoom.x[0] || each.time_ns > zoom.x[1]) continue;
        const x = zoom.pixel(each.time_ns);
        c.beginPath();
        if (shape === 'slow') { c.moveTo(x, 20); c.lineTo(x - 4.5, 12); c.lineTo(x + 4.5, 12); }
        else { c.moveTo(x, 20); c.lineTo(x - 4, 14); c.lineTo(x, 8); c.lineTo(x + 4, 14); }
        c.fill();
      }
    }
    zoom.drawRange(c, theme, this.chosen);
    const axis = timeTicks(...zoom.x, x1 - x0);
    axisBelow(c, theme, (t) => zoom.pixel(t), axis.ticks, this.bottom + 24, axis.format);
  }
}

function loops(page, nest, length) {
  const columns = [
    { title: 'Loop', left: true, value: (l) => '\u2003'.repeat(l.level) + loopTitle(l), text: (l) => el('span', { style: { 'padding-inline-start': `${l.level * 16}px` } }, name(loopTitle(l), 70)) },
    { title: 'Time', csv: 'total_ns', value: (l) => l.total_ns, text: (l) => time(l.total_ns), bar: (l) => l.total_ns / length },
    { title: 'of the run', csv: 'share', value: (l) => l.total_ns / length, text: (l) => percent(l.total_ns / length) },
    { title: 'Iterations', value: (l) => l.iterations },
    { title: 'Visits', value: (l) => l.visits },
    { title: 'written', csv: 'written', value: (l) => l.written },
    { title: 'partly', csv: 'partial', value: (l) => l.partial },
    { title: 'skipped', value: (l) => l.skipped ?? l.iterations - l.written - l.partial },
    { title: 'Mean', csv: 'mean_ns', value: (l) => l.mean_ns, text: (l) => time(l.mean_ns) },
    { title: 'Median', csv: 'median_ns', value: (l) => l.median_ns ?? NaN, text: (l) => (l.median_ns == null ? '–' : time(l.median_ns)) },
    { title: 'Slowest', csv: 'max_ns', value: (l) => l.max_ns ?? NaN, text: (l) => (l.max_ns == null ? '–' : time(l.max_ns)) },
  ];
  return table('loops', columns, nest.loops, { most: 30, pick: (l) => l.block && page.go('iterations', { loop: l.loop, first: null, last: null, begin_ns: null, end_ns: null }) });
}

async function create(root, page) {
  const nest = await page.json('nest');
  const length = (page.facts.seconds ?? 0) * 1e9 || Math.max(1, ...nest.bars.map((bar) => bar[2]));
  const events = [...(nest.breaks ?? []).map((each) => ({ ...each, what: 'break' })), ...(nest.slow ?? []).map((each) => ({ ...each, what: each.ns < (nest.loops.find((l) => l.loop === each.loop)?.median_ns ?? 0) ? 'short iteration' : 'slow iteration' }))].sort((a, b) => a.time_ns - b.time_ns);
  let line = null;
  root.append(nest.loops.length ? section('Loops over time', `each bar is the time in a loop; below: the part in the archive${nest.rank != null ? `; rank ${nest.rank}` : ''}`,
    (line = new RunLine(page, nest, length)).surface.box,
    legend([['#009e73', 'in the archive'], ['var(--hatch)', 'skipped: only counts and times are known'], ['#e69f00', '▼ iteration of unusual duration'], ['#d55e00', '◆ the loop changes (break)']]))
    : section('Loops over time', null, empty('No loop was detected in this run: nothing repeated often enough, or the events are from another tool.')));
  if (nest.loops.length) root.append(section('Loops', 'click a row to show its iterations', loops(page, nest, length)));
  root.append(el('div', { class: 'columns' },
    nest.text && section('The loop nest as text', 'loops and their counts', el('pre', { class: 'nest', tabindex: 0, dir: 'ltr' }, nestLines(nest.text))),
    events.length > 0 && section('Pattern changes', 'breaks of the pattern, and unusually long or short iterations',
      table('breaks and slow iterations', [
        { title: 'When', csv: 'time_ns', value: (e) => e.time_ns, text: (e) => time(e.time_ns) },
        { title: 'What', left: true, value: (e) => e.what },
        { title: 'Iteration', value: (e) => e.iteration ?? NaN, text: (e) => (e.iteration == null ? '–' : count(e.iteration)) },
        { title: '', csv: 'text', left: true, value: (e) => e.text, text: (e) => name(e.text, 120) },
      ], events, { most: 14, pick: (e) => page.go('timeline', { begin_ns: Math.max(0, e.time_ns - (e.ns ?? length / 200)), end_ns: e.time_ns + (e.ns ?? length / 200), loop: null, first: null, last: null }) }))));
  return {
    update(selection) {
      if (!line) return;
      const { begin_ns: begin, end_ns: end } = selection.state;
      line.chosen = begin != null ? [begin, end] : null;
      line.surface.change();
    },
    repaint: () => line?.surface.paint(),
  };
}

export const run = {
  id: 'run', title: kViewTitles.run, print: true, create,
  missing: (page) => !page.has('nest') && 'The archive has no loop information: it is from another tool, or was written without loop detection.',
};
