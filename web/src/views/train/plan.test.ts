import { expect, test } from 'vitest';
import { changesOf, commandArgs, countArgs, tooBig, trainRequest, type Choices } from './plan';

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
  expect(tooBig(small, 1000, 20, words)).toBe('');
  expect(tooBig({ ...small, stateBytes: 2 ** 31 }, 1000, 20, words)).toContain('2147483648 B');
  // 1000 · 7e12 / (20e9 · 0.7) = 500,000 s
  expect(tooBig({ ...small, stepFlops: 7e12 }, 1000, 20, words)).toContain('500000 s');
});
