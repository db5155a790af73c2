import { expect, test } from 'vitest';
import type { Architecture } from '../../state/facts.svelte';
import { changes, doubledSizes, knobsOf, runName } from './knobs';

const architecture: Architecture = {
  family: 'arcee', layers: 2, d_model: 64, n_heads: 4, n_kv_heads: 4, d_head: 16, d_ff: 256, vocab_size: 512,
  context: 32, tied: true, norm: 'rmsnorm', norm_position: 'pre', positions: 'rope', activation: 'gelu', gated: false,
  bias: false, qkv_bias: false, window: 0, n_experts: 0, n_active_experts: 0, n_dense_layers: 2,
};
const settings = { context: 32, tokenizer: 'train:512', batch: 8, steps: 1000, lr: 0.001, seed: 0 };
const knobs = (a: Partial<Architecture> = {}, s: object = {}) =>
  knobsOf('mini-gpt', { ...architecture, ...a }, { ...settings, ...s }, 'stories');

test('a run is named by what changed', () => {
  expect(runName(undefined, knobs(), 'mini-gpt')).toBe('mini-gpt');
  expect(runName(knobs(), knobs({ layers: 4 }), 'mini-gpt')).toBe('layers 2→4');
  expect(runName(knobs(), knobs(), 'mini-gpt')).toBe('mini-gpt, again');
  expect(runName(knobs(), knobs({}, { lr: 0.0003 }), 'mini-gpt')).toBe('learning rate 0.001→0.0003');
});

test('heads and key-value heads that go together are one change', () => {
  expect(changes(knobs(), knobs({ n_heads: 8, n_kv_heads: 8 }))).toEqual(['heads 4→8']);
  expect(changes(knobs(), knobs({ n_kv_heads: 2 }))).toEqual(['key-value heads 4→2']);
});

test('a feed-forward that grows with the width is no change of its own', () => {
  expect(changes(knobs(), knobs({ d_model: 128, d_ff: 512 }))).toEqual(['width 64→128']);
  expect(changes(knobs(), knobs({ d_ff: 512 }))).toEqual(['feed-forward 256→512']);
});

test('many changes are counted', () => {
  const other = knobs({ layers: 4, d_model: 128, vocab_size: 1024 }, { seed: 1 });
  expect(runName(knobs(), other, 'mini-gpt')).toBe('layers 2→4, width 64→128 and 2 more');
});

test('the sizes that are doubled are those that the engine takes otherwise', () => {
  const names = (a: Partial<Architecture>, recurrent = false) =>
    doubledSizes(knobs(a), { architecture: { ...architecture, ...a }, recurrent }).map(({ name, value }) => `${name} ${value}`);
  expect(names({})).toEqual(['layers 2', 'width 64', 'heads 4', 'feed-forward 256', 'context 32']);
  // Sizes of a recurrence do not follow the width.
  expect(names({ n_heads: 0, n_kv_heads: 0, d_ff: 0 }, true)).toEqual(['layers 2', 'context 32']);
  // Where every layer is a mixture, none has the feed-forward of a dense one.
  expect(names({ n_experts: 8, n_active_experts: 2, n_dense_layers: 0 })).toEqual(['layers 2', 'width 64', 'heads 4', 'context 32']);
});
