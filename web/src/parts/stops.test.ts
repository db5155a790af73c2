import { expect, test } from 'vitest';
import { logarithmicStops, nearestStop, withStop } from './stops';

test('stops rise evenly on a logarithmic scale', () => {
  expect(logarithmicStops(1, 16, 1)).toEqual([1, 2, 4, 8, 16]);
  expect(logarithmicStops(64, 256, 2, 64)).toEqual([64, 128, 192, 256]);
});

test('a value between stops is shown at the nearest one', () => {
  expect(nearestStop([1, 10, 100], 20)).toBe(1);
  expect(nearestStop([1, 10, 100], 50)).toBe(2);
  expect(nearestStop([1, 10, 100], 0)).toBe(0);
});

test("the model's own value is a stop", () => {
  expect(withStop([1024, 65536], 50257)).toEqual([1024, 50257, 65536]);
});
