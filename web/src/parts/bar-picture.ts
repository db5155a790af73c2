// Bars as a picture that stands alone: what the page shows of them in HTML, with the same names, figures and colours.
import { colour, escaped, framed, top, type Named } from './svg';

export interface Bar {
  name: string;
  detail?: string; // beside the name
  parts: { value: number; color: string; opacity?: number }[]; // side by side
  mark?: number; // a thin line across it
  text: string; // the figure
  strong?: boolean;
}
export interface BarPicture {
  title: string;
  note?: string;
  bars: Bar[];
  most?: number; // of the scale; the largest bar
}

const row = 24; // pixels
const letter = 7.8; // about as wide as one is
const longest = (texts: string[]) => letter * Math.max(0, ...texts.map((text) => [...text].length));
const short = (name: string, most: number) => ([...name].length > most ? `${[...name].slice(0, most - 1).join('')}…` : name);

export function barPicture({ title, note = '', bars, most }: BarPicture, named: Named, width = 720): string {
  const names = bars.map((bar) => short(bar.name, 34));
  const details = Math.ceil(longest(bars.map((bar) => bar.detail ?? '')));
  const left = 16 + Math.ceil(longest(names)) + 12 + (details ? details + 12 : 0);
  const right = width - 28 - Math.ceil(longest(bars.map((bar) => bar.text)));
  const sums = bars.map((bar) => bar.parts.reduce((sum, part) => sum + part.value, 0));
  const whole = most ?? Math.max(1e-300, ...sums);
  const across = (value: number) => +(Math.min(1, Math.max(0, value / whole)) * (right - left)).toFixed(2);
  const body = bars.flatMap((bar, i) => {
    const y = top + i * row;
    const out = [`<text x="16" y="${y + 16}" fill="${named('--text')}"${bar.strong ? ' font-weight="600"' : ''} xml:space="preserve">${escaped(names[i]!)}</text>`];
    if (bar.detail) out.push(`<text x="${left - 12}" y="${y + 16}" text-anchor="end" fill="${named('--soft')}">${escaped(bar.detail)}</text>`);
    out.push(`<rect x="${left}" y="${y + 4}" width="${right - left}" height="15" rx="3" fill="${named('--hover')}"/>`);
    let before = 0;
    for (const { value, color, opacity = 1 } of bar.parts) {
      const from = across(before);
      before += value;
      const wide = Math.max(across(before) - from, value > 0 ? 0.5 : 0);
      if (wide > 0) out.push(`<rect x="${(left + from).toFixed(2)}" y="${y + 4}" width="${wide.toFixed(2)}" height="15" fill="${colour(color, named)}" fill-opacity="${opacity}"/>`);
    }
    if (bar.mark !== undefined) out.push(`<path d="M${left + across(bar.mark)} ${y + 6}v11" stroke="${named('--text')}" stroke-opacity="0.55" stroke-width="2"/>`);
    out.push(`<text x="${width - 16}" y="${y + 16}" text-anchor="end" fill="${named('--text')}">${escaped(bar.text)}</text>`);
    return out;
  });
  return framed({ width, height: top + bars.length * row + 12, title, note }, named, body);
}
