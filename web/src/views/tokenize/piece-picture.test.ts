import { expect, test } from 'vitest';
import { piecePicture, tints } from './piece-picture';

const measure = (text: string, id: boolean) => text.length * (id ? 5 : 10);
const draw = (names: string[], width: number) =>
  piecePicture(names.map((name, id) => ({ name, id, breaks: name.endsWith('↵') })), 'GPT-2', '', (name) => name, measure, width);
const places = (svg: string) => [...svg.matchAll(/<rect x="(\d+)" y="(\d+)"/g)].map(([, x, y]) => [Number(x), Number(y)]);

test('pieces follow each other, and go on in the next line where there is no more room', () => {
  // from 16 on, each 4 letters of 10 and 4 beside them, 2 between: 16, 62, then 108 + 44 > 150 − 16
  expect(places(draw(['abcd', 'efgh', 'ijkl'], 150))).toEqual([[16, 46], [62, 46], [16, 88]]);
});

test('a line break in the text is one in the picture', () => {
  expect(places(draw(['a↵', 'b'], 500))).toEqual([[16, 46], [16, 88]]);
});

test('pieces have their text, their id and the colours in turn', () => {
  const svg = draw(['<a>', 'b', 'c', 'd', 'e', 'f'], 500);
  expect(svg).toContain('&lt;a&gt;');
  expect(svg).toContain('>5</text>');
  expect([...svg.matchAll(/rx="4" fill="([^"]+)"/g)].map(([, fill]) => fill)).toEqual([...tints, tints[0]]);
});
