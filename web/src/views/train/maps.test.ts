import { expect, test } from 'vitest';
import { habit } from './maps';

test('a head is described by where it looks most', () => {
  expect(habit({ itself: 0.25, before: 0.75, first: 0.375 })).toEqual({ where: 'the token before', weight: 0.75 });
  expect(habit({ itself: 0.25, before: 0.25, first: 0.75 })).toEqual({ where: 'the first token', weight: 0.75 });
});
