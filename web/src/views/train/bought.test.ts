import { expect, test } from 'vitest';
import { columns, row, unitOf, type Spent } from './bought';

const base: Spent = { name: 'mini-gpt', parameters: 131_392, flops: 2e11, loss: 2.5 };

test('what a larger run bought is divided by what it had more', () => {
  // 200,000 parameters and 100 GFLOPs more for 0.2 nats: 0.1 for each 100,000, 0.002 for each GFLOP.
  const larger = { name: 'layers 2→6', parameters: 331_392, flops: 3e11, loss: 2.3 };
  const unit = unitOf(larger.flops);
  expect(row(larger, base, unit)).toEqual(['layers 2→6', '331,392', '300.00 GFLOP', '2.300', '−0.200', '−0.100', '−0.002']);
  expect(columns(unit).slice(-2)).toEqual(['per 100k parameters', 'per GFLOP']);
});

test('of long runs it is per TFLOP', () => {
  // 0.4 TFLOPs more.
  const longer = { ...base, name: 'steps', flops: 6e11, loss: 2.3 };
  expect(unitOf(longer.flops).name).toBe('TFLOP');
  expect(row(longer, base, unitOf(longer.flops)).slice(4)).toEqual(['−0.200', 'no more', '−0.500']);
});

test('a smaller one that is worse lost as much for each that it had less', () => {
  // 50,000 parameters and 50 GFLOPs less for 0.1 nats.
  const smaller = { name: 'width', parameters: 81_392, flops: 1.5e11, loss: 2.6 };
  expect(row(smaller, base, unitOf(smaller.flops)).slice(4)).toEqual(['+0.100', '−0.200', '−0.002']);
});

test('heads cost nothing, and the base and a run without a loss have nothing to compare', () => {
  expect(row({ ...base, name: 'heads 4→8', loss: 2.4 }, base, unitOf(base.flops)).slice(4)).toEqual(['−0.100', 'no more', 'no more']);
  expect(row(base, base, unitOf(base.flops)).slice(3)).toEqual(['2.500', '', '', '']);
  expect(row({ ...base, loss: NaN }, base, unitOf(base.flops)).slice(3)).toEqual(['–', '–', '–', '–']);
});
