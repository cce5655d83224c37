// Elements of the page. Texts of the archive are hostile: they only ever become text nodes, and each
// stands isolated, so that its writing direction does not touch what is around it.

import { shorten, visible } from './quantities.mjs';

const kSvg = 'http://www.w3.org/2000/svg';

function apply(element, props) {
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value == null || value === false) continue;
    if (key === 'on') for (const [event, f] of Object.entries(value)) element.addEventListener(event, f);
    else if (key === 'data') Object.assign(element.dataset, value);
    else if (key === 'style') for (const [k, v] of Object.entries(value)) element.style.setProperty(k, v);
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  return element;
}

function fill(element, children) {
  for (const child of children.flat(3))
    if (child != null && child !== false) element.append(child);
  return element;
}

export const el = (tag, props, ...children) =>
  fill(apply(document.createElement(tag), props), children);
export const svg = (tag, props, ...children) =>
  fill(apply(document.createElementNS(kSvg, tag), props), children);

export function replace(element, ...children) {
  element.replaceChildren();
  return fill(element, children);
}

// A name of the archive. A shortened one is copied whole (see copyWhole).
export function name(text, most = 64, props = {}) {
  const whole = visible(text);
  const short = shorten(whole, most);
  const cut = short !== whole;
  const element = el('bdi', { class: cut ? 'name cut' : 'name', title: cut ? whole : null, ...props }, short);
  if (cut) element.whole = String(text);
  return element;
}

export function copyWhole(document) {
  document.addEventListener('copy', (event) => {
    const at = document.getSelection()?.anchorNode?.parentElement;
    if (!at?.whole || !at.contains(document.getSelection().focusNode)) return;
    event.clipboardData.setData('text/plain', at.whole);
    event.preventDefault();
  });
}

// A number with what it is in the data, so that it can be compared with the commands' JSON.
export const number = (raw, text, key) =>
  el('span', { class: 'number', data: key ? { value: String(raw), key } : { value: String(raw) } }, text);

export const button = (text, press, props = {}) =>
  el('button', { type: 'button', ...props, on: { click: press, ...props.on } }, text);

export async function copyText(text, said) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el('textarea', { class: 'offscreen' });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  announce(said);
}

export function announce(text) {
  const box = document.getElementById('announcement');
  if (!box) return;
  box.textContent = text;
  box.classList.add('seen');
  clearTimeout(box.timer);
  box.timer = setTimeout(() => box.classList.remove('seen'), 2500);
}

// One of several choices; keys move inside it as in a group of radio buttons.
export function choice(label, options, chosen, pick) {
  const box = el('span', { class: 'choice', role: 'radiogroup', 'aria-label': label });
  const buttons = options.map(([value, text, title]) =>
    button(text, () => choose(value, true), {
      role: 'radio', title, data: { value: String(value) }, on: { keydown: move } }));
  function choose(value, tell) {
    for (const each of buttons) {
      const on = each.dataset.value === String(value);
      each.setAttribute('aria-checked', String(on));
      each.tabIndex = on ? 0 : -1;
    }
    if (tell) pick(value);
  }
  function move(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const next = buttons[(buttons.indexOf(event.target) + step + buttons.length) % buttons.length];
    next.focus();
    next.click();
  }
  box.append(el('span', { class: 'choice-label' }, label), ...buttons);
  choose(chosen, false);
  box.choose = (value) => choose(value, false);
  return box;
}

export const section = (title, hint, ...children) =>
  el('section', { class: 'card' },
    el('header', { class: 'card-head' }, el('h2', {}, title), hint && el('p', { class: 'hint' }, hint)),
    ...children);

export const empty = (text) => el('p', { class: 'empty' }, text);

// What each colour means.
export const legend = (entries) =>
  el('ul', { class: 'legend' }, entries.map(([color, text, title]) =>
    el('li', { title }, el('i', { style: { background: color } }), text)));
