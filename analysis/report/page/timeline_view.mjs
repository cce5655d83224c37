// View 5: the events in the archive, locations by time, from the whole run to a microsecond.

import { button, choice, el, legend, name, replace, section } from './elements.mjs';
import { classColor, className } from './palette.mjs';
import { count, place, shortSite, time } from './quantities.mjs';
import { regionTable, spansOf, timelineRows } from './chosen_range.mjs';
import { mainLoop } from './iterations.mjs';
import { loopTitle } from './run_view.mjs';
import { kWait } from './timeline_overlays.mjs';
import { TimeLine } from './timeline_picture.mjs';
import { searcher } from './timeline_search.mjs';
import { kViewTitles } from './view_titles.mjs';

async function create(root, page) {
  const rows = await timelineRows(page), main = mainLoop(await page.jsonOr('nest', null), rows.about.end_ns);
  const line = new TimeLine(page, rows);
  const { about } = rows;
  if (main) line.zoomTo(main.begin, main.end, 0.02);
  const result = el('span', { class: 'hint', role: 'status' }), state = el('span', { class: 'hint', role: 'status' });
  const search = searcher(line, rows, result);
  const below = el('div'), details = el('div');
  const keys = [...new Set(about.regions.map((region) => about.classes[region.class]?.key))].filter(Boolean);
  const box = el('div');
  const showLegend = () => replace(box, rows.byClass ? legend([...keys.filter((key) => key !== 'outside' && key !== 'skipped').map((key) => [classColor(key), className(key)]), ['var(--loop)', 'iteration of a loop'], [kWait, 'below a row: waits'], ['var(--hatch)', 'not in the archive']])
    : legend([['var(--hatch)', 'not in the archive'], ['var(--loop)', 'iteration of a loop']]));
  showLegend();
  line.folds = choice('gaps', [['folded', 'folded'], ['true', 'true length']], 'folded', (v) => line.setFolded(v === 'folded'));
  line.details = (row, id, spans) => {
    const region = about.regions[spans.region[id]];
    replace(details, el('dl', { class: 'facts' }, [['region', name(region.name, 400)], rows.numbers[row]?.[id] >= 0 && ['iteration', count(rows.numbers[row][id])], ['place', name(shortSite(region.site) || place(region.file, region.line) || '–', 200)], rows.functionNames[spans.region[id]] && ['function', name(rows.functionNames[spans.region[id]], 200)],
      ['where', rows.name(row)], ['from', time(spans.begin[id], 9)], ['took', time(spans.duration[id], 6)], ['class', about.classes[region.class]?.name ?? '–']].filter(Boolean).map(([a, b]) => [el('dt', {}, a), el('dd', {}, b)])));
  };
  const toggles = [['messages', 'messages', rows.messages], ['collectives', 'collectives', rows.collectives], ['waits', 'waits', rows.waits]].filter(([, , a]) => a.values.length).map(([key, text]) => {
    const input = el('input', { type: 'checkbox', checked: true, on: { change: () => { line.show[key] = input.checked; line.surface.change(); } } });
    return el('label', { class: 'hint' }, input, ' ', text);
  });
  const detail = about.detail?.all === false ? about.detail.why : null;
  root.append(section('Timeline', `${rows.count < about.locations.length ? `${count(rows.count)} rows for ${count(about.locations.length)} threads, each shows one of its group; ` : ''}wheel zooms (with Shift: rows); drag moves (with Shift: selects)${main ? '; opens at the main loop, Home or double-click shows everything' : ''}`,
    el('div', { class: 'bar-row' }, search.input, search.next, result, line.folds,
      choice('colour', [['class', 'class'], ['region', 'region']], 'class', (v) => { rows.byClass = v === 'class'; rows.arrange(); showLegend(); line.surface.change(); }),
      toggles, button('whole run', () => line.zoom.reset(), { title: 'Home, or double-click' }), main && button('main loop', () => line.zoomTo(main.begin, main.end, 0.02), { title: loopTitle(main.loop) }), state),
    line.surface.box, el('div', { style: { 'margin-top': '8px' } }, box), detail && el('p', { class: 'hint' }, name(detail, 300)), details), below);
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && page.current === 'timeline' && !/^(INPUT|SELECT)$/.test(event.target.tagName)) { event.preventDefault(); search.input.focus(); }
  });
  page.jsonOr('analyze', null).then((analyze) => { if (analyze) line.metricTitle = (i) => analyze.metric_tree[i]?.title ?? analyze.metric_tree[i]?.name; line.analyze = analyze; });
  // First the overview is seen.
  const loading = new Promise((go) => { requestAnimationFrame(() => setTimeout(go)); setTimeout(go, 200); }).then(() => spansOf(page, (done, of) => {
    state.textContent = done < of ? `reading ${count(done)} of ${count(of)} rows` : '';
    line.surface.change();
  })).then(() => { root.dataset.loaded = 'yes'; line.pending?.(); search.again(); });
  loading.catch((error) => { console.error(error); state.textContent = `the timeline cannot be read: ${error.message}`; });

  return {
    line, loading,
    update(selection, patch) {
      const { begin_ns: begin, end_ns: end, metric } = selection.state;
      const moved = begin != null && (!patch || 'begin_ns' in patch || 'first' in patch);
      line.chosen = begin != null ? [begin, end] : null;
      const index = metric ? line.analyze?.metric_tree.findIndex((each) => each.name === metric) : -1;
      line.metric = null;
      if (index >= 0 && line.analyze) {
        const tree = line.analyze.metric_tree;
        line.metricBelow = tree.map((each, i) => { for (let at = i, k = 0; at >= 0 && k < 64; ++k) { if (at === index) return true; at = tree.findIndex((o) => o.name === tree[at].parent); } return false; });
        if (rows.waits.values.some((v, i) => i % 4 === 3 && line.metricBelow[v])) line.metric = index;
      }
      if (moved) line.zoomTo(begin, end, 0.25);
      line.pending = () => {
        replace(below, line.chosen && rows.spans ? section(`From ${time(begin, 6)} to ${time(end, 6)}`, `own time of regions in the range of ${time(end - begin)}, of the events in the archive`, regionTable(rows, begin, end)) : null);
      };
      if (root.dataset.loaded) line.pending();
      line.surface.change();
    },
    repaint: () => line.surface.paint(),
  };
}

export const timeline = {
  id: 'timeline', title: kViewTitles.timeline, print: true, create,
  missing: (page) => !page.has('timeline') && 'There are no events in the archive (it has a summary only), so there is no timeline.',
};
