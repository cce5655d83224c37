// View: many runs of one size, such as the members of a job array: which took longer than the others, and why.

import { el, empty, legend, name, number, section, svg } from './elements.mjs';
import { count, percent, plainName, time } from './quantities.mjs';
import { table } from './tables.mjs';
import { kViewTitles } from './view_titles.mjs';

const kKinds = { slow: ['#d55e00', 'slow'], typical: ['#8c8c8c', 'typical'], fast: ['#0072b2', 'fast'] };
const kWidth = 900, kHeight = 150, kLeft = 60, kTop = 8, kBottom = 10;

const seconds = (s) => time(s * 1e9);
const change = (ratio) => `${ratio < 1 ? '−' : '+'}${percent(Math.abs(ratio - 1))}`;

// The members by their times, one bar each.
function strip(ensemble, pick) {
  const { members, median_seconds: median, margin_seconds: margin } = ensemble;
  const most = Math.max(1e-12, ...members.map((member) => member.seconds));
  const y = (s) => kHeight - kBottom - (s / most) * (kHeight - kTop - kBottom);
  const step = (kWidth - kLeft) / members.length;
  return svg('svg', { viewBox: `0 0 ${kWidth} ${kHeight}`, role: 'img', 'aria-label': 'times of the members', class: 'chart' },
    members.map((member, i) => svg('rect', { x: (kLeft + i * step).toFixed(2), y: y(member.seconds).toFixed(2), width: Math.max(0.5, step * (members.length > 200 ? 1 : 0.85)).toFixed(2), height: Math.max(0, kHeight - kBottom - y(member.seconds)).toFixed(2), fill: kKinds[member.kind][0], on: { click: () => pick(member) } },
      svg('title', {}, `${member.archive}: ${seconds(member.seconds)}, ${change(member.to_median)}`))),
    [[median, null], [median - margin, '3 3'], [median + margin, '3 3']].filter(([s]) => s > 0 && s <= most).map(([s, dash]) => svg('line', { x1: kLeft, x2: kWidth, y1: y(s), y2: y(s), stroke: 'var(--text)', 'stroke-dasharray': dash, 'stroke-width': dash ? 0.7 : 1 })),
    svg('text', { x: kLeft - 6, y: y(median) + 4, 'text-anchor': 'end', fill: 'var(--muted)', 'font-size': 11 }, seconds(median)));
}

function moreList(title, list) {
  return list.length > 0 && [el('h4', {}, title), el('ul', {}, list.map((more) => el('li', {}, name(plainName(more.text), 110), ': ',
    `${more.more_thread_seconds < 0 ? '−' : '+'}${seconds(Math.abs(more.more_thread_seconds))}`)))];
}

function details(member) {
  return [el('h3', {}, name(member.archive, 120), ' ', member.report && el('a', { href: `./${member.report.split('/').map(encodeURIComponent).join('/')}` }, 'its report')),
    el('p', { class: 'hint' }, `${seconds(member.seconds)}, ${change(member.to_median)} to the median; threads had no core for ${percent(member.no_core_share)} of the time`),
    moreList('More than the typical members, of all threads, by account', member.more_by_account),
    moreList('By call path', member.more_by_call_path),
    el('h4', {}, 'Root causes'),
    member.causes.length ? el('ol', { class: 'findings' }, member.causes.map((cause, i) => el('li', { class: 'finding plain' }, el('span', { class: 'rank' }, String(i + 1)),
      el('p', { class: 'sentence' }, plainName(`${cause.what}: ${cause.text}`)), cause.hint && el('p', { class: 'hint' }, plainName(cause.hint))))) : empty('None that costs a hundredth of the time.')];
}

async function create(root, page) {
  const ensemble = await page.data.json('ensemble');
  const { members } = ensemble;
  const of = (kind) => members.filter((member) => member.kind === kind).length;
  const chosen = el('div', { class: 'growth' });
  const show = (member) => chosen.replaceChildren(...details(member).flat(2).filter(Boolean));
  root.append(section('Which members differ', `more than ${seconds(ensemble.margin_seconds)} from the median, ${seconds(ensemble.median_seconds)}: ${count(of('slow'))} slow, ${count(of('fast'))} fast of ${count(members.length)}`,
    ensemble.findings.length
      ? el('ol', { class: 'findings' }, ensemble.findings.map((text, i) => el('li', { class: 'finding plain' }, el('span', { class: 'rank' }, String(i + 1)), el('p', { class: 'sentence' }, plainName(text)))))
      : empty('No member differs.'),
    strip(ensemble, show), legend(Object.keys(kKinds).filter(of).map((kind) => kKinds[kind]))));
  const most = Math.max(1e-12, ...members.map((member) => member.seconds));
  const at = new Map(members.map((member, i) => [member, i]));
  const key = (what) => (member) => `ensemble.members.${at.get(member)}.${what}`;
  root.append(section('Members', 'choose one to see what it has more than the others, and its root causes',
    table('members', [
      { title: 'Member', left: true, value: (m) => m.archive, text: (m) => name(m.archive, 60) },
      { title: 'Kind', left: true, value: (m) => m.kind },
      { title: 'Time', csv: 'seconds', value: (m) => m.seconds, text: (m) => number(m.seconds, seconds(m.seconds), key('seconds')(m)), bar: (m) => m.seconds / most, color: (m) => kKinds[m.kind][0] },
      { title: 'To median', csv: 'to_median', value: (m) => m.to_median, text: (m) => number(m.to_median, change(m.to_median), key('to_median')(m)) },
      { title: 'Efficiency', csv: 'parallel_efficiency', value: (m) => m.parallel_efficiency, text: (m) => number(m.parallel_efficiency, percent(m.parallel_efficiency), key('parallel_efficiency')(m)) },
      { title: 'First root cause', left: true, value: (m) => m.causes[0]?.what ?? '', text: (m) => (m.causes.length ? name(plainName(`${m.causes[0].what} ${m.causes[0].where}`), 70) : '–') },
      { title: 'Its share', csv: 'cause_share', value: (m) => m.causes[0]?.share ?? 0, text: (m) => (m.causes.length ? number(m.causes[0].share, percent(m.causes[0].share), key('causes.0.share')(m)) : '–') },
    ], members, { most: 24, sort: 2, pick: show }), chosen));
  show(members[0]);
  const notes = [...ensemble.notes, ...page.report.limits];
  if (notes.length) root.append(section('Notes', null, el('ul', {}, notes.map((note) => el('li', {}, plainName(note))))));
  return {};
}

export const ensemble = { id: 'ensemble', title: kViewTitles.ensemble, block: 'ensemble', print: true, create };
