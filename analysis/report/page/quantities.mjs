// Numbers as text, always with their unit, and names made fit to show.
// Pure: no document, no d3; tests run it in node.

const kNoBreak = '\u00a0';

// Four significant digits without trailing zeros: 1098.4 -> "1098", 1.5 -> "1.5".
export function digits(value, significant = 4) {
  if (!Number.isFinite(value)) return '?';
  if (value === 0) return '0';
  const power = Math.floor(Math.log10(Math.abs(value)));
  if (power >= significant) return String(Math.round(value));
  return String(Number(value.toPrecision(significant)));
}

function scaled(value, units, significant) {
  const magnitude = Math.abs(value);
  let [factor, unit] = units[0];
  for (const [f, u] of units)
    if (magnitude >= f * 0.99995) [factor, unit] = [f, u];
  return digits(value / factor, significant) + kNoBreak + unit;
}

const kTimes = [[1, 'ns'], [1e3, 'µs'], [1e6, 'ms'], [1e9, 's']];

export function time(ns, significant = 4) {
  if (ns == null || !Number.isFinite(ns)) return '?';
  if (ns !== 0 && Math.abs(ns) < 1) return digits(ns, 2) + kNoBreak + 'ns';
  return scaled(ns, kTimes, significant);
}

const kBytes = [[1, 'B'], [1e3, 'kB'], [1e6, 'MB'], [1e9, 'GB'], [1e12, 'TB'], [1e15, 'PB']];
export const bytes = (value, significant = 4) =>
  value == null ? '?' : scaled(value, kBytes, significant);

export const rate = (perSecond) => bytes(perSecond, 3) + '/s';

// Thousands are separated by a thin space: 69 162.
export function count(value) {
  if (value == null || !Number.isFinite(value)) return '?';
  if (!Number.isInteger(value)) return digits(value);
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, '\u2009');
}

export const percent = (share) =>
  share == null || !Number.isFinite(share) ? '?'
    : Math.abs(share) < 0.0005 ? '0.0' + kNoBreak + '%'  // no minus
    : (Math.abs(share) >= 0.9995 ? (100 * share).toFixed(0) : (100 * share).toFixed(1)) + kNoBreak + '%';

const kCounts = [[1, ''], [1e3, 'thousand'], [1e6, 'million'], [1e9, 'billion']];
export const roundCount = (value) =>
  Math.abs(value) < 1e4 ? count(value) : scaled(value, kCounts, 3);

// A number in the unit that the archive's command names it with.
export function quantity(value, unit) {
  if (value == null) return '–';
  switch (unit) {
    case 'ns': case 'nanoseconds': case 'time': return time(value);
    case 's': case 'seconds': return time(value * 1e9);
    case 'bytes': return bytes(value);
    case 'share': return percent(value);
    case 'count': case 'calls': case '': case undefined: return count(value);
    default: return digits(value) + kNoBreak + unit;
  }
}

export const plural = (n, one, many = one + 's') => count(n) + kNoBreak + (n === 1 ? one : many);

// Control characters, also those that turn the direction of writing, as in C, so that they can be seen
// and do nothing.
const kEscapes = { '\n': '\\n', '\t': '\\t', '\r': '\\r' };
export function visible(text) {
  return String(text ?? '').replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (c) =>
    kEscapes[c] ?? (c < '\u0100' ? '\\x' + c.charCodeAt(0).toString(16).padStart(2, '0') : '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0')));
}

// A command without the directory of its program.
export const shortCommand = (command) => String(command ?? '').replace(/^(\S*\/)(?=[^\s/]+(\s|$))/, '');

// "2026-11-24T23:17:28Z" for people.
export const dateText = (iso) => String(iso ?? '').replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(\.\d+)?Z$/, '$1 $2 UTC');

// A loop nest in one line, "30 × [ a; 25 × [ b; c ]; d ]", as indented lines.
export function nestLines(text) {
  let out = '', level = 0;
  const line = () => '\n' + '    '.repeat(level);
  for (const part of String(text).split(/(\[ | \]|; )/)) {
    if (part === '[ ') { ++level; out += '[' + line(); }
    else if (part === ' ]') { level = Math.max(0, level - 1); out += line() + ']'; }
    else if (part === '; ') out += line();
    else out += part;
  }
  return out;
}

// Long names lose their middle: what begins and ends them tells them apart best.
export function shorten(text, most = 60) {
  const whole = [...text];
  if (whole.length <= most) return text;
  const head = Math.ceil((most - 1) * 0.6);
  return whole.slice(0, head).join('') + '…' + whole.slice(whole.length - (most - 1 - head)).join('');
}

// "0-3, 7": numbers in ascending order.
export function ranges(numbers) {
  const parts = [];
  for (let i = 0; i < numbers.length;) {
    let j = i;
    while (j + 1 < numbers.length && numbers[j + 1] === numbers[j] + 1) ++j;
    parts.push(i === j ? `${numbers[i]}` : `${numbers[i]}–${numbers[j]}`);
    i = j + 1;
  }
  return parts.join(', ');
}

// A field of a table of comma separated values. Spreadsheets take a text that begins like a formula
// for one: a quote before it keeps it a text.
export function csvField(value) {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : '';
  let text = String(value ?? '');
  if (/^[=+\-@\t\r]/.test(text) && !/^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(text)) text = "'" + text;
  return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

export const csv = (head, rows) =>
  [head, ...rows].map((row) => row.map(csvField).join(',')).join('\n') + '\n';

// OpenMP's regions have canonical names in archives; people need not read the sentinel.
export const plainName = (name) => String(name ?? '').replace(/^!\$omp /, '');

// Where a call is, "src/solve.c:90" or "solve (src/solve.c:90)", without directories.
export const shortSite = (site) => String(site ?? '').replace(/[^\s()]*\/(?=[^\s()/]+$|[^\s()/]+\))/g, '');

export const baseName = (path) => String(path ?? '').replace(/^.*\//, '');
export const place = (file, line) => (file ? baseName(file) + (line ? ':' + line : '') : '');
