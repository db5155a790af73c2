import { expect, test } from 'vitest';
import { apart, least, pictureOf, spread } from './geometry';
import type { Part } from './parts';

const part = (name: string, slab: Part['slab'], value: number): Part => ({ name, slab, value, pieces: value ? [{ name, value }] : [] });

test('sizes are linear in the share and fill the length', () => {
  expect(spread([1, 3], 100)).toEqual([
    { start: 0, size: 25, scaled: true },
    { start: 25, size: 75, scaled: true },
  ]);
});

test('what is too thin is drawn at the least thickness and marked, and the whole still fits', () => {
  const spans = spread([1, 1e6, 0], 106);
  expect(spans.map((span) => span.scaled)).toEqual([false, true, true]);
  expect(spans.map((span) => span.size)).toEqual([least, 100, 0]);
});

test("gpt2's embedding takes its share of the picture: 31.6% of 440", () => {
  // 39,383,808 of 124,439,808 parameters, with a stack and no head: the gap and nothing else is lost.
  const { slabs } = pictureOf([part('token embedding', 'embedding', 39383808), part('attention', 'stack', 85056000)], 300, 443);
  expect(slabs[0]!.height).toBeCloseTo(139.3, 1);
  expect(slabs[0]!.share).toBeCloseTo(0.3165, 4);
});

test('a part that counts nothing is an outline', () => {
  const { boxes, slabs } = pictureOf([part('attention', 'stack', 5), part('head', 'head', 0)], 100, 200);
  expect(boxes.map((box) => box.piece?.name ?? null)).toEqual(['attention', null]);
  expect(slabs.at(-1)!.y + slabs.at(-1)!.height).toBeCloseTo(200);
});

test('labels are kept apart and inside', () => {
  expect(apart([0, 2, 4], 16, 0, 100)).toEqual([0, 16, 32]);
  expect(apart([90, 95, 99], 16, 0, 100)).toEqual([68, 84, 100]);
});
