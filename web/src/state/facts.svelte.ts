// What the engine says of the model: the reports that several parts of the page show.
import { untrack } from 'svelte';
import type { Count } from '../engine/json';
import { Asked } from './asked.svelte';
import { model } from './model.svelte';

export interface Row {
  name: string;
  formula: string;
  numbers: string;
  value: Count;
  group?: string;
  layers?: number;
  each?: Count;
}

export interface Architecture {
  family: string;
  layers: number;
  d_model: number;
  n_heads: number;
  n_kv_heads: number;
  d_head: number;
  d_ff: number;
  vocab_size: number;
  context: number;
  tied: boolean;
  norm: string;
  norm_position: string;
  positions: string;
  activation: string;
  gated: boolean;
  bias: boolean;
  qkv_bias: boolean;
  window: number;
  n_experts: number;
  n_active_experts: number;
  n_dense_layers: number;
  d_expert?: number;
  d_shared?: number;
  kv_rank?: number; // of latent attention
  about?: string;
  notes?: string[];
}

export interface Rule {
  name: string;
  meaning: string;
  unit: string;
  estimate: number;
  exact: number | null;
  error: number | null;
  reference: string;
}

// reckon.count/1, as docs/json.md describes it.
export interface CountReport {
  model: string;
  architecture: Architecture;
  workload: { phase: string; batch: number; tokens: number; past: number; logits: string; causal: string; precision: string };
  parameters: {
    total: Count;
    active: Count;
    embedding: Count;
    non_embedding: Count;
    tensors: number;
    by_component: Row[];
  };
  flops: { matmul: Count; elementwise: Count; total: Count; by_component: Row[] };
  weights: Record<'float32' | 'bfloat16' | 'int8' | 'int4', Count>;
  state?: { weights: Count; gradients: Count; moments: Count; total: Count }; // in training
  cache?: { type: string; bytes_per_token: Count; bytes_per_token_at_length: Count; length: number; bytes: Count; bytes_of_states?: Count };
  rules: Rule[];
  // Where weights were given, what is in their files.
  file?: {
    elements: Count;
    bytes: Count;
    complete: boolean;
    types: Record<string, { tensors: number }>;
    unexpected: { name: string }[];
    missing: { name: string }[];
    misshapen: { name: string }[];
  };
}

// What was shown before the model became another one, for comparison.
export interface Before {
  name: string;
  count: CountReport;
}

class Facts {
  #count = new Asked<CountReport>();
  #last = ''; // model and whether it is changed
  before = $state.raw<Before | null>(null);

  // `reckon count …` of the model; while its newest setting is refused, that of the one before.
  get count(): CountReport | null {
    return this.#count.value;
  }
  get args(): string[] {
    return this.#count.args;
  }
  // The engine's sentence on why the model as it is set cannot be counted.
  get error(): string {
    return this.#count.error;
  }
  // To be called once by the page.
  follow(): void {
    $effect(() => {
      const now = `${model.source}\n${model.changed}`;
      const name = model.name;
      this.#count.ask(['count', ...model.countArgs()]);
      untrack(() => {
        if (this.#last !== '' && now !== this.#last && this.count) this.before = { name: this.#name, count: this.count };
        this.#last = now;
        this.#name = name + (model.changed ? ', changed' : '');
      });
    });
  }
  #name = '';
}

export const facts = new Facts();
