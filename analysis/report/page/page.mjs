// The page: its head, the views, keys, theme and printing. Each view is made when it is opened first,
// and reads its blocks then.

import { dataOfDocument } from './data.mjs';
import { announce, button, choice, copyWhole, el, empty, name, replace } from './elements.mjs';
import { count, dateText, digits, plural, shortCommand, time } from './quantities.mjs';
import { hashOf, nothingChosen, parseHash, Selection } from './selection.mjs';
import { surfacesIn } from './surface.mjs';
import { kViews } from './views.mjs';

const byId = (id) => document.getElementById(id);

class Page {
  constructor(data, report) {
    Object.assign(this, { data, report });
    this.selection = new Selection();
    this.run = report.runs[0]?.key ?? 'a';
    // Views that few runs have are there only where one has them. Of many runs there is nothing but what is of all of them.
    this.views = kViews.filter((view) => (view.block ? data.has(view.block) : report.runs.length > 0 && (!view.only || report.runs.some(({ key }) => data.has(`${key}/${view.only}`)))));
    this.made = new Map();
    this.current = null;
  }

  has(block) { return this.data.has(`${this.run}/${block}`); }
  json(block) { return this.data.json(`${this.run}/${block}`); }
  array(block) { return this.data.array(`${this.run}/${block}`); }
  jsonOr(block, other) { return this.data.jsonOr(`${this.run}/${block}`, other); }
  arrayOr(block, shape) { return this.data.arrayOr(`${this.run}/${block}`, shape); }
  get facts() { return this.report.runs.find((run) => run.key === this.run) ?? {}; }

  // Opens a view, and chooses there what is given ({metric, path, first, ...}).
  go(id, selection = {}) {
    this.selection.set(selection);
    this.show(id);
  }

  href(evidence) {
    const { view, ...selection } = evidence;
    return hashOf(view, selection);
  }

  async make(view) {
    const key = `${this.run}/${view.id}`;
    if (!this.made.has(key)) {
      const root = el('div', { class: 'view', id: `view-${view.id}`, data: { title: view.title, print: view.print ? 'yes' : 'no' } },
        el('p', { class: 'busy' }, 'reading …'));
      byId('main').append(root);
      const work = (async () => {
        const missing = view.missing?.(this);
        if (missing) {
          replace(root, el('div', { class: 'card' }, empty(missing)));
          return { root };
        }
        try {
          root.replaceChildren();
          return Object.assign(await view.create(root, this), { root });
        } catch (error) {
          console.error(error);
          replace(root, el('div', { class: 'card' }, el('p', { class: 'error' },
            `This view cannot be shown: ${error.message}`)));
          return { root };
        }
      })();
      this.made.set(key, { root, work });
    }
    return this.made.get(key);
  }

  async show(id, focus = false) {
    const view = this.views.find((each) => each.id === id) ?? this.views[0];
    this.current = view.id;
    for (const link of byId('views').querySelectorAll('a')) {
      if (link.dataset.view === view.id) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    const hash = hashOf(view.id, { ...this.selection.state, run: this.run === 'a' ? null : this.run });
    if (location.hash !== hash) history.replaceState(null, '', hash);
    const { root, work } = await this.make(view);
    for (const each of byId('main').children) each.hidden = each !== root;
    document.documentElement.dataset.view = view.id;
    if (focus) byId('main').focus({ preventScroll: true });
    const made = await work;
    if (this.current !== view.id) return;
    made.update?.(this.selection);
    document.documentElement.dataset.ready = view.id;
    if (!this.first) {
      this.first = true;
      requestAnimationFrame(() => setTimeout(() => performance.mark('refrain-first-picture')));
    }
  }

  // What is chosen changes on all views that have been made.
  async changed(patch, from) {
    this.#filter();
    if (!this.current) return;
    const hash = hashOf(this.current, { ...this.selection.state, run: this.run === 'a' ? null : this.run });
    history.replaceState(null, '', hash);
    const entry = this.made.get(`${this.run}/${this.current}`);
    if (entry) (await entry.work).update?.(this.selection, patch, from);
  }

  #filter() {
    const { loop, first, last, begin_ns: begin, end_ns: end } = this.selection.state;
    const chosen = first != null || begin != null;
    byId('filter').hidden = !chosen;
    if (!chosen) return;
    const text = first != null
      ? `iterations ${count(first)}–${count(last ?? first)}${loop != null ? ` of loop ${loop}` : ''}`
      : `${time(begin)} – ${time(end)} of the run`;
    // What cannot follow, findings above all, says so on its view, or is of the whole run by its title.
    replace(byId('filter'), el('span', { class: 'chip' }, el('span', {}, 'chosen: ', el('b', {}, text)),
      button('whole run', () => this.selection.set({ first: null, last: null, begin_ns: null, end_ns: null }), { class: 'quiet', id: 'whole-run' })));
  }

  head() {
    const facts = this.facts;
    if (!this.report.runs.length) return this.#headOfMany();
    document.title = `${facts.command ? shortCommand(facts.command).slice(0, 80) : 'Refrain report'} – Refrain report`;
    replace(byId('head'),
      el('h1', { title: facts.command }, name(shortCommand(facts.command) || facts.name || 'Refrain report', 80)),
      el('div', { class: 'facts' },
        el('span', {}, el('b', {}, `${digits(facts.seconds)}\u00a0s`)),
        facts.ranks > 1 && el('span', {}, plural(facts.ranks, 'rank')),
        el('span', {}, plural(facts.locations ?? facts.threads ?? 1, 'thread')),
        facts.begin && el('span', {}, dateText(facts.begin)),
        facts.openmp_note && el('span', {}, `OpenMP: ${facts.openmp_note}`),
        el('span', {}, 'archive ', name(facts.name, 40))),
      this.#tools());
  }

  #headOfMany() {
    const { program, archives } = this.report;
    document.title = `${program ?? 'Scaling'} – Refrain report`;
    replace(byId('head'),
      el('h1', {}, name(program ?? 'Refrain report', 80)),
      el('div', { class: 'facts' }, el('span', {}, el('b', {}, plural(archives ?? 0, 'run')))),
      this.#tools());
  }

  #tools() {
    return el('div', { class: 'tools' },
      this.report.runs.length > 1 && choice('run', this.report.runs.map((run) => [run.key, run.key.toUpperCase(), run.name]), this.run,
        (key) => this.change(key)),
      button('print', () => this.print(), { id: 'print', title: 'findings and all pictures on a few pages' }),
      button('keys', () => this.keys(), { title: '?' }),
      button('light / dark', () => this.theme(), { id: 'theme' }));
  }

  change(run) {
    this.run = run;
    this.head();
    this.selection.set({ path: null, node: null, metric: null, location: null, first: null, last: null, begin_ns: null, end_ns: null, loop: null });
    this.show(this.current);
  }

  theme() {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === 'dark'
      : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    this.#repaint();
  }

  #repaint() {
    for (const { work } of this.made.values()) work.then((made) => made.repaint?.());
  }

  async print() {
    const list = this.views.filter((view) => view.print);
    announce('draws all pictures for printing');
    const was = this.current;
    // Each is shown until it has its size and what it reads: what is hidden has none.
    const frame = () => new Promise((go) => { requestAnimationFrame(() => setTimeout(go)); setTimeout(go, 500); });
    for (const view of list) {
      await this.show(view.id);
      const { work } = this.made.get(`${this.run}/${view.id}`);
      await (await work).loading;
      await frame();
      await frame();
    }
    await this.show(was);
    window.print();
  }

  // However it is printed: black on white, all that is folded, images in place of canvases.
  #paper() {
    const root = document.documentElement;
    window.addEventListener('beforeprint', () => {
      this.themed = root.dataset.theme ?? '';
      root.dataset.theme = 'light';
      this.folded = [...document.querySelectorAll('details.evidence:not([open])')];
      for (const each of this.folded) each.open = true;
      for (const each of surfacesIn(byId('main'))) each.toPaper();
    });
    window.addEventListener('afterprint', () => {
      if (this.themed) root.dataset.theme = this.themed;
      else delete root.dataset.theme;
      for (const each of this.folded ?? []) each.open = false;
      for (const each of surfacesIn(byId('main'))) { each.fromPaper(); each.change(); }
    });
  }

  keys() {
    const list = [['1 – 9, 0', 'findings, run, iterations, …: the views'], ['Tab', 'to the next picture, tree or table'],
      ['+  −', 'zoom in and out in a picture'], ['←  →', 'move in a picture; open and close in a tree'],
      ['↑  ↓', 'rows of a picture; nodes of a tree'], ['Home', 'show everything (also double-click)'],
      ['Enter', 'select the visible part of a picture as the range'], ['Shift ←  →', 'select a part of it, from its middle on; Enter confirms'],
      ['wheel, pinch', 'zoom at the pointer'], ['drag', 'move; with Shift: select a range'],
      ['f', 'timeline: fold or unfold gaps'], ['/', 'timeline: search'], ['Esc', 'clear the selection: whole run'], ['?', 'show these keys']];
    const dialog = el('dialog', { 'aria-label': 'keys' }, el('h2', {}, 'Keys'),
      el('ul', { class: 'keys' }, list.map(([key, what]) => el('li', {}, el('kbd', {}, key), el('span', {}, what)))),
      el('form', { method: 'dialog' }, el('button', {}, 'close')));
    document.body.append(dialog);
    dialog.addEventListener('close', () => dialog.remove());
    dialog.showModal();
  }

  start() {
    this.head();
    replace(byId('views'), el('ul', {}, this.views.map((view, i) => el('li', {},
      el('a', { href: `#${view.id}`, data: { view: view.id }, on: { click: (event) => {
        event.preventDefault();
        this.show(view.id, false);
      } } }, el('kbd', { 'aria-hidden': 'true' }, String((i + 1) % 10)), view.title)))));
    document.addEventListener('keydown', (event) => this.#key(event));
    window.addEventListener('hashchange', () => this.#open());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#repaint());
    byId('skip').addEventListener('click', (event) => { event.preventDefault(); byId('main').focus(); });
    copyWhole(document);
    this.#paper();
    this.selection.on((patch, from) => this.changed(patch, from));
    this.#open();
  }

  #open() {
    const { view, selection } = parseHash(location.hash);
    const { run, ...rest } = selection;
    if (run && this.report.runs.some((each) => each.key === run)) this.run = run;
    if (view !== 'main') this.selection.set({ ...nothingChosen(), ...rest });
    this.show(view || this.views[0].id);
    this.#filter();
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (/^[0-9]$/.test(event.key)) {
      const view = this.views[(Number(event.key) + 9) % 10];
      if (view) this.show(view.id, true);
    } else if (event.key === '?') this.keys();
    else if (event.key === 'Escape')
      this.selection.set({ first: null, last: null, begin_ns: null, end_ns: null, path: null, node: null, location: null, metric: null });
  }
}

async function main() {
  try {
    const data = dataOfDocument(document);
    const page = new Page(data, await data.json('report'));
    window.refrain = { data, page };
    page.start();
  } catch (error) {
    console.error(error);
    replace(byId('main'), el('div', { class: 'card' }, el('p', { class: 'error' }, `This report cannot be shown: ${error.message}`)));
  }
}
main();
