// View 1: what is wrong, in sentences: root causes, most time first; folded below them waits and iterations, which show them; then facts, how the
// time is divided, and the efficiencies.

import { classBar, classLegend, classList, classTable } from './class_bars.mjs';
import { button, el, empty, name, number, replace, section } from './elements.mjs';
import { Functions } from './functions.mjs';
import { kViewTitles } from './view_titles.mjs';
import { count, percent, plural, time } from './quantities.mjs';
import { table } from './tables.mjs';

const kKinds = {
  cause: ['root cause', '#b2182b'], wait: ['waiting', '#d55e00'], imbalance: ['imbalance', '#e69f00'], efficiency: ['efficiency', '#7b5ea7'], overhead: ['overhead', '#cc79a7'],
  detection: ['Loops', '#0072b2'], loss: ['not recorded', '#8a9199'],
};
const kFew = 8;

// A number and its unit stand in one line.
const unbroken = (text) => String(text ?? '').replace(/(\d) (?=(%|s|ms|us|ns)(?![\w]))/g, '$1\u00a0');

// The functions in which its places are, as far as its text does not have them.
function inside({ text }, functions) {
  const byName = new Map();
  for (const [place, name] of functions.inText(text))
    if (!text.includes(`${name} ${place}`)) byName.set(name, [...(byName.get(name) ?? []), place]);
  return byName.size > 0 && el('p', { class: 'hint functions' }, 'in function ', [...byName].map(([each, places], i) => [i ? ', ' : '', el('b', {}, name(each, 80)), ' (', name(places.join(', '), 120), ')']));
}

// Names and places in a sentence may be anything: it stands isolated as a whole.
function card(page, { finding, index }, rank, functions) {
  const [kind, color] = kKinds[finding.kind] ?? [finding.kind, '#8a9199'];
  const { evidence } = finding;
  const ns = finding.seconds * 1e9;
  return el('li', { class: 'finding', style: { '--kind': color } },
    el('span', { class: 'rank' }, String(rank)),
    el('div', {}, finding.seconds != null
      ? [el('span', { class: 'lost' }, number(finding.seconds, time(ns, 3), `findings.${index}.seconds`)), ' ',
        el('span', { class: 'hint' }, percent(finding.share)),
        el('div', { class: 'meter', role: 'presentation' }, el('i', { style: { width: `${Math.min(100, 100 * finding.share)}%` } }))]
      : el('span', { class: 'hint' }, 'note')),
    el('div', {},
      el('p', { class: 'sentence' }, name(unbroken(finding.text), 1500), ' ', el('span', { class: 'kind' }, kind)),
      inside(finding, functions),
      finding.hint && el('p', { class: 'hint' }, name(unbroken(finding.hint), 600))),
    evidence?.view && evidence.view !== 'findings'
      ? el('a', { class: 'see', href: page.href(evidence), data: { view: evidence.view }, on: { click: (event) => {
        event.preventDefault();
        const { view, ...selection } = evidence;
        page.go(view, selection);
      } } }, `see: ${evidence.view === 'mpi' ? 'MPI' : (kViewTitles[evidence.view] ?? evidence.view).toLowerCase()} →`)
      : el('span'));
}

function efficiencies(tree) {
  const rows = [];
  const add = (node, level) => {
    const color = node.value >= 0.8 ? '#009e73' : node.value >= 0.6 ? '#e69f00' : '#d55e00';
    rows.push(el('li', { style: { '--level': String(level), '--c': color } },
      el('span', { class: level ? 'label' : 'label root' }, level ? '× ' : '', name(node.name, 60)),
      el('span', { class: 'share' }, number(node.value, percent(node.value), node.key ? `profile.efficiencies.${node.key}` : null)),
      el('div', { class: 'meter' }, el('i', { style: { width: `${Math.max(0, Math.min(1, node.value)) * 100}%` } })),
      el('span', { class: 'hint' }, name(node.meaning ?? '', 300))));
    for (const child of node.children ?? []) add(child, level + 1);
  };
  for (const node of Array.isArray(tree) ? tree : [tree]) if (node && node.name) add(node, 0);
  return rows.length ? el('ul', { class: 'efficiency' }, rows) : empty('No efficiencies are known for this run.');
}

function seen(profile, info) {
  const lines = [];
  if (profile) lines.push(['figures', profile.source === 'summary' && !profile.events_seen ? 'no OpenMP, no MPI and no user regions ran: all time is that of the program itself' : profile.source === 'summary'
    ? `exact: all ${count(profile.events_seen)} events of the run`
    : `from the ${count(profile.events_written)} events in the archive`]);
  if (profile?.source === 'summary' && profile.events_seen) lines.push(['events', `${count(profile.events_written)} of ${count(profile.events_seen)} are in the archive (${percent(profile.events_written / profile.events_seen)}): waits and the timeline are of those`]);
  if (info?.events_lost) lines.push(['lost', `${count(info.events_lost)} events`]);
  if (profile?.locations_without) lines.push(['not counted', plural(profile.locations_without, 'thread') + ' had no memory for a summary']);
  return lines;
}

async function create(root, page) {
  const [list, tree, profile, info, functions] = await Promise.all([
    page.jsonOr('findings', []), page.jsonOr('efficiency', null), page.jsonOr('profile', null), page.jsonOr('info', null), Functions.read(page)]);
  const numbered = list.map((finding, index) => ({ finding, index }));
  const causes = numbered.filter(({ finding }) => finding.kind === 'cause'), notes = numbered.filter(({ finding }) => finding.kind !== 'cause' && finding.seconds == null);
  const evidence = numbered.filter(({ finding }) => finding.kind !== 'cause' && finding.seconds != null);
  const listOf = (part) => {
    const box = el('ol', { class: 'findings' }), more = el('div', { class: 'more' });
    const show = (all) => {
      replace(box, (all ? part : part.slice(0, kFew)).map((each, i) => card(page, each, i + 1, functions)));
      replace(more, !all && button(`${count(part.length - kFew)} smaller ones`, () => show(true)));
    };
    show(part.length <= kFew + 2);
    return [box, more];
  };
  const classes = profile?.classes ?? {};
  const useful = (classes.useful_ns ?? classes.useful ?? 0) / (profile?.time_ns || 1);
  const facts = page.facts;
  const note = el('p', { class: 'hint', role: 'status', hidden: true }, 'Findings and efficiencies are for the whole run; the selected range does not apply.');
  root.append(note,
    el('section', { class: 'card' },
      el('div', { class: 'big' },
        profile && el('div', {}, el('span', { class: 'value' }, number(profile.run_ns, time(profile.run_ns), 'profile.run_ns')), el('span', { class: 'what' }, 'the run took')),
        profile && el('div', {}, el('span', { class: 'value' }, number(profile.time_ns, time(profile.time_ns), 'profile.time_ns')), el('span', { class: 'what' }, (facts.locations ?? 0) === 1 ? 'time of its thread' : `time of all ${plural(facts.locations ?? profile.locations?.length ?? 0, 'thread')}`)),
        profile && el('div', {}, el('span', { class: 'value' }, percent(useful)), el('span', { class: 'what' }, 'useful computation')),
        list.length > 0 && list[0].seconds > 0 && el('div', {}, el('span', { class: 'value' }, percent(list[0].share)), el('span', { class: 'what' }, causes.length ? 'largest root cause' : 'largest single loss'))),
      profile && classBar(classes, profile.time_ns),
      profile && el('div', { style: { 'margin-top': '8px' } }, classLegend(classList(classes).map(({ key }) => key)))),
    section('Root causes', 'most time first; share of the time of all threads, without start and end of MPI. Causes do not overlap.',
      causes.length ? listOf(causes) : empty('No root cause with a notable loss was found.'),
      evidence.length > 0 && el('details', { class: 'evidence', open: !causes.length },
        el('summary', {}, el('b', {}, causes.length ? 'Evidence' : 'What takes the time'), el('span', { class: 'hint' }, ` ${plural(evidence.length, 'sentence')}: waits and iterations ${causes.length ? 'that show these causes' : 'in the run'}. They may overlap and do not add up.`)),
        listOf(evidence))),
    notes.length > 0 && section('Notes', 'what is in the archive, where the pattern changed, what was lost', listOf(notes)),
    el('div', { class: 'columns' },
      section('Efficiency', 'each is the product of those below it; 100 %: no loss', efficiencies(tree)),
      profile && (() => {
        const { columns, rows } = classTable(classes, 'profile.classes');
        return section('Time by class', 'every moment of every thread belongs to one class', table('time by class', columns, rows));
      })()),
    section('Source of these figures', null,
      el('dl', { class: 'facts' }, seen(profile, info).map(([what, text]) => [el('dt', {}, what), el('dd', {}, text)]),
        (page.report.limits ?? []).map((text) => [el('dt', {}, 'left out'), el('dd', {}, name(text, 300))]),
        el('dt', {}, 'made by'), el('dd', {}, name(page.report.made_by ?? 'refrain', 80)))));
  return { update: ({ state }) => { note.hidden = state.begin_ns == null && state.first == null; } };
}

export const findings = { id: 'findings', title: kViewTitles.findings, print: true, create };
