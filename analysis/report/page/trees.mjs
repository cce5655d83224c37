// A tree with keys: arrows open, close and move, Enter chooses. Only the rows that can be seen are in
// the document, so that a tree may have a hundred thousand of them.

import { el, replace } from './elements.mjs';

const kRow = 26;

export class Tree {
  // forest: see severity.mjs. row(node) -> children of the row; label(node) -> its text for readers
  // and for type-ahead; pick(node).
  constructor({ forest, row, label, pick, title, height = 420, open = 2, order = null, dim = null }) {
    Object.assign(this, { forest, row, label, pick, order, dim });
    this.open = new Set();
    this.chosen = -1;
    this.at = -1;
    this.id = `tree-${++Tree.made}`;
    this.inner = el('div', { class: 'tree-inner', role: 'presentation' });
    this.box = el('div', { class: 'tree', role: 'tree', tabindex: 0, 'aria-label': title,
      style: { 'max-height': `${height}px` } }, this.inner);
    this.box.addEventListener('scroll', () => this.#draw());
    this.box.addEventListener('keydown', (event) => this.#key(event));
    this.box.addEventListener('click', (event) => this.#click(event));
    new ResizeObserver(() => this.#draw()).observe(this.box);
    for (const root of forest.roots) this.#openDown(root, open);
    this.change();
  }

  #openDown(node, levels) {
    if (levels <= 0 || this.forest.children[node].length > 400) return;
    this.open.add(node);
    for (const child of this.forest.children[node]) this.#openDown(child, levels - 1);
  }

  #sorted(nodes) {
    return this.order ? [...nodes].sort((a, b) => this.order(b) - this.order(a)) : nodes;
  }

  // Which rows there are, after something has opened or closed, or values are others.
  change() {
    this.rows = [];
    const add = (nodes, level) => {
      const list = this.#sorted(nodes);
      list.forEach((node, i) => {
        this.rows.push({ node, level, position: i + 1, of: list.length });
        if (this.open.has(node)) add(this.forest.children[node], level + 1);
      });
    };
    add(this.forest.roots, 1);
    this.inner.style.height = `${this.rows.length * kRow}px`;
    if (this.at < 0 && this.rows.length) this.at = this.rows[0].node;
    this.first = this.last = -1;
    this.#draw();
  }

  #draw() {
    if (!this.rows) return;
    const first = Math.max(0, Math.floor(this.box.scrollTop / kRow) - 4);
    const last = Math.min(this.rows.length, first + Math.ceil(Math.max(this.box.clientHeight, 400) / kRow) + 8);
    if (first === this.first && last === this.last) return;
    Object.assign(this, { first, last });
    replace(this.inner, this.rows.slice(first, last).map((row, i) => this.#row(row, first + i)));
    this.#mark();
  }

  #row({ node, level, position, of }, index) {
    const children = this.forest.children[node].length;
    return el('div', {
      class: this.dim?.(node) ? 'tree-row none' : 'tree-row', role: 'treeitem', id: `${this.id}-${node}`, data: { node: String(node) },
      'aria-level': level, 'aria-posinset': position, 'aria-setsize': of,
      'aria-expanded': children ? String(this.open.has(node)) : null, 'aria-label': this.label(node),
      style: { top: `${index * kRow}px`, '--level': String(level - 1) },
    }, el('span', { class: 'twist' }, children ? (this.open.has(node) ? '▾' : '▸') : ''), this.row(node));
  }

  #mark() {
    for (const row of this.inner.children) {
      const node = Number(row.dataset.node);
      row.setAttribute('aria-selected', String(node === this.chosen));
      row.classList.toggle('at', node === this.at);
    }
    if (this.at >= 0) this.box.setAttribute('aria-activedescendant', `${this.id}-${this.at}`);
  }

  // Opens what is around it, and shows it as chosen.
  choose(node) {
    this.chosen = node;
    if (node >= 0) {
      this.at = node;
      const chain = this.forest.chain(node).slice(0, -1);
      const closed = chain.filter((each) => !this.open.has(each));
      closed.forEach((each) => this.open.add(each));
      if (closed.length) this.change();
      this.#reveal();
    }
    this.#mark();
  }

  #reveal() {
    const index = this.rows.findIndex((row) => row.node === this.at);
    if (index < 0) return;
    const { scrollTop, clientHeight } = this.box;
    if (index * kRow < scrollTop) this.box.scrollTop = index * kRow;
    else if ((index + 1) * kRow > scrollTop + clientHeight) this.box.scrollTop = (index + 1) * kRow - clientHeight;
    this.#draw();
  }

  #toggle(node, open) {
    if (open) this.open.add(node);
    else this.open.delete(node);
    this.change();
  }

  #click(event) {
    const row = event.target.closest('.tree-row');
    if (!row) return;
    const node = Number(row.dataset.node);
    this.at = node;
    if (event.target.classList.contains('twist') && this.forest.children[node].length)
      this.#toggle(node, !this.open.has(node));
    else {
      this.choose(node);
      this.pick(node);
    }
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const index = this.rows.findIndex((row) => row.node === this.at);
    const page = Math.max(1, Math.floor(this.box.clientHeight / kRow) - 1);
    const children = this.forest.children[this.at] ?? [];
    let next = index;
    switch (event.key) {
      case 'ArrowDown': next = index + 1; break;
      case 'ArrowUp': next = index - 1; break;
      case 'PageDown': next = index + page; break;
      case 'PageUp': next = index - page; break;
      case 'Home': next = 0; break;
      case 'End': next = this.rows.length - 1; break;
      case 'ArrowRight':
        if (children.length && !this.open.has(this.at)) this.#toggle(this.at, true);
        else if (children.length) next = index + 1;
        break;
      case 'ArrowLeft':
        if (this.open.has(this.at) && children.length) this.#toggle(this.at, false);
        else {
          const parent = this.forest.parents[this.at];
          if (parent >= 0) next = this.rows.findIndex((row) => row.node === parent);
        }
        break;
      case '*': for (const each of children) this.open.add(each); this.#toggle(this.at, true); break;
      case 'Enter': case ' ': this.choose(this.at); this.pick(this.at); break;
      default: return;
    }
    event.preventDefault();
    event.stopPropagation();
    this.at = this.rows[Math.max(0, Math.min(this.rows.length - 1, next))]?.node ?? this.at;
    this.#reveal();
    this.#mark();
  }
}
Tree.made = 0;
