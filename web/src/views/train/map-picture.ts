// Attention maps as they are saved: a picture of all heads, and a row of figures for each pair of tokens.
import { escaped, framed, top, type Named } from '../../parts/svg';
import type { Cell } from '../../parts/save';
import type { Habits } from '../../engine/run';
import { habit } from './maps';

export interface HeadMaps {
  names: string[]; // of the tokens
  heads: { layer: number; head: number; habits: Habits; map: ArrayLike<number> }[]; // map: a row for each query
}

const shades = 20; // of one hue, from 0 to 1

// One path for each shade; neighbours of one shade in a row are one rectangle. A unit is a token.
export function shadedPaths(map: ArrayLike<number>, tokens: number): string[] {
  const paths = Array.from({ length: shades + 1 }, () => '');
  const shade = (i: number) => Math.round(shades * Math.min(1, Math.max(0, map[i]!)));
  for (let y = 0; y < tokens; ++y) {
    for (let x = 0; x <= y; ) {
      const from = x;
      const level = shade(y * tokens + x);
      while (x <= y && shade(y * tokens + x) === level) x += 1;
      if (level > 0) paths[level] += `M${from} ${y}h${x - from}v1h${from - x}z`;
    }
  }
  return paths;
}

export function mapsPicture({ names, heads }: HeadMaps, title: string, named: Named): string {
  const layers = [...new Set(heads.map(({ layer }) => layer))];
  const columns = 1 + Math.max(0, ...heads.map(({ head }) => head));
  const tokens = names.length;
  const cell = columns <= 4 ? 160 : columns <= 8 ? 110 : 80;
  const [left, gap] = [72, 10];
  const body = heads.map(({ layer, head, habits, map }) => {
    const x = left + head * (cell + gap);
    const y = top + 18 + layers.indexOf(layer) * (cell + gap);
    const most = habit(habits);
    const drawn = shadedPaths(map, tokens).map((path, level) => (path ? `<path d="${path}" fill-opacity="${level / shades}"/>` : '')).join('');
    return (
      `<g transform="translate(${x} ${y})"><title>layer ${layer}, head ${head}: most at ${most.where}, ${most.weight.toFixed(2)}</title>` +
      `<rect width="${cell}" height="${cell}" fill="none" stroke="${named('--line')}"/>` +
      `<g transform="scale(${cell / tokens})" fill="${named('--accent')}" shape-rendering="crispEdges">${drawn}</g></g>`
    );
  });
  const soft = `fill="${named('--soft')}"`;
  for (let head = 0; head < columns; ++head) body.push(`<text x="${left + head * (cell + gap)}" y="${top + 10}" ${soft}>head ${head}</text>`);
  layers.forEach((layer, i) => body.push(`<text x="16" y="${top + 18 + i * (cell + gap) + cell / 2}" ${soft}>layer ${layer}</text>`));
  const height = top + 18 + layers.length * (cell + gap) + 26;
  body.push(`<text x="16" y="${height - 12}" ${soft}>${escaped(names.join(' '))}</text>`);
  return framed({ width: Math.max(480, left + columns * (cell + gap) + 6), height, title, note: 'a row for each token, dark where it looks' }, named, body);
}

export const mapRows = ({ names, heads }: HeadMaps): Cell[][] => [
  ['layer', 'head', 'position', 'token', 'looks at position', 'token there', 'weight'],
  ...heads.flatMap(({ layer, head, map }) =>
    names.flatMap((name, query) => names.slice(0, query + 1).map((key, i) => [layer, head, query, name, i, key, map[query * names.length + i]!])),
  ),
];
