// An engine that follows a script, for tests: losses fall by a formula, and nothing is computed.
import type { AdvanceReply, Line, Reply, RunReply, Settings } from '../../engine/run';
import type { TarFile } from '../../parts/tar';
import type { Engine } from './session.svelte';

const vocab = 512;
const layers = 2;
const heads = 4;

// The loss at a step, falling from ln V towards 2.2, with noise that a step always has.
const lossAt = (step: number, seed: number) =>
  2.2 + (Math.log(vocab) - 2.2) * Math.exp(-step / 120) + 0.08 * Math.sin(step * 12.9898 + seed * 78.233 + Math.sin(step * 4.1));

export class FakeEngine implements Engine {
  asked: { ask: string }[] = [];
  files = new Map<string, Uint8Array>();
  refuse = ''; // the sentence that the next training is refused with
  stepsOfNews = 20;
  pace = 0; // milliseconds between news
  #handles = 0;
  #runs = new Map<number, { step: number; settings: Settings; out: string; gain: number }>();
  #halted = true;

  async ask<K extends keyof import('../../engine/run').Run>(request: { ask: K } & Record<string, unknown>): Promise<{ json: Reply<K>; arrays: Float32Array[] }> {
    this.asked.push(request);
    const { json, arrays = [] } = this.#answer(request) as { json: unknown; arrays?: Float32Array[] };
    return { json: json as Reply<K>, arrays };
  }

  async follow(run: number, hear: (news: AdvanceReply) => void): Promise<void> {
    const state = this.#runs.get(run)!;
    this.#halted = false;
    while (!this.#halted && state.step < state.settings.steps) {
      await new Promise((resolve) => setTimeout(resolve, this.pace));
      if (this.#halted) return;
      const lines: Line[] = [];
      for (let i = 0; i < this.stepsOfNews && state.step < state.settings.steps; ++i) lines.push(...this.#stepped(state));
      hear({ lines, step: state.step, steps: state.settings.steps, done: state.step >= state.settings.steps });
    }
  }
  async halt(): Promise<void> {
    this.#halted = true;
  }

  async folder(path: string): Promise<TarFile[]> {
    const inside = [...this.files].filter(([name]) => name.startsWith(`${path}/`));
    return inside.map(([name, bytes]) => ({ path: name.slice(path.length + 1), bytes }));
  }
  async write(path: string, bytes: Uint8Array): Promise<void> {
    this.files.set(path, bytes);
  }
  async remove(path: string): Promise<void> {
    for (const name of this.files.keys()) if (name === path || name.startsWith(`${path}/`)) this.files.delete(name);
  }
  async network(config: string) {
    const architecture = {
      family: 'arcee', layers, d_model: 64, n_heads: heads, n_kv_heads: heads, d_head: 16, d_ff: 256, vocab_size: vocab,
      context: 32, tied: true, norm: 'rmsnorm', norm_position: 'pre', positions: 'rope', activation: 'gelu',
      gated: false, bias: false, qkv_bias: false, window: 0, n_experts: 0, n_active_experts: 0, n_dense_layers: 2,
      ...(JSON.parse(config) as object),
    };
    return { architecture, recurrent: false };
  }

  #answer(request: { ask: string } & Record<string, unknown>): { json: unknown; arrays?: Float32Array[] } {
    switch (request.ask) {
      case 'limit':
        return { json: { gflops_per_second: 20, threads: 1, arithmetic: 'SIMD128' } };
      case 'train': {
        if (this.refuse) throw new Error(this.refuse);
        const { changes = {}, out, settings } = request as unknown as { changes: Record<string, number>; out: string; settings: Partial<Settings> };
        const config = { ...(changes.layers && { layers: changes.layers }), ...(changes.heads && { n_heads: changes.heads, n_kv_heads: changes.heads }) };
        return { json: this.#begin(out, 0, settings, config, changes.context ?? 32) };
      }
      case 'resume': {
        const saved = [...this.files].filter(([name]) => name.startsWith(`${request.out as string}/checkpoints`) && name.endsWith('training.json')).at(-1)!;
        const { step, settings } = JSON.parse(new TextDecoder().decode(saved[1])) as { step: number; settings: Settings };
        return { json: this.#begin(request.out as string, step, { ...settings, ...(request.settings as object) }, {}, settings.context) };
      }
      case 'save': {
        const { step, settings, out } = this.#runs.get(request.run as number)!;
        const path = `${out}/checkpoints/step-${String(step).padStart(6, '0')}`;
        this.files.set(`${path}/training.json`, new TextEncoder().encode(JSON.stringify({ step, settings })));
        return { json: { path, step } };
      }
      case 'encode': {
        const pieces = (request.text as string).match(/\s?\S+/g)?.map((text, id) => ({ id, text, kind: 'word', begin: 0, end: 0, joined: false })) ?? [];
        return { json: { tokens: pieces.length, bytes: 0, ids: pieces.map((piece) => piece.id), pieces, decoded: request.text, exact: true } };
      }
      case 'attention': {
        const pieces = (request.text as string).match(/\s?\S+/g)!.map((text, id) => ({ id, text, kind: 'word' }));
        const tokens = pieces.length;
        const maps = new Float32Array(layers * heads * tokens * tokens);
        for (let head = 0; head < layers * heads; ++head) {
          for (let query = 0; query < tokens; ++query) {
            const weight = (key: number) => Math.exp(-Math.abs(query - key - (head % 4)) * (0.4 + (head % 3)));
            const sum = Array.from({ length: query + 1 }, (_, key) => weight(key)).reduce((a, b) => a + b, 0);
            for (let key = 0; key <= query; ++key) maps[(head * tokens + query) * tokens + key] = weight(key) / sum;
          }
        }
        const rows = Array.from({ length: layers }, (_, layer) => ({ layer, heads, from: layer * heads * tokens * tokens }));
        return { json: { tokens, pieces, layers: rows }, arrays: [maps] };
      }
      case 'neighbours': {
        const words = [' girl', ' boy', ' bird', ' dog', ' cat', ' Mom', ' friend', ' child'];
        const neighbours = words.map((text, i) => ({ id: 100 + i, text, kind: 'word', cosine: 0.81 - 0.06 * i }));
        return { json: { token: { id: request.token, text: ' day', kind: 'word' }, neighbours: neighbours.slice(0, request.count as number) } };
      }
      default:
        return { json: {} };
    }
  }

  #begin(out: string, step: number, given: Partial<Settings>, config: Record<string, number>, context: number): RunReply {
    const run = ++this.#handles;
    const steps = given.steps ?? 1000;
    const settings = {
      batch: 8, accumulate: 1, lr: 1e-3, seed: 0, tokenizer: `train:${vocab}`, text: [] as string[], eval_every: Math.max(1, steps / 10),
      layers_every: Math.max(1, steps / 100), sample_every: 100, ...given, steps, context,
    } as Settings;
    const state = { step: 0, settings, out, gain: 0.06 * ((config.layers ?? 2) - 2) + 0.03 * (context / 32 - 1) };
    const lines: Line[] = [];
    while (state.step < step) lines.push(...this.#stepped(state));
    this.#runs.set(run, state);
    return {
      run, tokenizer: ++this.#handles, out, config: JSON.stringify(config), ln_vocab: Math.log(vocab), unigram_entropy: 5.06,
      bytes_per_token: 2.81, step, lines, notes: [],
      facts: {
        kind: 'run', step, model: settings.model, parameters: 32832 + 49280 * (config.layers ?? 2), data: 'the embedded stories: 828,335 tokens', training_tokens: 745501,
        validation_tokens: 82834, step_matmul_flops: 50331648 + 78741504 * (config.layers ?? 2), limit_gflops_per_second: 20,
        bytes: { weights: 525568, gradients: 525568, moments: 1051136, arena: 2832448, sent: 0 }, settings,
      },
    };
  }

  #stepped(state: { step: number; settings: Settings; gain: number }): Line[] {
    const { settings } = state;
    const step = ++state.step;
    const loss = lossAt(step, settings.seed) - state.gain * Math.min(1, step / 300);
    const warm = Math.min(1, step / 100);
    const rate = 0.1 + (0.9 * (1 + Math.cos((Math.PI * step) / settings.steps))) / 2;
    const lines: Line[] = [{
      kind: 'step', step, loss, lr: settings.lr * warm * rate, gradient_norm: 0.4 + Math.exp(-step / 80) + 0.1 * Math.sin(step * 7.3) ** 2,
      tokens_per_second: 20_000 + 900 * Math.sin(step), gflops_per_second: 16 + Math.sin(step), seconds: step * 0.0125,
    }];
    if (step % settings.layers_every === 0) {
      const part = (name: string, norm: number) => ({ part: name, gradient_norm: norm * (1 + Math.exp(-step / 90)), update_norm: 0.01, weight_norm: 5 });
      lines.push({ kind: 'layers', step, parts: [part('embedding', 0.5), part('layer 0', 0.3), part('layer 1', 0.2), part('final_norm', 0.03)] });
    }
    if (step % settings.eval_every === 0) lines.push({ kind: 'evaluation', step, loss: loss + 0.05 });
    if (step % settings.sample_every === 0) lines.push({ kind: 'sample', step, text: `One day, a girl named Lily went to the park. She saw a big dog. (${step})` });
    if (step === settings.steps) lines.push({ kind: 'end', step, validation: loss + 0.04, seconds: step * 0.0125, arena_high_water_bytes: 1, sent_bytes: 0 });
    return lines;
  }
}
