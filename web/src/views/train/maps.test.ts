import { expect, test } from 'vitest';
import { habit } from './maps';

test('a head is described by where it looks most', () => {
  const before = [1, 0, 0, /**/ 0.75, 0.25, 0, /**/ 0, 0.75, 0.25];
  // the token before: (0.75 + 0.75) / 2; itself: (0.25 + 0.25) / 2; the first: (0.75 + 0) / 2
  expect(habit(before, 3)).toEqual({ where: 'the token before', weight: 0.75 });
  const first = [1, 0, 0, /**/ 0.5, 0.5, 0, /**/ 1, 0, 0];
  expect(habit(first, 3)).toEqual({ where: 'the first token', weight: 0.75 });
});
