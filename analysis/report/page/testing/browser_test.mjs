// The page in the real Chromium: browser_test.mjs TEMPLATE. Reports that are made up are opened, and each view
// is used as a person would: opened, clicked, zoomed, searched, chosen in; with hostile names, in both
// themes, with few and with many threads.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Browser } from './browser.mjs';
import * as check from './checks.mjs';
import { kHostile, madeUp, syntheticEnsemble, syntheticScaling, page } from './synthetic_report.mjs';

const template = readFileSync(process.argv[2], 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'refrain-page-'));

function report(name, options) {
  const file = join(folder, `${name}.html`);
  const { blocks, ...about } = madeUp(options);
  writeFileSync(file, page(template, blocks));
  return { file, ...about, truth: truthOf(file) };
}
const truthOf = (file) => {
  const blocks = check.blocksOf(file);
  return { profile: blocks.json('a/profile'), analyze: blocks.json('a/analyze'), findings: blocks.json('a/findings'), loops: blocks.json('a/loops') };
};

const tests = {
  async 'every view opens, and its numbers are those of the JSON'(browser) {
    const { file, truth } = report('plain', {});
    await browser.open(file);
    const keys = new Set();
    const views = await check.viewsOf(browser);
    assert.deepEqual(views, ['findings', 'run', 'iterations', 'heat', 'timeline', 'graph', 'waits', 'mpi']);
    for (const view of views) {
      await check.openView(browser, view);
      for (const key of (await check.checkNumbers(browser, truth)).keys()) keys.add(key);
    }
    for (const key of ['profile.run_ns', 'profile.classes.useful', 'profile.efficiencies.parallel', 'profile.paths.1.time_ns', 'profile.mpi.MPI_Waitall.time_ns', 'analyze.metrics.mpi_latesender', 'analyze.whole_run.mpi_latesender.seconds', 'findings.0.seconds'])
      assert.ok(keys.has(key), `the page shows ${key}`);
    assert.ok(keys.size > 30, `${keys.size} numbers are compared`);
    await check.checkNothingAsked(browser);
  },

  async 'a finding leads to its evidence'(browser) {
    await browser.open(report('gaps', { spans: 8000 }).file);
    await browser.until(`return document.documentElement.dataset.ready === 'findings'`);
    // Root causes are first, what shows them is folded.
    const kinds = (where) => browser.run(`return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)`, where);
    assert.deepEqual(await kinds('#view-findings section > .findings .kind'), ['root cause', 'root cause', 'Loops'], 'and facts below');
    assert.deepEqual(await kinds('details.evidence .kind'), ['imbalance', 'waiting', 'Loops']);
    assert.equal(await browser.run(`return document.querySelector('details.evidence').open`), false);
    assert.match((await kinds('#view-findings section > .findings .functions'))[0], /in function main \(solve.c:110\)/);
    await browser.click('details.evidence summary');
    const said = (await kinds('details.evidence .finding:nth-child(2) .lost'))[0], share = (await kinds('details.evidence .finding:nth-child(2) .lost + .hint'))[0];
    await browser.click('details.evidence .finding:nth-child(2) a.see');
    await browser.until(`return document.documentElement.dataset.ready === 'waits'`);
    const chosen = await browser.run(`return [...document.querySelectorAll('#view-waits [aria-selected="true"]')].map((e) => e.getAttribute('aria-label'))`);
    assert.match(chosen[0], /^MPI late sender/);
    assert.match(chosen[1], /^MPI_Waitall/);
    // What was seen is not what is estimated: each says which it is, and the estimate is the finding's number.
    const [seen, estimate] = [await kinds('#view-waits [data-of="seen"]'), await kinds('#view-waits [data-of="estimate"]')];
    assert.match(seen[0], /^In the events of the archive: /);
    assert.match(estimate[0], /^Whole run, estimated: /);
    assert.ok(estimate[0].includes(`${said}, ${share} of the time`) && !seen[0].includes(said), `${said}, ${share}: ${estimate[0]}; ${seen[0]}`);
    assert.match(await browser.run('return location.hash'), /^#waits\?.*metric=mpi_latesender/);
    // The address is enough to come back.
    const hash = await browser.run('return location.hash');
    await browser.post('/url', { url: 'about:blank' });
    await browser.open(report('gaps', { spans: 8000 }).file, hash);
    await browser.until(`return document.documentElement.dataset.ready === 'waits'`);
    assert.match(await browser.run(`return document.querySelector('#view-waits [aria-selected="true"]').getAttribute('aria-label')`), /^MPI late sender/);
  },

  async 'trees hang together, and go by keys'(browser) {
    const { file, truth } = report('plain', {});
    await browser.open(file, '#waits?metric=omp_ibarrier_wait');
    await browser.until(`return document.documentElement.dataset.ready === 'waits'`);
    const sum = () => browser.run(`const row = document.querySelectorAll('#view-waits [role=tree]')[2].querySelector('.tree-row'); return Number(row.querySelector('[data-value]').dataset.value)`);
    assert.ok(Math.abs((await sum()) / truth.analyze.metrics.omp_ibarrier_wait - 1) < 1e-9, 'the system has all of the metric');
    await browser.run(`document.querySelector('#view-waits [role=tree]').focus()`);
    await browser.keys('\uE011\uE00D');  // Home, space: the first metric
    await browser.until(`return location.hash.includes('metric=time')`, 'a key chooses a metric');
    assert.ok(Math.abs((await sum()) / truth.analyze.metrics.time - 1) < 1e-9);
    await browser.run(`[...document.querySelectorAll('#view-waits [role=tree]')][1].focus()`);
    await browser.keys('\uE011\uE015\uE015\uE007');  // Home, down, down, Enter: a call path
    await browser.until(`return location.hash.includes('wait_path=')`, 'a key chooses a call path');
    const part = await sum();
    assert.ok(part > 0 && part < truth.analyze.metrics.time);
    const before = await browser.run(`return document.querySelectorAll('#view-waits [role=tree]')[0].querySelectorAll('.tree-row').length`);
    await browser.run(`document.querySelector('#view-waits [role=tree]').focus()`);
    await browser.keys('\uE011\uE012');  // Home, left: closed
    await browser.until(`return document.querySelectorAll('#view-waits [role=tree]')[0].querySelectorAll('.tree-row').length < ${before}`, 'left closes a node');
    await browser.click('#view-waits [role=radio][data-value="ex"]');
    assert.equal(await browser.run(`return document.querySelector('#view-waits [role=radio][data-value="ex"]').getAttribute('aria-checked')`), 'true');
  },

  async 'iterations that are chosen hold on every view'(browser) {
    const { file, truth } = report('plain', {}), blocks = check.blocksOf(file);
    await browser.open(file, '#iterations');
    await browser.until(`return document.documentElement.dataset.ready === 'iterations'`);
    await check.openView(browser, 'iterations');
    await browser.drag('#view-iterations canvas', [-200, 0], [100, 0]);
    await browser.until(`return !document.getElementById('filter').hidden`, 'a range is chosen');
    const { first, last, begin_ns: begin, end_ns: end } = await browser.run('return refrain.page.selection.state');
    assert.ok(first > 80 && last > first && last < 320 && end > begin, `iterations ${first} to ${last}`);
    await check.openView(browser, 'timeline');
    await browser.until(`return document.querySelector('#view-timeline').dataset.loaded`, 'all spans are there');
    const [a, b] = await browser.runAsync(`const { line } = await (await refrain.page.made.get('a/timeline')).work; return line.zoom.x.map((x) => line.rows.folding.time(x))`);
    assert.ok(a <= begin && b >= end && b - a < 2 * (end - begin), 'the timeline shows them');
    await check.openView(browser, 'heat');
    assert.ok(await browser.runAsync(`return (await (await refrain.page.made.get('a/heat')).work).map.chosen.join() === '${first},${last + 1}'`), 'so does the heat map');
    await check.openView(browser, 'mpi');
    await browser.until(`return document.querySelector('#view-mpi').textContent.includes('messages on the timeline from')`, 'the matrix is of these');
    await browser.until(`return document.querySelector('#view-mpi').textContent.includes('calls that start in the range')`, 'so are procedures');
    const sent = blocks.numbers('a/timeline/messages').values.filter((v, i, all) => i % 5 === 1 && v >= begin && v < end).length;
    const rows = (title) => browser.run(`return [...document.querySelectorAll('#view-mpi table[aria-label="${title}"] tbody tr')].map((row) => [...row.cells].map((cell) => cell.querySelector('[data-value]')?.dataset.value))`);
    for (const title of ['messages of the range by size', 'messages of the range by partner'])
      assert.equal((await rows(title)).reduce((sum, row) => sum + Number(row[2]), 0), sent, title);
    assert.ok((await rows('MPI procedures')).length > 0);
    assert.equal(await browser.run(`return [...document.querySelectorAll('#view-mpi table')].filter((e) => e.getAttribute('aria-label') === 'MPI procedures' && e.offsetWidth > 0).length`), 1, 'those of the run are not shown beside them');
    const byRank = await browser.runAsync(`return [...(await (await refrain.page.made.get('a/mpi')).work).parts.rank.total]`);
    assert.ok(byRank.length === 4 && byRank.every((ns) => ns > 0 && ns < end - begin), `time in MPI of each rank: ${byRank}`);
    await check.openView(browser, 'waits');
    await browser.until(`return document.querySelector('#view-waits').textContent.includes('Waits only. Of the events in the archive from')`, 'waits of these');
    await check.openView(browser, 'graph');
    await browser.until(`return document.querySelector('#view-graph').textContent.includes('Own time of regions from')`, 'regions of these');
    await browser.until(`return document.querySelector('#view-graph [role=status]').textContent.includes('Of the events in the archive')`, 'the call tree is of these');
    const tree = () => browser.run(`return [...document.querySelectorAll('#view-graph .tree [data-value]')].map((e) => Number(e.dataset.value))`);
    const part = await tree();
    assert.ok(Math.max(...part) > 0 && Math.max(...part) <= (end - begin) * 8, 'at most the time of all threads');
    // Waits of the range, added up here from the timeline's.
    const barrier = truth.analyze.metric_tree.findIndex((each) => each.name === 'omp_ibarrier_wait');
    const { values } = blocks.numbers('a/timeline/waits');
    let waited = 0;
    for (let i = 0; i < values.length; i += 4) if (values[i + 3] === barrier) waited += Math.max(0, Math.min(values[i + 2], end) - Math.max(values[i + 1], begin)) / 1e9;
    await browser.run(`refrain.page.go('waits', { metric: 'omp_ibarrier_wait' })`);
    await browser.until(`return document.documentElement.dataset.ready === 'waits' && location.hash.includes('omp_ibarrier_wait')`);
    const trees = await browser.run(`return [...document.querySelectorAll('#view-waits [role=tree]')].map((tree) => Number((tree.querySelector('[aria-selected="true"]') ?? tree.querySelector('.tree-row')).querySelector('[data-value]').dataset.value))`);
    assert.ok(waited > 0);
    for (const value of trees) assert.ok(Math.abs(value / waited - 1) < 1e-9, `each tree has the ${waited} s of the range: ${trees}`);
    await check.openView(browser, 'graph');
    await browser.click('#whole-run');
    await browser.until(`return document.getElementById('filter').hidden`, 'the whole run again');
    await browser.until(`return document.querySelector('#view-graph [role=status]').hidden`);
    assert.ok(Math.max(...(await tree())) > Math.max(...part), 'the call tree is of the whole run again');
  },

  async 'the timeline zooms to a microsecond, folds, searches'(browser) {
    await browser.open(report('gaps', { spans: 8000 }).file, '#timeline');
    await browser.until(`return document.querySelector('#view-timeline')?.dataset.loaded`, 'all spans are there');
    const canvas = '#view-timeline canvas';
    assert.ok((await check.colorsOn(browser, canvas)) > 5);
    const range = () => browser.runAsync(`const { line } = await (await refrain.page.made.get('a/timeline')).work; return line.zoom.x[1] - line.zoom.x[0]`);
    // First the main loop; everything after Home or a double click.
    const first = await range();
    await browser.run(`document.querySelector('${canvas}').focus()`);
    await browser.keys('\uE011');
    const whole = await range();
    assert.ok(first < 0.99 * whole && first > 0.5 * whole, `${first} of ${whole}`);
    await browser.wheel(canvas, -400, 12);
    assert.ok((await range()) < whole / 50, 'the wheel zooms');
    await browser.run(`document.querySelector('${canvas}').focus()`);
    for (let i = 0; i < 12 && (await range()) > 1000; ++i) await browser.keys('+++++');
    assert.ok((await range()) <= 1000, 'to a microsecond');
    await browser.keys('\uE011');
    assert.equal(await range(), whole);
    await browser.keys('f');
    await browser.until(`return document.querySelector('#view-timeline [role=radio][data-value="true"]').getAttribute('aria-checked') === 'true'`, 'f unfolds');
    assert.ok((await range()) > whole * 1.5, 'gaps in their true length');
    await browser.type('#timeline-search', 'barrier\uE007');
    await browser.until(`return /^1 of/.test(document.querySelector('#view-timeline [role=status]').textContent)`, 'the search goes to the first');
    assert.ok((await range()) < whole / 10);
    await browser.hover(canvas, 0, -60);
    await browser.until(`return !document.getElementById('tip').hidden`, 'what is under the pointer is said');
    // Functions are found, and shown.
    await browser.run(`const input = document.getElementById('timeline-search'); input.value = 'main'; input.dispatchEvent(new Event('input'))`);
    await browser.until(`return /visits/.test(document.querySelector('#view-timeline [role=status]').textContent)`, 'calls in a function are found');
    await browser.type('#timeline-search', '\uE007');
    await browser.until(`return /function.*main/s.test(document.querySelector('#view-timeline dl.facts')?.textContent)`, 'the function is said');
  },

  async 'MPI_Init does not take the timeline; iterations have numbers, skipped ones are no others'(browser) {
    await browser.open(report('start', { iterations: 600, spans: 3000, start: 700e6 }).file, '#timeline');
    await browser.until(`return document.querySelector('#view-timeline')?.dataset.loaded`, 'all spans are there');
    const state = () => browser.runAsync(`const { line } = await (await refrain.page.made.get('a/timeline')).work, { rows, zoom } = line; return { begin: rows.folding.time(zoom.x[0]), end: rows.folding.time(zoom.x[1]), height: line.surface.height,
      labels: Array.from(rows.numbers[0]).map((n, i) => [n, rows.skipped[0][i], rows.label(0, i)]).filter(([n]) => n >= 0) }`);
    const { begin, end, height, labels } = await state();
    assert.ok(begin > 600e6 && end > 1300e6, `what is seen begins at ${begin}`);
    assert.ok(height > 0.55 * 900, `the picture has ${height} of 900 pixels`);
    assert.equal(labels.length, 600);
    assert.deepEqual([labels[0], labels[599].slice(0, 2)], [[0, 0, 'iteration 0'], [599, 1]]);
    assert.ok(labels.filter(([, skipped]) => skipped).length > 500);
    const canvas = '#view-timeline canvas', texts = () => browser.runAsync(`const { line } = await (await refrain.page.made.get('a/timeline')).work, c = line.surface.context, out = []; const was = c.fillText; c.fillText = function (text, ...at) { out.push(text); return was.call(this, text, ...at); }; line.surface.paint(); c.fillText = was; return out`);
    await browser.runAsync(`const { line } = await (await refrain.page.made.get('a/timeline')).work, s = line.rows.spans[0]; line.zoomTo(line.rows.numbers[0].length && s.begin[1], s.begin[40], 0); await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))`);
    assert.ok((await texts()).some((text) => /^(iteration )?[1-9]$/.test(text)), 'iterations are numbered');
    // Where nothing was written there is no colour of an iteration.
    await browser.runAsync(`const { line } = await (await refrain.page.made.get('a/timeline')).work, { rows } = line; line.setFolded(false); const k = rows.skipped[0].lastIndexOf(1), s = rows.spans[0]; line.show = {}; line.zoomTo(s.begin[k - 200], s.begin[k], 0); await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))`);
    const [loop, hatch] = await check.pixelsOf(browser, canvas, ['#d9dde2', '#dcdcd6']);
    assert.ok(loop < 0.02 * hatch && hatch > 100000, `skipped iterations are drawn as that: ${loop}, ${hatch}`);
    await browser.run(`document.querySelector('${canvas}').dispatchEvent(new MouseEvent('dblclick', { bubbles: true }))`);
    assert.ok((await state()).begin <= 0, 'a double click shows everything');
    // Iterations, where a pixel is more than one.
    await check.openView(browser, 'iterations');
    const [written, , skipped] = await check.pixelsOf(browser, '#view-iterations canvas', ['#0072b2', '#56b4e9', '#5a626d'], 8, 195);
    assert.ok(written > 0 && skipped > 5 * written, `${written} pixels of written iterations, ${skipped} of skipped ones`);
    // A table of a range has no skipped time.
    await browser.runAsync(`const { line } = await (await refrain.page.made.get('a/timeline')).work, s = line.rows.spans[0], { skipped } = line.rows, from = skipped[0].indexOf(1); refrain.page.go('timeline', { begin_ns: s.begin[from], end_ns: s.begin[from + 300] })`);
    await browser.until(`return document.querySelector('#view-timeline .table-box')`, 'the range has a table');
    const [own, all] = await browser.run(`const rows = [...document.querySelectorAll('#view-timeline .table-box tbody tr')].map((row) => [row.cells[0].textContent, Number(row.cells[1].querySelector('[data-value]').dataset.value)]); return [rows.filter(([text]) => /loop 1/.test(text)).reduce((sum, [, ns]) => sum + ns, 0), rows.reduce((sum, [, ns]) => sum + ns, 0)]`);
    assert.ok(all > 0 && own < 0.2 * all && own < 10e6, `of 300 iterations three were written: ${own} of ${all} ns are the loop's own`);
  },

  async 'one outlier sets no scale'(browser) {
    await browser.open(report('outlier', { outlier: 300, iterations: 400 }).file, '#iterations');
    await browser.until(`return document.documentElement.dataset.ready === 'iterations'`);
    await check.openView(browser, 'iterations');
    const [bars, mark] = await check.pixelsOf(browser, '#view-iterations canvas', ['#0072b2', '#b04a00'], 0, 195);
    assert.ok(bars > 20000, `others have their height: ${bars} pixels`);
    assert.ok(mark > 0, 'what is cut off is marked');
    await check.openView(browser, 'heat');
    assert.match(await browser.run(`return document.querySelector('#view-heat .scale').textContent`), /beyond it, up to/);
    const { over, height } = await browser.runAsync(`const { map } = await (await refrain.page.made.get('a/heat')).work; return { over: map.most / map.high, height: map.surface.height }`);
    assert.ok(over > 20, `the scale ends at ${over} below the most`);
    assert.ok(height > 0.55 * 900, `the picture has ${height} of 900 pixels`);
    const [cells, top] = await check.pixelsOf(browser, '#view-heat canvas', ['#d55e00', '#fde725'], 44);
    assert.ok(cells > 50 && cells < 20000, `${cells} pixels beyond the scale`);
  },

  async 'a range by keys'(browser) {
    await browser.open(report('plain', {}).file, '#iterations');
    await browser.until(`return document.documentElement.dataset.ready === 'iterations'`);
    await check.openView(browser, 'iterations');
    const chosen = () => browser.run('return refrain.page.selection.state');
    await browser.run(`document.querySelector('#view-iterations canvas').focus()`);
    const shift = (keys) => browser.post('/actions', { actions: [{ type: 'key', id: 'keys', actions: [{ type: 'keyDown', value: '\uE008' }, ...[...keys].flatMap((value) => [{ type: 'keyDown', value }, { type: 'keyUp', value }]), { type: 'keyUp', value: '\uE008' }] }] });
    await shift('\uE014\uE014\uE014');
    assert.equal((await chosen()).first, undefined, 'not before Enter');
    await browser.keys('\uE007');
    const { first, last, begin_ns: begin } = await chosen();
    assert.ok(first === 200 && last === 229 && begin > 0, `iterations ${first} to ${last}`);
    await shift('\uE012');
    await browser.keys('\uE00C');
    assert.equal((await chosen()).first, first, 'Escape drops what is being drawn');
    await browser.keys('\uE00C');
    assert.equal((await chosen()).first, undefined, 'then what is chosen');
    // What is seen, on the timeline.
    await check.openView(browser, 'timeline');
    await browser.until(`return document.querySelector('#view-timeline').dataset.loaded`);
    await browser.run(`document.querySelector('#view-timeline canvas').focus()`);
    await browser.keys('+++\uE007');
    const { begin_ns: from, end_ns: to } = await chosen();
    assert.ok(from > 0 && to > from);
    assert.match(await browser.run(`return document.getElementById('filter').textContent`), /chosen: /);
  },

  async 'who sends to whom: of the whole run where that is known'(browser) {
    const matrix = () => browser.run(`return document.querySelector('#view-mpi .hint:not([role])').closest('.view').textContent`);
    const { file } = report('gaps', { spans: 8000 }), sent = check.blocksOf(file).numbers('a/messages/sent').values;
    let messages = 0;
    for (let i = 2; i < sent.length; i += 4) messages += sent[i];
    await browser.open(file, '#mpi');
    await browser.until(`return document.documentElement.dataset.ready === 'mpi'`);
    assert.ok((await matrix()).replaceAll('\u2009', '').includes(`Exact: all ${messages} messages of the run, from the summary`), await matrix());
    await browser.open(report('alone', { alone: true, spans: 8000 }).file, '#mpi');
    await browser.until(`return document.documentElement.dataset.ready === 'mpi' && document.querySelector('#view-mpi').textContent.includes('Only the')`, 'else it says that it is of those in the archive');
    assert.match(await matrix(), /messages in the archive, not the whole run: ranks in communicators/);
  },

  async 'runs that take no time, or have no events'(browser) {
    for (const options of [{ zero: true, iterations: 5 }, { zero: true, iterations: 0 }, { iterations: 0 }, { iterations: 1, ranks: 1, threads: 1 }, { zero: true, iterations: 2, ranks: 1, threads: 1 }]) {
      await browser.open(report('nothing', options).file);
      await browser.until(`return document.documentElement.dataset.ready`);
      for (const view of await check.viewsOf(browser)) {
        await check.openView(browser, view);
        if (view === 'timeline') await browser.until(`return document.querySelector('#view-timeline').dataset.loaded`, 'it is read');
        await browser.run(`for (const canvas of document.querySelectorAll('#view-${view} canvas')) { canvas.focus(); for (const key of ['+', '-', 'ArrowRight', 'Home']) canvas.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })); canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: 500, clientY: 300, bubbles: true })); }`);
        await browser.runAsync(`await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))`);
        const text = await browser.run(`return document.querySelector('#view-${view}').innerText + document.getElementById('tip').innerText`);
        const seen = await browser.runAsync(`const made = await (await refrain.page.made.get('a/${view}')).work, zoom = (made.line ?? made.map)?.zoom; return zoom ? [...zoom.x, zoom.pixel(zoom.x[0])] : []`);
        assert.ok(seen.every(Number.isFinite), `${JSON.stringify(options)}, ${view}: what is seen is ${seen}`);
        assert.ok(!/NaN|Infinity|undefined|null/.test(text), `${JSON.stringify(options)}, ${view}: ${text.match(/.{0,60}(NaN|Infinity|undefined|null).{0,20}/s)?.[0]}`);
      }
      for (const view of ['iterations', 'timeline', 'heat']) {
        await check.openView(browser, view);
        await browser.run(`document.querySelector('#view-${view} canvas')?.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }))`);
      }
      await browser.run(`refrain.page.selection.set({ begin_ns: 0, end_ns: 0, first: 0, last: 0, loop: 1 })`);
      for (const view of await check.viewsOf(browser)) await check.openView(browser, view);
      await check.checkNoErrors(browser);
    }
  },

  async 'graph and call tree go together'(browser) {
    await browser.open(report('plain', {}).file, '#graph');
    await browser.until(`return document.documentElement.dataset.ready === 'graph'`);
    await browser.run(`document.querySelector('#view-graph .graph-box .node[data-path="1"]').dispatchEvent(new MouseEvent('click', { bubbles: true }))`);
    await browser.until(`return document.querySelector('#view-graph .tree [aria-selected="true"]')?.dataset.node === '1'`, 'the tree follows the graph');
    await browser.run(`[...document.querySelectorAll('#view-graph .tree-row')].find((e) => e.dataset.node === '3').click()`);
    await browser.until(`return document.querySelector('#view-graph .graph-box .node.chosen')?.dataset.path === '3'`, 'the graph follows the tree');
  },

  async 'loops of the code: numbers, tables, tree, keys'(browser) {
    const { file, truth } = report('loops', { loops: true });
    await browser.open(file);
    assert.deepEqual((await check.viewsOf(browser)).slice(-2), ['mpi', 'loops'], 'a view more');
    await browser.until(`return document.documentElement.dataset.ready`);
    await browser.keys('9');
    await browser.until(`return document.documentElement.dataset.ready === 'loops'`, '9 opens the loops');
    const numbers = await check.checkNumbers(browser, truth);
    for (const key of ['loops.total.seconds', 'loops.nodes.2.total.seconds', 'loops.nodes.2.self.seconds', 'loops.nodes.0.total.samples', 'loops.candidates.0.share', 'loops.detected.0.parts.1.total.samples'])
      assert.ok(numbers.has(key), `the page shows ${key}`);
    // The first candidate, by keys.
    await browser.run(`document.querySelector('#view-loops tr[tabindex]').focus()`);
    await browser.keys('\uE007');
    await browser.until(`return location.hash.includes('node=2')`, 'Enter chooses a loop');
    assert.match(await browser.run(`return document.querySelector('#view-loops .tree [aria-selected="true"]').getAttribute('aria-label')`), /^solve.c:41/);
    assert.match(await browser.run(`return document.querySelector('#view-loops').textContent`), /400 iterations of 25.ms, CPU time in it 20.ms/);
    assert.match(await browser.run(`return document.querySelector('#view-loops').textContent`), /Selected loop.*Callers.*Contents/s);
    await browser.run(`window.copied = null; navigator.clipboard.writeText = async (text) => { window.copied = text; }; [...document.querySelectorAll('#view-loops button')].filter((b) => b.textContent === 'copy as CSV')[2].click()`);
    await browser.until('return window.copied', 'the flat profile is copied');
    assert.match(await browser.run('return window.copied'), /^place,function,total_s,total_share,self_s,self_share,samples\n\/src\/solve.c:41,solve,8,0.8,1,0.1,800\n/);
    await browser.run(`refrain.page.selection.set({ first: 3, last: 9, begin_ns: 1e6, end_ns: 9e6 })`);
    await browser.until(`return document.querySelector('#view-loops [role=status]').textContent.includes('does not apply')`, 'it is said that a range has no samples');
  },

  async 'many runs: one view, with the numbers of refrain scaling'(browser) {
    const write = (name, options) => {
      const file = join(folder, `${name}.html`), made = syntheticScaling(options);
      writeFileSync(file, page(template, made.blocks));
      return { file, ...made };
    };
    const { file, runs, losses } = write('scaling', {});
    await browser.open(file);
    assert.deepEqual(await check.viewsOf(browser), ['scaling']);
    await check.openView(browser, 'scaling');
    const truth = { scaling: check.blocksOf(file).json('scaling') };
    const shown = await check.checkNumbers(browser, truth);
    for (const key of ['scaling.runs.3.factors.transfer', 'scaling.runs.0.seconds', 'scaling.runs.2.speedup']) assert.ok(shown.has(key), `the page shows ${key}`);
    assert.match(await browser.run('return document.title'), /^solve – /);
    // What is lost adds up to what the efficiency lacks.
    const bars = await browser.run(`return [...document.querySelectorAll('#view-scaling .stack')].map((stack) => [...stack.children].map((e) => parseFloat(e.style.flexBasis)))`);
    assert.equal(bars.length, 4);
    bars.forEach((parts, i) => {
      assert.ok(Math.abs(parts[0] / 100 - runs[i].factors.global) < 1e-3, `run ${i}`);
      assert.ok(Math.abs(parts.reduce((a, b) => a + b) - 100) < 0.5, `run ${i}: ${parts}`);
    });
    // 80 % is where colours turn.
    const colors = await browser.run(`return [...document.querySelectorAll('#view-scaling .pop td[style] .number')].map((e) => [Number(e.dataset.value), ...getComputedStyle(e.parentElement).backgroundColor.match(/\\d+/g).map(Number)])`);
    assert.ok(colors.length > 20);
    for (const [value, red, , blue] of colors) assert.ok(Math.abs(value - 0.8) < 0.01 || (value > 0.8 ? blue > red : red > blue), `${value}: ${red}, ${blue}`);
    // A place's growth: its times, and the model up to four times the largest run.
    const growth = () => browser.run(`return document.querySelector('#view-scaling .growth').innerText`);
    assert.match(await growth(), /MPI_Allreduce @solve.c:57[\s\S]*model grows with p, at 32 threads 3.2\ss \(95 %: /);
    assert.equal(await browser.run(`return document.querySelectorAll('#view-scaling .growth circle').length`), 4);
    await browser.click('#view-scaling tbody tr[tabindex]:nth-child(3)');
    assert.match(await growth(), /MPI_Waitall/);
    assert.doesNotMatch(await growth(), /model/);
    assert.equal(losses.length, await browser.run(`return document.querySelectorAll('#view-scaling tbody tr[tabindex]').length`));
    assert.match(await browser.run(`return document.querySelector('#view-scaling').textContent`), /runs\/8-1: estimated7 places are left out/);
    await check.checkNothingAsked(browser);
    for (const [name, options] of [['hybrid', { sizes: [2, 4, 4], ranks: [1, 1, 2], models: false }], ['weak', { weak: true }], ['hostile-scaling', { hostile: true }]]) {
      await browser.open(write(name, options).file);
      await check.openView(browser, 'scaling');
      assert.equal(await browser.run(`return document.querySelectorAll('#view-scaling .error').length`), 0, name);
      assert.equal(await browser.run(`return document.querySelectorAll('main img, main script, header script').length + (typeof window.broken !== 'undefined')`), 0, name);
      assert.doesNotMatch(await browser.run(`return document.querySelector('#view-scaling').textContent + [...document.querySelectorAll('#view-scaling polyline')].map((e) => e.getAttribute('points'))`), /NaN|undefined|Infinity/, name);
      assert.ok(await browser.run(`return document.documentElement.scrollWidth <= innerWidth`), name);
    }
  },

  async 'many runs of one size: which are slow, with the numbers of refrain scaling'(browser) {
    const write = (name, options) => {
      const file = join(folder, `${name}.html`), made = syntheticEnsemble(options);
      writeFileSync(file, page(template, made.blocks));
      return { file, ...made };
    };
    const { file, members } = write('ensemble', {});
    await browser.open(file);
    assert.deepEqual(await check.viewsOf(browser), ['ensemble']);
    await check.openView(browser, 'ensemble');
    const shown = await check.checkNumbers(browser, { ensemble: check.blocksOf(file).json('ensemble') });
    for (const key of ['ensemble.members.0.seconds', 'ensemble.members.2.to_median', 'ensemble.members.1.causes.0.share']) assert.ok(shown.has(key), `the page shows ${key}`);
    assert.equal(await browser.run(`return document.querySelectorAll('#view-ensemble rect').length`), members.length);
    const chosen = () => browser.run(`return document.querySelector('#view-ensemble .growth').innerText`);
    assert.match(await chosen(), /array\/0[\s\S]*write out\.#\.dat: \+5[\s\S]*File I\/O/);
    assert.equal(await browser.run(`return document.querySelector('#view-ensemble .growth a').getAttribute('href')`), './../array/0/report.html');
    await browser.click('#view-ensemble tbody tr[tabindex]:nth-child(5)');
    assert.match(await chosen(), /array\/4[\s\S]*None that costs/);
    await check.checkNothingAsked(browser);
    for (const [name, options] of [['hostile-ensemble', { hostile: true }], ['large-ensemble', { count: 2000, slow: 0 }]]) {
      await browser.open(write(name, options).file);
      await check.openView(browser, 'ensemble');
      assert.equal(await browser.run(`return document.querySelectorAll('#view-ensemble .error').length`), 0, name);
      assert.equal(await browser.run(`return document.querySelectorAll('main img, main script, header script').length + (typeof window.broken !== 'undefined')`), 0, name);
      assert.equal(await browser.run(`return [...document.querySelectorAll('#view-ensemble a')].filter((a) => a.protocol === 'javascript:').length`), 0, name);
      assert.doesNotMatch(await browser.run(`return document.querySelector('#view-ensemble').textContent`), /NaN|undefined|Infinity/, name);
      assert.ok(await browser.run(`return document.documentElement.scrollWidth <= innerWidth`), name);
    }
  },

  async 'hostile names are text'(browser) {
    const { file } = report('hostile', { hostile: true, compare: true, loops: true, spans: 6000 });
    await browser.open(file);
    await browser.until(`return document.documentElement.dataset.ready`);
    for (const view of await check.viewsOf(browser)) {
      await check.openView(browser, view);
      await browser.runAsync(`await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))`);
    }
    await check.openView(browser, 'findings');
    assert.equal(await browser.run('return typeof window.broken'), 'undefined', 'a name was executed');
    assert.equal(await browser.run(`return document.querySelectorAll('main img, main script, main iframe, header script').length`), 0);
    const text = await browser.run(`return document.body.innerText + [...document.querySelectorAll('.view')].map((e) => e.textContent).join(' ')`);
    assert.ok(text.includes(kHostile.script), 'the name that looks like a script is shown');
    assert.ok(text.includes('\\x1b[31mred'), 'control characters can be seen');
    const [whole, isolated] = await browser.run(`const cut = [...document.querySelectorAll('bdi.cut')].find((e) => e.title === arguments[0]); return [!!cut && cut.whole === arguments[0], cut && getComputedStyle(cut).unicodeBidi]`, kHostile.long);
    assert.ok(whole, 'the whole of a long name is its title, and is copied');
    assert.equal(isolated, 'isolate');
    assert.ok(await browser.run(`return document.documentElement.scrollWidth <= innerWidth`), 'long names do not make the page wide');
    await browser.click('#head [role=radio][data-value="b"]');
    await browser.until(`return document.documentElement.dataset.ready === 'findings' && location.hash.includes('run=b')`, 'the other run');
    await check.checkNothingAsked(browser);
  },

  async 'one thread, and 256 ranks with 8 threads'(browser) {
    for (const [name, options] of [['one', { ranks: 1, threads: 1, iterations: 30, spans: 500 }], ['many', { ranks: 256, threads: 8, iterations: 300, spans: 60000 }]]) {
      await browser.open(report(name, options).file);
      await browser.until(`return document.documentElement.dataset.ready`);
      for (const view of await check.viewsOf(browser)) await check.openView(browser, view);
      await check.openView(browser, 'timeline');
      await browser.until(`return document.querySelector('#view-timeline').dataset.loaded`, 'all spans are there');
      await browser.runAsync(`await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))`);
      assert.ok((await check.colorsOn(browser, '#view-timeline canvas')) > 4, `${name}: the timeline has colours`);
      await check.openView(browser, 'mpi');
      if (name === 'one') assert.match(await browser.run(`return document.querySelector('#view-mpi').textContent`), /does not use MPI/);
    }
  },

  async 'keys, themes, tables and paper'(browser) {
    await browser.open(report('plain', {}).file);
    await browser.until(`return document.documentElement.dataset.ready`);
    await browser.run('document.body.focus()');
    await browser.keys('3');
    await browser.until(`return document.documentElement.dataset.ready === 'iterations'`, '3 opens the iterations');
    const card = () => browser.run(`return getComputedStyle(document.querySelector('.card')).backgroundColor`);
    const light = await card();
    await browser.click('#theme');
    assert.notEqual(await card(), light, 'the theme changes');
    await browser.click('#theme');
    await browser.run(`window.copied = null; navigator.clipboard.writeText = async (text) => { window.copied = text; }`);
    await browser.keys('1');
    await browser.until(`return document.documentElement.dataset.ready === 'findings'`);
    await browser.run(`[...document.querySelectorAll('#view-findings button')].find((b) => b.textContent === 'copy as CSV').click()`);
    await browser.until('return window.copied', 'a table is copied');
    assert.match(await browser.run('return window.copied'), /^Class of time,ns,share\nuseful computation,\d+,0\.\d+/);
    await browser.run('window.print = () => { window.printed = true; }');
    await browser.click('#print');
    await browser.until('return window.printed', 'all views are drawn for the paper');
    const pdf = await browser.print(), pages = pdf.toString('latin1').match(/\/Type\s*\/Page\b/g).length;
    assert.ok(pages >= 3 && pages <= 8, `${pages} pages`);
    const printed = check.picturesIn(pdf);
    assert.ok(printed.length >= 7 && printed.every(({ dark }) => dark < 0.5), `pictures, not black boxes: ${JSON.stringify(printed)}`);
    // In the dark, and by the browser's own printing: what was seen, black on white.
    await browser.open(report('dark', { iterations: 100 }).file, '#iterations');
    await browser.until(`return document.documentElement.dataset.ready === 'iterations'`);
    await browser.click('#theme');
    await check.openView(browser, 'timeline');
    await check.openView(browser, 'findings');
    const dark = check.picturesIn(await browser.print());
    assert.ok(dark.length >= 4 && dark.every((each) => each.dark < 0.3), `black on white: ${JSON.stringify(dark)}`);
    assert.equal(await browser.run(`return document.documentElement.dataset.theme + document.querySelectorAll('.surface img').length`), 'dark0', 'as it was, after it');
  },

  // Times are figures to read; what a busy machine cannot change is how much a frame has to look at.
  async 'a million spans'(browser) {
    const { file, total } = report('large', { ranks: 8, threads: 4, iterations: 30000, spans: 1300000 });
    assert.ok(total > 900000, `${total} spans`);
    await browser.open(file);
    await browser.until(`return performance.getEntriesByName('refrain-first-picture').length`, 'the first picture');
    const first = await browser.run(`return performance.getEntriesByName('refrain-first-picture')[0].startTime`);
    await check.openView(browser, 'timeline');
    await browser.until(`return document.querySelector('#view-timeline').dataset.loaded`, 'all spans are there');
    const { frames, paints, visits, pixels } = await check.framesWhileZooming(browser, '#view-timeline canvas');
    console.log(`    ${total} spans in ${(readFileSync(file).length / 1e6).toFixed(1)} MB: first picture after ${first.toFixed(0)} ms; while zooming a frame takes ` +
      `${check.median(frames).toFixed(1)} ms (median; 95 of 100 below ${check.quantileOf(frames, 0.95).toFixed(1)} ms), of which drawing ${check.median(paints).toFixed(1)} ms, looking at ${Math.max(...visits)} spans or fewer, for ${pixels} pixels`);
    assert.ok(Math.max(...visits) > 0 && Math.max(...visits) <= 2 * pixels);
  },
};

const only = process.argv[3];
let failed = 0;
let browser = await Browser.start();
try {
  for (const [name, test] of Object.entries(tests)) {
    if (only && !name.includes(only)) continue;
    try {
      await browser.post('/url', { url: 'about:blank' });
      await test(browser);
      await check.checkNoErrors(browser);
      console.log(`ok      ${name}`);
    } catch (error) {
      ++failed;
      console.log(`FAILED  ${name}\n${error.stack}`);
      await browser.log().then((lines) => lines.length && console.log(lines.map((line) => line.message).join('\n')), () => {});
    }
  }
  // The log of the network says it when a page asks for something.
  writeFileSync(join(folder, 'asks.html'), '<img src="http://example.org/x.png">');
  await browser.open(join(folder, 'asks.html'));
} finally {
  const hosts = check.hostsAsked(await browser.stop());
  if (hosts.join() !== 'example.org') {
    ++failed;
    console.log(`FAILED  hosts asked for, of which only example.org is meant to be: ${hosts.join(', ')}`);
  } else console.log('ok      no report asks for anything');
  rmSync(folder, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);
