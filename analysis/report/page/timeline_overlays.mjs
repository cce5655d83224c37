// What lies over the regions of the timeline: waits, collective operations, messages, gaps, what was picked; names and axis.
// picture: the TimeLine of timeline_picture.mjs.

import { time } from './quantities.mjs';
import { fitText, widthOf } from './surface.mjs';
import { timeTicks } from './time_axis.mjs';

export const kLeft = 118, kTop = 30;
export const kWait = '#d55e00';

export function drawWaits(picture, c, { x0, x1, y0, from, to, rowHeight, space }) {
  // In thin rows they would hide what they are about.
  if (rowHeight < 7) return;
  const { rows, zoom } = picture, [a, b] = zoom.x;
  const key = `${picture.metric}/${rows.folded}`;
  if (picture.waitKey !== key) {
    picture.waitKey = key;
    rows.arrangeWaits(picture.metric == null ? undefined : (metric) => metric === picture.metric || picture.metricBelow?.[metric]);
  }
  c.fillStyle = kWait;
  const thin = Math.max(1, Math.min(4, rowHeight * 0.16)), scale = (x1 - x0) / (b - a);
  for (let r = from; r < to; ++r) {
    const y = y0 + (r - zoom.y[0] + 1) * rowHeight - space - thin;
    let last = -1;
    rows.waitLanes[r]?.visit(a, b, 1 / scale, (begin, end, color, inside) => {
      const left = x0 + (begin - a) * scale, wide = (end - begin) * scale;
      if (inside * scale < 0.25 || left + wide < last + 0.5) return;
      last = left + Math.max(0.7, wide);
      c.fillRect(left, y, Math.max(0.7, wide), thin);
    });
  }
}

export function drawCollectives(picture, c, theme, { y0, rowHeight }) {
  const { rows, zoom } = picture, { values } = rows.collectives;
  const show = rows.folding, t0 = show.time(zoom.x[0]), t1 = show.time(zoom.x[1]);
  const seen = [];
  for (let i = 0; i < values.length && seen.length < 400; i += 5)
    if (values[i + 4] >= t0 && values[i + 2] <= t1) seen.push(i);
  if (seen.length >= 400 || seen.length * 14 > picture.surface.width) return;
  c.strokeStyle = theme('text');
  c.fillStyle = theme('text');
  for (const i of seen) {
    const members = rows.about.comms?.[values[i + 1]];
    const top = y0 + ((members?.length ? members[0] : 0) - zoom.y[0]) * rowHeight, bottom = y0 + ((members?.length ? members.at(-1) + 1 : rows.count) - zoom.y[0]) * rowHeight;
    const enter = zoom.pixel(show.show(values[i + 3])), leave = zoom.pixel(show.show(values[i + 4]));
    // From the last one's enter to the last one's leave all are in it.
    c.globalAlpha = 0.5;
    c.setLineDash([3, 3]);
    c.beginPath();
    c.moveTo(enter, top);
    c.lineTo(enter, bottom);
    if (leave - enter > 3) { c.moveTo(leave, top); c.lineTo(leave, bottom); }
    c.stroke();
    c.setLineDash([]);
  }
  c.globalAlpha = 1;
}

export function drawMessages(picture, c, theme, { y0, rowHeight }) {
  const { rows, zoom } = picture, { values } = rows.messages;
  const show = rows.folding, t0 = show.time(zoom.x[0]), t1 = show.time(zoom.x[1]);
  const seen = [];
  let n = 0;
  for (let i = 0; i < values.length; i += 5) {
    if (values[i + 3] < t0 || values[i + 1] > t1) continue;
    ++n;
    if (seen.length < 600) seen.push(i);
  }
  picture.messagesSeen = n;
  // Thousands of lines say nothing; the nearer view has them.
  if (n > 600) return;
  c.strokeStyle = theme('text');
  c.globalAlpha = n > 300 ? 0.4 : 0.8;
  c.lineWidth = n > 300 ? 0.7 : 1.2;
  c.beginPath();
  const heads = [];
  for (const i of seen) {
    const xa = zoom.pixel(show.show(values[i + 1])), xb = zoom.pixel(show.show(values[i + 3]));
    const ya = y0 + (values[i] + 0.5 - zoom.y[0]) * rowHeight, yb = y0 + (values[i + 2] + 0.5 - zoom.y[0]) * rowHeight;
    c.moveTo(xa, ya);
    c.lineTo(xb, yb);
    if (n <= 300) heads.push([xa, ya, xb, yb]);
  }
  c.stroke();
  c.fillStyle = theme('text');
  for (const [xa, ya, xb, yb] of heads) {
    const angle = Math.atan2(yb - ya, xb - xa);
    c.beginPath();
    c.moveTo(xb, yb);
    c.lineTo(xb - 7 * Math.cos(angle - 0.4), yb - 7 * Math.sin(angle - 0.4));
    c.lineTo(xb - 7 * Math.cos(angle + 0.4), yb - 7 * Math.sin(angle + 0.4));
    c.fill();
  }
  c.lineWidth = 1;
  c.globalAlpha = 1;
}

// What was searched for, and what was picked.
export function drawPicked(picture, c, theme, { y0, y1, rowHeight, space, lanes }) {
  const { rows, zoom } = picture;
  const box = (row, id, width) => {
    const spans = rows.spans?.[row];
    if (!spans) return;
    const a = zoom.pixel(rows.folding.show(spans.begin[id])), b = zoom.pixel(rows.folding.show(spans.begin[id] + spans.duration[id]));
    const own = picture.lanesOf(spans, lanes), lane = Math.min(spans.depth[id], own - 1), h = (rowHeight - space) / own;
    c.lineWidth = width;
    c.strokeRect(a, y0 + (row - zoom.y[0]) * rowHeight + lane * h, Math.max(2, b - a), h);
    c.lineWidth = 1;
  };
  c.strokeStyle = theme('text');
  if (picture.picked) box(picture.picked.row, picture.picked.id, 2.5);
}

export function drawGaps(picture, c, theme, x0, x1, y0, y1, labels) {
  const { rows, zoom } = picture;
  let last = -1;
  for (const gap of rows.folding.gaps) {
    const a = Math.max(x0, zoom.pixel(rows.folding.show(gap.begin_ns))), b = Math.min(x1, zoom.pixel(rows.folding.show(gap.end_ns)));
    if (b <= a || b < last) continue;
    last = b;
    if (!labels) {
      c.fillStyle = theme('hatch');
      c.fillRect(a, y0, Math.max(0.7, b - a), y1 - y0);
      continue;
    }
    if (b - a < 13) continue;
    const text = `${gap.text ? gap.text + ', ' : 'not in the archive, '}${time(gap.end_ns - gap.begin_ns, 3)}`;
    const upright = widthOf(c, text) > b - a - 10 && b - a < 120;
    c.save();
    c.fillStyle = theme('muted');
    c.translate((a + b) / 2, (y0 + y1) / 2);
    if (upright) c.rotate(-Math.PI / 2);
    c.textAlign = 'center';
    // What does not fit is said shorter.
    const place = upright ? y1 - y0 - 10 : b - a - 6;
    c.fillText(widthOf(c, text) <= place ? text : fitText(c, `skipped, ${time(gap.end_ns - gap.begin_ns, 3)}`, place), 0, 0.5);
    c.restore();
  }
}

export function drawNames(picture, c, theme, { x0, y0, y1, rowHeight }) {
  const { rows, zoom } = picture;
  c.fillStyle = theme('card');
  c.fillRect(0, 0, x0 - 1, picture.surface.height);
  const step = Math.max(1, Math.ceil(15 / rowHeight));
  c.textAlign = 'right';
  c.fillStyle = theme('text');
  for (let r = Math.ceil(zoom.y[0] / step) * step; r < zoom.y[1] && r < rows.count; r += step) {
    const y = y0 + (r + 0.5 - zoom.y[0]) * rowHeight;
    if (y > y0 && y < y1) c.fillText(fitText(c, rows.name(r), kLeft - 12), x0 - 8, y);
  }
  c.textAlign = 'left';
}

export function drawAxis(picture, c, theme, x0, x1) {
  const { rows, zoom } = picture;
  c.fillStyle = theme('card');
  c.fillRect(x0, 0, x1 - x0, kTop - 1);
  c.textAlign = 'center';
  let last = x0 - 50;
  for (const piece of rows.folding.pieces(...zoom.x)) {
    const a = Math.max(piece.x0, zoom.x[0]), b = Math.min(piece.x1, zoom.x[1]);
    const t0 = rows.folding.time(a + 1e-9), t1 = rows.folding.time(b - 1e-9);
    const pixels = zoom.pixel(b) - zoom.pixel(a);
    const axis = timeTicks(t0, t1, Math.max(pixels, 220));
    const few = pixels < 70 ? [t0] : axis.ticks;
    for (const t of few) {
      const x = zoom.pixel(rows.folding.show(t)), text = few.length === 1 ? time(t, 5) : axis.format(t), wide = widthOf(c, text);
      if (t < t0 - 1 || t > t1 + 1 || x - wide / 2 < last + 12 || x + wide / 2 > x1) continue;
      last = x + wide / 2;
      c.fillStyle = theme('muted');
      c.fillText(text, x, 11);
      c.fillRect(x, kTop - 8, 1, 5);
    }
  }
  c.textAlign = 'left';
}
