// View 9: two runs side by side, differences first.

import { classBar, classLegend, classList } from './class_bars.mjs';
import { el, empty, name, number, section } from './elements.mjs';
import { count, percent, plainName, quantity, shortCommand, time } from './quantities.mjs';
import { table } from './tables.mjs';
import { kViewTitles } from './view_titles.mjs';

const changeText = (change) => (change == null || !Number.isFinite(change) ? 'only in B' : `${change > 0 ? '+' : change < 0 ? '−' : ''}${percent(Math.abs(change))}`);
// More time is worse, more efficiency is better; of counts nobody can say.
function changed(d) {
  const better = d.unit === 'efficiency' ? 1 : d.unit === 'ns' || d.unit === 'share' ? -1 : 0;
  const change = d.change ?? 1;
  const text = d.unit === 'efficiency' && d.a != null && d.b != null ? `${d.b > d.a ? '+' : '−'}${Math.abs(100 * (d.b - d.a)).toFixed(1)}\u00a0points` : changeText(d.change);
  return el('span', { class: better * change > 0 ? 'change-down' : better * change < 0 ? 'change-up' : null }, text);
}
const figure = (d) => (d.subject && d.figure ? `${d.subject}: ${d.figure}` : d.text ?? '');

function sideBySide(page, runs, profiles) {
  const longest = Math.max(...profiles.map((p) => p?.time_ns ?? 0)) || 1;
  return runs.map((run, i) => profiles[i] && el('div', { class: 'stack-row', style: { 'margin-bottom': '6px' } },
    el('b', {}, `${run.key.toUpperCase()}  `, number(profiles[i].run_ns, time(profiles[i].run_ns))),
    el('div', { style: { width: `${(100 * profiles[i].time_ns) / longest}%` } }, classBar(profiles[i].classes, profiles[i].time_ns))));
}

function classes(profiles) {
  const keys = [...new Set(profiles.flatMap((p) => classList(p?.classes).map((each) => each.key)))];
  const of = (p, key) => p?.classes?.[`${key}_ns`] ?? p?.classes?.[key] ?? 0;
  return { keys, of };
}

async function create(root, page) {
  const { data, report } = page;
  const compare = await data.json('compare');
  const profiles = await Promise.all(report.runs.map((run) => data.jsonOr(`${run.key}/profile`, null)));
  const { keys } = classes(profiles);
  const list = compare.differences ?? [];
  root.append(section('The two runs', null,
    el('dl', { class: 'facts', style: { 'margin-bottom': '12px' } }, report.runs.map((run) => [el('dt', {}, run.key.toUpperCase()), el('dd', {}, name(shortCommand(run.command) || run.name, 120), ' ', el('span', { class: 'hint' }, name(run.name, 60)))])),
    sideBySide(page, report.runs, profiles), el('div', { style: { 'margin-top': '8px' } }, classLegend(keys))));
  root.append(section('What differs', 'largest difference in time first', list.length ? table('differences', [
    { title: 'Figure', left: true, value: figure, text: (d) => name(plainName(figure(d)), 140) },
    { title: 'A', csv: 'a', value: (d) => d.a ?? NaN, text: (d) => quantity(d.a, unit(d.unit)) },
    { title: 'B', csv: 'b', value: (d) => d.b ?? NaN, text: (d) => quantity(d.b, unit(d.unit)) },
    { title: 'Change', csv: 'change', value: (d) => d.change ?? Infinity, text: changed },
  ], list, { most: 24 }) : empty('No compared figure differs between the two runs.')));
  const rows = compare.rows ?? [];
  if (rows.length) {
    const sections = [...new Set(rows.map((row) => row.section))];
    root.append(section('All figures', `${count(rows.length)} figures, as refrain compare prints them`, sections.map((title) => el('details', {}, el('summary', {}, `${title} (${count(rows.filter((row) => row.section === title).length)})`),
      table(title, [
        { title: 'Subject', left: true, value: (r) => r.subject, text: (r) => name(plainName(r.subject), 90) }, { title: 'Figure', left: true, value: (r) => r.figure },
        { title: 'A', csv: 'a', value: (r) => r.a ?? NaN, text: (r) => (r.a_estimated ? 'about ' : '') + quantity(r.a, unit(r.unit)) },
        { title: 'B', csv: 'b', value: (r) => r.b ?? NaN, text: (r) => (r.b_estimated ? 'about ' : '') + quantity(r.b, unit(r.unit)) },
        { title: 'Difference', csv: 'difference', value: (r) => r.difference ?? NaN, text: (r) => changeText(r.difference) },
      ], rows.filter((row) => row.section === title), { most: 20 })))));
  }
  for (const key of ['only_a', 'only_b'])
    if (compare[key]?.length) root.append(section(`Only in ${key === 'only_a' ? 'A' : 'B'}`, null, el('p', {}, compare[key].slice(0, 60).flatMap((each, i) => [i ? ', ' : '', name(typeof each === 'string' ? plainName(each) : JSON.stringify(each), 80)]))));
  return {};
}

const unit = (u) => (u === 'number' ? 'count' : u === 'efficiency' ? 'share' : u);

export const compare = { id: 'compare', title: kViewTitles.compare, block: 'compare', print: true, create };
