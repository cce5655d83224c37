// Time by class as one bar, with what its colours mean.

import { el, legend, number } from './elements.mjs';
import { classColor, className, classOrder, inkOn } from './palette.mjs';
import { percent, time } from './quantities.mjs';

// classes: {useful_ns: ..., ...} as in the profile's JSON, or keys without the unit.
export function classList(classes) {
  return Object.entries(classes ?? {})
    .map(([key, ns]) => ({ key: key.replace(/_ns$/, ''), ns }))
    .filter(({ ns }) => ns > 0)
    .sort((a, b) => classOrder.indexOf(a.key) - classOrder.indexOf(b.key));
}

export function classBar(classes, total) {
  const list = classList(classes);
  const sum = total || list.reduce((s, each) => s + each.ns, 0) || 1;
  return el('div', { class: 'stack', role: 'img', 'aria-label': list.map(({ key, ns }) => `${className(key)} ${percent(ns / sum)}`).join(', ') },
    list.map(({ key, ns }) => el('span', {
      title: `${className(key)}: ${time(ns)}, ${percent(ns / sum)}`,
      style: { flex: `0 0 ${(100 * ns) / sum}%`, background: classColor(key), color: inkOn(classColor(key)) },
    }, ns / sum > 0.05 ? percent(ns / sum) : '')));
}

export const classLegend = (keys) => legend(keys.map((key) => [classColor(key), className(key)]));

export function classTable(classes, prefix) {
  const list = classList(classes).sort((a, b) => b.ns - a.ns);
  const sum = list.reduce((s, each) => s + each.ns, 0) || 1;
  return {
    columns: [
      { title: 'Class of time', left: true, value: (row) => className(row.key), text: (row) => el('span', {}, el('i', { class: 'dot', style: { background: classColor(row.key) } }), ' ', className(row.key)) },
      { title: 'Time of all threads', csv: 'ns', value: (row) => row.ns, text: (row) => number(row.ns, time(row.ns), prefix ? `${prefix}.${row.key}` : null) },
      { title: 'Share', csv: 'share', value: (row) => row.ns / sum, text: (row) => percent(row.ns / sum), bar: (row) => row.ns / list[0].ns, color: (row) => classColor(row.key) },
    ],
    rows: list,
  };
}
