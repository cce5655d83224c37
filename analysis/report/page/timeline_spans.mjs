// The regions of the timeline as pixels: of each row its depths, one below the other; before they are read, the
// overview. picture: the TimeLine of timeline_picture.mjs.

import { classColor, inkOn, pixel, rgb } from './palette.mjs';
import { PixelLine } from './spans.mjs';
import { fitText, setFont, widthOf } from './surface.mjs';

export function drawSpans(picture, c, { x0, y0, w, from, to, rowHeight, lanes, space }) {
  const { rows, zoom } = picture;
  const n = (to - from) * lanes;
  if (picture.buffer.width !== w || picture.buffer.height !== n || !picture.image) {
    Object.assign(picture.buffer, { width: w, height: Math.max(1, n) });
    picture.image = new ImageData(w, Math.max(1, n));
    picture.pixels = new Uint32Array(picture.image.data.buffer);
  }
  const colors = rows.palette.length;
  if (picture.line?.width !== w || picture.line.colors !== colors) picture.line = new PixelLine(w, colors);
  const { line, pixels } = picture;
  const paint = rows.palette.map((color) => pixel(rgb(color), 0));
  pixels.fill(0);
  const [a, b] = zoom.x, scale = w / (b - a), px = 1 / scale;
  for (let r = from; r < to; ++r) {
    const spans = rows.spans[r];
    if (!spans) continue;
    const own = picture.lanesOf(spans, lanes);
    for (let lane = 0; lane < own; ++lane) {
      line.clear();
      // Where there is no place for all depths, the last lane shows the innermost of the rest: what is
      // deeper weighs more.
      const deepest = lane === own - 1 ? spans.depths - 1 : lane;
      for (let d = lane, weight = 1; d <= deepest; ++d, weight *= 6)
        spans.lanes[d].visit(a, b, px, (begin, end, color, inside) => {
          line.add((begin - a) * scale, (end - a) * scale, color, end > begin ? Math.min(1, inside / (end - begin)) : 0, weight);
        });
      const at = ((r - from) * lanes + lane) * w;
      for (let p = line.from; p < line.to; ++p) {
        const cover = line.cover[p];
        if (cover < 0.004) continue;
        pixels[at + p] = (paint[line.best[p]] | (Math.round(255 * (cover < 1 ? 0.25 + 0.75 * cover : 1)) << 24)) >>> 0;
      }
    }
  }
  const image = picture.buffer.getContext('2d');
  image.putImageData(picture.image, 0, 0);
  c.imageSmoothingEnabled = false;
  const shift = y0 - (zoom.y[0] - from) * rowHeight;
  c.save();
  c.beginPath();
  c.rect(x0, y0, w, picture.surface.height - y0);
  c.clip();
  if (space === 0) c.drawImage(picture.buffer, x0, shift, w, (to - from) * rowHeight);
  else for (let r = 0; r < to - from; ++r) {
    const spans = rows.spans[from + r];
    if (spans) c.drawImage(picture.buffer, 0, r * lanes, w, picture.lanesOf(spans, lanes), x0, shift + r * rowHeight, w, rowHeight - space);
  }
  c.restore();
}

// Before the spans have been read, and where there are none: of all events, in a thousand parts.
export function drawOverview(picture, c, { x0, x1, y0, from, to, rowHeight, space, lanes = 1, since = -1 }) {
  const { rows, zoom } = picture;
  if (!rows.overview) return;
  const bins = rows.overview.shape[1];
  const { begin_ns: begin, end_ns: end, classes } = rows.about;
  const times = Float64Array.from({ length: Math.ceil(x1 - x0) }, (_, i) => rows.folding.time(zoom.at(x0 + i + 0.5)));
  for (let r = from; r < to; ++r) {
    const own = rows.spans?.[r] ? picture.lanesOf(rows.spans[r], lanes) : 1, height = (rowHeight - space) / own;
    for (let i = 0, x = x0; x < x1; ++i, ++x) {
      if (times[i] < since) continue;
      const bin = Math.floor(((times[i] - begin) / (end - begin)) * bins);
      const cls = rows.overview.values[r * bins + bin];
      if (cls === undefined || cls === 255 || ['skipped', 'outside'].includes(classes[cls]?.key)) continue;
      c.globalAlpha = 0.25 + 0.75 * ((rows.overviewShare?.values[r * bins + bin] ?? 255) / 255);
      c.fillStyle = classColor(classes[cls].key);
      c.fillRect(x, y0 + (r - zoom.y[0]) * rowHeight + (own - 1) * height, 1, height);
    }
  }
  c.globalAlpha = 1;
}

// Iterations are pale and hold no other text: where they are too thin for their number, some have it, next to a tick at their start.
function numberIterations(picture, c, theme, { r, d, x0, x1, y }) {
  const { rows, zoom } = picture, spans = rows.spans[r], lane = spans.lanes[d], numbers = rows.numbers[r];
  if (!numbers) return;
  c.fillStyle = inkOn(rows.palette.at(-2));
  for (let x = x0, free = x0; x < x1;) {
    const id = lane.at(zoom.at(x));
    if (id < 0 || numbers[id] < 0) { x += 5; continue; }
    const begin = zoom.pixel(rows.folding.show(spans.begin[id])), end = zoom.pixel(rows.folding.show(spans.begin[id] + spans.duration[id]));
    const long = rows.label(r, id), text = end - Math.max(begin, x0) > widthOf(c, long) + 10 ? long : String(numbers[id]), left = Math.max(begin, x0), wide = widthOf(c, text);
    if (left + wide + 6 > x1) break;
    if (left >= free) {
      if (begin >= x0) c.fillRect(begin, y - 6, 1, 12);
      c.fillText(text, left + 4, y);
      free = left + wide + 8;
    }
    x = Math.max(x + 1, free, end + 0.5);
  }
}

export function drawLabels(picture, c, theme, { x0, x1, y0, from, to, rowHeight, lanes, space }) {
  const { rows, zoom } = picture;
  if ((rowHeight - space) / lanes < 10.5) return;
  setFont(c, Math.min(12, Math.floor((rowHeight - space) / lanes - 1)));
  const [a, b] = zoom.x, px = (b - a) / (x1 - x0);
  for (let r = from; r < to; ++r) {
    const spans = rows.spans[r];
    if (!spans) continue;
    const own = picture.lanesOf(spans, lanes), laneHeight = (rowHeight - space) / own;
    for (let d = 0; d < Math.min(spans.depths, own === 1 ? spans.depths : own); ++d) {
      if (own === 1 && d !== spans.depths - 1) continue;
      const y = y0 + (r - zoom.y[0]) * rowHeight + Math.min(d, own - 1) * laneHeight;
      numberIterations(picture, c, theme, { r, d, x0, x1, y: y + laneHeight / 2 + 0.5 });
      spans.lanes[d].visit(a, b, px * 24, (begin, end, color, inside, id) => {
        if (id < 0 || end - begin < px * 24) return;
        const left = Math.max(x0, zoom.pixel(begin)), right = Math.min(x1, zoom.pixel(end));
        if (right - left > 3) {
          c.strokeStyle = theme('card');
          c.strokeRect(left + 0.5, y + 0.5, right - left - 1, laneHeight - 1);
        }
        // Iterations have their number already, if it is known.
        if (rows.numbers[r]?.[id] >= 0) return;
        const text = fitText(c, rows.shortNames[spans.region[id]] ?? '', right - left - 8);
        if (!text) return;
        c.fillStyle = inkOn(rows.palette[color]);
        c.fillText(text, left + 4, y + laneHeight / 2 + 0.5);
      });
    }
  }
  setFont(c, 12);
}
