// In which function a place of the source is, as far as it is known: of detected loops, and of sampled ones. Pure.

import { baseName } from './quantities.mjs';

export class Functions {
  constructor(nest, sampled) {
    this.ranges = new Map();  // by file without directories
    const add = (file, from, to, name) => {
      if (!file || !name || !from) return;
      const key = baseName(file);
      if (!this.ranges.has(key)) this.ranges.set(key, []);
      this.ranges.get(key).push({ from, to: Math.max(from, to || from), name });
    };
    for (const loop of nest?.loops ?? []) add(loop.file, loop.line, loop.last_line, loop.function);
    for (const each of [...(sampled?.loops ?? []), ...(sampled?.functions ?? [])]) add(each.file, each.line, each.line, each.function);
    // The smallest that has a line is the innermost.
    for (const list of this.ranges.values()) list.sort((a, b) => a.to - a.from - (b.to - b.from));
  }

  static async read(page) {
    return new Functions(await page.jsonOr('nest', null), await page.jsonOr('loops', null));
  }

  at(file, line) { return this.ranges.get(baseName(file))?.find(({ from, to }) => from <= line && line <= to)?.name ?? ''; }

  // Of a call's place, "src/solve.c:90" or "solve (src/solve.c:90)".
  ofSite(site) {
    const [, name, file, line] = String(site ?? '').match(/^(?:(.*) \()?([^()]*):(\d+)\)?$/) ?? [];
    return name || (file ? this.at(file, Number(line)) : '');
  }

  ofRegion(region) { return this.ofSite(region.site) || this.at(region.file, region.line); }

  // Places in a text, "solve.c:90" or "solve.c:90-99", with their functions, each once: [[place, function]].
  inText(text) {
    const out = new Map();
    for (const [place, file, line] of String(text ?? '').matchAll(/([\w.+-]+\.\w+):(\d+)(?:-\d+)?/g)) {
      const name = this.at(file, Number(line));
      if (name && !out.has(place)) out.set(place, name);
    }
    return [...out];
  }
}
