// What decides a run, by the names a person uses, and how two runs differ.
import type { Architecture } from '../../state/facts.svelte';
import type { ModelOption } from '../../state/model.svelte';
import { changeable } from '../count/sizes';

// The network of a run.
export interface Network {
  architecture: Architecture;
  recurrent: boolean;
}

export type Knobs = Record<string, string | number | boolean>;

export function knobsOf(model: string, architecture: Architecture, settings: Record<string, unknown>, text: string): Knobs {
  const a = architecture;
  return {
    model: a.family === '' ? model : a.family,
    layers: a.layers,
    width: a.d_model,
    heads: a.n_heads,
    'key-value heads': a.n_kv_heads,
    'feed-forward': a.d_ff,
    vocabulary: a.vocab_size,
    context: settings.context as number,
    norm: a.norm,
    positions: a.positions,
    activation: `${a.gated ? 'gated ' : ''}${a.activation}`,
    tied: a.tied,
    bias: a.bias,
    experts: a.n_experts,
    text,
    tokenizer: settings.tokenizer === 'bytes' ? 'bytes' : 'trained',
    batch: settings.batch as number,
    steps: settings.steps as number,
    'learning rate': settings.lr as number,
    seed: settings.seed as number,
  };
}

const doubled: { option: ModelOption; name: string }[] = [
  { option: 'layers', name: 'layers' },
  { option: 'd-model', name: 'width' },
  { option: 'heads', name: 'heads' },
  { option: 'd-ff', name: 'feed-forward' },
  { option: 'context', name: 'context' },
];

// The sizes that a training is done again with twice the value of: those that it has, and that the engine changes.
export const doubledSizes = (knobs: Knobs, { architecture, recurrent }: Network) =>
  doubled
    .map((one) => ({ ...one, value: Number(knobs[one.name]) }))
    .filter(({ option, value }) => value > 0 && changeable(option, architecture, recurrent));

const word = (value: Knobs[string] | undefined) =>
  value === true ? 'yes' : value === false ? 'no' : typeof value === 'number' ? value.toLocaleString('en', { maximumFractionDigits: 8 }) : String(value);

// ["layers 2→4"]: in the order of the knobs.
export function changes(before: Knobs, after: Knobs): string[] {
  const all = Object.keys(after).filter((knob) => before[knob] !== after[knob]);
  // With as many key-value heads as heads one says the other, and a feed-forward grows with the width.
  const plain = before.heads === before['key-value heads'] && after.heads === after['key-value heads'];
  const ratio = (knobs: Knobs) => Number(knobs['feed-forward']) / Number(knobs.width);
  const follows = (knob: string) =>
    (knob === 'key-value heads' && plain) ||
    (knob === 'feed-forward' && all.includes('width') && ratio(before) === ratio(after));
  return all
    .filter((knob) => !follows(knob))
    .map((knob) => `${knob} ${word(before[knob])}→${word(after[knob])}`);
}

// What a run is called beside the one before it.
export function runName(before: Knobs | undefined, after: Knobs, model: string): string {
  if (!before) return model;
  const all = changes(before, after);
  if (all.length === 0) return `${model}, again`;
  return all.length <= 3 ? all.join(', ') : `${all.slice(0, 2).join(', ')} and ${all.length - 2} more`;
}
