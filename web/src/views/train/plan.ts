// What will be trained, as the three who must agree are told it: the count beforehand, the engine, and the terminal.
import type { Changes, Settings, TrainRequest } from '../../engine/run';
import type { Architecture } from '../../state/facts.svelte';

export type Source = 'stories' | 'text' | 'file';

export interface Choices {
  model: string; // what a person calls it: a preset, or the name of a file
  flags: string[]; // changes to the model: --layers 4
  tokenizer: 'train' | 'bytes';
  steps: number;
  batch: number;
  lr: number;
  seed: number;
  text: string | null; // the name of a text file; null: the stories
}

export const usual = { steps: 1000, batch: 8, lr: 1e-3, seed: 0 }; // of `reckon train`
const byteTokens = 256; // of the tokenizer `bytes`

// A tokenizer of bytes says itself how large the vocabulary is.
function modelFlags({ flags, tokenizer }: Choices): string[] {
  if (tokenizer === 'train') return flags;
  const at = flags.indexOf('--vocab');
  return at < 0 ? flags : [...flags.slice(0, at), ...flags.slice(at + 2)];
}

// A step of training as `reckon count` counts it.
export function countArgs(choices: Choices, source: string): string[] {
  const vocab = choices.tokenizer === 'bytes' ? ['--vocab', String(byteTokens)] : [];
  return ['count', source, ...modelFlags(choices), ...vocab, '--phase', 'train', '--batch', String(choices.batch), '--causal', 'exact'];
}

// The same training in the terminal; usual values are left out.
export function commandArgs(choices: Choices): string[] {
  const option = (name: 'steps' | 'batch' | 'lr' | 'seed') =>
    choices[name] === usual[name] ? [] : [`--${name}`, String(choices[name])];
  return [
    'train', choices.model, ...modelFlags(choices),
    ...(choices.text === null ? [] : ['--text', choices.text]),
    ...(choices.tokenizer === 'bytes' ? ['--tokenizer', 'bytes'] : []),
    ...option('steps'), ...option('batch'), ...option('lr'), ...option('seed'),
  ]; // prettier-ignore
}

// The same in a folder that is called after the run: "layers 2→4" is layers-2-4.
export const outArgs = (choices: Choices, name: string): string[] => [
  ...commandArgs(choices), '--out', `runs/${name.replace(/[^\w.]+/g, '-').replace(/^-|-$/g, '')}`,
]; // prettier-ignore

// --d-model 128 --tied yes → { d_model: 128, tied: true }
export function changesOf(flags: string[]): Changes {
  const value = (word: string) => (word === 'yes' ? true : word === 'no' ? false : /^\d+$/.test(word) ? Number(word) : word);
  const changes: Record<string, unknown> = {};
  for (let i = 0; i + 1 < flags.length; i += 2) changes[flags[i]!.slice(2).replaceAll('-', '_')] = value(flags[i + 1]!);
  return changes as Changes;
}

// The name of the text that a run was trained on, or of its file of ids; null: the stories.
export const textName = ({ text, tokens }: Settings): string | null => (text[0] || tokens)?.replace(/.*\//, '') || null;

// `source` and `text` are paths in the run engine's file system. Checkpoints are written when the page asks for one,
// and samples so seldom that they take little of the time.
export function trainRequest(choices: Choices, source: string, text: string | null, out: string): TrainRequest {
  const { steps, batch, lr, seed, tokenizer } = choices;
  const settings: Partial<Settings> & { model: string } = {
    model: source, text: text === null ? [] : [text], steps, batch, lr, seed,
    save_every: steps, keep: 1, sample_every: Math.max(Math.ceil(steps / 10), 50),
  }; // prettier-ignore
  if (tokenizer === 'bytes') settings.tokenizer = 'bytes';
  return { out, settings, changes: changesOf(modelFlags(choices)) };
}

// ---- What this machine can do ----

// How fast this engine is: the rate of one large product, and what a training reaches of it.
export interface Pace {
  gflops: number;
  share: number;
}
export const usualShare = 0.7; // an assumption until a run has been measured
const mostBytes = 2 ** 30; // of weights, gradients and moments
const mostSeconds = 3600;

export interface Cost {
  parameters: number;
  stepFlops: number;
  stateBytes: number;
}

export const secondsFor = (cost: Cost, steps: number, { gflops, share }: Pace) => (steps * cost.stepFlops) / (gflops * 1e9 * share);

// Why the model cannot be trained here; '' where it can.
export function tooBig(cost: Cost, steps: number, pace: Pace, words: { bytes(n: number): string; duration(s: number): string }): string {
  if (cost.stateBytes > mostBytes) {
    return `Its weights, gradients and moments take ${words.bytes(cost.stateBytes)}; a browser's engine has room for ${words.bytes(mostBytes)} of them.`;
  }
  const seconds = secondsFor(cost, steps, pace);
  if (seconds <= mostSeconds) return '';
  return `${steps.toLocaleString('en')} steps would take ${words.duration(seconds)} here, at ${(pace.share * 100).toFixed(0)}% of this engine's ${pace.gflops.toFixed(0)} GFLOP/s.`;
}

export interface Size {
  layers: number;
  'd-model': number;
  heads: number;
  'd-ff': number;
  vocab: number;
  context: number;
}

// Smallest first; each costs about four times the one before.
export const ladder: Size[] = [
  { layers: 2, 'd-model': 64, heads: 4, 'd-ff': 256, vocab: 512, context: 32 },
  { layers: 3, 'd-model': 96, heads: 4, 'd-ff': 384, vocab: 512, context: 48 },
  { layers: 4, 'd-model': 128, heads: 4, 'd-ff': 512, vocab: 512, context: 64 },
  { layers: 6, 'd-model': 192, heads: 6, 'd-ff': 768, vocab: 1024, context: 96 },
  { layers: 6, 'd-model': 256, heads: 8, 'd-ff': 1024, vocab: 2048, context: 128 },
];

// A model of the same kind in that size, as changes to the model: grouped heads stay grouped, mixtures stay mixtures.
export function sibling(a: Architecture, size: Size): Record<string, number> {
  const { 'd-ff': wide, ...changes } = size;
  const more: Record<string, number> = {};
  // Latent attention has no key/value heads, and its heads have parts of their own.
  const latent = a.kv_rank !== undefined;
  if (!latent && a.n_kv_heads < a.n_heads) more['kv-heads'] = a.n_kv_heads === 1 ? 1 : size.heads / 2;
  if (!latent) more['d-head'] = halvedTo(size['d-model'] / size.heads, a.d_head);
  if (a.window > 0) more.window = size.context / 2;
  // DeepSeek-V3 has 8 groups of experts, of which the best two count.
  if (a.n_experts > 0) Object.assign(more, { experts: Math.min(a.n_experts, 16), 'active-experts': Math.min(2, a.n_active_experts), 'd-expert': wide / 2 });
  if (a.d_shared !== undefined) more['d-shared'] = wide / 2;
  if (a.n_dense_layers > 0) more['d-ff'] = wide;
  if (a.n_experts > 0) more.layers = Math.max(size.layers, a.n_dense_layers + 1); // at least one mixture behind dense layers
  return { ...changes, ...more };
}

// By halving, the part of a head that RoPE rotates stays whole: 32 of 80 in phi-2. About as wide as wanted.
const halvedTo = (wanted: number, size: number): number => (size > 1.5 * wanted && size % 16 === 0 ? halvedTo(wanted, size / 2) : size);

export const flagsOf = (changes: Record<string, number>) =>
  Object.entries(changes).flatMap(([name, value]) => [`--${name}`, String(value)]);
