import { expect, test } from 'vitest';
import { mapRows, mapsPicture, shadedPaths } from './map-picture';

const map = [1, 0, 0, /**/ 0.5, 0.5, 0, /**/ 0.25, 0, 0.75];
const habits = { itself: 0.625, before: 0.25, first: 0.375 };
const of = (layer: number, head: number) => ({ layer, head, habits, map });
const maps = { names: ['a', '<b>', 'c'], heads: [of(0, 0), of(0, 1), of(3, 0)] };

test('equal weights beside each other are one rectangle, and what is nothing is not drawn', () => {
  const paths = shadedPaths(map, 3);
  expect(paths[0]).toBe('');
  expect(paths[10]).toBe('M0 1h2v1h-2z');
  expect(paths[20]).toBe('M0 0h1v1h-1z');
  expect(paths[5]).toBe('M0 2h1v1h-1z');
  expect(paths[15]).toBe('M2 2h1v1h-1z');
});

test('every head is in the picture, with its layer and the sentence', () => {
  const svg = mapsPicture(maps, 'Attention', (name) => name);
  expect(svg.match(/<title>/g)).toHaveLength(3);
  for (const text of ['layer 3', 'head 1: most at itself, 0.63', 'a &lt;b&gt; c']) expect(svg).toContain(text);
});

test('the table has a row for each token and each that it may look at', () => {
  const rows = mapRows(maps);
  expect(rows).toHaveLength(1 + 3 * (1 + 2 + 3));
  expect(rows[3]).toEqual([0, 0, 1, '<b>', 1, '<b>', 0.5]);
});
