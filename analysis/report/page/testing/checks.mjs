// What a report must do in a browser, whatever is in it. Each check throws what is wrong.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { inflateSync } from 'node:zlib';

// The blocks of a report's file, read here and not by the page.
export function blocksOf(file) {
  const text = readFileSync(file, 'utf8');
  const index = JSON.parse(text.match(/<script type="application\/json" id="refrain-index">([^<]*)<\/script>/)[1]);
  const raw = (name) => {
    const i = index.blocks.findIndex((block) => block.name === name);
    if (i < 0) return null;
    const head = `id="refrain-block-${i}">`;
    const from = text.indexOf(head) + head.length;
    return inflateSync(Buffer.from(text.slice(from, text.indexOf('<', from)), 'base64'));
  };
  return { names: index.blocks.map((block) => block.name), json: (name) => { const r = raw(name); return r && JSON.parse(r.toString('utf8')); },
    // Of type f64.
    numbers: (name) => { const r = raw(name); return { values: new Float64Array(r.buffer.slice(r.byteOffset, r.byteOffset + r.length)) }; } };
}

// What the commands print under a key that the page gives a number.
export function lookUp(key, { profile, analyze, findings, loops, scaling, ensemble }) {
  const [root, ...rest] = key.split('.');
  if (root === 'loops' && rest[0] === 'nodes') return rest.slice(2).reduce((at, part) => at[part], [...loops.loops, ...loops.functions].find((each) => String(each.node) === rest[1]));
  if (root === 'loops') return rest.reduce((at, part) => at[part], loops);
  if (root === 'ensemble') return rest.reduce((at, part) => at[part], ensemble);
  if (root === 'scaling') return rest.reduce((at, part) => at[part], scaling);
  if (root === 'findings') return findings[Number(rest[0])][rest[1]];
  if (root === 'analyze') return rest[0] === 'metrics' ? analyze.metrics[rest[1]] : analyze.whole_run[rest[1]][rest[2]];
  if (rest[0] === 'classes') return profile.classes[`${rest[1]}_ns`];
  if (rest[0] === 'mpi') return profile.mpi.find((p) => p.name === rest.slice(1, -1).join('.'))[rest.at(-1)];
  return rest.reduce((at, part) => at[part], profile);
}

const near = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b), 1e-12);

export async function openView(browser, view) {
  await browser.click(`#views a[data-view="${view}"]`);
  await browser.until(`return document.documentElement.dataset.ready === '${view}'`, `view ${view} is ready`);
  if (await browser.run(`return !!document.querySelector('#view-${view} canvas')`))
    await browser.until(`return [...document.querySelectorAll('#view-${view} canvas')].every((c) => c.width > 1)`, `pictures of ${view} have a size`);
  const errors = await browser.run(`return [...document.querySelectorAll('#view-${view} .error')].map((e) => e.textContent)`);
  assert.deepEqual(errors, [], `view ${view} shows an error`);
}

export const viewsOf = (browser) => browser.run(`return [...document.querySelectorAll('#views a')].map((a) => a.dataset.view)`);

// Each number that names its place in the commands' JSON is the number that is there. Returns how many.
export async function checkNumbers(browser, truth) {
  const shown = await browser.run(`return [...document.querySelectorAll('[data-key]')].map((e) => [e.dataset.key, e.dataset.value, e.textContent])`);
  for (const [key, value, text] of shown) {
    const expected = lookUp(key, truth);
    assert.ok(expected !== undefined && near(Number(value), Number(expected)), `${key}: the page has ${value}, the command ${expected}`);
    assert.ok(text.trim() !== '' && text !== '?', `${key}: ${value} is shown as “${text}”`);
  }
  return new Map(shown.map(([key, value]) => [key, value]));
}

// Whatever the run's size: nothing is wider than the page, and what there may be thousands of is put together.
export async function checkReadable(browser, view) {
  assert.ok(await browser.run('return document.documentElement.scrollWidth <= innerWidth'), `view ${view} is wider than the window`);
  const { rows, tables, trees } = await browser.runAsync(`
    const page = refrain.page, root = document.getElementById('view-${view}');
    const line = page.has('timeline') ? await page.json('timeline') : null;
    return { rows: line && { rows: line.rows, locations: line.locations.length, kept: line.kept }, tables: Math.max(0, ...[...root.querySelectorAll('tbody')].map((e) => e.rows.length)), trees: Math.max(0, ...[...root.querySelectorAll('[role=tree]')].map((e) => e.querySelectorAll('.tree-row').length)) };`);
  assert.ok(tables <= 40 && trees <= 80, `view ${view}: a table has ${tables} rows, a tree ${trees}, in the document`);
  if (!rows) return;
  assert.ok(rows.rows.length <= 512, `the timeline has ${rows.rows.length} rows`);
  rows.rows.forEach(([first, last, shown], i) => assert.ok(first === (i ? rows.rows[i - 1][1] + 1 : 0) && first <= shown && shown <= last, `row ${i} follows the one before`));
  assert.equal(rows.rows.at(-1)[1], rows.locations - 1, 'rows have all threads');
  if ((view === 'timeline' && rows.kept > 0) || (view === 'heat' && (await browser.run(`return !!document.querySelector('#view-heat canvas')`)))) assert.ok((await colorsOn(browser, `#view-${view} canvas`)) > 3, `view ${view} has a picture`);
}

// What an iteration consists of stands below its duration: columns of one iteration begin when that does. How many are compared.
export function checkRows(blocks) {
  let compared = 0;
  for (const name of blocks.names) {
    const loop = name.match(/^a\/rows\/(\d+)\/columns$/)?.[1];
    if (!loop || !blocks.names.includes(`a/loop/${loop}/iterations`)) continue;
    const { values: columns } = blocks.numbers(name), { values } = blocks.numbers(`a/loop/${loop}/iterations`), of = new Map();
    for (let i = 0; i < values.length; i += 5) of.set(values[i], i);
    for (let j = 0; j < columns.length; j += 4) {
      const [first, count, begin] = columns.subarray(j, j + 3), i = of.get(first);
      if (count !== 1) continue;
      assert.ok(i !== undefined, `loop ${loop}: there is no iteration ${first}`);
      // The first row of a visit begins after a quarter of its iteration at the latest.
      const late = begin - values[i + 1];
      assert.ok(late > -1000 && late < Math.max(1000, 0.5 * values[i + 2]), `loop ${loop}, iteration ${first}: its row begins ${late} ns after it`);
      ++compared;
    }
  }
  return compared;
}

// Of a full archive, a range that is the whole run: each level of the flow graph is that of the summary, edge by edge. How many edges.
export async function checkWholeRangeGraph(browser, blocks) {
  const line = blocks.json('a/timeline'), graph = blocks.json('a/graph');
  // (Where rows are groups, one thread of each counts for all.)
  if (!line?.detail.all || line.gaps.length || line.rows.length < line.locations.length || !graph?.levels) return 0;
  // Of a node that has something inside, that is shown.
  const levels = new Set(graph.levels.map((level) => level.path));
  let compared = 0;
  await browser.run(`refrain.page.selection.set({ begin_ns: -1, end_ns: arguments[0] })`, line.end_ns + 1);
  for (const level of graph.levels) {
    const first = level.nodes.find((node) => node.path != null && !levels.has(node.path));
    if (!first) continue;
    const ends = level.edges.map((edge) => `${edge.from} ${edge.to} `);
    await browser.run(`refrain.page.go('graph', { path: arguments[0] })`, first.path);
    await browser.until(`return document.querySelector('#view-graph [role=status]').textContent.includes('the flow graph of regions') && document.querySelector('#view-graph .graph-box .node.chosen')?.dataset.path === '${first.path}'`, `the range's graph with node ${first.path}`);
    const shown = await browser.run(`return [...document.querySelectorAll('#view-graph .graph-box .edge')].map((e) => e.dataset.edge)`);
    assert.deepEqual(shown, level.edges.map((edge, i) => ends[i] + edge.count), `the whole run as a range, inside of ${level.name}`);
    compared += shown.length;
  }
  await browser.run(`refrain.page.selection.set({ begin_ns: null, end_ns: null })`);
  return compared;
}

export async function checkNothingAsked(browser) {
  assert.deepEqual(await browser.run(`return performance.getEntriesByType('resource').map((e) => e.name)`), [], 'the page asked for something');
}

export async function checkNoErrors(browser) {
  assert.deepEqual((await browser.log()).filter((line) => line.level !== 'DEBUG').map((line) => line.message), [], 'messages in the console');
}

// Hosts that pages asked for, by the browser's log of the network. What the browser itself wants to know
// (updates, its start page) has another key there.
export const hostsAsked = (netlog) => [...new Set(netlog.split('\n').filter((line) => line.includes('"network_isolation_key":"file://'))
  .flatMap((line) => [...line.matchAll(/"url":"(?:https?|wss?|ftp):\/\/([^/"]+)/g)].map((found) => found[1])))];

// The picture on a canvas: how many colours it has.
export const colorsOn = (browser, selector) => browser.run(`
  const canvas = document.querySelector(arguments[0]);
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4 * 7) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
  return seen.size;`, selector);

// Pictures in a PDF, as Chromium writes them: [{width, height, dark: how much of it is black}]. Small ones are swatches.
export function picturesIn(pdf) {
  const text = pdf.toString('latin1'), out = [];
  for (const found of text.matchAll(/<<[^>]*\/Subtype\s*\/Image(?:[^>]|>(?!>))*>>\s*stream\r?\n/g)) {
    const [, width] = found[0].match(/\/Width (\d+)/), [, height] = found[0].match(/\/Height (\d+)/), [, length] = found[0].match(/\/Length (\d+)/);
    if (width < 100 || height < 100 || !/\/FlateDecode/.test(found[0])) continue;
    const from = found.index + found[0].length, raw = inflateSync(pdf.subarray(from, from + Number(length)));
    if (raw.length !== 3 * width * height) continue;
    let dark = 0;
    for (let i = 0; i < raw.length; i += 3) if (raw[i] + raw[i + 1] + raw[i + 2] < 90) ++dark;
    out.push({ width: Number(width), height: Number(height), dark: dark / (raw.length / 3) });
  }
  return out;
}

// Of a canvas, how many pixels have each of some colours (#rrggbb), between two heights (CSS pixels).
export const pixelsOf = (browser, selector, colors, from = 0, to = Infinity) => browser.run(`
  const canvas = document.querySelector(arguments[0]), ratio = canvas.height / canvas.clientHeight;
  const top = Math.round(arguments[2] * ratio), foot = Math.min(canvas.height, Math.round((arguments[3] ?? 1e9) * ratio));
  const { data } = canvas.getContext('2d').getImageData(0, top, canvas.width, foot - top), wanted = arguments[1].map((c) => parseInt(c.slice(1), 16)), out = wanted.map(() => 0);
  for (let i = 0; i < data.length; i += 4) { const at = wanted.indexOf((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]); if (at >= 0) ++out[at]; }
  return out;`, selector, colors, from, to === Infinity ? null : to);

// Zooms in and out with the wheel, one step a frame, and says how long the frames took, in ms, and how many spans, or groups of
// them, each looked at, of so many pixels in rows of spans.
export const framesWhileZooming = (browser, selector, steps = 120) => browser.runAsync(`
  const [selector, steps] = args;
  const canvas = document.querySelector(selector), box = canvas.getBoundingClientRect();
  const frames = [], paints = [];
  const { line } = await (await refrain.page.made.get(refrain.page.run + '/timeline')).work;
  const paint = line.surface.paint.bind(line.surface);
  let looked = 0, pixels = 0;
  for (const spans of line.rows.spans.filter(Boolean))
    for (const lane of spans.lanes) {
      const visit = lane.visit.bind(lane);
      pixels += canvas.width;
      lane.visit = (from, to, pixel, show) => visit(from, to, pixel, (...all) => { ++looked; show(...all); });
    }
  const visits = [];
  line.surface.paint = () => { const a = performance.now(); looked = 0; paint(); paints.push(performance.now() - a); visits.push(looked); };
  await new Promise((done) => requestAnimationFrame(done));
  let last = performance.now();
  for (let i = 0; i < steps; ++i) {
    const deltaY = (i % 60) < 30 ? -120 : 120;
    canvas.dispatchEvent(new WheelEvent('wheel', { deltaY, clientX: box.left + box.width * 0.6, clientY: box.top + box.height / 2, bubbles: true, cancelable: true }));
    await new Promise((done) => requestAnimationFrame(done));
    const now = performance.now();
    frames.push(now - last);
    last = now;
  }
  delete line.surface.paint;
  return { frames, paints, visits, pixels };`, selector, steps);

export const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
export const quantileOf = (list, q) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * q))];
