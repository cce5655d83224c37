// View 7: why the program waits: metric, call path, system, three trees that hang together. What is chosen
// in one decides what the next shows, and stays chosen.

import { button, choice, copyText, el, empty, name, number, replace, section } from './elements.mjs';
import { writtenTime } from './gaps.mjs';
import { kOver, scaleLegend } from './heat_view.mjs';
import { inkOn, scaleColor } from './palette.mjs';
import { count, csv, percent, place, plainName, ranges, shortSite, time } from './quantities.mjs';
import { usualTop } from './series.mjs';
import { Forest, Severities } from './severity.mjs';
import { rangeFollower, rangeHint } from './chosen_range.mjs';
import { PathFinder, waitsOfRange } from './range_paths.mjs';
import { Tree } from './trees.mjs';
import { kViewTitles } from './view_titles.mjs';

// Ranks, and their threads below them where there are several.
function system(locations) {
  const ranks = [...new Set(locations.map((each) => each.rank))];
  const several = new Set(locations.map((each) => each.rank)).size < locations.length;
  const nodes = [{ text: 'all', location: -1, parent: -1 }];
  for (const rank of ranks) {
    const mine = locations.map((each, i) => ({ ...each, i })).filter((each) => each.rank === rank);
    const one = mine.length === 1;
    nodes.push({ text: ranks.length > 1 || !several ? `rank ${rank}` : 'process', location: one ? mine[0].i : -1, parent: 0, rank });
    if (one) continue;
    const parent = nodes.length - 1;
    for (const each of mine) nodes.push({ text: `thread ${each.thread}`, location: each.i, parent, rank });
  }
  return nodes;
}

const swatch = (share, v) => el('i', { class: 'swatch', style: { background: v ? scaleColor(share) : 'transparent' } });

function topology(box, grids, byRank) {
  const { top, most } = usualTop([...byRank.values()]);
  replace(box, grids.filter((grid) => grid.sizes.length >= 1 && grid.sizes.length <= 3).map((grid) => {
    const [z, y, x] = grid.sizes.length === 3 ? grid.sizes : grid.sizes.length === 2 ? [1, ...grid.sizes] : [1, 1, grid.sizes[0]];
    const layers = Array.from({ length: z }, (_, k) => el('div', {}, z > 1 && el('h3', {}, `layer ${k}`),
      el('div', { class: 'topology', style: { 'grid-template-columns': `repeat(${x}, ${x > 16 ? '26px' : 'minmax(46px, 1fr)'})` } },
        grid.ranks.slice(k * x * y, (k + 1) * x * y).map((rank) => {
          const v = byRank.get(rank) ?? 0, color = v > top ? kOver : scaleColor(v / (top || 1));
          return el('span', { title: `rank ${rank}: ${time(v * 1e9)}`, style: { background: color, color: inkOn(color) } }, x > 16 ? '' : String(rank), x <= 10 && el('small', {}, time(v * 1e9, 2)));
        }))));
    return el('div', {}, el('p', { class: 'hint' }, `communicator `, name(grid.name || '(no name)', 50), `, ${grid.sizes.join(' × ')}${grid.periodic?.some(Boolean) ? ', periodic' : ''}`), most > top && el('p', { class: 'hint' }, scaleLegend(0, top, (v) => time(v * 1e9, 3), 'viridis', most)), el('div', { class: 'layers' }, layers));
  }));
}

class Waits {
  constructor(root, page, analyze, values, findings) {
    Object.assign(this, { page, analyze });
    // Estimates of the whole run by metric and call path, with the numbers that the findings have.
    this.found = new Map(findings.map((each, i) => [`${each.evidence?.metric} ${each.evidence?.wait_path}`, { ...each, index: i }]).filter(([, each]) => each.evidence?.view === 'waits' && each.seconds != null));
    this.reduced = analyze.gaps > 0 && Object.keys(analyze.whole_run ?? {}).length > 0;
    this.tree = analyze.metric_tree;
    const index = new Map(this.tree.map((metric, i) => [metric.name, i]));
    this.index = index;
    this.metrics = new Forest(this.tree.map((metric) => (metric.parent == null ? -1 : index.get(metric.parent) ?? -1)));
    this.paths = analyze.paths;
    this.pathForest = new Forest(this.paths.map((path) => path.parent ?? -1));
    this.nodes = system(analyze.locations);
    this.systemForest = new Forest(this.nodes.map((node) => node.parent));
    this.all = values.values;
    this.note = el('p', { class: 'hint', role: 'status', hidden: true });
    this.inclusive = true;
    this.metric = index.get(analyze.findings?.[0]?.metric) ?? 0;
    this.path = -1;
    this.location = 0;
    this.systemAll = new Float64Array(this.nodes.length);
    this.#take(this.all);
    this.#make(root);
    this.refresh();
  }

  #take(values) {
    this.severities = new Severities(values, this.metrics, this.pathForest, this.analyze.locations.length);
    this.#sumMetrics();
  }

  // Severities of a range: its waits only; null: of the whole run.
  range(values, rows, begin, end) {
    this.inRange = values != null;
    this.#take(values ?? this.all);
    this.whole = this.inRange ? writtenTime(rows, begin, end) / 1e9 || 1 : this.metricAll[this.index.get('time') ?? 0] || 1;
    this.note.hidden = !this.inRange;
    this.note.textContent = this.inRange ? `Waits only. ${rangeHint(rows, begin, end)}. ${rows.count < this.analyze.locations.length ? 'One thread of each group is counted. ' : ''}Other times (execution, MPI, OpenMP) and estimates are for the whole run: clear the selection to see them.` : '';
    this.#hide();
    this.refresh(true);
  }

  // Metrics that are 0, with all below them, are left out of the tree.
  #hide() {
    const shown = (i) => this.metricAll[i] !== 0;
    this.metricForest.roots = this.metrics.roots.filter(shown);
    this.metricForest.children = this.metrics.children.map((list) => list.filter(shown));
  }

  #sumMetrics() {
    this.metricOwn = this.severities.byMetric();
    this.metricAll = this.metrics.inclusive(this.metricOwn);
  }

  shown(node) { return this.inclusive ? this.metricAll[node] : this.metricOwn[node]; }

  #make(root) {
    const whole = this.metricAll[this.index.get('time') ?? 0] || 1;
    this.whole = whole;
    const figure = (v, key) => [el('span', { class: 'figure' }, number(v, time(v * 1e9, 3), key)), el('span', { class: 'share' }, percent(v / this.whole))];
    this.metricForest = new Forest(this.metrics.parents);
    this.#hide();
    this.metricTree = new Tree({
      forest: this.metricForest, title: 'metrics', height: 460, open: 4, label: (i) => `${this.tree[i].title}, ${time(this.shown(i) * 1e9)}`,
      row: (i) => {
        const v = this.shown(i), key = this.inclusive && !this.inRange ? `analyze.metrics.${this.tree[i].name}` : null;
        return [swatch(v / (this.metricAll[i] > 0 ? Math.max(...this.metricForest.roots.map((r) => this.metricAll[r])) : 1), v), ...figure(v, key), el('span', { class: 'label', title: this.tree[i].description }, this.tree[i].title || this.tree[i].name)];
      },
      pick: (i) => this.page.selection.set({ metric: this.tree[i].name }),
    });
    this.pathTree = new Tree({
      forest: this.pathForest, title: 'call paths', height: 460, open: 5, order: (i) => this.pathAll?.[i] ?? 0, label: (i) => `${this.paths[i].name}, ${time(this.pathShown(i) * 1e9)}`,
      row: (i) => {
        const v = this.pathShown(i), path = this.paths[i];
        return [swatch(v / (this.pathMost || 1), v), ...figure(v), el('span', { class: 'label' }, name(plainName(path.name) || 'program', 64), ' ', el('span', { class: 'where' }, shortSite(path.site) || (path.name?.includes('@') ? '' : place(path.file, path.line))))];
      },
      dim: (i) => !this.pathShown(i), pick: (i) => this.page.selection.set({ wait_path: i }),
    });
    this.systemTree = new Tree({
      forest: this.systemForest, title: 'ranks and threads', height: 460, open: this.nodes.length > 60 ? 1 : 2, label: (i) => `${this.nodes[i].text}, ${time(this.systemAll[i] * 1e9)}`,
      row: (i) => [swatch(this.systemAll[i] / (this.systemMost(i) || 1), this.systemAll[i]), ...figure(this.systemAll[i]), el('span', { class: 'label' }, this.nodes[i].text)],
      dim: (i) => !this.systemAll[i], pick: (i) => this.page.selection.set({ location: this.nodes[i].location >= 0 ? this.nodes[i].location : null }),
    });
    this.about = el('div', { class: 'hint', 'aria-live': 'polite' });
    this.scale = el('span');
    this.topologyBox = el('div');
    const switcher = choice('values', [['in', 'inclusive', 'inclusive'], ['ex', 'exclusive', 'exclusive']], 'in', (v) => { this.inclusive = v === 'in'; this.refresh(true); });
    const of = this.reduced ? ', seen in the events of the archive' : '';
    root.append(el('section', { class: 'card' }, this.about), el('div', { class: 'bar-row' }, switcher, this.scale,
      button('copy as CSV', () => this.copy(), { class: 'quiet' }), button('on the timeline', () => this.page.go('timeline', { metric: this.tree[this.metric].name }), { class: 'quiet' })),
    this.note, el('div', { class: 'three' },
      section('Metric', `kind of wait${of}`, this.metricTree.box), section('Call path', `place in the program${of}`, this.pathTree.box), section('System', `rank and thread${of}`, this.systemTree.box)));
    if (this.analyze.grids?.length) root.append(section('Topology', 'selected metric and call path over the Cartesian communicator', this.topologyBox));
    this.bounds(root);
  }

  // What is estimated of the whole run, where events are missing.
  bounds(root) {
    const whole = this.analyze.whole_run;
    if (!whole || !Object.keys(whole).length) return;
    this.boundsBox = el('p', {});
    root.append(section('Whole run', 'the trees show waits in the events of the archive; this estimates the whole run from the summary, with bounds', this.boundsBox));
  }

  pathShown(i) { return (this.inclusive ? this.pathAll : this.pathOwn)?.[i] ?? 0; }
  systemMost(i) { return this.nodes[i].location >= 0 ? this.locationMost : this.nodes[i].parent < 0 ? this.systemAll[0] : this.rankMost; }

  refresh(all = false) {
    if (all) { this.metricTree.change(); }
    this.pathOwn = this.severities.byPath(this.metric, this.inclusive);
    this.pathAll = this.pathForest.inclusive(this.pathOwn);
    this.pathMost = Math.max(1e-12, ...this.pathForest.roots.map((r) => this.pathAll[r]), ...(this.inclusive ? [] : [Math.max(...this.pathOwn)]));
    const byLocation = this.severities.byLocation(this.metric, this.inclusive, this.path, this.inclusive);
    const own = Float64Array.from(this.nodes, (node) => (node.location >= 0 ? byLocation[node.location] : 0));
    this.systemAll = this.systemForest.inclusive(own);
    this.locationMost = Math.max(...byLocation, 0);
    this.rankMost = Math.max(...this.nodes.map((node, i) => (node.parent === 0 ? this.systemAll[i] : 0)));
    this.pathTree.change();
    this.systemTree.change();
    this.metricTree.choose(this.metric);
    this.pathTree.choose(this.path >= 0 ? this.path : -1);
    const byRank = new Map();
    this.nodes.forEach((node, i) => { if (node.parent === 0) byRank.set(node.rank, this.systemAll[i]); });
    if (this.analyze.grids?.length) topology(this.topologyBox, this.analyze.grids, byRank);
    replace(this.scale, scaleLegend(0, this.pathMost, (v) => time(v * 1e9, 3)));
    this.#words();
  }

  #words() {
    const metric = this.tree[this.metric];
    const v = this.path >= 0 ? this.pathShown(this.path) : this.shown(this.metric);
    const byRankMany = this.nodes.filter((node) => node.parent === 0).length > 1;
    const ranks = this.nodes.map((node, i) => ({ ...node, v: this.systemAll[i] })).filter((node) => node.parent === 0 && node.v > 0.5 * this.rankMost && node.v > 0).map((node) => node.rank).sort((a, b) => a - b);
    replace(this.about, el('p', {}, el('b', {}, metric.title || metric.name), ` (${metric.name}): ${metric.description ?? ''}`),
      el('p', { data: { of: 'seen' } }, el('b', {}, this.inRange ? 'In the range: ' : this.reduced ? 'In the events of the archive: ' : 'All events are in the archive: '), `${time(v * 1e9)}, ${percent(v / this.whole)} of the time of all threads`, this.path >= 0 && [' in ', name(plainName(this.paths[this.path].name), 80)], ranks.length && byRankMany ? `, mostly by rank ${ranges(ranks).slice(0, 120)}` : ''), this.#estimate());
    const est = this.analyze.whole_run?.[metric.name];
    if (this.boundsBox) replace(this.boundsBox, est ? ['seen ', number(est.seen, time(est.seen * 1e9), `analyze.whole_run.${metric.name}.seen`), ', estimated ', el('b', {}, number(est.seconds, time(est.seconds * 1e9), `analyze.whole_run.${metric.name}.seconds`)), ', at least ', number(est.minimum, time(est.minimum * 1e9), `analyze.whole_run.${metric.name}.minimum`), ', at most ', number(est.maximum, time(est.maximum * 1e9), `analyze.whole_run.${metric.name}.maximum`)] : 'No estimate of this metric.');
  }

  // "main > solve > MPI_Recv (solve.c:12)"
  pathText(i) {
    const steps = [];
    for (let at = i; at > 0; at = this.paths[at].parent ?? 0) steps.push(this.paths[at].name + (this.paths[at].site ? ` (${this.paths[at].site})` : ''));
    return steps.reverse().join(' > ') || this.paths[0].name;
  }

  // Of the whole run, where not all of it is written.
  #estimate() {
    if (!this.reduced || this.inRange) return null;
    const { name: metric } = this.tree[this.metric], found = this.found.get(`${metric} ${this.path}`), all = this.analyze.metrics?.time || this.whole;
    const of = (figure, share, ...more) => el('p', { data: { of: 'estimate' } }, el('b', {}, 'Whole run, estimated: '), 'about ', figure, share == null ? '' : `, ${percent(share)} of the time of all threads`, ...more);
    if (found) {
      const idle = (this.analyze.findings ?? []).some((each) => each.metric === metric && each.idle_seconds > 0 && each.whole_run_seconds < found.seconds * (1 - 1e-9));
      return of(number(found.seconds, time(found.seconds * 1e9), `findings.${found.index}.seconds`), found.share, idle ? ', including idle worker threads' : '', ' (same as its finding)');
    }
    const whole = this.analyze.whole_run[metric];
    if (this.path >= 0) return el('p', { class: 'hint' }, 'This report has estimates of the whole run for findings only, not for this metric and call path.');
    return whole ? of(number(whole.seconds, time(whole.seconds * 1e9), `analyze.whole_run.${metric}.seconds`), whole.seconds / (all || 1)) : null;
  }

  copy() {
    const rows = [];
    const { values } = this.severities;
    const inside = this.metrics.below(this.metric);
    for (let i = 0; i < values.length; i += 4) {
      if (!inside[values[i]]) continue;
      const path = this.paths[values[i + 1]], at = this.analyze.locations[values[i + 2]];
      rows.push([this.tree[values[i]].name, path ? this.pathText(values[i + 1]) : '', path?.file ?? '', path?.line ?? '', at?.rank ?? '', at?.thread ?? '', values[i + 3]]);
    }
    copyText(csv(['metric', 'call_path', 'file', 'line', 'rank', 'thread', 'seconds'], rows), `${this.tree[this.metric].name} is copied: ${count(rows.length)} rows`);
  }
}

async function create(root, page) {
  const [analyze, values, findings] = await Promise.all([page.json('analyze'), page.arrayOr('analyze/values', [0, 4]), page.jsonOr('findings', [])]);
  if (!values.values.length) {
    root.append(el('div', { class: 'card' }, empty('No waits were found in the events of the archive.')));
    return {};
  }
  const waits = new Waits(root, page, analyze, values, findings);
  let finder = null;
  const locations = new Map(analyze.locations.map((each, i) => [each.location, i]));
  const follow = rangeFollower(page, (rows, begin, end) => {
    finder ??= new PathFinder(analyze.paths, rows.about.regions, 0);
    return waitsOfRange(rows, finder, (r) => locations.get(rows.about.rows[r][2]) ?? -1, begin, end);
  }, (values, rows, begin, end) => waits.range(values, rows, begin, end));
  if (analyze.problems?.length) root.append(section('Notes', null, el('ul', {}, analyze.problems.map((text) => el('li', {}, name(text, 400))))));
  return {
    waits,
    update(selection) {
      const { metric, wait_path: path } = selection.state;
      const index = waits.index.get(metric) ?? waits.metric;
      const at = path != null && waits.paths[path] ? path : -1;
      if (index !== waits.metric || at !== waits.path) {
        waits.metric = index;
        waits.path = at;
        waits.refresh();
      }
      follow(selection);
    },
    repaint: () => waits.refresh(true),
  };
}

export const waits = {
  id: 'waits', title: kViewTitles.waits, print: true, create,
  missing: (page) => !page.has('analyze') && 'This report has no wait analysis: the archive has no events.',
};
