// What the engine says of the model: the reports that several parts of the page show.
import type { Count } from '../engine/json';

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
  cache?: { type: string; bytes_per_token: Count; bytes_per_token_at_length: Count; length: number; bytes: Count };
  rules: Rule[];
}

class Facts {
  count = $state.raw<CountReport | null>(null);
  // The engine's sentence on why the model as it is set cannot be counted; the figures are then those before.
  error = $state('');
}

export const facts = new Facts();
