import { expect, test } from 'vitest';
import type { Architecture } from '../../state/facts.svelte';
import { changeable, recurrent, sizes } from './sizes';

const gpt2 = { layers: 12, d_model: 768, n_heads: 12, n_kv_heads: 12, d_head: 64, d_ff: 3072, vocab_size: 50257, context: 1024, positions: 'learned', n_experts: 0, n_active_experts: 0, n_dense_layers: 12 } as Architecture;
const stopsOf = (option: string, a: Architecture) => sizes.find((size) => size.option === option)!.stops(a);

test('every stop of the width is a multiple of the heads, and the own width is one', () => {
  const stops = stopsOf('d-model', gpt2);
  expect(stops.every((width) => width % 12 === 0)).toBe(true);
  expect(stops).toContain(768);
  expect(stops.length).toBeGreaterThan(30);
});

test('what follows the width stays whole: of deepseek-v3 18,432 and 2,048 at 7,168', () => {
  const a = { ...gpt2, d_model: 7168, n_heads: 128, d_head: 192, kv_rank: 512, d_ff: 18432, d_expert: 2048, d_shared: 2048, positions: 'rope' };
  for (const width of stopsOf('d-model', a)) {
    expect((18432 * width) % 7168).toBe(0);
    expect((2048 * width) % 7168).toBe(0);
  }
});

test('heads divide the width', () => {
  expect(stopsOf('heads', gpt2)).toEqual(expect.arrayContaining([1, 2, 12, 16, 24, 48, 64]));
  expect(stopsOf('heads', gpt2)).not.toContain(10);
});

test('stops rise', () => {
  for (const size of sizes) {
    const stops = size.stops(gpt2);
    expect([...stops].sort((a, b) => a - b)).toEqual(stops);
  }
});

test('what a model does not have cannot be changed, nor the width of one with recurrences', () => {
  const mamba = { ...gpt2, n_heads: 0, n_kv_heads: 0, d_ff: 0 };
  expect(sizes.map((size) => size.option).filter((option) => changeable(option, mamba, true))).toEqual(['layers', 'vocab', 'context', 'batch']);
  expect(sizes.filter((size) => changeable(size.option, gpt2, false))).toHaveLength(8);
  expect(recurrent({ parameters: { by_component: [{ name: 'norms' }, { name: 'recurrence' }] } })).toBe(true);
});
