// The search on the timeline: regions by name or place, one visit after the other.

import { button, el } from './elements.mjs';
import { count, place, shortSite, time } from './quantities.mjs';

// Regions that match by name, function or place, with how much time their visits took.
export function searcher(line, rows, result) {
  let found = [], at = -1, timer = 0;
  const input = el('input', { type: 'search', placeholder: 'region, function, place', 'aria-label': 'search by region, function or place', id: 'timeline-search' });
  function find() {
    clearTimeout(timer);
    timer = 0;
    const text = input.value.trim().toLowerCase();
    found = [];
    at = -1;
    if (text && rows.spans) {
      const match = rows.about.regions.map((region, i) => (region.name.toLowerCase().includes(text) || [place(region.file, region.line), shortSite(region.site), rows.functionNames[i]].some((each) => each.toLowerCase().includes(text))));
      let sum = 0;
      rows.spans.forEach((spans, row) => {
        for (let i = 0; i < (spans?.size ?? 0); ++i)
          if (match[spans.region[i]]) { found.push([row, i]); sum += spans.duration[i]; }
      });
      found.sort((a, b) => rows.spans[a[0]].begin[a[1]] - rows.spans[b[0]].begin[b[1]]);
      result.textContent = found.length ? `${count(found.length)} visits, ${time(sum)}` : 'nothing';
    } else result.textContent = '';
    line.surface.change();
  }
  function step(by) {
    if (!found.length) return;
    at = (at + by + found.length) % found.length;
    const [row, id] = found[at], spans = rows.spans[row];
    line.picked = { row, id };
    const length = spans.duration[id];
    line.zoomTo(spans.begin[id], spans.begin[id] + length, 2);
    result.textContent = `${count(at + 1)} of ${count(found.length)}`;
    line.details(row, id, spans);
  }
  input.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(find, 120); });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') { if (timer) find(); step(event.shiftKey ? -1 : 1); event.preventDefault(); }
    if (event.key === 'Escape') { input.value = ''; find(); line.surface.canvas.focus(); }
  });
  return { input, next: button('next', () => step(1)), again: () => { if (input.value && !found.length) find(); } };
}
