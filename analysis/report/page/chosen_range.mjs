// A range of the run that is chosen, in figures: of the spans and waits of the timeline.

import { el, name, replace, section } from './elements.mjs';
import { clockOf, writtenTime } from './gaps.mjs';
import { classColor } from './palette.mjs';
import { percent, place, plainName, time } from './quantities.mjs';
import { table } from './tables.mjs';
import { TimelineRows } from './timeline_rows.mjs';

// Rows, and their spans, of a run are read once for all views.
export function timelineRows(page) {
  const known = (page.lines ??= new Map());
  if (!known.has(page.run)) known.set(page.run, TimelineRows.read(page));
  return known.get(page.run);
}

export async function spansOf(page, tell = () => {}) {
  const rows = await timelineRows(page);
  await (rows.loading ??= rows.load(tell));
  tell(rows.count, rows.count);
  return rows;
}

// What the time between two points was spent in, of the spans that are here.
export function regionTable(rows, begin, end) {
  const regions = rows.about.regions;
  const own = new Float64Array(regions.length);
  rows.spans.forEach((spans, r) => {
    if (!spans) return;
    const [first, last] = rows.about.rows[r];
    spans.ownTimes(begin, end, regions.length, undefined, clockOf(rows, r)).forEach((v, i) => { own[i] += v * (last - first + 1); });
  });
  const all = writtenTime(rows, begin, end) || 1;
  const list = [...own].map((ns, i) => ({ ns, region: regions[i] })).filter((each) => each.ns > 0).sort((a, b) => b.ns - a.ns);
  const color = (row) => classColor(rows.about.classes[row.region.class]?.key);
  return table('regions in the range', [
    { title: 'Region', left: true, value: (r) => r.region.name, text: (r) => el('span', {}, el('i', { class: 'dot', style: { background: color(r) } }), ' ', name(plainName(r.region.name), 80), ' ', r.region.name.includes('@') ? '' : el('span', { class: 'hint' }, place(r.region.file, r.region.line))) },
    { title: 'Own time', csv: 'own_ns', value: (r) => r.ns, text: (r) => time(r.ns) },
    { title: 'Share', csv: 'share', value: (r) => r.ns / all, text: (r) => percent(r.ns / all), bar: (r) => r.ns / (list[0]?.ns || 1), color },
  ], list, { most: 10 });
}

// Keeps a view with the chosen range: show(figures) once what compute(rows, begin, end) gives (or promises) is there, show(null) for the
// whole run. Nothing of it without events.
export function rangeFollower(page, compute, show) {
  let shown = null;
  return async ({ state: { begin_ns: begin, end_ns: end } }) => {
    const key = begin == null || !page.has('timeline') ? null : `${begin} ${end}`;
    if (key === shown) return;
    shown = key;
    if (key === null) return show(null);
    const rows = await spansOf(page);
    const figures = await compute(rows, begin, end);
    if (shown === key) show(figures, rows, begin, end);
  };
}

const skippedIn = (rows, begin, end) => (rows.about.gaps ?? []).reduce((sum, gap) => sum + Math.max(0, Math.min(gap.end_ns, end) - Math.max(gap.begin_ns, begin)), 0);

// What a tree of a range is made of, in words.
export const rangeHint = (rows, begin, end) => `Of the events in the archive from ${time(begin, 6)} to ${time(end, 6)}` +
  (rows.about.detail?.all === false ? ', as far as the timeline has them' : '') + (rows.count < rows.about.locations.length ? ', one thread of each row for all of it' : '') + (skippedIn(rows, begin, end) > 0 ? `; ${time(skippedIn(rows, begin, end))} of it was skipped, and is not in it` : '');

// A place on a view that has figures of the range while one is chosen. make(rows, begin, end) -> element.
export function rangeBox(page, title, hint, make) {
  const box = el('div');
  let shown = null;
  box.follow = async (selection) => {
    const { begin_ns: begin, end_ns: end } = selection.state;
    const key = begin == null || !page.has('timeline') ? null : `${begin} ${end}`;
    if (key === shown) return;
    shown = key;
    if (key === null) return replace(box);
    const rows = await spansOf(page);
    if (shown === key) replace(box, section(`${title} from ${time(begin, 6)} to ${time(end, 6)}`, hint, make(rows, begin, end)));
  };
  return box;
}
