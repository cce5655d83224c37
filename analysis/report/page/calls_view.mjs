// View 6: the call tree and, next to it, the flow graph of what is called inside the chosen node
// (Furlinger and Skinner, section 4): what it calls directly is drawn, what is deeper stands for
// itself as the child through which it is reached, and its neighbours outside are dotted.

import { button, choice, copyText, el, empty, name, number, section } from './elements.mjs';
import { FlowPicture } from './flow_picture.mjs';
import { writtenTime } from './gaps.mjs';
import { scaleLegend } from './heat_view.mjs';
import { locationNames } from './locations.mjs';
import { className, scaleColor } from './palette.mjs';
import { bytes, count, csv, percent, place, plainName, shortSite, time } from './quantities.mjs';
import { Forest } from './severity.mjs';
import { table } from './tables.mjs';
import { regionTable, rangeBox, rangeFollower, rangeHint } from './chosen_range.mjs';
import { levelOfRange, PathFinder, pathsOfRange, transitionsOfRange } from './range_paths.mjs';
import { Tree } from './trees.mjs';
import { kViewTitles } from './view_titles.mjs';

const kMeasures = {
  time: ['time', (p) => p.time_ns, time, 'time_ns'], own: ['own time', (p) => p.own_ns, time, 'own_ns'],
  bytes: ['bytes', (p) => p.bytes_sent + p.bytes_received, bytes, null], visits: ['visits', (p) => p.visits, count, 'visits'],
};

export const pathTitle = (path) => plainName(path.name) || '(no name)';

async function create(root, page) {
  const [profile, graph, events, values] = await Promise.all([page.json('profile'), page.jsonOr('graph', null), page.jsonOr('graph/events', null), page.arrayOr('profile/values', [0, 7])]);
  const { paths } = profile;
  if (!paths.length) {
    root.append(el('div', { class: 'card' }, empty('No regions are in this profile.')));
    return {};
  }
  const forest = new Forest(paths.map((path) => path.parent ?? -1));
  let whole = profile.time_ns || 1;
  let measure = 'time', inRange = null;  // figures of a chosen range, by path
  const valueOf = (node) => (inRange ? inRange[measure]?.[node] : kMeasures[measure][1](paths[node])) || 0;
  let most = 1;
  const largest = () => { most = Math.max(1e-9, ...paths.map((_, i) => valueOf(i))); };
  largest();
  const tree = new Tree({
    forest, title: 'call tree', height: 560, open: 4, order: (node) => valueOf(node), label: (node) => `${pathTitle(paths[node])}, ${kMeasures[measure][2](valueOf(node))}`,
    row: (node) => {
      const path = paths[node], [, , format, key] = kMeasures[measure], v = valueOf(node);
      return [el('i', { class: 'swatch', style: { background: scaleColor(v / most, 'cividis') } }),
        el('span', { class: 'figure' }, number(v, format(v), !inRange && key && `profile.paths.${path.path ?? node}.${key}`)),
        measure === 'time' || measure === 'own' ? el('span', { class: 'share' }, percent(v / whole)) : el('span', { class: 'share' }, ''),
        el('span', { class: 'label' }, name(pathTitle(path), 70), ' ', el('span', { class: 'where' }, shortSite(path.site) || (path.name?.includes('@') ? '' : place(path.file, path.line))))];
    },
    dim: (node) => !valueOf(node), pick: (node) => page.selection.set({ path: node }),
  });

  const levels = graph?.levels ?? [];
  const byPath = new Map(levels.map((level, i) => [level.path ?? -1, i]));
  const picture = new FlowPicture('flow graph', (node) => node.path != null && page.selection.set({ path: node.path }),
    (node) => { if (byPath.has(node.path)) showLevel(byPath.get(node.path)); else if (node.path != null) page.selection.set({ path: node.path }); });
  const crumbs = el('span', { class: 'hint' }), scale = el('span');
  let at = -1, showEvents = false;
  function showLevel(i) {
    at = i;
    let level = showEvents ? events?.levels?.[0] : levels[i];
    if (!level) return;
    if (!showEvents && inRange?.transitions) level = levelOfRange(level, inRange, inRange.transitions, whole);
    picture.by = measure === 'own' ? 'own_ns' : measure === 'bytes' ? 'bytes' : measure === 'visits' ? 'visits' : 'time_ns';
    picture.show(level, page.selection.get('path'));
    crumbs.replaceChildren(showEvents ? 'order of MPI calls and parallel regions' : 'inside ', ...(showEvents ? [] : [name(level.path == null ? 'the program' : level.name || pathTitle(paths[level.path] ?? {}), 60)]));
    const top = Math.max(...level.nodes.map((node) => node[picture.by] ?? 0), 0);
    scale.replaceChildren(scaleLegend(0, top, kMeasures[measure][2], 'cividis'));
  }
  // Where the outermost level has but one node, what is inside of that says more.
  function outermost() {
    let i = byPath.get(-1) ?? 0;
    for (;;) {
      const inner = levels[i]?.nodes.filter((node) => node.path != null) ?? [];
      if (inner.length !== 1 || !byPath.has(inner[0].path) || byPath.get(inner[0].path) === i) return i;
      i = byPath.get(inner[0].path);
    }
  }
  function levelFor(path) {
    if (path == null) return outermost();
    for (const node of forest.chain(path).reverse()) if (byPath.has(node)) return byPath.get(node);
    return byPath.get(-1) ?? 0;
  }

  const note = el('p', { class: 'hint', role: 'status', hidden: true });
  const follow = rangeFollower(page, (rows, begin, end) => {
    const finder = (page.callPaths ??= new Map()).get(page.run) ?? new PathFinder(paths, rows.about.regions);
    page.callPaths.set(page.run, finder);
    const { own, visits } = pathsOfRange(rows, finder, paths.length, begin, end);
    return { own, visits, time: forest.inclusive(own), transitions: transitionsOfRange(rows, finder, begin, end) };
  }, (figures, rows, begin, end) => {
    inRange = figures;
    whole = figures ? writtenTime(rows, begin, end) || 1 : profile.time_ns || 1;
    note.hidden = !figures;
    note.textContent = figures ? `${rangeHint(rows, begin, end)}: the call tree${figures.transitions ? ' and the flow graph of regions' : ''}. ${figures.transitions ? 'That of events' : 'The flow graph'} and the figures of a chosen node are for the whole run; bytes: whole run only.` : '';
    largest();
    tree.change();
    showLevel(at);
  });

  const details = el('div');
  const range = rangeBox(page, 'Own time of regions', 'of the events in the archive', regionTable);
  const names = locationNames(profile);
  function showDetails(node) {
    if (node == null || !paths[node]) return details.replaceChildren();
    const path = paths[node], rows = [];
    for (let i = 0; i < values.values.length; i += 7) if (values.values[i] === node) rows.push(values.values.subarray(i, i + 7));
    const top = Math.max(1, ...rows.map((r) => r[4]));
    details.replaceChildren(section('Selected node', null,
      el('p', {}, forest.chain(node).flatMap((each, i) => [i ? ' › ' : '', name(pathTitle(paths[each]), 60)])),
      el('dl', { class: 'facts' }, [['class of own time', className(path.class)], ['inclusive time', number(path.time_ns, time(path.time_ns), `profile.paths.${node}.time_ns`)], ['own time', number(path.own_ns, time(path.own_ns), `profile.paths.${node}.own_ns`)],
        ['visits', number(path.visits, count(path.visits), `profile.paths.${node}.visits`)], ['of one visit', `mean ${time(path.time_ns / Math.max(1, path.visits))}, from ${time(path.minimum_ns)} to ${time(path.maximum_ns)}`],
        path.bytes_sent + path.bytes_received > 0 && ['data', `${bytes(path.bytes_sent)} sent, ${bytes(path.bytes_received)} received`], path.file && ['place', name(`${path.file}:${path.line}`, 120)], path.site && ['called at', name(path.site, 120)]].filter(Boolean).map(([a, b]) => [el('dt', {}, a), el('dd', {}, b)])),
      rows.length > 0 && el('div', { style: { 'margin-top': '12px' } }, table('the node by thread', [
        { title: 'Thread', left: true, value: (r) => r[1], text: (r) => names[r[1]] ?? String(r[1]) },
        { title: 'Visits', value: (r) => r[2] }, { title: 'Own time', csv: 'own_ns', value: (r) => r[3], text: (r) => time(r[3]) },
        { title: 'Time', csv: 'time_ns', value: (r) => r[4], text: (r) => time(r[4]), bar: (r) => r[4] / top },
        { title: 'Sent', csv: 'bytes_sent', value: (r) => r[5], text: (r) => (r[5] ? bytes(r[5]) : '–') }, { title: 'Received', csv: 'bytes_received', value: (r) => r[6], text: (r) => (r[6] ? bytes(r[6]) : '–') },
      ], rows, { most: 8 }))));
  }

  const hasBytes = paths.some((path) => path.bytes_sent + path.bytes_received > 0);
  const by = choice('by', Object.entries(kMeasures).filter(([key]) => key !== 'bytes' || hasBytes).map(([key, [text]]) => [key, text]), 'time', (v) => { measure = v; largest(); tree.change(); showLevel(at); });
  const graphBox = levels.length || events?.levels?.length ? el('div', {},
    el('div', { class: 'bar-row' }, crumbs, button('up', () => {
      const level = levels[at];
      if (!level || level.path == null) return;
      showLevel(levelFor(paths[level.path]?.parent >= 0 ? paths[level.path].parent : null));
    }, { title: 'to the enclosing level' }), events?.levels?.length ? choice('graph of', [['flow', 'regions'], ['events', 'events']], 'flow', (v) => { showEvents = v === 'events'; showLevel(Math.max(0, at)); }) : null, scale), picture.box)
    : empty(graph?.error ? `No flow graph: ${graph.error}` : 'This report has no flow graph.');
  root.append(el('div', { class: 'bar-row' }, by),
    el('div', { class: 'columns' }, section('Call tree', 'all threads', note, tree.box, el('div', { class: 'more' }, csvButton(paths))), section('Flow graph', 'control flow; thicker lines: more often; double-click to open; Home: all of it', graphBox)), details, range);

  return {
    tree, picture,
    update(selection) {
      const path = selection.get('path');
      if (path != null && path !== tree.chosen && paths[path]) tree.choose(path);
      const level = levelFor(path);
      if (!showEvents) {
        // What is chosen is drawn among its neighbours, unless it is a level that was opened already.
        const parent = path != null && byPath.has(path) ? byPath.get(path) : level;
        showLevel(parent);
      } else showLevel(at);
      showDetails(path);
      range.follow(selection);
      follow(selection);
    },
    repaint: () => picture.draw(),
  };
}

function csvButton(paths) {
  return button('copy as CSV', () => {
    const keys = ['path', 'parent', 'name', 'file', 'line', 'site', 'class', 'visits', 'time_ns', 'own_ns', 'management_ns', 'minimum_ns', 'maximum_ns', 'bytes_sent', 'bytes_received'];
    copyText(csv(keys, paths.map((path) => keys.map((key) => path[key] ?? ''))), `the call tree is copied: ${count(paths.length)} rows`);
  }, { class: 'quiet' });
}

export const graph = {
  id: 'graph', title: kViewTitles.graph, print: true, create,
  missing: (page) => !page.has('profile') && 'This report has no profile, so there is no call tree.',
};
