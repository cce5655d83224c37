// Tables that can be sorted and copied as comma separated values.

import { button, copyText, el, number, replace } from './elements.mjs';
import { count, csv } from './quantities.mjs';

// columns: {title, value(row), text(row)? element or text, key(row)?, bar(row)? share, left?}
export function table(title, columns, rows, { most = 12, sort = -1, pick = null, chosen = null } = {}) {
  let by = sort, down = true, all = false;
  const body = el('tbody');
  const more = el('div', { class: 'more' });
  const heads = columns.map((column, i) => el('th', { scope: 'col', class: column.left ? 'left' : null },
    button(column.title, () => {
      down = by === i ? !down : !column.left;
      by = i;
      show();
    }, { title: column.hint ?? 'sort' })));

  function sorted() {
    if (by < 0) return rows;
    const { value } = columns[by];
    const sign = down ? -1 : 1;
    return [...rows].sort((a, b) => {
      const x = value(a), y = value(b);
      return typeof x === 'number' && typeof y === 'number' ? sign * (x - y) : sign * String(x).localeCompare(String(y));
    });
  }

  function cell(column, row) {
    const raw = column.value(row);
    let shown = column.text ? column.text(row) : typeof raw === 'number' ? count(raw) : raw;
    if (typeof raw === 'number' && !(shown instanceof Node)) shown = number(raw, shown, column.key?.(row));
    const share = column.bar?.(row);
    return el('td', { class: column.left ? 'left' : 'right' },
      share != null && el('i', { class: 'bar', style: { width: `${Math.max(0, Math.min(1, share)) * 100}%`, background: column.color?.(row) } }),
      shown);
  }

  function show() {
    heads.forEach((head, i) => head.setAttribute('aria-sort', i === by ? (down ? 'descending' : 'ascending') : 'none'));
    const list = sorted();
    const part = all ? list.slice(0, 2000) : list.slice(0, most);
    replace(body, part.map((row) => {
      const line = el('tr', { class: chosen?.(row) ? 'chosen' : null }, columns.map((column) => cell(column, row)));
      if (pick) {
        line.tabIndex = 0;
        line.addEventListener('click', () => pick(row));
        line.addEventListener('keydown', (event) => { if (event.key === 'Enter') pick(row); });
      }
      return line;
    }));
    replace(more, list.length > most && button(all ? 'show fewer' : `show all ${count(list.length)}`, () => {
      all = !all;
      show();
    }), all && list.length > 2000 && el('span', { class: 'hint' }, ' the first 2000; the copy has all'),
    button('copy as CSV', () => copyText(
      csv(columns.map((column) => column.csv ?? column.title), sorted().map((row) => columns.map((column) => column.value(row)))),
      `“${title}” is copied: ${count(rows.length)} rows`), { class: 'quiet' }));
  }
  show();
  const element = el('div', { class: 'table-box' },
    el('div', { class: 'scroll' }, el('table', { 'aria-label': title },
      el('thead', {}, el('tr', {}, heads)), body)), more);
  element.show = show;
  return element;
}
