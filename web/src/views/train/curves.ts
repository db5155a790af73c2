// A chart as data: one description for the canvas that draws it live, the SVG and CSV that it is saved as, and the words
// that stand for it where it cannot be seen.
import { escaped, framed, legendText, top } from '../../parts/svg';

export interface Curve {
  name: string;
  color: string; // of the page, by its name: --accent; or any other
  kind: 'faint' | 'line' | 'dots';
  x: ArrayLike<number>;
  y: ArrayLike<number>;
  opacity?: number;
}

export interface Chart {
  title: string;
  note: string;
  xName: string;
  xEnd: number; // of the whole run: known before it starts
  curves: Curve[];
  marks?: { y: number; label: string }[]; // level lines
  logarithmic?: boolean;
  zero?: boolean; // the axis begins at 0
  span?: [low: number, high: number]; // shown in any case
}

export type Scale = { low: number; high: number; ticks: number[]; place: (value: number) => number };

const finite = (chart: Chart, y: number) => Number.isFinite(y) && (!chart.logarithmic || y > 0);

// The least and the greatest value that the chart shows, its level lines included.
export function extent(chart: Chart): [low: number, high: number] {
  let low = Infinity;
  let high = -Infinity;
  const take = (y: number) => {
    if (!finite(chart, y)) return;
    if (y < low) low = y;
    if (y > high) high = y;
  };
  for (const curve of chart.curves) for (let i = 0; i < curve.y.length; ++i) take(curve.y[i]!);
  for (const mark of chart.marks ?? []) take(mark.y);
  if (chart.zero) take(0);
  chart.span?.forEach(take);
  if (low > high) return chart.logarithmic ? [0.1, 10] : [0, 1];
  if (chart.logarithmic) return [low / 1.15, high * 1.15];
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  return [chart.zero && low === 0 ? 0 : low - room, high + room];
}

// Steps of 1, 2 or 5 times a power of ten, at most `most` of them.
export function ticks(low: number, high: number, most: number): number[] {
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const by = [1, 2, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9))! * power;
  const out: number[] = [];
  for (let i = Math.ceil(low / by - 1e-9); i * by <= high * (1 + 1e-12); ++i) out.push(+(i * by).toPrecision(12));
  return out;
}

export function decades(low: number, high: number): number[] {
  const out: number[] = [];
  const short = Math.log10(high / low) < 2.5;
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    for (const factor of short ? [1, 2, 5] : [1]) {
      const value = +(factor * 10 ** power).toPrecision(3);
      if (value >= low && value <= high) out.push(value);
    }
  }
  return out;
}

export function yScale(chart: Chart, most = 6): Scale {
  const [low, high] = extent(chart);
  if (!chart.logarithmic) {
    return { low, high, ticks: ticks(low, high, most), place: (y) => (y - low) / (high - low) };
  }
  const powers = decades(low, high);
  return { low, high, ticks: powers.length > 1 ? powers : ticks(low, high, most), place: (y) => Math.log(y / low) / Math.log(high / low) };
}

// Short and without noise: 0.0012, 3e-5, 1,500, 2.5M.
export function label(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && size < 1e-3) return value.toExponential().replace('e-', 'e−');
  for (const [unit, letter] of [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M']] as const) {
    if (size >= unit) return `${+(value / unit).toPrecision(4)}${letter}`;
  }
  return (+value.toPrecision(6)).toLocaleString('en', { maximumFractionDigits: 6 });
}

// The row at x, or the last before it; -1 where the curve begins later.
export function rowAt(xs: ArrayLike<number>, x: number): number {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle]! <= x * (1 + 1e-12)) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// The chart in a sentence for each curve, as a reader would say it.
export function summary(chart: Chart): string {
  const said = chart.curves
    .filter((curve) => curve.kind !== 'faint' && curve.y.length > 0)
    .map((curve) => {
      const last = curve.y.length - 1;
      const at = (i: number) => `${+curve.y[i]!.toPrecision(4)} at ${label(curve.x[i]!)}`;
      return `${curve.name}: ${last === 0 ? at(0) : `from ${at(0)} to ${at(last)}`}`;
    });
  const marks = (chart.marks ?? []).map((mark) => `${mark.label}: ${+mark.y.toPrecision(4)}`);
  const all = [...said, ...marks];
  return `${chart.title} by ${chart.xName}, to ${label(chart.xEnd)}. ${all.length ? all.join('; ') : 'Nothing yet'}.`;
}

// Rows for a table of the chart: the values at `count` places from the first to the last x.
export function rows(chart: Chart, count = 10): { x: number; values: (number | undefined)[] }[] {
  const shown = chart.curves.filter((curve) => curve.kind !== 'faint');
  const end = Math.max(0, ...shown.map((curve) => curve.x[curve.x.length - 1] ?? 0));
  if (end === 0) return [];
  return Array.from({ length: count }, (_, i) => {
    const x = (end * (i + 1)) / count;
    return { x, values: shown.map((curve) => curve.y[rowAt(curve.x, x)]) };
  });
}

// Every point, for a CSV: the first row is the header.
export function allRows(chart: Chart): (string | number)[][] {
  const out: (string | number)[][] = [['curve', chart.xName, 'value']];
  for (const curve of chart.curves) {
    const name = curve.kind === 'faint' ? `${curve.name} (each step)` : curve.name;
    for (let i = 0; i < curve.x.length; ++i) out.push([name, curve.x[i]!, curve.y[i]!]);
  }
  for (const mark of chart.marks ?? []) out.push([mark.label, '', mark.y]);
  return out;
}

// Calls `visit` with the points of a curve as drawn: where many fall on one pixel, the first, the least, the greatest
// and the last of them.
export function trace(curve: Curve, across: (x: number) => number, visit: (x: number, y: number) => void): void {
  const { x, y } = curve;
  const send = (i: number) => visit(x[i]!, y[i]!);
  let pixel = NaN;
  let first = -1, least = -1, greatest = -1, last = -1; // rows on the pixel
  const flush = () => {
    if (first < 0) return;
    send(first);
    const [one, other] = least < greatest ? [least, greatest] : [greatest, least];
    if (one !== first) send(one);
    if (other !== first && other !== one) send(other);
    if (last !== first && last !== one && last !== other) send(last);
  };
  for (let i = 0; i < x.length; ++i) {
    if (!Number.isFinite(y[i])) continue;
    const at = Math.round(across(x[i]!));
    if (at !== pixel) {
      flush();
      pixel = at;
      first = least = greatest = i;
    }
    if (y[i]! < y[least]!) least = i;
    if (y[i]! > y[greatest]!) greatest = i;
    last = i;
  }
  flush();
}

// The chart as a picture that stands alone; `named` gives a colour of the page.
export function svg(chart: Chart, named: (name: string) => string, width = 900, height = 420): string {
  const color = (name: string) => (name.startsWith('--') ? named(name) : name);
  const [left, right, bottom] = [64, 20, 62];
  const scale = yScale(chart);
  const across = (x: number) => left + (x / (chart.xEnd || 1)) * (width - left - right);
  const down = (y: number) => top + (1 - scale.place(y)) * (height - top - bottom);
  const number = (value: number) => value.toFixed(1);
  const out: string[] = [];
  const soft = `fill="${color('--soft')}"`;
  for (const tick of scale.ticks) {
    out.push(
      `<path d="M${left} ${number(down(tick))}H${width - right}" stroke="${color('--line')}"/>` +
        `<text x="${left - 8}" y="${number(down(tick) + 4)}" text-anchor="end" ${soft}>${label(tick)}</text>`,
    );
  }
  for (const tick of ticks(0, chart.xEnd, 8)) {
    out.push(`<text x="${number(across(tick))}" y="${height - bottom + 18}" text-anchor="middle" ${soft}>${label(tick)}</text>`);
  }
  out.push(`<text x="${width - right}" y="${height - bottom + 34}" text-anchor="end" ${soft}>${escaped(chart.xName)}</text>`);
  for (const mark of chart.marks ?? []) {
    const y = number(down(mark.y));
    out.push(
      `<path d="M${left} ${y}H${width - right}" stroke="${color('--soft')}" stroke-dasharray="4 4"/>` +
        `<text x="${width - right}" y="${(+y - 5).toFixed(1)}" text-anchor="end" ${soft}>${escaped(mark.label)}</text>`,
    );
  }
  for (const curve of chart.curves) {
    const opacity = (curve.opacity ?? 1) * (curve.kind === 'faint' ? 0.3 : 1);
    const places: string[] = [];
    trace(curve, across, (x, y) => finite(chart, y) && places.push(`${number(across(x))},${number(down(y))}`));
    const paint = `stroke="${color(curve.color)}" stroke-opacity="${opacity}" fill="none"`;
    out.push(`<polyline points="${places.join(' ')}" ${paint} stroke-width="${curve.kind === 'faint' ? 1 : 1.8}"/>`);
    if (curve.kind !== 'dots') continue;
    const dots = places.map((place) => `M${place.replace(',', ' ')}h0`).join('');
    out.push(`<path d="${dots}" ${paint} stroke-width="7" stroke-linecap="round"/>`);
  }
  const shown = chart.curves.filter((one) => one.kind !== 'faint').map((one) => ({ ...one, color: color(one.color) }));
  out.push(legendText(shown, height, named, left));
  return framed({ width, height, title: chart.title, note: chart.note, said: summary(chart) }, named, out);
}
