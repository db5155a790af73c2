// What pictures that are written as text need.

// Gives the value of one of the page's colours by its name: --accent.
export type Named = (name: string) => string;

// A colour as the page's styles have it: var(--accent), or any other.
export const colour = (style: string, named: Named): string => style.replace(/^var\((--[\w-]+)\)$/, (_, name: string) => named(name));

export const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]!);

// The frame that pictures share: a ground, a title, and a note beside it. The body begins below `top`.
export interface Frame {
  width: number;
  height: number;
  title: string;
  note: string;
  said?: string; // to those who cannot see it; the title
}
export const top = 46;
export function framed({ width, height, title, note, said = title }: Frame, named: Named, body: string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" ` +
      `font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="${escaped(said)}">`,
    `<rect width="100%" height="100%" fill="${named('--card')}"/>`,
    `<text x="16" y="26" font-size="15" font-weight="600" fill="${named('--text')}">${escaped(title)}` +
      `<tspan dx="10" font-size="12" font-weight="400" fill="${named('--soft')}">${escaped(note)}</tspan></text>`,
    ...body,
    '</svg>\n',
  ].join('\n');
}

// Names beside their colours in one row at the foot of a picture.
export function legendText(legend: { name: string; color: string; opacity?: number }[], height: number, named: Named, left = 16): string {
  let x = left;
  return legend
    .map(({ name, color, opacity = 1 }) => {
      const at = x;
      x += 32 + 7 * name.length;
      return (
        `<rect x="${at}" y="${height - 16}" width="9" height="9" rx="3" fill="${colour(color, named)}" fill-opacity="${opacity}"/>` +
        `<text x="${at + 15}" y="${height - 7.5}" font-family="system-ui, sans-serif" font-size="12" fill="${named('--soft')}">${escaped(name)}</text>`
      );
    })
    .join('');
}
