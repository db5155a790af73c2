import { expect, test } from 'vitest';
import { duration } from './duration';

test('durations are said with the two units that matter', () => {
  expect([0.42, 12.3, 200, 599.6, 700, 7500, 280_000, 4e9].map(duration)).toEqual([
    '0.4 s', '12 s', '3 min 20 s', '10 min 0 s', '12 min', '2 h 5 min', '3.2 days', '127 years',
  ]);
  expect(duration(NaN)).toBe('');
});
