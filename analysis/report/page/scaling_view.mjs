// View: runs of one program on more and more threads: POP's table, what is lost in each, where, and how it grows.

import { el, empty, legend, name, number, section, svg } from './elements.mjs';
import { inkOn, kSeries, rgb } from './palette.mjs';
import { count, digits, percent, plainName, time } from './quantities.mjs';
import { lossesOf, modelAt } from './scaling_models.mjs';
import { table } from './tables.mjs';
import { kViewTitles } from './view_titles.mjs';

const kGood = 0.8;  // POP's

// Blue is good, orange is bad, white is what POP takes as acceptable.
function efficiencyColor(value) {
  const [bad, middle, good] = ['#d55e00', '#f4f4f2', '#4c9ed0'].map(rgb);
  const share = value >= kGood ? Math.min(1, (value - kGood) / (1 - kGood)) : Math.min(1, (kGood - value) / 0.5);
  const end = value >= kGood ? good : bad;
  return `#${middle.map((m, i) => Math.round(m + share * (end[i] - m)).toString(16).padStart(2, '0')).join('')}`;
}

const kLosses = {
  useful: ['#009e73', 'efficient'], load_balance: ['#e69f00', 'load balance'], serialization: ['#56b4e9', 'serialization'],
  openmp: ['#d55e00', 'OpenMP'], transfer: ['#0072b2', 'transfer'], communication: ['#0072b2', 'communication'], computation: ['#cc79a7', 'additional computation'],
};
const kKinds = { call_path: 'call path', between: 'code between events', loop: 'loop' };

const kWidth = 460, kHeight = 250, kLeft = 46, kRight = 132, kTop = 10, kBottom = 34;

// series: [{title, color, dash, points: [[x, y]], dots}]; x and y on these scales: {of(value) 0..1, ticks: [[value, text]]}.
function chart(label, series, x, y, xTitle) {
  const px = (v) => kLeft + x.of(v) * (kWidth - kLeft - kRight), py = (v) => kHeight - kBottom - y.of(v) * (kHeight - kTop - kBottom);
  // Labels at the lines' ends, moved apart.
  const ends = series.filter((each) => each.title).map((each) => ({ each, at: py(each.points.at(-1)[1]), x: px(each.points.at(-1)[0]) })).sort((a, b) => a.at - b.at);
  ends.forEach((end, i) => { if (i) end.at = Math.max(end.at, ends[i - 1].at + 13); });
  const over = ends.length ? Math.max(0, ends.at(-1).at - (kHeight - kBottom)) : 0;
  const text = (at, words, props = {}) => svg('text', { x: at[0], y: at[1], fill: 'var(--muted)', 'font-size': 11, ...props }, words);
  return svg('svg', { viewBox: `0 0 ${kWidth} ${kHeight}`, role: 'img', 'aria-label': label, class: 'chart' },
    y.ticks.map(([value, words]) => [
      svg('line', { x1: kLeft, x2: kWidth - kRight, y1: py(value), y2: py(value), stroke: 'var(--grid)' }),
      text([kLeft - 6, py(value) + 4], words, { 'text-anchor': 'end' })]),
    x.ticks.map(([value, words]) => text([px(value), kHeight - kBottom + 16], words, { 'text-anchor': 'middle' })),
    text([(kLeft + kWidth - kRight) / 2, kHeight - 4], xTitle, { 'text-anchor': 'middle' }),
    series.map((each) => [
      each.points.length > 1 && svg('polyline', { points: each.points.map(([a, b]) => `${px(a).toFixed(1)},${py(b).toFixed(1)}`).join(' '), fill: 'none', stroke: each.color, 'stroke-width': each.wide ?? 2, 'stroke-dasharray': each.dash ?? null }),
      each.bar && svg('line', { x1: px(each.bar[0]), x2: px(each.bar[0]), y1: py(each.bar[1]), y2: py(each.bar[2]), stroke: each.color, 'stroke-width': 5, opacity: 0.4 }),
      each.dots && each.points.map(([a, b], i) => svg('circle', { cx: px(a), cy: py(b), r: 3.5, fill: each.color }, svg('title', {}, each.dots[i])))]),
    ends.map(({ each, at, x: end }) => text([end + 9, at - over + 4], each.title, { fill: 'var(--text)' })),
    ends.map(({ each, at, x: end }) => svg('line', { x1: end + 4, x2: end + 8, y1: py(each.points.at(-1)[1]), y2: at - over, stroke: each.color })));
}

function logarithmic(values, texts) {
  const low = Math.log2(Math.min(...values)), high = Math.max(Math.log2(Math.max(...values)), low + 1e-9);
  return { of: (v) => (Math.log2(v) - low) / (high - low), ticks: texts };
}
function linear(most, text, steps = 5) {
  const raw = most / steps, power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw) ?? power;
  const end = step * Math.ceil(most / step - 1e-9) || 1;
  return { of: (v) => Math.max(0, Math.min(1, v / end)), ticks: Array.from({ length: Math.round(end / step) + 1 }, (_, i) => [i * step, text(i * step)]) };
}

const shown = (value) => value != null && Number.isFinite(value);

function popTable(scaling, columns) {
  const { runs } = scaling;
  const row = (title, cells, props = {}) => el('tr', props, el('th', { scope: 'row', class: 'left' }, title), cells);
  const plain = (f, key) => runs.map((run, i) => el('td', {}, number(f(run), key.text(f(run)), `scaling.runs.${i}.${key.of}`)));
  return el('div', { class: 'scroll' }, el('table', { class: 'pop' },
    el('thead', {}, el('tr', {}, el('th', { class: 'left' }, columns.title), columns.names.map((each, i) => el('th', { scope: 'col', title: runs[i].archive }, each)))),
    el('tbody', {},
      columns.title !== 'Threads' && row('Threads', plain((run) => run.threads, { of: 'threads', text: count })),
      runs[0].iterations != null && row('Iterations', plain((run) => run.iterations, { of: 'iterations', text: count })),
      row('Time', plain((run) => run.seconds, { of: 'seconds', text: (s) => time(s * 1e9) })),
      runs.some((run) => run.repeats > 1) && row('Spread of repeated runs', runs.map((run) => el('td', {}, run.repeats > 1 ? `${percent(run.spread)} of ${count(run.repeats)}` : '–'))),
      row('Speed-up', plain((run) => run.speedup, { of: 'speedup', text: (v) => digits(v, 3) })),
      scaling.factors.map((factor) => row(el('span', { style: { 'padding-inline-start': `${factor.level * 16}px` } }, factor.title),
        runs.map((run, i) => {
          const value = run.factors[factor.name];
          if (!shown(value)) return el('td', {}, '–');
          const color = factor.lost ? null : efficiencyColor(value);
          return el('td', { style: color && { background: color, color: inkOn(color) } }, number(value, percent(value), `scaling.runs.${i}.factors.${factor.name}`));
        }), { class: factor.level ? null : 'root' })))));
}

async function create(root, page) {
  const scaling = await page.data.json('scaling');
  const { runs, losses } = scaling;
  const threads = runs.map((run) => run.threads);
  const mpi = runs.some((run) => run.processes > 1);
  const alike = new Set(runs.map((run) => run.processes)).size === 1;
  const columns = { title: mpi && !alike ? 'Ranks' : 'Threads', names: runs.map((run) => count(mpi && !alike ? run.processes : run.threads)) };
  const both = runs.some((run) => run.processes > 1) && runs.some((run) => run.threads !== run.processes);
  const label = (i) => (both ? `${runs[i].processes} × ${digits(runs[i].threads / runs[i].processes, 3)}` : String(threads[i]));
  // Where two runs have equally many threads each has a place of its own.
  const apart = new Set(threads).size !== threads.length;
  const at = (i) => (apart ? i + 1 : threads[i]);
  const ticks = runs.map((_, i) => [at(i), label(i)]);
  const x = apart ? { of: (v) => (runs.length > 1 ? (v - 1) / (runs.length - 1) : 0.5), ticks } : logarithmic(threads, ticks);
  const xTitle = both ? 'ranks × threads' : mpi ? 'ranks' : 'threads';
  const points = (f) => runs.map((run, i) => [at(i), f(run)]).filter(([, v]) => shown(v));
  const curve = (title, color, f, text, more = {}) => ({ title, color, points: points(f), dots: points(f).map(([, v], i) => `${title}, ${label(i)}: ${text(v)}`), ...more });

  if (scaling.findings?.length) root.append(section('From run to run', null, el('ol', { class: 'findings' }, scaling.findings.map((text, i) =>
    el('li', { class: 'finding plain' }, el('span', { class: 'rank' }, String(i + 1)), el('p', { class: 'sentence' }, plainName(text)))))));
  root.append(section('Efficiencies', `${scaling.scaling} scaling, ${scaling.scaling_why}; ${scaling.loop ? 'of the loop' : 'of the whole run'}`,
    scaling.loop && el('p', { class: 'hint' }, name(scaling.loop, 120)), popTable(scaling, columns),
    el('p', { class: 'hint' }, 'Each factor is the product of those indented below it, but for what is lost, which adds up. Blue: above the 80 % that POP takes as acceptable; orange: below.')));

  const efficiencies = [['global', 'global', kSeries[0], 3], ['parallel', 'parallel', kSeries[1]], ['load_balance', 'load balance', kSeries[2]], ['communication', 'communication', kSeries[5]], ['computation', 'computation scaling', kSeries[3]]];
  const most = Math.max(1, ...runs.flatMap((run) => efficiencies.map(([key]) => run.factors[key] ?? 0)));
  const dashes = [null, '7 3', '2 3', '7 3 2 3', '4 4'];
  const y = linear(Math.min(most, 2), percent);
  const speed = [...runs.map((run) => run.speedup), ...threads.map((n) => n / threads[0])];
  const hybrid = scaling.factors.some(({ name: factor }) => factor === 'openmp');
  const losing = runs.map((run) => [{ key: 'useful', share: Math.max(0, Math.min(1, run.factors.global)) }, ...lossesOf(run.factors, hybrid)]);
  const keys = [...new Set(losing.flatMap((list) => list.map(({ key }) => key)))];
  root.append(el('div', { class: 'columns' },
    section('Efficiency by size', null, chart('efficiencies by size', [
      { color: 'var(--muted)', dash: '1 3', wide: 1, points: [[at(0), kGood], [at(runs.length - 1), kGood]] },
      ...efficiencies.map(([key, title, color, wide], i) => curve(title, color, (run) => run.factors[key], percent, { dash: dashes[i], wide }))], x, y, xTitle)),
    section('Speed-up', 'dotted: in proportion to the threads', chart('speed-up by size', [
      { title: 'ideal', color: 'var(--muted)', dash: '1 3', points: runs.map((run, i) => [at(i), run.threads / threads[0]]) },
      curve('speed-up', kSeries[0], (run) => run.speedup, (v) => digits(v, 3), { wide: 3 })], x, linear(Math.max(...speed), (v) => digits(v, 3)), xTitle)),
    section('What is lost', 'to a global efficiency of 100 %, divided among the factors by their logarithms',
      losing.map((list, i) => el('div', { class: 'stack-row', style: { 'margin-bottom': '6px' } }, el('b', {}, label(i)),
        el('div', { class: 'stack', role: 'img', 'aria-label': list.map(({ key, share }) => `${kLosses[key][1]} ${percent(share)}`).join(', ') },
          list.filter(({ share }) => share > 0.0005).map(({ key, share }) => el('span', { title: `${kLosses[key][1]}: ${percent(share)}`, style: { flex: `0 0 ${100 * share}%`, background: kLosses[key][0], color: inkOn(kLosses[key][0]) } }, share > 0.12 ? percent(share) : ''))))),
      legend(keys.map((key) => kLosses[key])))));

  root.append(section('Where the loss is', 'most of the time of all threads against the smallest run that has the place first; call paths add up to the whole run, the others are other views of it',
    losses.length ? null : empty('No place loses against the smallest run.')));
  if (losses.length) {
    const box = root.lastChild, last = runs.length - 1, whole = runs[last].whole_run_thread_seconds || 1;
    const most = Math.max(1e-12, ...losses.map((loss) => loss.lost_seconds[last]));
    const growth = el('div', { class: 'growth' });
    const show = (loss) => growth.replaceChildren(...growthOf(scaling, loss, { apart, x, xTitle, label, ticks }));
    box.append(table('losses', [
      { title: 'Place', left: true, value: (l) => l.place, text: (l) => name(plainName(l.place), 110) },
      { title: 'Kind', left: true, value: (l) => kKinds[l.kind] ?? l.kind },
      { title: 'Lost', csv: 'lost_s', value: (l) => l.lost_seconds[last], text: (l) => number(l.lost_seconds[last], time(l.lost_seconds[last] * 1e9)), bar: (l) => Math.max(0, l.lost_seconds[last]) / most },
      { title: 'Share', csv: 'share', value: (l) => l.lost_seconds[last] / whole, text: (l) => percent(l.lost_seconds[last] / whole) },
      ...runs.map((_, i) => ({ title: label(i), csv: `time_s_${label(i)}`, value: (l) => l.thread_seconds[i], text: (l) => (l.thread_seconds[i] > 0 ? time(l.thread_seconds[i] * 1e9) : '–') })),
      ...(scaling.models_at_threads ? [{ title: 'Growth', left: true, value: (l) => l.models?.time?.text ?? '', text: (l) => l.models?.time?.text ?? '–' }] : []),
    ], losses, { most: 16, sort: 2, pick: show }), growth);
    show(losses[0]);
  }
  const notes = [...scaling.notes, ...page.report.limits];
  if (notes.length) root.append(section('Notes', null, el('ul', {}, notes.map((note) => el('li', {}, plainName(note))))));
  return {};
}

// One place: its time in each run and, where there is one, its model up to where that is extrapolated.
function growthOf(scaling, loss, { apart, x, xTitle, ticks, label }) {
  const { runs } = scaling;
  const weak = scaling.scaling === 'weak';
  const value = (i) => (weak ? loss.thread_seconds[i] / runs[i].threads : loss.thread_seconds[i]);
  const model = apart ? null : loss.models?.time;
  const end = scaling.models_at_threads;
  const series = [{ title: 'measured', color: kSeries[0], points: runs.map((run, i) => [apart ? i + 1 : run.threads, value(i)]), dots: runs.map((_, i) => `${label(i)}: ${time(value(i) * 1e9)}`), dash: model ? '0 9' : null }];
  let axis = x, top = Math.max(...runs.map((_, i) => value(i)));
  if (model) {
    const from = runs[0].threads;
    const sizes = Array.from({ length: 41 }, (_, i) => from * (end / from) ** (i / 40));
    series.push({ title: 'model', color: kSeries[5], points: sizes.map((p) => [p, modelAt(model, p)]), bar: [end, model.at.low, model.at.high] });
    top = Math.max(top, model.at.high, model.at.value);
    axis = logarithmic([from, end], [...ticks, [end, String(end)]]);
  }
  return [el('h3', {}, name(plainName(loss.place), 120)),
    el('p', { class: 'hint' }, `${weak ? 'time of one thread in the mean' : 'time of all threads'} by size${model ? `; model ${model.text}, at ${count(end)} threads ${time(model.at.value * 1e9)} (95 %: ${time(model.at.low * 1e9)} to ${time(model.at.high * 1e9)})` : ''}`),
    chart('time by size', series, axis, linear(top || 1e-9, (v) => time(v * 1e9, 3)), xTitle)];
}

export const scaling = { id: 'scaling', title: kViewTitles.scaling, block: 'scaling', print: true, create };
