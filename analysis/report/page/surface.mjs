// A canvas as sharp as the screen, drawn at most once a frame and only while it can be seen; a box
// next to the pointer says what lies under it.

import { el, replace } from './elements.mjs';

if (typeof window !== 'undefined') window.addEventListener('resize', () => {
  for (const surface of surfacesIn(document)) if (surface.heightOf) surface.setHeight(surface.heightOf());
});

export class Surface {
  // draw(context, width, height) in CSS pixels. tip(x, y) returns texts or elements, or null. A height that is a function is asked again
  // when the window changes.
  constructor({ height, label, draw, tip = null, describe = null }) {
    this.draw = draw;
    this.heightOf = typeof height === 'function' ? height : null;
    this.canvas = el('canvas', { tabindex: 0, role: 'application', 'aria-label': label,
      'aria-roledescription': 'picture' });
    this.box = el('div', { class: 'surface', style: { height: `${this.heightOf ? height() : height}px` } }, this.canvas);
    this.canvas.surface = this;
    this.context = this.canvas.getContext('2d', { alpha: false });
    this.width = this.height = 0;
    this.asked = false;
    this.resizing = new ResizeObserver(() => this.#resize());
    this.resizing.observe(this.box);
    if (describe) this.canvas.setAttribute('aria-description', describe);
    if (tip) this.#tips(tip);
  }

  setHeight(pixels) {
    this.box.style.height = `${pixels}px`;
    this.#resize();
  }

  // What is hidden keeps its size: it is printed as it was seen last. While the page is printed its pictures stand for it.
  #resize() {
    const { clientWidth, clientHeight } = this.box;
    if (clientWidth === 0 || clientHeight === 0 || this.paper) return;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    if (clientWidth === this.width && clientHeight === this.height && ratio === this.ratio) return;
    Object.assign(this, { width: clientWidth, height: clientHeight, ratio });
    this.canvas.width = Math.max(1, Math.round(clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(clientHeight * ratio));
    this.paint();
  }

  // Asks for a new picture with the next frame.
  change() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.paint();
    });
  }

  paint() {
    if (this.width === 0 || this.height === 0) return;
    const { context } = this;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    const style = getComputedStyle(document.documentElement);
    this.theme = (name) => style.getPropertyValue('--' + name).trim();
    context.fillStyle = this.theme('card');
    context.fillRect(0, 0, this.width, this.height);
    setFont(context, 12);
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    context.lineWidth = 1;
    this.draw(context, this.width, this.height, this.theme);
    this.painted = (this.painted ?? 0) + 1;
  }

  // Paper gets an image: a canvas would be laid out, and emptied, anew while it is printed.
  toPaper() {
    if (this.paper) return;
    this.paint();
    this.paper = el('img', { alt: this.canvas.getAttribute('aria-label'), src: this.width > 0 ? this.canvas.toDataURL('image/png') : null });
    this.box.append(this.paper);
  }
  fromPaper() {
    this.paper?.remove();
    this.paper = null;
  }

  #tips(tip) {
    const box = document.getElementById('tip');
    const hide = () => { box.hidden = true; };
    this.canvas.addEventListener('pointermove', (event) => {
      if (event.buttons) return hide();
      const lines = tip(event.offsetX, event.offsetY);
      if (!lines) return hide();
      replace(box, lines);
      box.hidden = false;
      const x = Math.min(event.clientX + 14, window.innerWidth - box.offsetWidth - 8);
      const below = event.clientY + 16;
      const y = below + box.offsetHeight > window.innerHeight ? event.clientY - box.offsetHeight - 10 : below;
      box.style.transform = `translate(${Math.max(4, x)}px, ${Math.max(4, y)}px)`;
    });
    this.canvas.addEventListener('pointerleave', hide);
  }
}

export const surfacesIn = (root) => [...root.querySelectorAll('canvas')].map((canvas) => canvas.surface).filter(Boolean);

// How tall n rows are: together what the window has below the page's head, each at most `most`, and all of the same whole number of
// pixels, or of rows in a pixel, or they would make patterns that mean nothing.
export function rowsHeight(n, most) {
  const room = Math.max(240, window.innerHeight - 300);
  if (n > room) return Math.floor(n / Math.ceil(n / room));
  return Math.max(180, n * Math.min(most, Math.floor(room / Math.max(1, n))));
}

// Marks what is longer than a scale, from x on: its bar is broken.
export function breakBar(context, theme, x, y, wide) {
  context.fillStyle = theme('card');
  context.fillRect(x, y + 5, wide, 2);
  context.fillStyle = theme('warn');
  context.fillRect(x, y, wide, 3);
}

// Texts are cut where there is no place; measuring is slow, and so is asking for the font, so widths are
// remembered by the font's size.
const widths = new Map();
const sizes = new WeakMap();

export function setFont(context, size) {
  context.font = `${size}px system-ui, "Segoe UI", "DejaVu Sans", sans-serif`;
  sizes.set(context, size);
}

export function widthOf(context, text) {
  const size = sizes.get(context);
  let known = widths.get(size);
  if (!known || known.size > 20000) widths.set(size, (known = new Map()));
  let width = known.get(text);
  if (width === undefined) known.set(text, (width = context.measureText(text).width));
  return width;
}

export function fitText(context, text, most) {
  if (most < 12) return '';
  if (text.length * 3 > most * 2 && text.length > 400) text = text.slice(0, 400);
  if (widthOf(context, text) <= most) return text;
  let from = 0, to = text.length;
  while (from < to) {
    const middle = (from + to + 1) >> 1;
    if (widthOf(context, text.slice(0, middle) + '…') <= most) from = middle;
    else to = middle - 1;
  }
  return from < 2 ? '' : text.slice(0, from) + '…';
}

// Colours of the page's axes.
export function axisBelow(context, theme, scale, ticks, y, format, line = 0) {
  context.textAlign = 'center';
  for (const tick of ticks) {
    const x = Math.round(scale(tick)) + 0.5;
    context.strokeStyle = theme('line');
    context.beginPath();
    context.moveTo(x, y - line);
    context.lineTo(x, y + 4);
    context.stroke();
    context.fillStyle = theme('muted');
    context.fillText(format(tick), x, y + 13);
  }
  context.textAlign = 'left';
}

export function axisLeft(context, theme, scale, ticks, x, format, line = 0) {
  context.textAlign = 'right';
  for (const tick of ticks) {
    const y = Math.round(scale(tick)) + 0.5;
    context.strokeStyle = theme('grid');
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + line, y);
    context.stroke();
    context.fillStyle = theme('muted');
    context.fillText(format(tick), x - 7, y);
  }
  context.textAlign = 'left';
}
