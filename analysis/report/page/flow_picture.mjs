// A graph that Graphviz has laid out, as an SVG picture that can be moved and zoomed.

import { el, replace, svg } from './elements.mjs';
import { inkOn, scaleColor } from './palette.mjs';
import { bytes, count, percent, shorten, time, visible } from './quantities.mjs';

const kTips = (node) => [el('div', {}, el('b', {}, shorten(visible(String(node.label).split('\n')[0]), 200))),
  node.time_ns != null && el('div', {}, `${time(node.time_ns)}${node.share != null ? `, ${percent(node.share)} of the run` : ''}`),
  node.own_ns != null && el('div', {}, `own time ${time(node.own_ns)}`),
  node.visits != null && el('div', {}, `${count(node.visits)} visits`), node.bytes > 0 && el('div', {}, bytes(node.bytes))];

const kReadable = 0.75;

export class FlowPicture {
  // pick(node), enter(node): when it is pressed, and twice.
  constructor(label, pick, enter) {
    Object.assign(this, { pick, enter });
    this.root = svg('svg', { role: 'group', 'aria-label': label, tabindex: 0 });
    this.box = el('div', { class: 'graph-box' }, this.root);
    this.by = 'time_ns';
    this.#moves();
  }

  show(level, chosen) {
    this.level = level;
    this.chosen = chosen;
    // As tall as it needs to be read, and no larger than it was made.
    const wide = this.box.clientWidth || 560, w = level.width + 20, h = level.height + 20;
    const height = Math.round(Math.max(260, Math.min(800, h * Math.min(1.2, wide / w))));
    this.box.style.height = `${height}px`;
    this.whole();
    // What would be too small to read is begun where most time is, or at what is chosen.
    const fit = Math.min(wide / w, height / h);
    if (fit < kReadable) {
      const value = (node) => (node.path != null && node.path === chosen ? Infinity : node[this.by] ?? 0);
      const at = level.nodes.reduce((a, b) => (value(b) > value(a) ? b : a), level.nodes[0]);
      const [vw, vh] = [wide / kReadable, height / kReadable];
      const begin = (middle, seen, all) => (seen >= all ? -10 - (seen - all) / 2 : Math.max(-10, Math.min(all - 10 - seen, middle - seen / 2)));
      this.view = [begin(at.x, vw, w), begin(at.y, vh, h), vw, vh];
    }
    this.draw();
  }

  whole() { this.view = [-10, -10, this.level.width + 20, this.level.height + 20]; }

  draw() {
    const { level } = this;
    if (!level) return;
    const most = Math.max(1e-9, ...level.nodes.map((node) => node[this.by] ?? 0));
    const weight = Math.max(1, ...level.edges.map((edge) => edge.count ?? 0));
    const edges = level.edges.map((edge) => {
      const p = edge.points;
      if (!p?.length) return null;
      let d = `M${p[0][0]} ${p[0][1]}`;
      for (let i = 1; i + 2 < p.length; i += 3) d += `C${p.slice(i, i + 3).map(([x, y]) => `${x} ${y}`).join(' ')}`;
      const label = edge.label ?? (edge.count ? count(edge.count) : '');
      return svg('g', { class: edge.count === 0 ? 'edge none' : 'edge', data: { edge: `${edge.from} ${edge.to} ${edge.count ?? ''}` } },
        svg('path', { d, 'stroke-width': (0.8 + 2.4 * Math.log1p(edge.count ?? 1) / Math.log1p(weight)).toFixed(2) }),
        edge.arrow && arrow(p.at(-1), edge.arrow),
        label && svg('text', { x: (edge.label_at ?? middle(p))[0], y: (edge.label_at ?? middle(p))[1], 'font-size': 10, 'text-anchor': edge.label_at ? 'middle' : 'start', dx: 5, dy: '.35em' }, shorten(visible(label), 40)));
    });
    const nodes = level.nodes.map((node) => {
      const share = (node[this.by] ?? 0) / most;
      const plain = node.kind === 'start' || node.kind === 'end' || node.kind === 'unknown';
      const fill = plain ? 'var(--raised)' : scaleColor(share, 'cividis');
      const ink = plain ? 'var(--text)' : inkOn(fill);
      const lines = String(node.label ?? '').split('\n').slice(0, 3).map(visible);
      const per = Math.max(4, Math.floor(node.w / 6.1));
      const group = svg('g', { class: `node${node.path != null && node.path === this.chosen ? ' chosen' : ''}${node.kind === 'rest' ? ' away' : ''}`, tabindex: plain ? null : 0, role: 'button', 'aria-label': `${shorten(visible(node.label), 100)}, ${time(node.time_ns)}`,
        data: node.path != null ? { path: String(node.path) } : {},
        on: { click: () => this.pick(node), dblclick: (event) => { event.stopPropagation(); this.enter(node); }, keydown: (event) => {
          if (event.key === 'Enter') { event.stopPropagation(); (node.path === this.chosen ? this.enter : this.pick)(node); } } } },
        svg('rect', { x: node.x - node.w / 2, y: node.y - node.h / 2, width: node.w, height: node.h, rx: plain ? node.h / 2 : 5, fill }),
        svg('text', { 'text-anchor': 'middle', 'font-size': 11, fill: ink }, lines.map((line, i) =>
          svg('tspan', { x: node.x, y: node.y + (i - (lines.length - 1) / 2) * 13, dy: '.35em' }, shorten(line, per)))));
      group.addEventListener('pointermove', (event) => this.#tip(event, node));
      group.addEventListener('pointerleave', () => { document.getElementById('tip').hidden = true; });
      return group;
    });
    replace(this.root, edges, nodes);
    this.#apply();
  }

  #tip(event, node) {
    const box = document.getElementById('tip');
    replace(box, kTips(node));
    box.hidden = false;
    box.style.transform = `translate(${Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8)}px, ${event.clientY + 16}px)`;
  }

  #apply() { this.root.setAttribute('viewBox', this.view.join(' ')); }

  // At the pointer what lies there stays there.
  #zoom(factor, px = 0.5, py = 0.5) {
    const [x, y, w, h] = this.view;
    const f = Math.min(Math.max(factor, 40 / w), (4 * (this.level.width + 20)) / w);
    this.view = [x + w * px * (1 - f), y + h * py * (1 - f), w * f, h * f];
    this.#apply();
  }

  #moves() {
    const { root } = this;
    root.addEventListener('wheel', (event) => {
      event.preventDefault();
      const r = root.getBoundingClientRect();
      this.#zoom(Math.exp(event.deltaY * 0.0016), (event.clientX - r.left) / r.width, (event.clientY - r.top) / r.height);
    }, { passive: false });
    let last = null;
    root.addEventListener('pointerdown', (event) => { last = [event.clientX, event.clientY]; });
    root.addEventListener('pointermove', (event) => {
      if (!last || !event.buttons) return;
      const r = root.getBoundingClientRect(), k = Math.max(this.view[2] / r.width, this.view[3] / r.height);
      this.view[0] -= (event.clientX - last[0]) * k;
      this.view[1] -= (event.clientY - last[1]) * k;
      last = [event.clientX, event.clientY];
      this.#apply();
    });
    root.addEventListener('pointerup', () => { last = null; });
    root.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (step) { this.view[0] += step[0] * this.view[2] * 0.1; this.view[1] += step[1] * this.view[3] * 0.1; this.#apply(); }
      else if (event.key === '+' || event.key === '=') this.#zoom(0.75);
      else if (event.key === '-') this.#zoom(1 / 0.75);
      else if (event.key === 'Home') { this.whole(); this.#apply(); }
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }
}

const middle = (p) => p[Math.floor(p.length / 2)];

function arrow([x, y], [tx, ty]) {
  const a = Math.atan2(ty - y, tx - x), s = 3.4;
  const points = [[tx, ty], [x - s * Math.sin(a), y + s * Math.cos(a)], [x + s * Math.sin(a), y - s * Math.cos(a)]];
  return svg('polygon', { points: points.map((q) => q.map((v) => v.toFixed(1)).join(',')).join(' ') });
}
