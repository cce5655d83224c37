// A report of a run that never was, in the format of docs/reference/report-format.md, for tests of the page: any
// number of ranks, threads, iterations and spans, with hostile names if wanted. The same every time.

import { deflateSync } from 'node:zlib';

const kTypes = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array, f64: Float64Array };

export const kHostile = {
  script: '</script><script>window.broken = true</script>',
  image: '<img src=x onerror="window.broken = true">',
  quotes: `"quoted" 'name' \`with\` ${'$'}{everything} & more`,
  control: 'bell\u0007 and \u001b[31mred\u001b[0m and\nnew line',
  rightToLeft: 'שלום \u202eevil\u202c עולם',
  long: 'std::vector<' + 'ns::very_long_template_argument<int, '.repeat(300) + 'x>::end',
  formula: '=cmd|calc!A1',
};

// Numbers that look like chance and are always the same.
export function chance(seed) {
  let state = seed >>> 0 || 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

export class Blocks {
  constructor() { this.list = []; }
  json(name, value) {
    const raw = Buffer.from(JSON.stringify(value));
    this.list.push({ about: { name, type: 'json', bytes: raw.length }, raw });
  }
  array(name, type, shape, values) {
    const array = values instanceof kTypes[type] ? values : kTypes[type].from(values);
    const raw = Buffer.from(array.buffer, array.byteOffset, array.byteLength);
    this.list.push({ about: { name, type, bytes: raw.length, shape }, raw });
  }
  delta(name, values) {
    let last = 0;
    const differences = Uint32Array.from(values, (v) => { const d = Math.round(v) - last; last = Math.round(v); return d; });
    const raw = Buffer.from(differences.buffer);
    this.list.push({ about: { name, type: 'f64', bytes: raw.length, shape: [values.length], coding: 'delta' }, raw });
  }
  html() {
    const index = JSON.stringify({ format: 'refrain report', version: 2, blocks: this.list.map((each) => each.about) }).replaceAll('<', '\\u003c');
    return `<script type="application/json" id="refrain-index">${index}</script>\n` + this.list.map((each, i) =>
      `<script type="text/plain" class="refrain-block" id="refrain-block-${i}">${deflateSync(each.raw, { level: 6 }).toString('base64')}</script>`).join('\n');
  }
}

export const page = (template, blocks) => template.replace('<!-- refrain:data -->', () => blocks.html());

const kClasses = [['useful', 'useful computation'], ['synchronization', 'threads, synchronization'], ['imbalance', 'OpenMP, imbalance'], ['thread_management', 'threads, management'], ['mpi_point_to_point', 'MPI, point-to-point'], ['mpi_collective', 'MPI, collective']];

// What `refrain loops --json` would print: a recursion, a loop in a loop, one without a line.
function madeUpLoops(names, hostile) {
  const counts = (samples) => ({ samples, seconds: samples / 100 });
  const place = (node, name, line, self, total) => ({ node, file: line ? (hostile ? kHostile.script : '/src/solve.c') : '', line, function: name, module: hostile ? kHostile.image : '/bin/halo', address: `0x${(4096 + node).toString(16)}`, self: counts(self), total: counts(total) });
  const loop = (node, name, line, self, total, parent) => ({ ...place(node, name, line, self, total), parent, depth: parent == null ? 1 : 2, irreducible: node === 5, threads: [{ process: 0, thread: 0, samples: total - 5 }, { process: 1, thread: 0, samples: 5 }] });
  const edge = (from, to, samples) => ({ from, to, total: counts(samples) });
  const solve = hostile ? names[1] : 'solve';
  return {
    format: 'refrain loops', version: 1, source: 'samples', commands: [hostile ? kHostile.quotes : './halo'], total: counts(1000),
    sampling: { period_ns: 1e7, taken: 1000, shortened: 0, lost: 0, missed: 3, not_followed: 2, threads: 2, threads_without: 1, not_placed: { [hostile ? kHostile.script : '[unknown]']: 7 } },
    loops: [loop(2, solve, 41, 100, 800, null), loop(3, solve, 44, 600, 700, 2), loop(5, hostile ? kHostile.long : 'tail', 0, 50, 50, null)],
    functions: [place(0, 'main', 7, 50, 1000), place(1, solve, 30, 0, 900), place(4, hostile ? kHostile.rightToLeft : 'visit', 90, 100, 100)],
    edges: [edge(0, 1, 900), edge(1, 2, 800), edge(2, 3, 700), edge(3, 4, 90), edge(4, 4, 40), edge(4, 1, 10), edge(0, 5, 50)],
    candidates: [{ node: 2, file: '/src/solve.c', line: 41, function: solve, share: 0.8, level: 0, for: ['no loop around it'], against: [] }, { node: 3, file: '/src/solve.c', line: 44, function: solve, share: 0.7, level: 1, for: [], against: [hostile ? kHostile.quotes : 'inside of solve.c:41'] }],
    detected: [{ loop: 1, name: hostile ? kHostile.long : 'loop 1 @ main solve.c:41-60', file: '/src/solve.c', line: 41, iterations: 400, elapsed_s: 10, total: counts(800), parts: [{ node: 2, total: counts(800) }, { node: 3, total: counts(700) }] }],
    notes: [hostile ? kHostile.control : 'libz.so is not there any more'],
  };
}

// start: ns before the loop, in MPI_Init. zero: all of it takes no time. alone: ranks of communicators are not those of the run.
// outlier: how many times as long as others one iteration in the middle takes.
// Runs of one program on these numbers of threads: an efficiency that falls, and two places of which one has a model.
export function syntheticScaling({ sizes = [1, 2, 4, 8], ranks = sizes, weak = false, hostile = false, models = true } = {}) {
  const blocks = new Blocks();
  const part = hostile ? kHostile.script : 'solve (src/solve.c:41-60)';
  const f = (p) => ({ load_balance: 1 - 0.02 * Math.log2(p), serialization: 1 - 0.01 * Math.log2(p), transfer: 1 - 0.05 * Math.log2(p), computation: 1 - 0.03 * Math.log2(p) });
  const runs = sizes.map((threads, i) => {
    const own = f(threads), communication = own.serialization * own.transfer, parallel = own.load_balance * communication, global = parallel * own.computation;
    return { archive: `runs/${threads}-1`, processes: ranks[i], threads, iterations: 100, seconds: (weak ? 8 : 8 / threads) / global, repeats: 3, spread: 0.02, whole_run_thread_seconds: 8 / global, speedup: threads * global,
      factors: { global, parallel, ...own, communication, lost_mpi: 0 } };
  });
  const model = (constant, factor, exponent, logarithms, text, at) => ({ term: 'p', text, constant, factor, exponent, logarithms, smape: 0.01, adjusted_r2: 0.99, at: { value: constant + factor * at ** exponent * Math.log2(at) ** logarithms, low: 0.8 * (constant + factor * at), high: 1.3 * (constant + factor * at) } });
  const at = 4 * sizes.at(-1);
  const place = (kind, text, ns, time) => ({ kind, place: text, thread_seconds: sizes.map(ns), lost_seconds: sizes.map((p) => ns(p) - ns(sizes[0])), models: models ? { time, visits: null, bytes: null } : undefined });
  const losses = [
    place('call_path', hostile ? kHostile.long : 'MPI_Allreduce @solve.c:57', (p) => 0.1 * p, model(0, 0.1, 1, 0, 'grows with p', at)),
    place('call_path', hostile ? kHostile.image : 'MPI_Waitall @solve.c:52', (p) => 0.2 + 0.01 * p, null),
    place('loop', part, (p) => 8 + 0.11 * p, null)];
  blocks.json('scaling', { format: 'refrain scaling', version: 1, scaling: weak ? 'weak' : 'strong', scaling_why: 'as given', loop: part,
    factors: [['global', 'Global efficiency', 0], ['parallel', 'parallel efficiency', 1], ['load_balance', 'load balance', 2], ['communication', 'communication', 2], ['serialization', 'serialization', 3], ['transfer', 'transfer', 3], ['computation', 'computation scaling', 1], ['lost_mpi', 'lost in MPI', 2]].map(([name, title, level]) => ({ name, title, level, lost: name === 'lost_mpi' })),
    runs, steps: [], findings: [hostile ? kHostile.script : 'From 1 rank to 2 ranks 8 points of parallel efficiency are lost: 6 transfer.'], models_at_threads: models ? at : null, losses, notes: ['runs/8-1: estimated'] });
  blocks.json('report', { version: 1, made_by: 'refrain 0.1.0', runs: [], limits: ['7 places are left out'], program: hostile ? kHostile.image : 'solve', archives: sizes.length });
  return { blocks, runs, losses };
}

// Members of a job array, of which the first ones are slow.
export function syntheticEnsemble({ count = 40, slow = 3, hostile = false } = {}) {
  const blocks = new Blocks();
  const write = hostile ? kHostile.script : 'write out.#.dat';
  const members = Array.from({ length: count }, (_, i) => {
    const late = i < slow, seconds = late ? 15 - i : 10 - i / 1000;
    return { archive: hostile ? kHostile.image : `array/${i}`, kind: late ? 'slow' : 'typical', seconds, to_median: seconds / 10, parallel_efficiency: late ? 0.6 : 0.9, no_core_share: 0,
      causes: late ? [{ account: 'file_io', what: 'File I/O', where: write, text: `The program is in ${write}.`, hint: 'Use fewer and larger accesses.', lost_seconds: 5, share: 0.35 }] : [],
      more_by_account: late ? [{ text: 'file I/O', more_thread_seconds: 5 }] : [], more_by_call_path: late ? [{ text: write, more_thread_seconds: 5 }] : [],
      report: i === 0 ? (hostile ? 'javascript:window.broken=1/report.html' : '../array/0/report.html') : null };
  });
  blocks.json('ensemble', { format: 'refrain ensemble', version: 1, program: 'app', processes: 1, threads: 2, median_seconds: 10, margin_seconds: 0.5, members, findings: [`array/0, array/1 and array/2 took 30 to 50 % longer than the median of 10 s. ${write} took 5 s more of all threads.`], notes: [] });
  blocks.json('report', { version: 1, made_by: 'refrain 0.1.0', runs: [], limits: [], program: hostile ? kHostile.image : 'app', archives: count });
  return { blocks, members };
}

export function madeUp(options = {}) {
  const { ranks = 4, threads = 2, iterations = 400, spans = 60000, hostile = false, compare = false, key = 'a', blocks = new Blocks(), slower = 1, limitRows = 512, start = 5e6, zero = false, alone = false, outlier = 1 } = options;
  const random = chance(ranks * 1000 + threads * 100 + iterations);
  const locations = ranks * threads;
  const mpi = ranks > 1;
  const put = (name) => `${key}/${name}`;
  const names = hostile
    ? [kHostile.script, kHostile.image, kHostile.long, kHostile.control, kHostile.rightToLeft, kHostile.quotes]
    : ['parallel @solve.c:37', 'for @solve.c:41', 'implicit barrier @solve.c:37', 'MPI_Waitall', 'MPI_Allreduce', 'MPI_Irecv'];
  const regions = [
    { name: 'loop 1 @ main solve.c:106-118', file: 'solve.c', line: 106, class: 0, loop: 1, site: '' },
    { name: names[0], file: 'src/solve.c', line: 37, class: 0, loop: null, site: '' },
    { name: names[1], file: 'src/solve.c', line: 41, class: 0, loop: null, site: '' },
    { name: names[2], file: 'src/solve.c', line: 37, class: 2, loop: null, site: '' },
    { name: names[3], file: '', line: 0, class: 4, loop: null, site: 'halo.c:88' },
    { name: names[4], file: '', line: 0, class: 5, loop: null, site: 'solve.c:110' },
    { name: 'MPI_Init', file: '', line: 0, class: 5, loop: null, site: 'solve.c:95' },
  ];
  // Iterations: one in forty is slow, and the loop changes at two thirds.
  const durations = new Float64Array(iterations), begins = new Float64Array(iterations);
  let at = zero ? 0 : start;
  for (let i = 0; i < iterations; ++i) {
    durations[i] = Math.round(slower * (i > iterations * 0.66 ? 1.25 : 1) * 1e6 * (1 + 0.08 * random() + (i % 97 === 41 ? 1.1 : 0)) * (i === Math.floor(iterations / 2) ? outlier : 1)) * (zero ? 0 : 1);
    begins[i] = at;
    at += durations[i] + (zero ? 0 : 1000);
  }
  const end = at + (zero ? 0 : 4e6);
  const perIteration = 9;
  const shownRows = Math.min(locations, limitRows);
  const keep = Math.max(2, Math.min(iterations, Math.floor(spans / (shownRows * perIteration))));
  const written = new Set();
  for (let i = 0; i < Math.min(10, iterations); ++i) written.add(i);
  for (let i = 0; i < iterations && written.size < keep; ++i) if (i % 97 === 41) written.add(i);
  for (let i = 10; i < iterations && written.size < keep; ++i) written.add(i);
  const gaps = [];
  for (let i = 0; i < iterations; ++i) {
    if (written.has(i)) continue;
    let j = i;
    while (j + 1 < iterations && !written.has(j + 1)) ++j;
    gaps.push({ begin_ns: begins[i], end_ns: begins[j] + durations[j], text: `iterations ${i}-${j} of loop 1 skipped`, loop: 1, first: i, last: j });
    i = j;
  }

  const facts = { key, name: hostile ? kHostile.image : key === 'a' ? 'run' : 'run2', command: hostile ? `./a ${kHostile.script}` : './halo 2000 200 1000', machine: 'm', begin: '2026-11-20T10:00:00Z', seconds: end / 1e9, ranks, threads, locations, events_seen: locations * iterations * 40, events_written: locations * written.size * 40, of_refrain: true };
  const perClass = [0.52, 0.03, 0.17, 0.05, mpi ? 0.13 : 0, mpi ? 0.1 : 0];
  const timeNs = end * locations;
  const rest = 1 - perClass.reduce((a, b) => a + b, 0);
  const classes = Object.fromEntries(kClasses.map(([k], i) => [`${k}_ns`, Math.round(timeNs * (perClass[i] + (i === 0 ? rest : 0)))]));
  const paths = [
    { parent: null, name: hostile ? kHostile.long : 'main', file: 'src/solve.c', line: 90, class: 'useful', share: 0.995, own: 0.1, visits: 1 },
    { parent: 0, ...regions[1], class: 'useful', share: 0.72, own: 0.04 + rest, visits: iterations * locations },
    { parent: 1, ...regions[2], class: 'useful', share: 0.51, own: 0.51, visits: iterations * locations },
    { parent: 1, ...regions[3], class: 'imbalance', share: 0.17, own: 0.17, visits: iterations * locations },
    ...(mpi ? [{ parent: 0, ...regions[4], class: 'mpi_point_to_point', share: 0.13, own: 0.13, visits: iterations * ranks, data: 1 },
      { parent: 0, ...regions[5], class: 'mpi_collective', share: 0.1, own: 0.1, visits: iterations * ranks }] : []),
  ].map((path, i) => ({ path: i, parent: path.parent, name: path.name, file: path.file, line: path.line, role: 2, paradigm: 1, site: path.site ?? '', class: path.class, visits: path.visits, time_ns: Math.round(timeNs * path.share), own_ns: Math.round(timeNs * path.own), management_ns: 0, minimum_ns: 1000, maximum_ns: 3000000, bytes_sent: path.data ? ranks * iterations * 16384 : 0, bytes_received: path.data ? ranks * iterations * 16384 : 0, messages_sent: path.data ? ranks * iterations : 0, messages_received: path.data ? ranks * iterations : 0 }));
  const size = (procedure, least, greatest, share) => ({ procedure, size_least: least, size_greatest: greatest, calls: iterations * ranks, time_ns: Math.round(timeNs * share), minimum_ns: 900, maximum_ns: 400000, bytes_sent: ranks * iterations * least, bytes_received: ranks * iterations * least, bytes_per_second: 3.2e9, processes: ranks, process_minimum_ns: 1e6, process_maximum_ns: 2e6, process_with_maximum: 0, partner: procedure === 'MPI_Waitall' ? '' : 'rank+1' });
  const bySize = mpi ? [size('MPI_Waitall', 8192, 16383, 0.13), size('MPI_Allreduce', 16, 16, 0.1), size('MPI_Isend', 4096, 8191, 0.002)] : null;
  // To the neighbours, one message in each iteration; `alone`: as if of pairs of ranks that are far from each other.
  const partners = alone ? [2] : [1, -1];
  const byPartner = mpi ? [...bySize.slice(0, 2).map((row) => ({ ...row, partner: '', to: null, from: null, bytes_sent: row.procedure === 'MPI_Waitall' ? 0 : row.bytes_sent })), ...partners.map((rank) => ({ ...bySize[2], partner: `to rank${rank > 0 ? '+' : ''}${rank}`, to: { kind: 'relative', rank }, from: null, bytes_sent: ranks * iterations * 8192, bytes_received: 0 }))] : null;
  const profile = {
    format: 'refrain profile', version: 1, archive: facts.name, command: facts.command, source: 'summary', intervals_not_written: 0, events_seen: facts.events_seen, events_written: facts.events_written, run_ns: end, time_ns: timeNs, outside_ns: 1e6 * locations, elsewhere_ns: 0, regions_elsewhere: 0, locations_without: 0,
    efficiencies: { parallel: 0.52, load_balance: 0.8, communication: 0.65, ...(mpi ? { mpi: 0.77, mpi_load_balance: 0.9, mpi_communication: 0.856, openmp: 0.675 } : {}) }, classes,
    processes: Array.from({ length: ranks }, (_, r) => ({ process: r, rank: mpi ? r : null, host: 'm', program: './halo', complete: true, ticks_per_second: 1e9, time_ticks: end })),
    locations: Array.from({ length: locations }, (_, l) => ({ location: l, reference: l, process: Math.floor(l / threads), thread: l % threads, primary: l % threads === 0, worker: l % threads > 0, time_ticks: end, outside_ticks: 1e6, outside_class: 'useful', elsewhere_ticks: 0, classes })),
    paths, parallel_regions: [], mpi: mpi ? [['MPI_Waitall', 'mpi_point_to_point', 0.13], ['MPI_Allreduce', 'mpi_collective', 0.1], ['MPI_Irecv', 'mpi_point_to_point', 0.003], ['MPI_Isend', 'mpi_point_to_point', 0.002]].map(([name, cls, share]) => ({ name, class: cls, calls: iterations * ranks, time_ns: Math.round(timeNs * share), minimum_ns: 100, maximum_ns: 1e6, bytes_sent: 16384 * ranks, bytes_received: 16384 * ranks, messages: ranks * iterations, average_bytes: 16384 })) : [], mpi_by_size: bySize, mpi_by_partner: byPartner,
  };
  blocks.json(put('info'), { archive: facts.name, version: '0.1.0', command: facts.command, events_seen: facts.events_seen, events_written: facts.events_written, events_lost: 0, phases: [] });
  blocks.json(put('profile'), profile);
  const values = [];
  paths.forEach((path, p) => { for (let l = 0; l < locations; ++l) values.push(p, l, path.visits / locations, path.own_ns / locations, path.time_ns / locations, path.bytes_sent / locations, path.bytes_received / locations); });
  blocks.array(put('profile/values'), 'f64', [values.length / 7, 7], values);

  if (mpi) {
    blocks.json(put('messages'), { format: 'refrain messages', version: 2, source: 'summary', calls_elsewhere: 0, by_size: bySize, by_partner: byPartner, by_signature: [] });
    const sent = partners.flatMap((_, i) => Array.from({ length: ranks }, (_, r) => [2 + i, r, iterations, iterations * 8192 * (1 + (r % 3))]).flat());
    blocks.array(put('messages/sent'), 'f64', [sent.length / 4, 4], sent);
    const groups = Array.from({ length: Math.min(ranks, 1024) }, (_, r) => [r, r]);
    blocks.json(put('matrix'), { ranks, groups, of: 'written' });
    const cells = [];
    for (let r = 0; r < groups.length; ++r) for (const to of new Set([(r + 1) % ranks, (r + ranks - 1) % ranks])) cells.push(r, to, written.size, written.size * 8192 * (1 + (r % 3)));
    blocks.array(put('matrix/values'), 'f64', [cells.length / 4, 4], cells);
    const procedures = ['MPI_Waitall', 'MPI_Allreduce', 'MPI_Irecv'];
    blocks.json(put('calls'), { procedures, ranks });
    blocks.array(put('calls/time'), 'f64', [3, ranks], procedures.flatMap((_, i) => Array.from({ length: ranks }, () => end * [0.13, 0.1, 0.01][i] * (0.6 + 0.8 * random()))));
    blocks.array(put('calls/counts'), 'f64', [3, ranks], procedures.flatMap(() => new Array(ranks).fill(iterations)));
  }

  // Waits.
  const tree = [['time', null, 'Time', 'time of all locations'], ['execution', 'time', 'Execution', 'the program’s own'], ['mpi', 'execution', 'MPI', 'calls of MPI'], ['mpi_latesender', 'mpi', 'MPI late sender', 'a receive that waits for a send'], ['mpi_wait_nxn', 'mpi', 'MPI wait at N x N', 'until the last one comes'], ['omp_time', 'execution', 'OpenMP', 'constructs of OpenMP'], ['omp_ibarrier_wait', 'omp_time', 'OpenMP implicit barrier wait', 'until the last thread comes'], ['mpi_earlyscan', 'mpi', 'MPI early scan', 'nothing here']].map(([name, parent, title, description]) => ({ name, parent, title, description }));
  const wpaths = [{ parent: null, name: 'halo', site: '', file: '', line: 0, profile: null }, ...paths.map((path, i) => ({ parent: path.parent == null ? 0 : path.parent + 1, name: path.name, site: path.site, file: path.file, line: path.line, profile: i }))];
  const severities = [];
  for (let l = 0; l < locations; ++l) {
    const lean = 0.4 + 1.2 * ((l * 7) % locations) / locations;
    severities.push(1, 3, l, (end / 1e9) * 0.55);
    severities.push(6, 4, l, (end / 1e9) * 0.15 * lean);
    severities.push(5, 4, l, (end / 1e9) * 0.02);
    if (mpi && l % threads === 0) severities.push(3, 5, l, (end / 1e9) * 0.1 * lean, 2, 5, l, (end / 1e9) * 0.03, 4, 6, l, (end / 1e9) * 0.08 * lean);
  }
  const metrics = Object.fromEntries(tree.map((m) => [m.name, 0]));
  for (let i = 0; i < severities.length; i += 4) for (let m = tree[severities[i]]; m; m = tree.find((t) => t.name === m.parent)) metrics[m.name] += severities[i + 3];
  const side = Math.round(Math.sqrt(ranks));
  blocks.json(put('analyze'), {
    format: 'refrain analyze', version: 3, seconds: metrics.time, events: facts.events_written, gaps: gaps.length, metrics,
    whole_run: Object.fromEntries(tree.map((m) => [m.name, { seen: metrics[m.name], seconds: metrics[m.name] * 1.4, minimum: metrics[m.name], maximum: metrics[m.name] * 3 }])),
    findings: [{ metric: mpi ? 'mpi_latesender' : 'omp_ibarrier_wait', title: 'x', seconds: 1, share: 0.1 }], metric_tree: tree, locations: profile.locations.map((each) => ({ rank: each.process, thread: each.thread, name: `thread ${each.thread}`, location: each.location })),
    grids: mpi && side * side === ranks ? [{ name: hostile ? kHostile.quotes : 'grid', sizes: [side, side], periodic: [false, false], ranks: Array.from({ length: ranks }, (_, r) => r) }] : [], paths: wpaths, problems: ['clocks disagree by 2 us'],
  });
  blocks.array(put('analyze/values'), 'f64', [severities.length / 4, 4], severities);

  const wait = (metric) => ({ seconds: metrics[metric] * 1.4, share: (metrics[metric] * 1.4) / (metrics.time || 1) });
  blocks.json(put('findings'), [
    { text: `Thread 1 computes 0.2 ms longer than the others at solve.c:110, in every iteration. Waiting for it costs 12 % of the time of all threads. ${names[2]}`, seconds: metrics.omp_ibarrier_wait * 0.9, share: 0.12, kind: 'cause', what: 'Uneven work', hint: 'Divide the work more evenly.', evidence: { view: 'heat', class: 'imbalance' } },
    { text: 'Communication: what no rank with more work explains', seconds: metrics.omp_ibarrier_wait * 0.2, share: 0.03, kind: 'cause', what: 'Communication', hint: '', evidence: null },
    { text: `22 % of the time is lost in ${names[2]} because thread 1 computes longer (${names[1]}, solve.c:41), in every iteration`, ...wait('omp_ibarrier_wait'), kind: 'imbalance', what: 'imbalance', hint: 'Give threads equal work: schedule(dynamic) or other chunks.', evidence: { view: 'waits', metric: 'omp_ibarrier_wait', wait_path: 4 } },
    ...(mpi ? [{ text: `${names[3]} waits for messages that are sent late`, ...wait('mpi_latesender'), kind: 'wait', what: 'late sender', hint: 'The sender has more work before it sends.', evidence: { view: 'waits', metric: 'mpi_latesender', wait_path: 5 } }] : []),
    { text: 'Iteration 41 of loop 1 took twice as long as the median', seconds: 0.001 * locations, share: 0.0005, kind: 'detection', what: 'slow iterations', hint: '', evidence: { view: 'timeline', loop: 1, first: 41, last: 41, begin_ns: begins[Math.min(41, iterations - 1)], end_ns: begins[Math.min(41, iterations - 1)] + durations[Math.min(41, iterations - 1)] } },
    { text: 'The classes of time change at two thirds of the run', seconds: null, share: null, kind: 'detection', what: 'change', hint: '', evidence: { view: 'heat', loop: 1, class: 'imbalance' } },
  ]);
  blocks.json(put('efficiency'), { name: 'parallel efficiency', key: 'parallel', value: 0.52, meaning: 'how much of the threads’ time is useful computation', children: [{ name: 'load balance', key: 'load_balance', value: 0.8, meaning: 'mean over greatest useful time', children: [] }, { name: 'communication efficiency', key: 'communication', value: 0.65, meaning: 'greatest useful time over run time', children: [] }] });

  // The nest, iterations and rows.
  const kept = [...written].sort((a, b) => a - b);
  const slow = Array.from({ length: iterations }, (_, i) => i).filter((i) => i % 97 === 41).map((i) => ({ loop: 1, iteration: i, time_ns: begins[i], ns: durations[i], text: `iteration ${i} took ${(durations[i] / 1e6).toFixed(2)} ms` }));
  const loop = (id, parent, level, its, name, block) => ({ loop: id, parent, level, name: `loop ${id} @ ${name}`, title: hostile ? `${kHostile.script} ${kHostile.rightToLeft}` : name, named: false, function: 'main', file: 'solve.c', line: 106, last_line: 118, iterations: its, visits: level ? iterations : 1, written: level ? written.size * 5 : written.size, partial: 0, skipped: level ? 5 * (iterations - written.size) : iterations - written.size, total_ns: (end - 9e6) * (level ? 0.8 : 1), mean_ns: 1e6, median_ns: level ? null : 1.04e6, min_ns: 1e6, max_ns: 2.2e6, slowest: level ? [] : slow.map(({ iteration, time_ns, ns }) => ({ iteration, begin_ns: time_ns, ns })).sort((a, b) => b.ns - a.ns).slice(0, 20), body: names, block, rows: block ? put('rows/1') : null });
  blocks.json(put('nest'), { text: `loop 1 main solve.c:106-118   ${iterations} iterations\n  loop 2 main solve.c:109-113   ${5 * iterations} iterations`, process: 0, rank: mpi ? 0 : null, loops: !iterations ? [] : [loop(1, null, 0, iterations, 'main solve.c:106-118', put('loop/1')), loop(2, 1, 1, 5 * iterations, 'main solve.c:109-113', null)], bars: !iterations ? [] : [[1, begins[0], at, 0, iterations - 1, 1], ...Array.from({ length: Math.min(iterations, 1000) }, (_, k) => { const i = Math.floor((k * iterations) / Math.min(iterations, 1000)); return [2, begins[i] + 1e4, begins[i] + durations[i] * 0.8, 5 * i, 5 * i + 4, 1]; })], breaks: !iterations ? [] : [{ loop: 1, iteration: Math.floor(iterations * 0.66), time_ns: begins[Math.floor(iterations * 0.66)], text: 'loop 1 breaks: another region came' }], slow, gaps });
  const rowsOf = new Float64Array(5 * iterations);
  for (let i = 0; i < iterations; ++i) rowsOf.set([i, begins[i], durations[i], written.has(i) ? 2 : 0, written.has(i) ? (i < 10 ? 1 : i % 97 === 41 ? 2 : 4) : 0], 5 * i);
  if (iterations <= 200000) blocks.array(put('loop/1/iterations'), 'f64', [iterations, 5], rowsOf);
  const columns = Math.min(iterations, 4096), lines = Math.min(locations, 2048, Math.max(1, Math.floor(4e6 / (columns * 7))));
  const group = Math.ceil(locations / lines), m = Math.ceil(locations / group);
  blocks.json(put('rows/1'), { classes: kClasses.filter((_, i) => perClass[i] > 0).map(([k, name]) => ({ key: k, name })), counters: hostile ? [kHostile.image] : ['PAPI_TOT_INS'], columns, lines: m, groups: group > 1 ? Array.from({ length: m }, (_, g) => [g * group, Math.min(locations, (g + 1) * group) - 1]) : null, locations: group > 1 ? undefined : Array.from({ length: m }, (_, l) => l), exact: columns === iterations });
  const merged = iterations / columns, cols = [], cells = [];
  for (let j = 0; j < columns; ++j) { const f = Math.floor(j * merged), n = Math.max(1, Math.floor((j + 1) * merged) - f); cols.push(f, n, begins[f], begins[f + n - 1] + durations[f + n - 1]); }
  const used = kClasses.map((_, i) => i).filter((i) => perClass[i] > 0);
  const heat = new Float32Array((used.length + 1) * m * columns);
  for (let g = 0; g < m; ++g) for (let j = 0; j < columns; ++j) {
    const f = cols[4 * j], wave = 1 + 0.8 * Math.sin((g / m) * 6.28 + (j / columns) * 12), slowOne = f % 97 === 41 ? 4 : 1;
    const waits = used.map((i) => (i === 0 ? 0 : durations[f] * perClass[i] * wave * (i === 2 ? slowOne * 0.5 : 1)));
    const useful = Math.max(0, durations[f] - waits.reduce((s, v) => s + v, 0));
    used.forEach((i, k) => { heat[(k * m + g) * columns + j] = (i === 0 ? useful : waits[k]) * cols[4 * j + 1]; });
    heat[(used.length * m + g) * columns + j] = useful * 2.1;
  }
  blocks.array(put('rows/1/columns'), 'f64', [columns, 4], cols);
  blocks.array(put('rows/1/values'), 'f32', [used.length + 1, m, columns], heat);

  // The timeline.
  const rowGroup = Math.ceil(locations / limitRows);
  const rowCount = Math.ceil(locations / rowGroup);
  const messages = [], collectives = [], waits = [];
  let total = 0;
  for (let r = 0; r < rowCount; ++r) {
    const begin = [], duration = [], region = [], depth = [];
    const span = (b, d, what, level) => { begin.push(Math.round(b)); duration.push(d); region.push(what); depth.push(level); };
    const primary = (r * rowGroup) % threads === 0;
    if (mpi && primary && start > 5e6) span(1e6, start - 2e6, 6, 0);
    // Of iterations that were skipped their durations are there.
    for (let i = 0; i < iterations; ++i) {
      const b = begins[i], d = durations[i];
      if (primary) span(b, d, 0, 0);
      if (!written.has(i)) continue;
      const level = primary ? 1 : 0;
      for (let k = 0; k < 2; ++k) {
        const pb = b + d * (0.02 + 0.38 * k), pd = d * 0.34;
        const work = pd * (0.55 + 0.4 * random());
        span(pb, pd, 1, level);
        span(pb + 200, work, 2, level + 1);
        span(pb + 200 + work, pd - work - 400, 3, level + 1);
        if (pd - work > 4000) waits.push(r, pb + 200 + work, pb + pd - 200, 6);
      }
      if (mpi && primary) {
        span(b + d * 0.78, d * 0.1, 4, 1);
        span(b + d * 0.9, d * 0.08, 5, 1);
        if (r === 0) collectives.push(5, 0, b + d * 0.9, b + d * 0.94, b + d * 0.98);
        const to = Math.floor(((Math.floor((r * rowGroup) / threads) + 1) % ranks) * threads / rowGroup);
        if (messages.length < 5 * 100000) messages.push(r, b + d * 0.74, to, b + d * 0.84, 8192);
      }
    }
    total += begin.length;
    blocks.delta(put(`timeline/${r}/begin`), begin);
    blocks.array(put(`timeline/${r}/duration`), 'f32', [begin.length], duration);
    blocks.array(put(`timeline/${r}/region`), 'u16', [begin.length], region);
    blocks.array(put(`timeline/${r}/depth`), 'u8', [begin.length], depth);
  }
  const bins = Math.min(1024, Math.floor(524288 / rowCount));
  const overview = new Uint8Array(rowCount * bins).fill(255), share = new Uint8Array(rowCount * bins).fill(200);
  for (let r = 0; r < rowCount; ++r) for (const i of kept) for (let x = Math.floor((begins[i] / end) * bins); x <= (begins[i] + durations[i]) / end * bins && x < bins; ++x) overview[r * bins + x] = 0;
  blocks.json(put('timeline'), { begin_ns: 0, end_ns: end, classes: [...kClasses.map(([k, name]) => ({ key: k, name })), { key: 'outside', name: 'in no region' }, { key: 'skipped', name: 'not in the archive' }], regions, locations: profile.locations.map((each) => ({ rank: each.process, thread: each.thread, name: 't', primary: each.primary })), rows: Array.from({ length: rowCount }, (_, r) => [r * rowGroup, Math.min(locations, (r + 1) * rowGroup) - 1, r * rowGroup]), gaps, spans: total, kept: total, detail: { all: true }, comms: [Array.from({ length: rowCount }, (_, r) => r)] });
  blocks.array(put('timeline/overview'), 'u8', [rowCount, bins], overview);
  blocks.array(put('timeline/overview_share'), 'u8', [rowCount, bins], share);
  if (messages.length) blocks.array(put('timeline/messages'), 'f64', [messages.length / 5, 5], messages);
  if (collectives.length) blocks.array(put('timeline/collectives'), 'f64', [collectives.length / 5, 5], collectives);
  blocks.array(put('timeline/waits'), 'f64', [Math.min(waits.length / 4, 200000), 4], waits.slice(0, 800000));

  // The flow graph.
  const node = (id, path, x, y, kind = 'region') => ({ id, kind, path, x, y, w: 150, h: 40, label: path == null ? kind : `${paths[path].name}\n${(paths[path].time_ns / 1e9).toPrecision(3)} s`, time_ns: path == null ? 0 : paths[path].time_ns, own_ns: path == null ? 0 : paths[path].own_ns, share: path == null ? 0 : paths[path].time_ns / timeNs, visits: path == null ? 0 : paths[path].visits, bytes: path == null ? 0 : paths[path].bytes_sent });
  const edge = (from, to, a, b, label) => ({ from, to, points: [a, [a[0], (a[1] + b[1]) / 2], [b[0], (a[1] + b[1]) / 2], [b[0], b[1] - 8]], arrow: b, label, label_at: [(a[0] + b[0]) / 2 + 20, (a[1] + b[1]) / 2], count: iterations });
  const top = [node('s', null, 120, 20, 'start'), node('n1', 1, 120, 110), ...(mpi ? [node('n4', 4, 120, 200), node('n5', 5, 120, 290)] : []), node('e', null, 120, 380, 'end')];
  const edges = top.slice(1).map((to, i) => edge(top[i].id, to.id, [top[i].x, top[i].y + 20], [to.x, to.y - 20], `${iterations}x`));
  blocks.json(put('graph'), { levels: [{ name: 'program', path: null, width: 240, height: 400, nodes: [node('n0', 0, 120, 60)], edges: [] }, { name: 'main', path: 0, width: 240, height: 400, nodes: top, edges }, { name: paths[1].name, path: 1, width: 240, height: 320, nodes: [node('n2', 2, 120, 110), node('n3', 3, 120, 210)], edges: [edge('n2', 'n3', [120, 130], [120, 190], `${iterations}x`)] }] });

  if (options.loops) blocks.json(put('loops'), madeUpLoops(names, hostile));

  if (key === 'a') {
    const runs = [facts];
    if (compare) {
      const other = madeUp({ ...options, key: 'b', blocks, slower: 1.3, compare: false });
      runs.push(other.facts);
      blocks.json('compare', { a: {}, b: {}, rows: [{ section: 'Time by class', subject: 'useful computation', figure: 'time', unit: 'ns', a: 1e9, b: 1.3e9, a_estimated: false, b_estimated: true, difference: 0.3 }], only_a: [], only_b: [hostile ? kHostile.image : 'extra'], differences: [{ text: hostile ? `${kHostile.script} takes longer` : 'useful computation takes longer', subject: 'useful', figure: 'time', a: 1e9, b: 1.3e9, unit: 'ns', change: 0.3 }, { text: 'calls of MPI_Waitall', subject: 'MPI_Waitall', figure: 'calls', a: 100, b: 90, unit: 'number', change: -0.1 }] });
    }
    blocks.json('report', { version: 1, made_by: 'refrain 0.1.0', runs, limits: hostile ? [kHostile.image] : [] });
  }
  return { blocks, facts, profile, metrics, total, paths, durations };
}
