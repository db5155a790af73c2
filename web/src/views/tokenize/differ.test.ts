import { expect, test } from 'vitest';
import { gathered, largest, stretches, type Range } from './differ';

// Ranges of tokens that end at these bytes.
const ends = (...list: number[]): Range[] => list.map((end, i) => ({ begin: i ? list[i - 1]! : 0, end }));

test('the same cuts differ nowhere', () => {
  expect(stretches(ends(2, 5, 6), ends(2, 5, 6))).toEqual([]);
});

test('a stretch reaches from one common cut to the next', () => {
  expect(stretches(ends(2, 4, 6, 9), ends(2, 6, 9))).toEqual([
    { begin: 2, end: 6, left: { from: 1, to: 3 }, right: { from: 1, to: 2 } },
  ]);
});

test('cuts that interleave are one stretch', () => {
  expect(stretches(ends(3, 6, 8), ends(2, 5, 8))).toEqual([
    { begin: 0, end: 8, left: { from: 0, to: 3 }, right: { from: 0, to: 3 } },
  ]);
});

test('one side that ends early leaves the rest in its last stretch', () => {
  expect(stretches(ends(3), ends(2, 5))).toEqual([
    { begin: 0, end: 5, left: { from: 0, to: 1 }, right: { from: 0, to: 2 } },
  ]);
});

test('the largest difference in tokens comes first', () => {
  const all = stretches(ends(1, 2, 3, 10, 11, 12), ends(3, 10, 12)); // 3 against 1, then 2 against 1
  expect(largest(all, 1)).toEqual([all[0]]);
  expect(largest(all.slice().reverse(), 2)).toEqual(all);
});

test('a text that differs twice is told once, with its number', () => {
  const all = stretches(ends(1, 2, 3, 4), ends(2, 4));
  expect(gathered(all, () => 'ab').map(({ times }) => times)).toEqual([2]);
});
