// The sliders: which option each sets, what the model has, and where it may stop. Stops are sizes that the engine takes:
// heads divide the width, and widths that follow it stay whole.
import type { Architecture, CountReport } from '../../state/facts.svelte';
import type { Option } from '../../state/model.svelte';
import { logarithmicStops, withStop } from '../../parts/stops';

export interface Size {
  option: Option;
  label: string;
  value: (count: CountReport) => number;
  stops: (a: Architecture) => number[];
  shown?: (a: Architecture, recurrent: boolean) => boolean;
  note: string; // what it does and does not move
}

const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));
const multiple = (a: number, b: number) => (a / divisor(a, b)) * b;
// The least factor of a width at which `size`, which follows it, stays whole.
const follows = (size: number | undefined, width: number) => (size ? width / divisor(size, width) : 1);
const derivedHeads = (a: Architecture) => a.n_heads * a.d_head === a.d_model && a.kv_rank === undefined;

function widths(a: Architecture): number[] {
  let step = derivedHeads(a) ? a.n_heads * (a.positions === 'rope' ? 8 : 1) : 1;
  for (const size of [a.d_ff, a.d_expert, a.d_shared]) step = multiple(step, follows(size, a.d_model));
  const low = Math.max(step, 64);
  const stops = logarithmicStops(low, 32768, 6).map((size) => Math.max(1, Math.round(size / step)) * step);
  return withStop([...new Set(stops)], a.d_model);
}

function heads(a: Architecture): number[] {
  const whole = derivedHeads(a) ? a.d_model : 0;
  const group = a.n_kv_heads < a.n_heads ? a.n_kv_heads : 1;
  const all = Array.from({ length: 256 }, (_, i) => i + 1);
  const even = a.positions === 'rope' ? 2 : 1;
  return withStop(
    whole ? all.filter((n) => n % group === 0 && whole % (n * even) === 0) : logarithmicStops(group, 256, 4, group),
    a.n_heads,
  );
}

export const sizes: Size[] = [
  { option: 'layers', label: 'Layers', value: (c) => c.architecture.layers, stops: (a) => withStop(logarithmicStops(1, 256, 8), a.layers), note: 'Everything in the stack grows with it.' },
  { option: 'd-model', label: 'Width', value: (c) => c.architecture.d_model, shown: (_, recurrent) => !recurrent, stops: widths, note: 'Each matrix of a layer grows with its square.' },
  { option: 'heads', label: 'Heads', value: (c) => c.architecture.n_heads, shown: (a) => a.n_heads > 0, stops: heads, note: 'At a fixed width heads share it out: no parameters change.' },
  { option: 'kv-heads', label: 'Key/value heads', value: (c) => c.architecture.n_kv_heads, shown: (a) => a.n_heads > 0 && a.kv_rank === undefined, stops: (a) => Array.from({ length: a.n_heads }, (_, i) => i + 1).filter((n) => a.n_heads % n === 0), note: 'Fewer of them make the cache smaller.' },
  { option: 'd-ff', label: 'Feed-forward', value: (c) => c.architecture.d_ff, shown: (a) => a.d_ff > 0 && a.n_dense_layers > 0, stops: (a) => withStop(logarithmicStops(64, 131072, 6, 64), a.d_ff), note: 'The width between its two or three matrices.' },
  { option: 'experts', label: 'Experts', value: (c) => c.architecture.n_experts, shown: (a) => a.n_experts > 0, stops: (a) => withStop([1, 2, 4, 8, 16, 32, 64, 128, 256, 512].filter((n) => n >= a.n_active_experts), a.n_experts), note: 'More to hold; a token still takes as many.' },
  { option: 'active-experts', label: 'Active experts', value: (c) => c.architecture.n_active_experts, shown: (a) => a.n_experts > 0, stops: (a) => withStop([1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16].filter((n) => n <= a.n_experts), a.n_active_experts), note: 'What a token computes; parameters stay.' },
  { option: 'vocab', label: 'Vocabulary', value: (c) => c.architecture.vocab_size, stops: (a) => withStop(logarithmicStops(256, 524288, 4), a.vocab_size), note: 'Embedding and head grow with it, layers do not.' },
  { option: 'context', label: 'Context', value: (c) => c.architecture.context, stops: (a) => withStop(logarithmicStops(64, 2 ** 20, 2, 64), a.context), note: 'Leaves parameters alone, unless positions are learned.' },
  { option: 'batch', label: 'Batch', value: (c) => c.workload.batch, stops: () => logarithmicStops(1, 1024, 2), note: 'Sequences at once. Leaves parameters alone.' },
]; // prettier-ignore

// The sizes of a recurrence do not follow the width, so that cannot be changed.
export const recurrent = (count: { parameters: { by_component: { name: string }[] } }) => count.parameters.by_component.some((row) => row.name === 'recurrence');

// Whether the engine takes another value of this size: the same sliders and knobs wherever one is changed.
export const changeable = (option: Option, a: Architecture, recurrent: boolean) =>
  sizes.find((size) => size.option === option)?.shown?.(a, recurrent) ?? true;

// The choice of --ffn that the model has; '' where it is none of them.
export const feedForwardKind = (a: Architecture) =>
  a.activation === 'silu' ? (a.gated ? 'swiglu' : 'silu')
  : /^gelu/.test(a.activation) ? (a.gated ? 'geglu' : 'gelu')
  : a.activation === 'relu' && !a.gated ? 'relu' : ''; // prettier-ignore
