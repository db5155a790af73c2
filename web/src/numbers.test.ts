import { expect, test } from 'vitest';
import { bytes, compact, factor, flops, grouped, parseSize, share } from './numbers';

test('numbers are written as the command line writes them', () => {
  expect(grouped(124439808)).toBe('124,439,808');
  expect(grouped(-1536)).toBe('−1,536');
  expect(grouped(0.25)).toBe('0.25');
  expect(grouped(2n ** 127n - 1n)).toBe('170,141,183,460,469,231,731,687,303,715,884,105,727');
  expect(compact(124439808)).toBe('124.4M');
  expect(compact(6738415616)).toBe('6.74B');
  expect(compact(2n ** 80n)).toBe('1.21e24');
  expect(bytes(248879616)).toBe('237.35 MiB');
  expect(bytes(1023.999)).toBe('1.00 KiB');
  expect(flops(291648307200)).toBe('291.65 GFLOP');
  expect(flops(4513336524800)).toBe('4.513 TFLOP');
});

test('a small share keeps two digits after the point', () => {
  expect(share(0.31648)).toBe('31.6%');
  expect(share(0.00369)).toBe('0.37%');
  expect(share(0.00001)).toBe('< 0.01%');
  expect(share(0)).toBe('0.0%');
});

test('factors are short', () => {
  expect(factor(3.3701)).toBe('×3.37');
  expect(factor(2)).toBe('×2');
  expect(factor(1403.12)).toBe('×1,403');
});

test('sizes are read as the terminal reads them', () => {
  expect(parseSize('50,257')).toBe(50257);
  expect(parseSize('16k')).toBe(16384);
  expect(parseSize(' 1e6 ')).toBe(1000000);
  expect(parseSize('3e-4')).toBe(0.0003);
  expect(parseSize('1.5e+3')).toBe(1500);
  expect(parseSize('many')).toBeNaN();
  expect(parseSize('3e-')).toBeNaN();
  expect(parseSize('')).toBeNaN();
});
