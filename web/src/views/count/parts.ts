// The parts of the network's picture: the engine's rows, brought together by what they belong to. Parameters, FLOPs and
// bytes have the same parts, so that one keeps its place when the measure changes.
import type { Count } from '../../engine/json';
import type { CountReport, Row } from '../../state/facts.svelte';
import { sum } from '../../numbers';

export type Measure = 'parameters' | 'flops' | 'bytes';
export type Slab = 'embedding' | 'stack' | 'head' | 'other';

// What a part is made of: a row with its formula, or what one kind of memory holds.
export interface Piece {
  name: string;
  value: Count;
  row?: Row;
  inactive?: boolean; // experts that a token does not take
}
export interface Part {
  name: string;
  slab: Slab;
  value: Count;
  pieces: Piece[];
}

// What is shown of a step of reckon.explain/1.
export interface Step {
  stage: string;
  path: string;
  name: string;
  formula: string[];
  why: string;
}

// reckon.memory/1, with --by tensor
export interface MemoryTensor {
  name: string;
  held: string;
  role?: string;
  type?: string;
  shape?: number[];
  instances: number;
  bytes: Count;
}
export interface MemoryReport {
  workload: { phase: string; batch: number; tokens: number; past: number; precision: string; types: { weights: string } };
  parameters: Count;
  memory: Record<'weights' | 'master' | 'gradients' | 'optimizer' | 'cache' | 'tables' | 'activations' | 'temporary' | 'total', Count>;
  tensors?: MemoryTensor[];
  notes?: string[];
  device?: {
    name: string;
    memory: Count;
    left: Count;
    fits: boolean;
    largest_batch: { value: number; all: boolean };
    largest_context: { value: number; all: boolean };
  };
}

// In the order of the data, and within a layer from left to right.
const order = [
  'token embedding', 'position embedding', 'embedding projection', 'embedding norm', // prettier-ignore
  'attention', 'cross-attention', 'recurrence', 'feed-forward', 'router', 'experts', 'shared expert', 'norms',
  'final norm', 'head', 'workspace',
];
const slabs: Record<string, Slab> = { 'final norm': 'head', head: 'head', 'workspace': 'other' };
const slabOf = (name: string): Slab => slabs[name] ?? (/embedding/.test(name) ? 'embedding' : 'stack');

// "attention/query" → attention: by the rule of `reckon count`'s own rows. Also of names: "layers.*.attention.query".
export function partOf(role: string): string {
  const [block = '', part = '', ...rest] = role.split('/');
  const around = /^norm(_after|_residual)?$/.test(part || rest[0] || '');
  switch (block) {
    case 'embedding':
      return { token: 'token embedding', position: 'position embedding', project: 'embedding projection' }[part] ?? 'embedding norm';
    case 'attention':
      return around ? 'norms' : 'attention';
    case 'cross_attention':
      return around ? 'norms' : 'cross-attention';
    case 'recurrence':
      return around ? 'norms' : 'recurrence';
    case 'feed_forward':
      if (around) return 'norms';
      return { router: 'router', correction: 'router', experts: 'experts', shared: 'shared expert' }[part] ?? 'feed-forward';
    case 'final_norm':
      return 'final norm';
    case 'head':
      return 'head';
    default:
      return 'workspace';
  }
}
export const partOfTensor = (name: string) =>
  partOf(name.replace(/^layers\.[^.]+\./, '').split('.').filter((word) => !/^\d+$/.test(word)).join('/'));

function gather(pieces: [string, Piece][], empty: string[]): Part[] {
  const parts = new Map<string, Part>();
  for (const name of empty) parts.set(name, { name, slab: slabOf(name), value: 0, pieces: [] });
  for (const [name, piece] of pieces) {
    if (!parts.has(name)) parts.set(name, { name, slab: slabOf(name), value: 0, pieces: [] });
    parts.get(name)!.pieces.push(piece);
  }
  for (const part of parts.values()) part.value = sum(part.pieces.map((piece) => piece.value));
  const place = (part: Part) => (order.indexOf(part.name) + order.length) % order.length;
  return [...parts.values()].sort((a, b) => place(a) - place(b));
}

export function parameterParts(count: CountReport): Part[] {
  const inactive = BigInt(count.parameters.total) - BigInt(count.parameters.active);
  return gather(
    count.parameters.by_component.flatMap((row): [string, Piece][] => {
      const whole: Piece = { name: row.name, value: row.value, row };
      if (row.name !== 'experts' || inactive === 0n) return [[row.name, whole]];
      return [
        [row.name, { name: 'active', value: sum([BigInt(row.value) - inactive]), row }],
        [row.name, { name: 'inactive', value: sum([inactive]), inactive: true }],
      ];
    }),
    count.architecture.tied ? ['head'] : [], // it has no parameters of its own, but it is there
  );
}

export function flopParts(count: CountReport): Part[] {
  const part = ({ group = '', name }: Row) =>
    group === 'feed-forward'
      ? /^router/.test(name) ? 'router' : /^experts|of the experts$/.test(name) ? 'experts' : /^shared/.test(name) ? 'shared expert' : group
      : group === 'embedding' ? name : group || 'workspace'; // prettier-ignore
  return gather(
    count.flops.by_component.map((row) => [part(row), { name: row.name, value: row.value, row }]),
    ['token embedding'], // a look-up
  );
}

export function byteParts(memory: MemoryReport): Part[] {
  const held = new Map<string, [string, Piece]>();
  for (const tensor of memory.tensors ?? []) {
    const part = partOf(tensor.role ?? '');
    const key = `${part}/${tensor.held}`;
    const entry = held.get(key);
    if (entry) entry[1].value = sum([entry[1].value, tensor.bytes]);
    else held.set(key, [part, { name: tensor.held !== 'cache' ? tensor.held : part === 'recurrence' ? 'states' : 'KV cache', value: tensor.bytes }]);
  }
  return gather([...held.values()], []);
}

const colors: Record<string, string> = {
  attention: 'attention', 'cross-attention': 'purple', recurrence: 'yellow', 'feed-forward': 'feed-forward', router: 'vermilion',
  experts: 'feed-forward', 'shared expert': 'purple', norms: 'norm', 'final norm': 'norm', head: 'head',
  'workspace': 'norm', 'position embedding': 'yellow',
}; // prettier-ignore
export const colorOf = (part: string) => `var(--${colors[part] ?? 'embedding'})`;
