import { expect, test } from 'vitest';
import { binary, logAxis } from './axis';

test('a logarithmic axis spans whole powers', () => {
  const axis = logAxis([3e5, 2e8], 10, 5);
  expect(axis.ticks).toEqual([1e5, 1e6, 1e7, 1e8, 1e9]);
  expect(axis.place(1e7)).toBeCloseTo(0.5);
  expect(axis.place(0)).toBe(0);
});

test('ticks are left out where there would be too many', () => {
  expect(logAxis([128, 2 ** 20], 2, 7).ticks).toEqual([128, 512, 2048, 8192, 32768, 131072, 524288]);
});

test('binary sizes are written as the terminal takes them', () => {
  expect([128, 2048, 2 ** 20].map(binary)).toEqual(['128', '2k', '1M']);
});
