// Pictures of a report for the documents: pictures.mjs FOLDER NAME=REPORT... Which views are drawn is in the table.

import { execFileSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Browser } from './browser.mjs';
import { openView } from './checks.mjs';

// Of which report, which view, with what chosen, in which theme: each view of each of three programs, and what only others have.
const kTall = { findings: 720, waits: 700, mpi: 900 };
const kEach = ['findings', 'run', 'iterations', 'heat', 'timeline', 'graph', 'waits', 'mpi', 'loops'];
const kPictures = [
  ...['cg', 'sp', 'hybrid'].flatMap((report) => kEach.filter((view) => view !== 'mpi' || report !== 'cg').map((view) => [report, view, { height: kTall[view], zoom: view === 'timeline' && report !== 'cg' }])),
  ['cg', 'timeline', { dark: true }], ['serial', 'loops', { height: 800 }], ['compare', 'compare', { height: 760 }],
  ['sizes', 'scaling', { height: 1350 }],
];
const kWidth = 1180, kMostHeight = 860, kMostBytes = 60000;

const [folder, ...words] = process.argv.slice(2);
const reports = new Map(words.map((word) => word.split('=')));
const browser = await Browser.start({ width: kWidth, height: 760 });
let failed = false;
try {
  const [w, h] = await browser.run('return [outerWidth - innerWidth, outerHeight - innerHeight]');
  const frames = () => browser.runAsync('await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))');
  for (const [report, view, { dark, zoom, height: most = kMostHeight } = {}] of kPictures) {
    if (!reports.has(report)) continue;
    await browser.post('/url', { url: 'about:blank' });
    await browser.post('/window/rect', { width: kWidth + w, height: 760 + h });
    await browser.open(resolve(reports.get(report)));
    await browser.until('return document.documentElement.dataset.ready');
    await openView(browser, view);
    if (dark) await browser.run(`document.documentElement.dataset.theme = 'light'; document.getElementById('theme').click()`);
    if (view === 'timeline') {
      await browser.until(`return document.querySelector('#view-timeline').dataset.loaded`, 'all spans are there');
      // Some written iterations in the middle of a loop.
      if (zoom) await browser.runAsync(`
        const { line } = await (await refrain.page.made.get('a/timeline')).work, { rows } = line;
        const spans = rows.spans.find((each) => each), loops = [];
        for (let i = 0; i < spans.size; ++i) if (rows.about.regions[spans.region[i]].loop != null && spans.depth[i] === 0) loops.push(i);
        const a = loops[Math.min(5, loops.length - 1)], b = loops[Math.min(7, loops.length - 1)];
        if (a !== undefined) line.zoomTo(spans.begin[a], spans.begin[b] + spans.duration[b], 0.04);`);
    }
    await frames();
    // As tall as what is on it.
    const height = await browser.run(`const last = document.querySelector('#view-${view}').getBoundingClientRect(); return Math.ceil(last.bottom + scrollY) + 16`);
    await browser.post('/window/rect', { width: kWidth + w, height: Math.min(most, height) + h });
    await browser.run('scrollTo(0, 0)');
    await frames();
    const name = `${view}-${report}${dark ? '-dark' : ''}.png`;
    const file = join(folder, name);
    writeFileSync(file, await browser.picture());
    // A page has few colours.
    execFileSync('pngquant', ['--force', '--ext', '.png', '--strip', '--speed', '1', '--nofs', '48', file]);
    const { size } = statSync(file);
    console.log(`${name}: ${Math.round(size / 1000)} kB`);
    if (size > kMostBytes) { console.log(`${name} is larger than ${kMostBytes / 1000} kB`); failed = true; }
  }
} finally {
  await browser.stop();
}
process.exit(failed ? 1 : 0);
