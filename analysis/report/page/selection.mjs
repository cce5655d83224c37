// What the user has chosen, on all views together; it is also in the address (#view?key=value), so
// that a place on the page can be sent and found again. Pure.

const kNumbers = new Set(['first', 'last', 'begin_ns', 'end_ns', 'path', 'wait_path', 'location', 'rank', 'loop', 'row', 'node']);
const kTexts = new Set(['metric', 'class', 'procedure', 'run']);

export function parseHash(hash) {
  const [view, query = ''] = hash.replace(/^#/, '').split('?');
  const selection = {};
  for (const [key, value] of new URLSearchParams(query)) {
    if (kNumbers.has(key) && value !== '' && Number.isFinite(Number(value))) selection[key] = Number(value);
    else if (kTexts.has(key)) selection[key] = value;
  }
  return { view, selection };
}

export function hashOf(view, selection) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(selection))
    if (value != null && (kNumbers.has(key) || kTexts.has(key))) query.set(key, String(value));
  const text = query.toString();
  return '#' + view + (text ? '?' + text : '');
}

// All keys that an address may have; those that are missing in one are not chosen.
export const nothingChosen = () => Object.fromEntries([...kNumbers, ...kTexts].map((key) => [key, null]));

export class Selection {
  constructor() {
    this.state = {};
    this.listeners = new Set();
  }
  get(key) { return this.state[key]; }
  on(f) { this.listeners.add(f); return () => this.listeners.delete(f); }

  // Keys with null are taken out.
  set(patch, from) {
    let changed = false;
    for (const [key, value] of Object.entries(patch)) {
      if ((this.state[key] ?? null) === (value ?? null)) continue;
      changed = true;
      if (value == null) delete this.state[key];
      else this.state[key] = value;
    }
    if (changed) for (const f of this.listeners) f(patch, from);
  }
}
