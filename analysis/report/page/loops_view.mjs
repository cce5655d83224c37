// View 9: the loops of the program's code, where stacks were sampled: which could run in parallel, how long each is, in
// what it lies, and who calls whom (Moseley et al., sections 3 and 5). Numbers are those of `refrain loops --json`.

import { button, el, empty, name, number, replace, section } from './elements.mjs';
import { spanningParents } from './loop_forest.mjs';
import { scaleColor } from './palette.mjs';
import { count, percent, place, plural, time } from './quantities.mjs';
import { Forest } from './severity.mjs';
import { table } from './tables.mjs';
import { Tree } from './trees.mjs';
import { kViewTitles } from './view_titles.mjs';

const seconds = (counts) => time(counts.seconds * 1e9);

// "solve.c:42", "main", and what it is called where there is no line.
const titleOf = (node) => (node.loop ? place(node.file, node.line) || node.address : node.function || '(no name)');

// What was sampled, and what of it is missing.
function about({ sampling, total, commands }) {
  const lines = [['samples', [number(total.samples, count(total.samples), 'loops.total.samples'), `, one per ${time(sampling.period_ns)} of CPU time of a thread: `, number(total.seconds, seconds(total), 'loops.total.seconds')]],
    ['of', `${plural(commands.length, 'process', 'processes')}, ${plural(sampling.threads, 'thread')}`]];
  const say = (n, what) => { if (n > 0) lines.push(['note', `${count(n)} ${what}`]); };
  say(sampling.missed, 'were missed and are credited to the next one');
  say(sampling.shortened, 'without their inner part');
  say(sampling.not_followed, 'without their outer part');
  say(sampling.lost, 'are not shown here');
  say(sampling.threads_without, sampling.threads_without === 1 ? 'thread could not be sampled' : 'threads could not be sampled');
  for (const [what, n] of Object.entries(sampling.not_placed ?? {})) lines.push(['not placed', [`${count(n)} in `, name(what, 80)]]);
  return el('dl', { class: 'facts' }, lines.map(([what, text]) => [el('dt', {}, what), el('dd', {}, text)]));
}

class Loops {
  constructor(page, data) {
    Object.assign(this, { page, data });
    this.all = Math.max(1, data.total.samples);
    this.nodes = new Map([...data.loops.map((each) => ({ ...each, loop: true })), ...data.functions.map((each) => ({ ...each, loop: false }))].map((each) => [each.node, each]));
    this.edges = data.edges.filter(({ from, to }) => this.nodes.has(from) && this.nodes.has(to));
    this.chosen = -1;
    this.details = el('div', { class: 'view', hidden: true });
  }

  pick(node) { this.page.selection.set({ node }); }
  share(counts) { return counts.samples / this.all; }
  label(node, most = 60) {
    return [name(titleOf(node), most), node.loop && node.function ? el('span', { class: 'where' }, ' in ', name(node.function, most)) : null];
  }

  // Columns of a part of all samples.
  #columns(title, csv, counts) {
    return [{ title, csv: `${csv}_s`, value: (r) => counts(r).seconds, text: (r) => number(counts(r).seconds, counts(r).samples ? seconds(counts(r)) : '–', `loops.nodes.${r.node}.${csv}.seconds`), bar: (r) => this.share(counts(r)), color: () => (csv === 'total' ? 'var(--accent)' : '#009e73') },
      { title: '%', csv: `${csv}_share`, hint: `part of all samples, ${csv}`, value: (r) => this.share(counts(r)), text: (r) => (counts(r).samples ? percent(this.share(counts(r))) : '–') }];
  }

  flat(kind) {
    const rows = this.data[kind].map((each) => this.nodes.get(each.node));
    return table(kind === 'loops' ? 'loops of the code' : 'functions', [
      kind === 'loops' ? { title: 'Loop', left: true, csv: 'place', value: (r) => (r.file ? `${r.file}:${r.line}` : r.address), text: (r) => el('span', {}, name(titleOf(r), 50), r.irreducible ? el('span', { class: 'hint', title: 'entered at several places' }, ' irreducible') : null) } : null,
      { title: 'Function', left: true, csv: 'function', value: (r) => r.function, text: (r) => name(r.function || '(no name)', 60) },
      kind === 'functions' ? { title: 'Place', left: true, csv: 'place', value: (r) => (r.file ? `${r.file}:${r.line}` : ''), text: (r) => name(place(r.file, r.line) || place(r.module), 40) } : null,
      ...this.#columns('Total', 'total', (r) => r.total), ...this.#columns('Self', 'self', (r) => r.self),
      { title: 'Samples', csv: 'samples', hint: 'total', value: (r) => r.total.samples, key: (r) => `loops.nodes.${r.node}.total.samples` },
    ].filter(Boolean), rows, { most: 10, pick: (r) => this.pick(r.node), chosen: (r) => r.node === this.chosen });
  }

  candidates() {
    const rows = this.data.candidates.map((each, i) => ({ ...each, rank: i + 1, of: this.nodes.get(each.node) })).filter((each) => each.of);
    if (!rows.length) return empty('No loop with 1 % or more runs without OpenMP.');
    return table('candidates for parallelism', [
      { title: '', csv: 'rank', value: (r) => r.rank },
      { title: 'Loop', left: true, csv: 'place', value: (r) => `${r.file}:${r.line}`, text: (r) => el('span', {}, this.label(r.of)) },
      { title: 'CPU time', csv: 'total_s', value: (r) => r.of.total.seconds, text: (r) => seconds(r.of.total), bar: (r) => r.share },
      { title: 'Share', csv: 'share', value: (r) => r.share, text: (r) => percent(r.share), key: (r) => `loops.candidates.${r.rank - 1}.share` },
      { title: 'Loops around', csv: 'level', hint: 'minimum, also in calling functions', value: (r) => r.level },
      { title: 'For', left: true, csv: 'for', value: (r) => r.for.join('; '), text: (r) => name(r.for.join('; ') || '–', 120) },
      { title: 'Against', left: true, csv: 'against', value: (r) => r.against.join('; '), text: (r) => name(r.against.join('; ') || '–', 160) },
    ], rows, { most: 8, pick: (r) => this.pick(r.node), chosen: (r) => r.node === this.chosen });
  }

  // What an iteration of a loop that the detector found is made of.
  detected() {
    const list = (this.data.detected ?? []).filter((each) => each.iterations > 0);
    if (!list.length) return null;
    const box = el('div'), mean = (seconds, of) => time((seconds * 1e9) / of.iterations);
    const select = el('select', { 'aria-label': 'detected loop', on: { change: () => show(Number(select.value)) } }, list.map((each, i) => el('option', { value: i }, `${each.name.slice(0, 80)} – ${count(each.iterations)} iterations`)));
    const show = (at) => {
      const of = list[at], i = this.data.detected.indexOf(of);
      const rows = of.parts.map((part, j) => ({ ...part, j, of: this.nodes.get(part.node) })).filter((part) => part.of);
      replace(box, el('div', { class: 'bar-row' }, list.length > 1 ? select : el('b', {}, name(of.name, 80)),
        el('span', { class: 'hint' }, `${count(of.iterations)} iterations of ${mean(of.elapsed_s, of)}, CPU time in it ${mean(of.total.seconds, of)}`),
        this.page.has('nest') && button('its iterations', () => this.page.go('iterations', { loop: of.loop }), { class: 'quiet' })),
      table('an iteration of a detected loop', [
        { title: 'Loop or function', left: true, csv: 'name', value: (r) => titleOf(r.of), text: (r) => el('span', {}, r.of.loop ? el('b', {}, 'loop ') : null, this.label(r.of)) },
        { title: 'CPU time per iteration', csv: 'iteration_s', value: (r) => r.total.seconds / of.iterations, text: (r) => mean(r.total.seconds, of), bar: (r) => r.total.samples / Math.max(1, of.total.samples) },
        { title: 'Share', csv: 'share', value: (r) => r.total.samples / Math.max(1, of.total.samples), text: (r) => percent(r.total.samples / Math.max(1, of.total.samples)) },
        { title: 'Samples', csv: 'samples', value: (r) => r.total.samples, key: (r) => `loops.detected.${i}.parts.${r.j}.total.samples` },
      ], rows, { most: 10, pick: (r) => this.pick(r.node), chosen: (r) => r.node === this.chosen }));
    };
    show(0);
    return section('Per iteration', 'time in an iteration of a detected loop, for the threads that have it on their stack', box);
  }

  tree() {
    const numbers = [...this.nodes.keys()].sort((a, b) => a - b), index = new Map(numbers.map((node, i) => [node, i]));
    const total = (node) => this.nodes.get(node).total.samples;
    const parents = spanningParents(numbers, this.edges.map((edge) => ({ from: edge.from, to: edge.to, weight: edge.total.samples })), total);
    this.forest = new Forest(numbers.map((node) => (parents.get(node) < 0 ? -1 : index.get(parents.get(node)))));
    this.index = index;
    const of = (i) => this.nodes.get(numbers[i]);
    return new Tree({
      forest: this.forest, title: 'nesting of loops and functions', height: 460, open: 12, order: (i) => of(i).total.samples, label: (i) => `${titleOf(of(i))}, ${seconds(of(i).total)}`,
      row: (i) => {
        const node = of(i), share = this.share(node.total);
        return [el('i', { class: node.loop ? 'swatch round' : 'swatch', style: { background: scaleColor(share, 'cividis') } }),
          el('span', { class: 'figure' }, number(node.total.seconds, seconds(node.total), `loops.nodes.${node.node}.total.seconds`)), el('span', { class: 'share' }, percent(share)),
          el('span', { class: 'label' }, node.loop ? el('b', {}, 'loop ') : null, this.label(node))];
      },
      dim: (i) => this.share(of(i).total) < 0.01, pick: (i) => this.pick(numbers[i]),
    });
  }

  #neighbours(title, edges, end) {
    if (!edges.length) return null;
    return section(title, null, table(title, [
      { title: end === 'from' ? 'From' : 'To', left: true, value: (r) => titleOf(this.nodes.get(r[end])), text: (r) => el('span', {}, this.label(this.nodes.get(r[end]), 44)) },
      { title: 'Samples', value: (r) => r.total.samples, bar: (r) => r.total.samples / edges[0].total.samples },
      { title: 'Time', csv: 'seconds', value: (r) => r.total.seconds, text: (r) => seconds(r.total) },
      { title: '%', csv: 'share', value: (r) => this.share(r.total), text: (r) => percent(this.share(r.total)) },
    ], edges, { most: 8, pick: (r) => this.pick(r[end]) }));
  }

  show(chosen) {
    this.chosen = chosen ?? -1;
    const node = this.nodes.get(this.chosen);
    this.details.hidden = !node;
    if (!node) return replace(this.details);
    const with_ = (edges) => edges.sort((a, b) => b.total.samples - a.total.samples);
    const error = Math.sqrt((this.share(node.total) * (1 - this.share(node.total))) / this.all);
    const threads = [...(node.threads ?? [])].sort((a, b) => b.samples - a.samples);
    replace(this.details, section(node.loop ? 'Selected loop' : 'Selected function', null,
      el('dl', { class: 'facts' }, [[node.loop ? 'loop' : 'function', name(node.loop ? titleOf(node) : node.function, 200)], node.loop && ['in function', name(node.function, 200)],
        ['source', node.file ? name(`${node.file}:${node.line}`, 160) : 'unknown'], ['module', name(node.module, 160)], ['address', name(node.address)],
        ['total', `${seconds(node.total)}, ${percent(this.share(node.total))} ± ${percent(2 * error)} (two standard errors)`], ['self', `${seconds(node.self)}, ${percent(this.share(node.self))}`]].filter(Boolean).map(([a, b]) => [el('dt', {}, a), el('dd', {}, b)]))),
    el('div', { class: 'columns' }, this.#neighbours('Callers', with_(this.edges.filter((edge) => edge.to === this.chosen)), 'from'), this.#neighbours('Contents', with_(this.edges.filter((edge) => edge.from === this.chosen)), 'to'),
      threads.length > 1 ? section('By thread', null, table('the loop by thread', [
        { title: 'Process', value: (t) => t.process }, { title: 'Thread', value: (t) => t.thread }, { title: 'Samples', value: (t) => t.samples, bar: (t) => t.samples / Math.max(1, threads[0].samples) },
        { title: 'Time', csv: 'seconds', value: (t) => (t.samples * this.data.sampling.period_ns) / 1e9, text: (t) => time(t.samples * this.data.sampling.period_ns) },
      ], threads, { most: 8 })) : null));
  }
}

async function create(root, page) {
  const data = await page.json('loops');
  if (!data.loops.length && !data.functions.length) {
    root.append(el('div', { class: 'card' }, empty('No samples: the program used too little CPU time.')));
    return {};
  }
  const loops = new Loops(page, data);
  const range = el('p', { class: 'hint', role: 'status' });
  const candidates = loops.candidates(), flat = loops.flat('loops'), functions = loops.flat('functions'), tree = loops.tree();
  root.append(range, section('Loops that could run in parallel', 'without OpenMP in or around them, largest first; Refrain does not know whether their iterations depend on each other', candidates), loops.detected() ?? '',
    section('Loops', 'total: inclusive; self: without inner loops and calls', flat),
    section('Nesting', 'loops and functions, each once, below the one with most of its samples', tree.box),
    loops.details, section('Functions', 'self: outside their loops', functions), section('Sampling', null, about(data), data.notes?.length ? el('ul', { class: 'hint' }, data.notes.map((text) => el('li', {}, name(text, 300)))) : null));
  return {
    loops, tree,
    update(selection) {
      const { node, begin_ns: begin, first } = selection.state;
      range.textContent = begin != null || first != null ? 'Samples count for the whole run; the selected range does not apply to this view.' : '';
      range.hidden = range.textContent === '';
      if ((node ?? -1) === loops.chosen) return;
      loops.show(node);
      const at = loops.index.get(node) ?? -1;
      if (at !== tree.chosen) tree.choose(at);
      for (const each of [candidates, flat, functions]) each.show?.();
    },
    repaint() {},
  };
}

export const loops = {
  id: 'loops', title: kViewTitles.loops, print: true, create, only: 'loops',
  missing: (page) => !page.has('loops') && 'Stacks were not sampled in this run; use refrain run --loops.',
};
