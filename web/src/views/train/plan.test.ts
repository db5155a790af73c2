import { expect, test } from 'vitest';
import type { Architecture } from '../../state/facts.svelte';
import { changesOf, commandArgs, countArgs, ladder, outArgs, sibling, tooBig, trainRequest, type Choices } from './plan';

const choices: Choices = {
  model: 'mini-gpt', flags: [], tokenizer: 'train', steps: 1000, batch: 8, lr: 1e-3, seed: 0, text: null,
};
const words = { bytes: (n: number) => `${n} B`, duration: (s: number) => `${s} s` };

test('the command leaves usual values out', () => {
  expect(commandArgs(choices)).toEqual(['train', 'mini-gpt']);
  expect(commandArgs({ ...choices, flags: ['--layers', '4'], steps: 200, lr: 3e-4, text: 'book.txt' })).toEqual([
    'train', 'mini-gpt', '--layers', '4', '--text', 'book.txt', '--steps', '200', '--lr', '0.0003',
  ]);
});

test('a run that is compared has a folder of its own in the terminal', () => {
  expect(outArgs({ ...choices, flags: ['--layers', '4'] }, 'layers 2→4').slice(2)).toEqual(['--layers', '4', '--out', 'runs/layers-2-4']);
});

test('with bytes the vocabulary is that of the tokenizer', () => {
  const bytes = { ...choices, tokenizer: 'bytes' as const, flags: ['--vocab', '1024', '--layers', '4'] };
  expect(commandArgs(bytes)).toEqual(['train', 'mini-gpt', '--layers', '4', '--tokenizer', 'bytes']);
  expect(countArgs(bytes, 'mini-gpt')).toContain('256');
  const request = trainRequest(bytes, 'mini-gpt', null, '/runs/a');
  expect(request.changes).toEqual({ layers: 4 });
  expect(request.settings.tokenizer).toBe('bytes');
});

test('flags of the command line are changes of a request', () => {
  expect(changesOf(['--d-model', '128', '--tied', 'no', '--ffn', 'swiglu'])).toEqual({ d_model: 128, tied: false, ffn: 'swiglu' });
});

test('samples are taken ten times, but not in each of a few steps', () => {
  expect(trainRequest(choices, 'mini-gpt', null, '/r').settings.sample_every).toBe(100);
  expect(trainRequest({ ...choices, steps: 60 }, 'mini-gpt', '/t.txt', '/r').settings).toMatchObject({ sample_every: 50, text: ['/t.txt'] });
});

test('too big is said in one sentence', () => {
  const small = { parameters: 131_392, stepFlops: 2e8, stateBytes: 2e6 };
  const pace = { gflops: 20, share: 0.7 };
  expect(tooBig(small, 1000, pace, words)).toBe('');
  expect(tooBig({ ...small, stateBytes: 2 ** 31 }, 1000, pace, words)).toContain('2147483648 B');
  // 1000 · 7e12 / (20e9 · 0.7) = 500,000 s
  expect(tooBig({ ...small, stepFlops: 7e12 }, 1000, pace, words)).toBe("1,000 steps would take 500000 s here, at 70% of this engine's 20 GFLOP/s.");
});

test('a small sibling keeps the kind of its heads, windows and experts', () => {
  const small = ladder[0]!; // 2 layers, width 64, 4 heads, feed-forward 256
  const plain = { n_heads: 12, n_kv_heads: 12, d_head: 64, d_model: 768, window: 0, n_experts: 0, n_dense_layers: 12 } as Architecture;
  expect(sibling(plain, small)).toEqual({ layers: 2, 'd-model': 64, heads: 4, 'd-head': 16, 'd-ff': 256, vocab: 512, context: 32 });
  expect(sibling({ ...plain, n_kv_heads: 4 }, small)).toMatchObject({ 'kv-heads': 2 });
  expect(sibling({ ...plain, n_kv_heads: 1, window: 512, d_head: 256 }, small)).toMatchObject({ 'kv-heads': 1, window: 16, 'd-head': 16 });
  const mixture = sibling({ ...plain, n_dense_layers: 0, n_experts: 8, n_active_experts: 2 }, small);
  expect(mixture).toMatchObject({ experts: 8, 'active-experts': 2, 'd-expert': 128 });
  expect(mixture).not.toHaveProperty('d-ff');
});
