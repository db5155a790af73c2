import { expect, test } from 'vitest';
import { parseJson } from './json';

test('integers beyond a double keep every digit', () => {
  // A step of llama-3.1-405b's training passes 2^53; 2^127 − 1 is the largest count.
  const text = '{"a": 170141183460469231731687303715884105727, "b": -9007199254740993}';
  expect(parseJson(text)).toEqual({ a: 2n ** 127n - 1n, b: -9007199254740993n });
});

test('what a double holds stays a number', () => {
  expect(parseJson('{"a": 9007199254740991, "b": 1.2345678901234567, "c": 0.31648882004060950, "d": 1e300}')).toEqual({
    a: 9007199254740991,
    b: 1.2345678901234567,
    c: 0.3164888200406095,
    d: 1e300,
  });
});

test('digits inside strings and keys are text', () => {
  const value = { '12345678901234567890': 'x 12345678901234567890 \\" 1' };
  expect(parseJson(JSON.stringify(value))).toEqual(value);
});
