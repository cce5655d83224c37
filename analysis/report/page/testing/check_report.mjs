// A report that the command has made, in Chromium: check_report.mjs REPORT [PROFILE_JSON ANALYZE_JSON [LOOPS_JSON]]. Each view
// opens, its numbers are those of `refrain profile`, `refrain analyze` and `refrain loops --json` (or else of the
// report's own blocks), rows of iterations are those of their iterations, nothing is asked for, and the console stays empty.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Browser } from './browser.mjs';
import * as check from './checks.mjs';

const [report, profile, analyze, loops] = process.argv.slice(2).map((file) => resolve(file));
const blocks = check.blocksOf(report);
const json = (file, block) => (file ? JSON.parse(readFileSync(file, 'utf8')) : blocks.json(block));
const truth = { profile: json(profile, 'a/profile'), analyze: json(analyze, 'a/analyze'), findings: blocks.json('a/findings'), loops: json(loops, 'a/loops') };

const browser = await Browser.start();
let numbers = new Set(), edges = 0;
try {
  await browser.open(report);
  await browser.until('return document.documentElement.dataset.ready', 'the first view');
  for (const view of await check.viewsOf(browser)) {
    await check.openView(browser, view);
    if (view === 'timeline' && blocks.names.includes('a/timeline'))
      await browser.until(`return document.querySelector('#view-timeline').dataset.loaded`, 'all spans are there');
    for (const key of (await check.checkNumbers(browser, truth)).keys()) numbers.add(key);
    await check.checkReadable(browser, view);
  }
  // Any metric, chosen as a user does.
  for (const name of Object.keys(truth.analyze?.metrics ?? {}).filter((each) => truth.analyze.metrics[each] > 0).slice(0, 12)) {
    await browser.run(`refrain.page.go('waits', { metric: arguments[0], wait_path: null })`, name);
    await browser.until(`return location.hash === '#waits?metric=${name}' && document.documentElement.dataset.ready === 'waits'`);
    const all = Number(await browser.run(`return document.querySelectorAll('#view-waits [role=tree]')[2].querySelector('[data-value]').dataset.value`));
    assert.ok(Math.abs(all / truth.analyze.metrics[name] - 1) < 1e-6, `${name}: the page has ${all}, the command ${truth.analyze.metrics[name]}`);
  }
  edges = await check.checkWholeRangeGraph(browser, blocks);
  await check.checkNothingAsked(browser);
  await check.checkNoErrors(browser);
} finally {
  const hosts = check.hostsAsked(await browser.stop());
  assert.deepEqual(hosts, [], 'hosts that the report asked for');
}
if (loops) assert.ok([...numbers].filter((key) => key.startsWith('loops.nodes.')).length >= 4 && numbers.has('loops.total.samples'), 'the page has numbers of loops');
const rows = check.checkRows(blocks);
assert.ok(numbers.size >= 10, `only ${numbers.size} numbers were compared`);
console.log(`${report}: all views open, ${numbers.size} numbers are those of the command, ${rows} rows are below their iterations, ${edges} edges of graphs are those of a range`);
