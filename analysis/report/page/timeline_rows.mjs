// What the timeline reads: its rows with their spans, as they are needed.

import { Folding } from './folding.mjs';
import { Functions } from './functions.mjs';
import { iterationsOf, iterationsOfSpans } from './iterations.mjs';
import { groupName, locationNames } from './locations.mjs';
import { classColor, kSeries } from './palette.mjs';
import { plainName, shorten, visible } from './quantities.mjs';
import { laneOf, Spans } from './spans.mjs';

export class TimelineRows {
  static async read(page) {
    const [about, profile, functions] = await Promise.all([page.json('timeline'), page.jsonOr('profile', null), Functions.read(page)]);
    const rows = new TimelineRows();
    Object.assign(rows, { page, about });
    rows.names = profile ? locationNames(profile) : locationNames(null, about.locations);
    rows.count = about.rows.length;
    rows.regionNames = about.regions.map((region) => visible(region.name));
    rows.functionNames = about.regions.map((region) => visible(functions.ofRegion(region)));
    rows.shortNames = about.regions.map((region, i) => (region.loop != null ? `loop ${region.loop}` : shorten(plainName(rows.regionNames[i]) + (rows.functionNames[i] ? ` in ${rows.functionNames[i]}` : ''), 120)));
    rows.byClass = true;
    rows.folded = true;
    rows.color();
    [rows.messages, rows.collectives, rows.waits, rows.overview, rows.overviewShare] = await Promise.all([
      page.arrayOr('timeline/messages', [0, 5]), page.arrayOr('timeline/collectives', [0, 5]), page.arrayOr('timeline/waits', [0, 4]),
      page.has('timeline/overview') ? page.array('timeline/overview') : null, page.has('timeline/overview_share') ? page.array('timeline/overview_share') : null]);
    rows.fold(true);
    return rows;
  }

  name(row) {
    const [first, last] = this.about.rows[row];
    return groupName(this.names, first, last);
  }

  // What a span is called: iterations by their number.
  label(row, id) {
    const number = this.numbers?.[row]?.[id] ?? -1, region = this.spans[row].region[id];
    return number >= 0 ? `iteration ${number}` : this.shortNames[region] ?? '';
  }

  color() {
    const { classes, regions } = this.about;
    if (this.byClass) {
      this.palette = classes.map((each) => classColor(each.key)).concat('#d9dde2', '#dcdcd6');
      // Iterations of loops are drawn pale, behind what is in them, and those that were skipped as gaps are.
      this.colorOf = Uint8Array.from(regions, (region) => (region.loop != null ? classes.length : Math.min(region.class, classes.length - 1)));
    } else {
      this.palette = [...kSeries, '#d9dde2', '#dcdcd6'];
      this.colorOf = Uint8Array.from(regions, (region, i) => (region.loop != null ? kSeries.length : i % kSeries.length));
    }
  }

  fold(folded) {
    this.folded = folded;
    this.folding = new Folding(this.about.begin_ns, this.about.end_ns, this.about.gaps, folded);
  }

  // Reads all rows; tell(done, of) is called on the way so that the page can be drawn meanwhile.
  async load(tell) {
    this.spans = new Array(this.count).fill(null);
    this.numbers = [];
    this.skipped = [];
    this.loaded = 0;
    const lists = new Map();
    for (const { loop } of this.about.regions)
      if (loop != null && !lists.has(loop) && (this.page.has(`loop/${loop}/iterations`) || this.page.has(`loop/${loop}/merged`))) lists.set(loop, await iterationsOf(this.page, loop));
    // Some rows ahead are being inflated while one is arranged.
    const read = (r) => r < this.count && this.page.has(`timeline/${r}/begin`)
      ? Promise.all(['begin', 'duration', 'region', 'depth'].map((part) => this.page.array(`timeline/${r}/${part}`))) : null;
    const ahead = Array.from({ length: 12 }, (_, r) => read(r));
    let last = performance.now();
    for (let r = 0; r < this.count; ++r) {
      const blocks = ahead.shift();
      ahead.push(read(r + 12));
      if (blocks) {
        const [begin, duration, region, depth] = await blocks;
        const spans = new Spans(begin.values, duration.values, region.values, depth.values);
        const { numbers, skipped } = iterationsOfSpans(spans, this.about.regions, lists, this.about.gaps);
        this.numbers[r] = numbers;
        this.skipped[r] = skipped;
        this.spans[r] = spans.arrange(this.colorOf, this.folding.follower(), skipped, this.palette.length - 1);
      }
      this.loaded = r + 1;
      if (performance.now() - last > 40) {
        tell(r + 1, this.count);
        last = performance.now();
        await new Promise((go) => setTimeout(go));
      }
    }
    this.depths = Math.max(1, ...this.spans.map((each) => each?.depths ?? 0));
    tell(this.count, this.count);
  }

  // Wait intervals of each row, of the metrics that keep(metric) says.
  arrangeWaits(keep = () => true) {
    const { values } = this.waits, rows = Array.from({ length: this.count }, () => [[], []]);
    for (let i = 0; i < values.length; i += 4) {
      if (!keep(values[i + 3])) continue;
      rows[values[i]]?.[0].push(values[i + 1]);
      rows[values[i]]?.[1].push(values[i + 2]);
    }
    this.waitLanes = rows.map(([begin, end]) => (begin.length ? laneOf(begin, end, () => true, this.folding.follower()) : null));
  }

  // After colours or folding have changed.
  arrange() {
    this.color();
    const { folding, colorOf } = this;
    (this.spans ?? []).forEach((each, r) => each?.arrange(colorOf, folding.follower(), this.skipped[r], this.palette.length - 1));
  }
}
