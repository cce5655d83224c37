// Which part of a picture is seen: a range of its x axis and, if it has rows, some of them. Kept in the
// units of the data, so that from a run of hours to a microsecond no digits are lost. Wheel and pinch zoom at
// the pointer, dragging moves, dragging with Shift (or always, where `chooses`) chooses a range; keys do all of it, too.

export class Zoom {
  // limits: [least, largest] of x; least: shortest range; rows: number of rows or 0;
  // plot(): {x0, x1, y0, y1} in pixels; choose(from, to); unit: the least part of x that keys choose.
  constructor(surface, { limits, least, rows = 0, fewest = 4, plot, choose = null, chooses = false, press = null, unit = 0 }) {
    Object.assign(this, { surface, least, limits, rows, fewest, plot, choose, chooses, press, unit });
    this.x = [...this.limits];
    this.y = [0, rows];
    this.range = null;
    this.pointers = new Map();
    const { canvas } = surface;
    canvas.classList.add(chooses ? 'picks' : 'zooms');
    canvas.addEventListener('wheel', (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener('pointerdown', (event) => this.#down(event));
    canvas.addEventListener('pointermove', (event) => this.#move(event));
    canvas.addEventListener('pointerup', (event) => this.#up(event));
    canvas.addEventListener('pointercancel', (event) => this.#up(event));
    canvas.addEventListener('dblclick', () => this.reset());
    canvas.addEventListener('keydown', (event) => this.#key(event));
  }

  // Never empty: a run may take no time at all.
  get limits() { return this.bounds; }
  set limits([low, high]) { this.bounds = [low, high > low ? high : low + Math.max(1, this.least)]; }

  set(from, to) {
    const [low, high] = this.limits;
    let length = Math.min(Math.max(to - from, this.least), high - low);
    let begin = from;
    if (to - from < this.least) begin = (from + to) / 2 - length / 2;
    begin = Math.max(low, Math.min(begin, high - length));
    this.x = [begin, begin + length];
    this.surface.change();
  }

  setRows(from, to) {
    const length = Math.min(Math.max(to - from, Math.min(this.fewest, this.rows)), this.rows);
    const begin = Math.max(0, Math.min(from, this.rows - length));
    this.y = [begin, begin + length];
    this.surface.change();
  }

  reset() {
    this.y = [0, this.rows];
    this.set(...this.limits);
  }

  at(px) {
    const { x0, x1 } = this.plot();
    return this.x[0] + ((px - x0) / (x1 - x0)) * (this.x[1] - this.x[0]);
  }
  pixel(value) {
    const { x0, x1 } = this.plot();
    return x0 + ((value - this.x[0]) / (this.x[1] - this.x[0])) * (x1 - x0);
  }
  rowAt(py) {
    const { y0, y1 } = this.plot();
    return this.y[0] + ((py - y0) / (y1 - y0)) * (this.y[1] - this.y[0]);
  }

  // factor < 1 comes nearer.
  by(factor, center = (this.x[0] + this.x[1]) / 2) {
    const length = Math.min(Math.max((this.x[1] - this.x[0]) * factor, this.least), this.limits[1] - this.limits[0]);
    const f = length / (this.x[1] - this.x[0]);
    this.set(center - (center - this.x[0]) * f, center + (this.x[1] - center) * f);
  }
  rowsBy(factor, center = (this.y[0] + this.y[1]) / 2) {
    this.setRows(center - (center - this.y[0]) * factor, center + (this.y[1] - center) * factor);
  }
  shift(part) {
    const d = part * (this.x[1] - this.x[0]);
    this.set(this.x[0] + d, this.x[1] + d);
  }

  #wheel(event) {
    // A page that cannot be zoomed further scrolls on, unless a key is held.
    event.preventDefault();
    const step = event.deltaMode === 1 ? 33 : 1;
    const { deltaX, deltaY } = event;
    if (event.shiftKey && this.rows > 1) {
      this.rowsBy(Math.exp((deltaY || deltaX) * step * 0.002), this.rowAt(event.offsetY));
      return;
    }
    if (Math.abs(deltaX) > Math.abs(deltaY)) this.shift((deltaX * step) / Math.max(1, this.surface.width));
    else this.by(Math.exp(deltaY * step * 0.0022), this.at(event.offsetX));
  }

  #down(event) {
    if (event.button !== 0) return;
    this.surface.canvas.setPointerCapture?.(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    this.start = { x: event.offsetX, y: event.offsetY };
    this.moved = false;
    this.choosing = this.choose && (event.shiftKey !== this.chooses) && this.pointers.size === 1;
    if (this.choosing) this.range = [this.at(event.offsetX), this.at(event.offsetX)];
  }

  #move(event) {
    const last = this.pointers.get(event.pointerId);
    if (!last) return;
    const now = { x: event.offsetX, y: event.offsetY };
    if (Math.abs(now.x - this.start.x) + Math.abs(now.y - this.start.y) > 3) this.moved = true;
    if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const before = Math.abs(last.x - other.x), after = Math.abs(now.x - other.x);
      if (before > 8 && after > 8) this.by(before / after, this.at((now.x + other.x) / 2));
    } else if (this.choosing) {
      this.range[1] = this.at(now.x);
      this.surface.change();
    } else if (this.moved) {
      const { x0, x1, y0, y1 } = this.plot();
      const d = ((last.x - now.x) / (x1 - x0)) * (this.x[1] - this.x[0]);
      this.set(this.x[0] + d, this.x[1] + d);
      if (this.rows && this.y[1] - this.y[0] < this.rows) {
        const r = ((last.y - now.y) / (y1 - y0)) * (this.y[1] - this.y[0]);
        this.setRows(this.y[0] + r, this.y[1] + r);
      }
    }
    this.pointers.set(event.pointerId, now);
  }

  #up(event) {
    if (!this.pointers.delete(event.pointerId)) return;
    if (this.choosing && this.moved) {
      const [a, b] = this.range;
      this.choose(Math.min(a, b), Math.max(a, b));
    } else if (!this.moved) this.press?.(event.offsetX, event.offsetY);
    this.range = null;
    this.choosing = false;
    this.surface.change();
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const rows = this.y[1] - this.y[0];
    if (this.choose && this.#chosen(event)) {
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    switch (event.key) {
      case '+': case '=': this.by(0.6); break;
      case '-': this.by(1 / 0.6); break;
      case 'ArrowLeft': this.shift(-0.15); break;
      case 'ArrowRight': this.shift(0.15); break;
      case 'Home': this.reset(); break;
      case 'ArrowUp': if (!this.rows) return; event.shiftKey ? this.rowsBy(0.7) : this.setRows(this.y[0] - rows * 0.15, this.y[1] - rows * 0.15); break;
      case 'ArrowDown': if (!this.rows) return; event.shiftKey ? this.rowsBy(1 / 0.7) : this.setRows(this.y[0] + rows * 0.15, this.y[1] + rows * 0.15); break;
      default: return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  // A range by keys: Shift and arrows draw it from the middle of what is seen, Enter takes it, or all that is seen; Escape drops it.
  #chosen({ key, shiftKey }) {
    const [a, b] = this.x;
    if (key === 'Enter') {
      const [from, to] = this.range ?? this.x;
      this.range = null;
      this.choose(Math.min(from, to), Math.max(from, to));
    } else if (key === 'Escape' && this.range) this.range = null;
    else if (shiftKey && (key === 'ArrowLeft' || key === 'ArrowRight')) {
      const step = Math.max((b - a) / 40, this.unit), whole = this.unit ? Math.round((a + b) / 2 / this.unit) * this.unit : (a + b) / 2;
      this.range ??= [whole, whole];
      this.range[1] = Math.max(a, Math.min(b, this.range[1] + (key === 'ArrowLeft' ? -step : step)));
    } else return false;
    this.surface.change();
    return true;
  }

  // The range that is being chosen, and the one that is chosen.
  drawRange(context, theme, chosen) {
    const { x0, x1, y0, y1 } = this.plot();
    for (const [range, strong] of [[chosen, false], [this.range, true]]) {
      if (!range) continue;
      const a = Math.max(x0, Math.min(x1, this.pixel(Math.min(...range))));
      const b = Math.max(x0, Math.min(x1, this.pixel(Math.max(...range))));
      if (!strong) {
        context.save();
        context.fillStyle = theme('card');
        context.globalAlpha = 0.66;
        if (a > x0) context.fillRect(x0, y0, a - x0, y1 - y0);
        if (b < x1) context.fillRect(b, y0, x1 - b, y1 - y0);
        context.restore();
      }
      context.save();
      context.fillStyle = context.strokeStyle = theme('accent');
      if (strong) { context.globalAlpha = 0.18; context.fillRect(a, y0, Math.max(1, b - a), y1 - y0); context.globalAlpha = 1; }
      context.strokeRect(a + 0.5, y0 + 0.5, Math.max(1, b - a - 1), y1 - y0 - 1);
      context.restore();
    }
  }
}
