// A small sibling: the same kind of network, small enough to train in a browser within a minute or two.
import type { Architecture } from './facts.svelte';
import type { ModelOption } from './model.svelte';

export const mostTrainable = 20_000_000; // parameters

export function siblingOptions(a: Architecture): Partial<Record<ModelOption, string>> {
  const options: Partial<Record<ModelOption, string>> = {
    layers: String(Math.min(a.layers, 4)),
    'd-model': '128',
    heads: '4',
    'd-ff': a.gated ? '344' : '512', // a gated one has three matrices: about the parameters of 4·d
    vocab: String(Math.min(a.vocab_size, 512)),
    context: String(Math.min(a.context, 128)),
  };
  if (a.n_dense_layers === 0) delete options['d-ff'];
  if (a.kv_rank === undefined) {
    options['kv-heads'] = a.n_kv_heads === a.n_heads ? '4' : a.n_kv_heads === 1 ? '1' : '2';
    options['d-head'] = String(halvedTo(40, a.d_head)); // by halving, so that the part that RoPE rotates stays whole
  }
  if (a.window > 0) options.window = '64';
  if (a.n_experts > 0) {
    options.experts = String(Math.min(a.n_experts, 16)); // DeepSeek-V3 has 8 groups of them
    options['active-experts'] = String(Math.min(a.n_active_experts, 2));
    options['d-expert'] = '128';
    if (a.d_shared !== undefined) options['d-shared'] = '128';
  }
  return options;
}

function halvedTo(most: number, size: number): number {
  return size > most && size % 2 === 0 ? halvedTo(most, size / 2) : size;
}
