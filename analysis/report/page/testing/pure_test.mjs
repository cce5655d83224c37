// Tests of the modules that need no browser: node --test.

import assert from 'node:assert/strict';
import test from 'node:test';
import { deflateSync } from 'node:zlib';
import { addedUp, Data } from '../data.mjs';
import { Folding } from '../folding.mjs';
import { exactMessages } from '../exact_messages.mjs';
import { Functions } from '../functions.mjs';
import { clockOf, writtenClock, writtenTime } from '../gaps.mjs';
import { HeatLevels, usualRange } from '../heat_levels.mjs';
import { iterationsOfSpans, mainLoop, sharesOf, skippedOf } from '../iterations.mjs';
import { groupName } from '../locations.mjs';
import * as q from '../quantities.mjs';
import { hashOf, parseHash, Selection } from '../selection.mjs';
import { histogram, quantile, Series, usualTop } from '../series.mjs';
import { Forest, Severities } from '../severity.mjs';
import { callAt, callsOfRange, messagesOfRange, timesOfRange } from '../mpi_range.mjs';
import { levelOfRange, PathFinder, pathsOfRange, transitionsOfRange, waitsOfRange } from '../range_paths.mjs';
import { lossesOf, modelAt } from '../scaling_models.mjs';
import { spanningParents } from '../loop_forest.mjs';
import { Lane, laneOf, lowerBound, PixelLine, Spans } from '../spans.mjs';
import { chance, kHostile, madeUp } from './synthetic_report.mjs';

const plain = (text) => text.replace(/[\u00a0\u2009]/g, ' ');

test('numbers have units and four digits', () => {
  const times = [[0, '0 ns'], [7, '7 ns'], [1000, '1 µs'], [281750, '281.8 µs'], [999999, '1 ms'], [8.63e8, '863 ms'], [1.0984e9, '1.098 s'], [9.8765e12, '9877 s'], [-2e6, '-2 ms'], [0.25, '0.25 ns']];
  for (const [ns, text] of times) assert.equal(plain(q.time(ns)), text);
  assert.equal(q.time(null), '?');
  assert.equal(q.time(NaN), '?');
  for (const [n, text] of [[0, '0 B'], [999, '999 B'], [526000, '526 kB'], [7.41e6, '7.41 MB']]) assert.equal(plain(q.bytes(n)), text);
  for (const [n, text] of [[0, '0'], [999, '999'], [69162, '69 162'], [1234567, '1 234 567'], [0.5, '0.5']]) assert.equal(plain(q.count(n)), text);
  for (const [n, text] of [[0.1208, '12.1 %'], [1, '100 %'], [0.99961, '100 %'], [0, '0.0 %']]) assert.equal(plain(q.percent(n)), text);
  assert.equal(plain(q.quantity(1.5e9, 'ns')), '1.5 s');
  assert.equal(plain(q.quantity(0.25, 'share')), '25.0 %');
  assert.equal(q.quantity(null, 'ns'), '–');
});

test('names are made fit to show and nothing is lost that tells them apart', () => {
  assert.equal(q.shorten('short', 10), 'short');
  const cut = q.shorten('a'.repeat(50) + 'THE END', 20);
  assert.equal([...cut].length, 20);
  assert.ok(cut.startsWith('aaa') && cut.endsWith('THE END'));
  assert.equal([...q.shorten('😀'.repeat(100), 11)].length, 11, 'characters are not cut in halves');
  assert.equal(q.visible('a\u0007b\nc\u001b[31m'), 'a\\x07b\\nc\\x1b[31m');
  assert.equal(q.visible(kHostile.script), kHostile.script);
  assert.equal(q.visible('a\u202eb'), 'a\\u202eb', 'nothing turns the direction');
  assert.equal(groupName(['rank 0.0', 'rank 0.1', 'rank 1.0', 'rank 1.1'], 0, 1), 'rank 0.0–1');
  assert.equal(groupName(['rank 0.0', 'rank 0.1', 'rank 1.0', 'rank 1.1'], 0, 3), 'ranks 0–1');
  assert.equal(groupName(['rank 0', 'rank 1'], 0, 1), 'ranks 0–1');
  assert.equal(q.shortCommand('/a/b/prog 3 /x/y'), 'prog 3 /x/y');
  assert.equal(q.shortCommand('mpirun -n 2 ./a'), 'mpirun -n 2 ./a');
  assert.equal(q.shortSite('test/programs/a.c:7'), 'a.c:7');
  assert.equal(q.shortSite('f (dir/a.c:7)'), 'f (a.c:7)');
  assert.equal(q.ranges([0, 1, 2, 5, 7, 8]), '0–2, 5, 7–8');
  assert.equal(q.nestLines('a; 3 × [ b; 2 × [ c ] ]'), 'a\n3 × [\n    b\n    2 × [\n        c\n    ]\n]');
});

test('tables are copied so that no field ends early or is a formula', () => {
  assert.equal(q.csv(['a', 'b'], [['x,y', 1.5], ['say "no"', NaN], ['two\nlines', -3]]), 'a,b\n"x,y",1.5\n"say ""no""",\n"two\nlines",-3\n');
  assert.equal(q.csvField(kHostile.formula), "'=cmd|calc!A1");
  assert.equal(q.csvField('-5'), '-5');
  assert.equal(q.csvField('-x'), "'-x");
});

test('the address holds what is chosen', () => {
  const selection = { loop: 1, first: 3, last: 9, begin_ns: 1.5, metric: 'mpi_latesender', wait_path: 4 };
  assert.deepEqual(parseHash(hashOf('heat', selection)), { view: 'heat', selection });
  assert.deepEqual(parseHash('#waits?first=NaN&evil=1&metric=%3Cb%3E'), { view: 'waits', selection: { metric: '<b>' } });
  const store = new Selection(), calls = [];
  store.on((patch) => calls.push(patch));
  store.set({ first: 3 });
  store.set({ first: 3 });
  store.set({ first: null });
  assert.equal(calls.length, 2, 'who listens hears of changes only');
  assert.deepEqual(store.state, {});
});

test('blocks are read as they were packed', async () => {
  const raw = [Buffer.from(JSON.stringify({ text: kHostile.rightToLeft })), Buffer.from(new Float64Array([1.5, -2, NaN]).buffer), Buffer.from(new Uint32Array([5, 0, 7]).buffer)];
  const packed = raw.map((each) => deflateSync(each).toString('base64'));
  const blocks = [{ name: 'j', type: 'json', bytes: raw[0].length }, { name: 'f', type: 'f64', bytes: 24, shape: [3] }, { name: 'd', type: 'f64', bytes: 12, shape: [3], coding: 'delta' }, { name: 'long', type: 'u8', bytes: 3, shape: [3] }, { name: 'short', type: 'u8', bytes: 99, shape: [99] }];
  const data = new Data({ format: 'refrain report', version: 2, blocks }, (i) => packed[Math.min(i, 2)]);
  assert.deepEqual(await data.json('j'), { text: kHostile.rightToLeft });
  const { values, shape } = await data.array('f');
  assert.deepEqual([...values], [1.5, -2, NaN]);
  assert.deepEqual(shape, [3]);
  assert.deepEqual([...(await data.array('d')).values], [5, 5, 12]);
  await assert.rejects(data.array('long'), /longer/);
  await assert.rejects(data.array('short'), /shorter/);
  await assert.rejects(data.json('none'), /no block none/);
  assert.deepEqual(await data.jsonOr('none', 3), 3);
  assert.throws(() => new Data({ format: 'refrain report', version: 3, blocks: [] }), /version 3/);
  assert.throws(() => new Data({ format: 'else' }), /no report/);
});

test('times stored as differences go beyond 32 bits', () =>
  assert.equal(addedUp(new Uint32Array([4e9, 4e9, 4e9])).at(-1), 12e9));

test('binary search finds the first that is not less', () => {
  const values = Float64Array.from([1, 3, 3, 7]);
  for (const [v, i] of [[0, 0], [1, 0], [2, 1], [3, 1], [4, 3], [7, 3], [8, 4]]) assert.equal(lowerBound(values, v), i);
});

// What the tree of a lane paints, whatever the zoom, has the time of all spans in view.
test('no zoom loses time of spans', () => {
  const random = chance(7), n = 5000, begin = new Float64Array(n), end = new Float64Array(n), color = new Uint8Array(n);
  let t = 0;
  for (let i = 0; i < n; ++i) { begin[i] = t += 1 + random() * 50; end[i] = t += random() * 100; color[i] = i % 5; }
  const lane = new Lane(begin, end, color, Uint32Array.from(begin.keys()));
  const whole = begin.reduce((sum, b, i) => sum + end[i] - b, 0);
  for (const pixel of [0, 10, 1000, 1e5, 1e9]) {
    let sum = 0, calls = 0;
    lane.visit(-1, t + 1, pixel, (b, e, c, inside) => { sum += inside; ++calls; });
    assert.ok(Math.abs(sum - whole) < 1e-3 * whole, `pixel ${pixel}`);
    if (pixel === 0) assert.equal(calls, n);
    if (pixel === 1000) assert.ok(calls < (4 * t) / pixel, `${calls} groups of ${n} spans at ${t / 1000} pixels`);
  }
  const seen = [];
  lane.visit(begin[100], end[110], 0, (b, e, c, inside, id) => seen.push(id));
  assert.deepEqual(seen, Array.from({ length: 11 }, (_, i) => 100 + i), 'only what lies in the window');
  assert.equal(lane.at((begin[42] + end[42]) / 2), 42);
  assert.equal(lane.at(end[42] + (begin[43] - end[42]) / 2), -1);
});

test('spans are parted by depth, and own time is that of the innermost', () => {
  const spans = new Spans(Float64Array.from([0, 10, 20, 100]), Float32Array.from([90, 50, 10, 20]), Uint16Array.from([0, 1, 2, 0]), Uint8Array.from([0, 1, 2, 0])).arrange(Uint8Array.from([0, 1, 2]));
  assert.equal(spans.depths, 3);
  assert.deepEqual(spans.lanes.map((lane) => lane.size), [2, 1, 1]);
  assert.deepEqual([...spans.ownTimes(0, 200, 3)], [60, 40, 10]);
  assert.deepEqual([...spans.ownTimes(15, 25, 3)], [0, 5, 5]);
  assert.deepEqual([...spans.ownTimes(85, 105, 3)], [10, 0, 0]);
  assert.deepEqual([...spans.ownTimes(200, 300, 3)], [0, 0, 0]);
});

test('waits that overlap are joined', () => {
  const lane = laneOf([50, 0, 10], [60, 20, 30]);
  assert.deepEqual([...lane.levels[0].begin], [0, 50]);
  assert.deepEqual([...lane.levels[0].end], [30, 60]);
});

test('a pixel has the colour of most of its time', () => {
  const line = new PixelLine(4, 3);
  line.add(0, 0.6, 1, 1);
  line.add(0.6, 1.9, 2, 1);
  line.add(-5, 0.1, 0, 0.5);
  line.add(3.9, 9, 0, 1);
  assert.deepEqual([0, 1, 3].map((p) => line.dominant(p)), [1, 2, 0]);
  assert.ok(Math.abs(line.cover[0] - 1.05) < 1e-6 && Math.abs(line.cover[1] - 0.9) < 1e-6 && line.cover[2] === 0);
  line.clear();
  assert.deepEqual([...line.cover], [0, 0, 0, 0]);
  assert.ok(line.time.every((v) => v === 0));
});

test('folded gaps keep their order and find back', () => {
  const folding = new Folding(0, 1000, [{ begin_ns: 400, end_ns: 900 }, { begin_ns: 100, end_ns: 101 }, { begin_ns: 850, end_ns: 920 }]);
  assert.ok(folding.length < 1000 - 400);
  let last = -1;
  const follow = folding.follower();
  for (let t = 0; t <= 1000; t += 7) {
    const x = folding.show(t);
    assert.ok(x >= last);
    assert.ok(Math.abs(folding.time(x) - t) < 1e-6);
    assert.ok(Math.abs(follow(t) - x) < 1e-9, 'the follower is the search');
    last = x;
  }
  assert.equal(folding.gaps.length, 2, 'gaps that overlap are one');
  assert.equal(folding.show(300) - folding.show(200), 100, 'time outside of gaps has its length');
  assert.ok(folding.pieces(0, folding.length).every((piece) => piece.to <= 400 || piece.from >= 920), 'no ticks in folded gaps');
  assert.equal(new Folding(0, 1000, [{ begin_ns: 400, end_ns: 900 }], false).length, 1000);
  const many = new Folding(0, 1e6, Array.from({ length: 500 }, (_, i) => ({ begin_ns: i * 2000, end_ns: i * 2000 + 1500 })));
  assert.ok(many.length < 0.45 * 1e6, 'many gaps do not take the room');
});

test('heat maps keep means, and find the cell under the pointer', () => {
  const rows = 100, columns = 130, values = Float32Array.from({ length: rows * columns }, (_, i) => i % columns);
  values[5 * columns + 7] = NaN;
  const heat = new HeatLevels(values, rows, columns);
  assert.equal(heat.at(5, 9), 9);
  const table = Uint32Array.from({ length: 256 }, (_, i) => i), pixels = new Uint32Array(columns * rows);
  heat.paint(pixels, columns, rows, [0, columns], [0, rows], table, 0, 129, 999);
  assert.equal(pixels[0], 0);
  assert.equal(pixels[129], 255);
  assert.equal(pixels[5 * columns + 7], 999);
  const small = new Uint32Array(13);
  heat.paint(small, 13, 1, [0, columns], [0, rows], table, 0, 129, 999);
  for (let i = 1; i < 13; ++i) assert.ok(small[i] > small[i - 1]);
  assert.ok(Math.abs(small[6] - 127) < 12, 'the middle of the picture is the mean of the middle');
  assert.deepEqual(usualRange(Float32Array.from([NaN])), [0, 1, 1]);
  assert.deepEqual(usualRange(Float32Array.from([-1, 2, 4])), [-1, 4, 4]);
  const one = Float32Array.from({ length: 200 }, (_, i) => (i === 77 ? 5000 : 1 + (i % 5)));
  assert.deepEqual(usualRange(one), [0, 5, 5000], 'one outlier does not set the scale');
  const beyond = new Uint32Array(200);
  new HeatLevels(one, 1, 200).paint(beyond, 200, 1, [0, 200], [0, 1], table, 0, 5, 999, 777);
  assert.deepEqual([...beyond].flatMap((v, i) => (v === 777 ? [i] : [])), [77], 'and is marked, it alone');
});

test('a tall matrix: no pixel leaves out rows that lie between it and the next', () => {
  // Of each eight rows one has 0: whole groups are equal, however many rows a pixel has.
  const rows = 2048, columns = 30, values = Float32Array.from({ length: rows * columns }, (_, i) => (Math.floor(i / columns) % 8 === 0 ? 0 : 1));
  const heat = new HeatLevels(values, rows, columns), table = Uint32Array.from({ length: 256 }, (_, i) => i);
  for (const height of [64, 150, 200, 250]) {
    const pixels = new Uint32Array(100 * height);
    heat.paint(pixels, 100, height, [0, columns], [0, rows], table, 0, 1, 999);
    assert.ok(pixels.every((v) => v > 0.75 * 255 && v < 0.96 * 255), `${height} pixels: none is a single row`);
    assert.ok(Math.abs(pixels.reduce((s, v) => s + v, 0) / pixels.length - 0.875 * 255) < 2);
  }
  // And zoomed to single rows they are there again.
  const near = new Uint32Array(10 * 16);
  heat.paint(near, 10, 16, [0, 4], [8, 24], table, 0, 1, 999);
  assert.deepEqual([0, 1, 8, 9].map((y) => near[10 * y]), [0, 255, 0, 255]);
});

test('least, mean and greatest of any range', () => {
  const random = chance(3), value = Float64Array.from({ length: 3001 }, random), series = new Series(value.map((_, i) => i), value);
  for (const [a, b] of [[0, 3001], [1, 2], [17, 2999], [1000, 1004], [5, 5 + 64]]) {
    const part = value.slice(a, b), r = series.range(a, b);
    assert.equal(r.low, Math.min(...part));
    assert.equal(r.high, Math.max(...part));
    assert.ok(Math.abs(r.mean - part.reduce((s, v) => s + v) / part.length) < 1e-3);
  }
  assert.deepEqual([...histogram([0, 1, 1, 9, 99], 3, 0, 9)], [3, 0, 2]);
  assert.equal(quantile([1, 2, 3, 4], 0.5), 2.5);
});

test('sums over metrics, call paths and locations', () => {
  const metrics = new Forest([-1, 0, 1, 0]), paths = new Forest([-1, 0, 0]);
  const s = new Severities([1, 1, 0, 2, 2, 1, 1, 3, 3, 2, 0, 5], metrics, paths, 2);
  assert.deepEqual([...metrics.inclusive(s.byMetric())], [10, 5, 3, 5]);
  assert.deepEqual([...s.byPath(1, true)], [0, 5, 0]);
  assert.deepEqual([...s.byPath(1, false)], [0, 2, 0]);
  assert.deepEqual([...paths.inclusive(s.byPath(0, true))], [10, 5, 5]);
  assert.deepEqual([...s.byLocation(1, true, -1, true)], [2, 3]);
  assert.deepEqual([...s.byLocation(0, true, 0, true)], [7, 3]);
  assert.deepEqual([...s.byLocation(0, true, 0, false)], [0, 0]);
  assert.deepEqual(metrics.chain(2), [0, 1, 2]);
  assert.deepEqual([...new Forest([1, 0]).order], [], 'a circle does not hang the page');
});

test('the made-up report holds together', () => {
  const { profile, metrics, total } = madeUp({ ranks: 2, threads: 2, iterations: 50, spans: 2000 });
  assert.ok(total > 500);
  const classes = Object.values(profile.classes).reduce((a, b) => a + b);
  assert.ok(Math.abs(classes / profile.time_ns - 1) < 1e-6);
  assert.ok(metrics.time > 0);
});

test('spans of a range by call path: call sites, iterations, rows of several threads', () => {
  const regions = [{ name: 'solve', site: '', loop: null }, { name: 'loop 1', site: '', loop: 1 }, { name: 'MPI_Send', site: 'a.c:1', loop: null }, { name: 'MPI_Send', site: 'a.c:2', loop: null }, { name: 'stranger', site: '', loop: null }];
  const paths = [{ parent: null, name: 'main', site: '' }, { parent: 0, name: 'solve', site: '' }, { parent: 1, name: 'MPI_Send', site: 'a.c:1' }, { parent: 1, name: 'MPI_Send', site: 'a.c:2' }];
  // solve [0, 100] { iteration [10, 60] { send 1 [20, 30], send 2 [40, 50] }, iteration [60, 100] { stranger [70, 80] } }
  const spans = new Spans(Float64Array.of(0, 10, 20, 40, 60, 70), Float32Array.of(100, 50, 10, 10, 40, 10), Uint16Array.of(0, 1, 2, 3, 1, 4), Uint8Array.of(0, 1, 2, 2, 1, 2));
  const rows = { spans: [spans, null], about: { rows: [[0, 1, 0], [2, 2, 2]], regions }, waits: { values: Float64Array.of(0, 22, 28, 7, 0, 41, 49, 8, 0, 71, 79, 8) } };
  const finder = new PathFinder(paths, regions);
  assert.deepEqual([...finder.of(spans)], [1, 1, 2, 3, 1, 1], 'main is missing around them, iterations are no paths');
  const { own, visits } = pathsOfRange(rows, finder, 4, 25, 90);
  assert.deepEqual([...own], [0, 2 * 50, 2 * 5, 2 * 10]);
  assert.deepEqual([...visits], [0, 2, 0, 2], 'what begins in it');
  const waits = waitsOfRange(rows, new PathFinder(paths, regions, 0), (r) => r + 5, 25, 45);
  assert.deepEqual([...waits].map((v, i) => (i % 4 === 3 ? Math.round(v * 1e9) : v)), [7, 2, 5, 3, 8, 3, 5, 4]);
});

const spansOf = (list) => new Spans(Float64Array.from(list, (e) => e[0]), Float32Array.from(list, (e) => e[1] - e[0]), Uint16Array.from(list, (e) => e[2]), Uint8Array.from(list, (e) => e[3]));
const counts = (levels) => Object.fromEntries([...levels].map(([path, of]) => [path, Object.fromEntries(of)]));

test('what came after what in a range: inside each region, across gaps, as far as spans are there', () => {
  const regions = ['outer', 'a', 'b', 'loop 1'].map((name, i) => ({ name, site: '', loop: i === 3 ? 1 : null }));
  const paths = [{ parent: null, name: 'outer' }, { parent: 0, name: 'a' }, { parent: 0, name: 'b' }];
  // outer [0, 100] { iteration [5, 40] { a [10, 20], b [30, 40] }, iteration [50, 80] { a [50, 60], a [70, 80] } }, outer [110, 120]
  const spans = spansOf([[0, 100, 0, 0], [5, 40, 3, 1], [10, 20, 1, 2], [30, 40, 2, 2], [50, 80, 3, 1], [50, 60, 1, 2], [70, 80, 1, 2], [110, 120, 0, 0]]);
  const about = { rows: [[0, 1, 0]], regions, gaps: [] }, rows = { spans: [spans], about };
  const of = (begin, end, more = {}) => transitionsOfRange({ spans: [spans], about: { ...about, ...more } }, new PathFinder(paths, regions), begin, end);
  assert.deepEqual(counts(of(-1, 1000)), { '-1': { 'start 0': 2, '0 0': 2, '0 end': 2 }, 0: { 'start 1': 2, '1 2': 2, '2 1': 2, '1 1': 2, '1 end': 2, 'start end': 2 }, 1: { 'start end': 6 }, 2: { 'start end': 2 } });
  assert.deepEqual(counts(of(25, 75))[0], { '1 2': 2, '2 1': 2, '1 1': 2 }, 'a transition is at the begin of what comes');
  assert.deepEqual(counts(of(-1, 1000, { gaps: [{ begin_ns: 41, end_ns: 49 }] }))[0], { 'start 1': 2, '1 2': 2, 'unknown 1': 2, '1 1': 2, '1 end': 2, 'start end': 2 });
  assert.equal(of(-1, 1000, { detail: { all: false, until_ns: 60 } }), null);
  assert.ok(of(-1, 60, { detail: { all: false, until_ns: 60 } }));
  const level = { path: 0, nodes: [{ id: 'start' }, { id: 'p1', path: 1 }, { id: 'rest', path: null }], edges: [{ from: 'start', to: 'p1', count: 9 }, { from: 'p1', to: 'rest', count: 8 }, { from: 'p1', to: 'p1', count: 7 }] };
  const shown = levelOfRange(level, pathsOfRange(rows, new PathFinder(paths, regions), 3, 25, 75) && { time: [0, 5, 0], own: [0, 4, 0], visits: [0, 3, 0] }, of(25, 75), 10);
  assert.deepEqual(shown.edges.map((edge) => edge.count), [0, 2, 2]);
  assert.deepEqual(shown.nodes[1], { id: 'p1', path: 1, time_ns: 5, own_ns: 4, visits: 3, share: 0.5, bytes: null });
});

test('calls and messages of MPI in a range', () => {
  const regions = ['work', 'MPI_Send', 'MPI_Recv'].map((name) => ({ name, site: '', loop: null }));
  const rows = { about: { rows: [[0, 0, 0], [1, 1, 1]], regions, locations: [{ rank: 0 }, { rank: 1 }] }, spans: [spansOf([[0, 100, 0, 0], [10, 20, 1, 1], [40, 45, 1, 1], [60, 90, 1, 1]]), spansOf([[0, 30, 2, 0], [50, 70, 2, 0]])] };
  assert.deepEqual(callsOfRange(rows, ['MPI_Send', 'MPI_Recv'], 10, 60), [{ name: 'MPI_Recv', calls: 1, time_ns: 20, maximum_ns: 20 }, { name: 'MPI_Send', calls: 2, time_ns: 15, maximum_ns: 10 }]);
  const known = new Set(['MPI_Send', 'MPI_Recv']);
  assert.deepEqual([5, 10, 15, 30, 60, 95].map((t) => callAt(rows, known, 0, t)), ['', 'MPI_Send', 'MPI_Send', '', 'MPI_Send', '']);
  const messages = Float64Array.of(0, 10, 1, 25, 8, 0, 40, 1, 65, 15, 0, 60, 1, 99, 0);
  assert.deepEqual(messagesOfRange(rows, ['MPI_Send'], messages, 10, 60), {
    bySize: [{ procedure: 'MPI_Send', size_least: 8, size_greatest: 15, messages: 2, bytes: 23, time_ns: 40, mean_ns: 20 }],
    byPartner: [{ procedure: 'MPI_Send', partner: '+1', messages: 2, bytes: 23, time_ns: 40, mean_ns: 20 }],
  });
  assert.deepEqual(messagesOfRange(rows, ['MPI_Send'], messages, 50, 100).bySize.map((row) => [row.size_least, row.size_greatest, row.messages]), [[0, 0, 1]]);
});

test('a scale ends at the 99th percentile where one value would flatten the others', () => {
  const values = Float64Array.from({ length: 300 }, (_, i) => 10 + (i % 3));
  assert.deepEqual(usualTop(values), { top: 12, most: 12 });
  values[150] = 900;
  assert.deepEqual(usualTop(values), { top: 12, most: 900 });
  values[150] = 17;
  assert.deepEqual(usualTop(values), { top: 17, most: 17 }, 'what is near stays on it');
  assert.deepEqual(usualTop([1, 1, 900]), { top: 900, most: 900 }, 'of few all are shown');
  assert.deepEqual(usualTop([]), { top: 0, most: 0 });
});

// Iterations of loop 1: [begin, end] each; 0 is written, 1 and 2 are skipped, 3 is written.
const kSkipped = { n: 4, per: 1, number: Float64Array.of(0, 1, 2, 3), begin: Float64Array.of(0, 100, 200, 300), state: Float64Array.of(2, 0, 0, 1), count: Float64Array.of(1, 1, 1, 1), skipped: Float64Array.of(0, 1, 1, 0) };

test('spans of iterations: their numbers by order, also where ranks are elsewhere in time; which were skipped', () => {
  const regions = [{ loop: null }, { loop: 1 }, { loop: 2 }], lists = new Map([[1, kSkipped]]), gaps = [{ begin_ns: 100, end_ns: 300 }];
  const late = spansOf([[60, 190, 1, 0], [70, 80, 0, 1], [190, 290, 1, 0], [200, 210, 2, 1], [290, 390, 1, 0], [390, 490, 1, 0]]);
  const all = iterationsOfSpans(late, regions, lists, gaps);
  assert.deepEqual([...all.numbers], [0, -1, 1, -1, 2, 3]);
  assert.deepEqual([...all.skipped], [0, 0, 1, 1, 1, 0], 'inner loops by the gaps');
  assert.deepEqual([...iterationsOfSpans(spansOf([[0, 90, 1, 0], [310, 390, 1, 0]]), regions, lists).numbers], [0, 3], 'only those that are written are there');
  assert.deepEqual([...iterationsOfSpans(spansOf([[0, 90, 1, 0], [110, 190, 1, 0], [310, 390, 1, 0]]), regions, lists).numbers], [0, 1, 3], 'some are missing: by time');
});

test('iterations that were skipped count as that, merged or not', () => {
  assert.deepEqual(sharesOf(kSkipped, 0, 4), [0.25, 0.25, 0.5]);
  assert.deepEqual([...skippedOf(Float64Array.of(0, 10, 20), Float64Array.of(10, 10, 5), [{ first: 5, last: 21 }])], [0.5, 1, 0.4]);
  assert.deepEqual([...skippedOf(Float64Array.of(0), Float64Array.of(10), [])], [0]);
});

test('the main loop is that with most of the time, if it has a tenth of it', () => {
  const nest = { loops: [{ loop: 1, level: 0, total_ns: 200 }, { loop: 2, level: 0, total_ns: 300 }, { loop: 3, level: 1, total_ns: 900 }], bars: [[1, 0, 200, 0, 9, 1], [2, 500, 600, 0, 4, 1], [2, 700, 900, 5, 9, 1]] };
  assert.deepEqual(mainLoop(nest, 1000), { loop: nest.loops[1], begin: 500, end: 900 });
  assert.equal(mainLoop(nest, 4000), null);
  assert.equal(mainLoop(null, 1000), null);
  assert.equal(mainLoop({ loops: [], bars: [] }, 0), null);
});

test('time that was skipped is nobody’s: not of the region around it, nor of iterations', () => {
  const clock = writtenClock([[10, 20], [50, 80]]);
  assert.deepEqual([0, 10, 15, 20, 50, 60, 80, 100].map(clock), [0, 10, 10, 10, 40, 40, 40, 60]);
  const regions = [{ name: 'main', loop: null }, { name: 'loop 1', loop: 1 }];
  // main [0, 400] with an iteration each 100; this rank is 30 later than the gap says.
  const spans = spansOf([[0, 430, 0, 0], [30, 130, 1, 1], [130, 230, 1, 1], [230, 330, 1, 1], [330, 430, 1, 1]]);
  const rows = { spans: [spans, null], about: { rows: [[0, 0, 0], [1, 2, 1]], regions, gaps: [{ begin_ns: 100, end_ns: 300 }] }, skipped: [Uint8Array.of(0, 0, 1, 1, 0)] };
  assert.deepEqual([...spans.ownTimes(0, 430, 2, undefined, clockOf(rows, 0))], [30, 200]);
  assert.deepEqual([...spans.ownTimes(140, 320, 2, undefined, clockOf(rows, 0))], [0, 0]);
  assert.equal(writtenTime(rows, 0, 430), 3 * 230);
  const finder = new PathFinder([{ parent: null, name: 'main' }], regions);
  assert.deepEqual([...pathsOfRange(rows, finder, 1, 0, 430).own], [230]);
  assert.deepEqual([...timesOfRange({ ...rows, about: { ...rows.about, locations: [{ rank: 0 }, { rank: 1 }, { rank: 1 }] } }, { procedures: ['main'], ranks: 2 }, 0, 430)], [30, 0]);
});

test('functions of places, as far as loops and samples say them', () => {
  const of = new Functions({ loops: [{ file: '/src/a.c', line: 10, last_line: 90, function: 'solve' }, { file: '/src/a.c', line: 20, last_line: 30, function: 'inner' }, { file: '', line: 0, function: 'lost' }] }, { loops: [{ file: '/src/b.c', line: 7, function: 'other' }], functions: [] });
  assert.deepEqual([['a.c', 25], ['a.c', 50], ['a.c', 95], ['b.c', 7], ['c.c', 7], ['', 0]].map(([file, line]) => of.at(file, line)), ['inner', 'solve', '', 'other', '', '']);
  assert.deepEqual(['/src/a.c:44', 'exchange (/src/halo.c:88)', 'x', ''].map((site) => of.ofSite(site)), ['solve', 'exchange', '', '']);
  assert.deepEqual(of.inText('MPI_Recv @a.c:27 after a.c:40, in main a.c:40 and z.c:1'), [['a.c:27', 'inner'], ['a.c:40', 'solve']]);
});

test('who sends to whom in the whole run: exact where the archive confirms the pairs, else not said', () => {
  const row = (procedure, to, bytes_sent = 8) => ({ procedure, to, bytes_sent });
  const right = { kind: 'relative', rank: 1 }, classOf = (name) => (name.startsWith('MPI_All') ? 'mpi_collective' : 'mpi_point_to_point');
  const given = {
    rows: [row('MPI_Allreduce', null), row('MPI_Isend', right), row('MPI_Wait', null, 0), row('MPI_Send_init', right, 0)], sent: Float64Array.of(1, 0, 100, 800, 1, 1, 100, 1600, 1, 2, 100, 800, 3, 0, 5, 0), classOf,
    groups: [[0, 0], [1, 1], [2, 2]], ranks: 3, written: Float64Array.of(0, 1, 3, 24, 1, 2, 3, 48, 2, 0, 3, 24),
  };
  const all = exactMessages(given);
  assert.equal(all.messages, 300, 'a request that is made is no message');
  assert.deepEqual([...all.cells], [0, 1, 100, 800, 1, 2, 100, 1600, 2, 0, 100, 800], 'a ring is closed');
  const why = (more) => exactMessages({ ...given, ...more }).why;
  assert.match(why({ written: Float64Array.of(0, 2, 3, 24, 1, 2, 3, 48, 2, 0, 3, 24) }), /communicators/);
  assert.match(why({ written: Float64Array.of(0, 1, 101, 24, 1, 2, 3, 48, 2, 0, 3, 24) }), /communicators/, 'more than there can be');
  assert.match(why({ written: Float64Array.of(0, 1, 3, 24, 1, 2, 3, 48) }), /confirm/);
  assert.match(why({ rows: [...given.rows, row('MPI_Startall', { kind: 'several' })] }), /several/);
  assert.match(why({ rows: [...given.rows, row('MPI_Start', null)] }), /unknown/);
  assert.match(why({ elsewhere: 1 }), /memory/);
  assert.match(why({ rows: null }), /no partners/);
  const grouped = exactMessages({ ...given, groups: [[0, 1], [2, 2]], written: Float64Array.of(0, 0, 3, 24, 0, 1, 3, 48, 1, 0, 3, 24) });
  assert.deepEqual([...grouped.cells], [0, 0, 100, 800, 0, 1, 100, 1600, 1, 0, 100, 800]);
});

test('loops and functions, each under the one with most of its samples, without circles', () => {
  const total = [100, 90, 80, 70, 60, 50, 40];
  const edges = [[0, 1, 90], [1, 2, 30], [0, 2, 50], [2, 3, 70], [3, 1, 60], [5, 6, 40], [6, 5, 45], [4, 4, 9], [3, 9, 99]].map(([from, to, weight]) => ({ from, to, weight }));
  const parents = spanningParents([0, 1, 2, 3, 4, 5, 6], edges, (node) => total[node]);
  assert.deepEqual([0, 1, 2, 3, 4, 5, 6].map((node) => parents.get(node)), [-1, 0, 0, 2, -1, -1, 5]);
});

test('scaling: what is lost is divided by logarithms, models are those of the command', () => {
  const of = (factors) => Object.fromEntries(lossesOf(factors).map(({ key, share }) => [key, Number(share.toFixed(6))]));
  assert.deepEqual(of({ global: 0.25, load_balance: 0.5, communication: 1, computation: 0.5 }), { load_balance: 0.375, communication: 0, computation: 0.375 });
  assert.deepEqual(of({ global: 0.5, load_balance: 1, communication: 0.5, serialization: 1, transfer: 0.5, computation: 1.2 }), { load_balance: 0, serialization: 0, transfer: 0.5, computation: 0 });
  assert.deepEqual(of({ global: 1.1, load_balance: 1, communication: 1, computation: 1.1 }), { load_balance: 0, communication: 0, computation: 0 });
  assert.deepEqual(lossesOf({ global: 0.25, serialization: 0.25, mpi_load_balance: 1, mpi_communication: 1, openmp: 0.25, computation: 1 }, true).map(({ key, share }) => [key, share]), [['load_balance', 0], ['communication', 0], ['openmp', 0.75], ['computation', 0]]);
  assert.equal(modelAt({ constant: 1, factor: 2, exponent: 0.5, logarithms: 2 }, 16), 1 + 2 * 4 * 16);
  assert.equal(modelAt({ constant: 3, factor: 0, exponent: 0, logarithms: 0 }, 16), 3);
});
