// What will be trained when Start is pressed, and what it will cost.
import { engine, latestWins, runner } from '../../engine/client';
import type { Count } from '../../engine/json';
import type { Settings } from '../../engine/run';
import type { Architecture } from '../../state/facts.svelte';
import { model, type ModelOption } from '../../state/model.svelte';
import { shared } from '../../state/shared.svelte';
import { recurrent } from '../count/sizes';
import { countArgs, flagsOf, ladder, secondsFor, sibling, usual, type Choices, type Cost, type Pace, type Size } from './plan';

interface Counted {
  architecture: Architecture;
  parameters: { total: Count; by_component: { name: string }[] };
  flops: { matmul: Count };
  state: { total: Count };
}

const settings = {
  data: shared('train.data', 'stories'),
  tokenizer: shared('train.tokenizer', 'train'),
  steps: shared('train.steps', String(usual.steps)),
  batch: shared('train.batch', String(usual.batch)),
  lr: shared('train.lr', String(usual.lr)),
  seed: shared('train.seed', String(usual.seed)),
};

const costOf = (counted: Counted): Cost => ({
  parameters: Number(counted.parameters.total),
  stepFlops: Number(counted.flops.matmul),
  stateBytes: Number(counted.state.total),
});

class Planned {
  readonly settings = settings;
  pasted = $state('');
  file = $state.raw<{ name: string; bytes: Uint8Array } | null>(null);
  architecture = $state.raw<Architecture | null>(null);
  recurrent = $state(false);
  cost = $state.raw<Cost | null>(null);
  error = $state('');

  // The text, if it is not the stories; null where there is none yet.
  get text(): { name: string; bytes: Uint8Array } | null {
    if (settings.data.value === 'file') return this.file;
    if (settings.data.value === 'text' && this.pasted.trim()) return { name: 'text.txt', bytes: new TextEncoder().encode(this.pasted) };
    return null;
  }
  get textMissing(): boolean {
    return settings.data.value !== 'stories' && this.text === null;
  }
  get choices(): Choices {
    return {
      model: model.name,
      flags: model.changes,
      tokenizer: settings.tokenizer.value === 'bytes' ? 'bytes' : 'train',
      steps: settings.steps.number,
      batch: settings.batch.number,
      lr: settings.lr.number,
      seed: settings.seed.number,
      text: settings.data.value === 'stories' ? null : (this.text?.name ?? 'text.txt'),
    };
  }

  // To be called on every change; only the newest is counted.
  count = latestWins(
    (args: string[]) => engine.json<Counted>(args),
    (counted) => {
      this.architecture = counted.architecture;
      this.recurrent = recurrent(counted);
      this.cost = costOf(counted);
      this.error = '';
    },
    (error) => (this.error = error.message),
  );

  // The model's description where the run engine finds it.
  async source(): Promise<string> {
    const config = model.file?.config;
    if (!config) return model.preset;
    const path = `/configs/${config.name.replace(/[^\w.-]+/g, '_')}`;
    await runner.write(path, config.bytes);
    return path;
  }

  // The largest model of this kind that takes at most a minute here.
  async smallSibling(pace: Pace): Promise<{ size: Size; changes: Record<string, number>; cost: Cost } | null> {
    if (!this.architecture) return null;
    let best = null;
    for (const size of ladder) {
      // The sizes of recurrences do not follow the width: then only the others change.
      const { layers, vocab, context } = size;
      const changes = this.recurrent ? { layers, vocab, context } : sibling(this.architecture, size);
      const args = countArgs({ ...this.choices, flags: flagsOf(changes) }, model.source);
      const counted = await engine.json<Counted>(args).catch(() => null);
      if (!counted) return best;
      const cost = costOf(counted);
      if (best && secondsFor(cost, this.choices.steps, pace) > 60) return best;
      best = { size, changes, cost };
    }
    return best;
  }

  apply(changes: Record<string, number>): void {
    model.reset();
    for (const [name, value] of Object.entries(changes)) model.set(name as ModelOption, value);
  }

  // The choices of a run that was loaded, and its model; null: that is here already.
  async adopt(config: string | null, settings: Settings): Promise<void> {
    if (config === null) return this.restore(settings, model.changes);
    const bytes = new TextEncoder().encode(config);
    await model.open([{ name: 'config.json', bytes, size: bytes.length, text: config }]);
    this.restore(settings, []);
  }

  // The choices of a run again.
  restore({ steps, batch, lr, seed }: Settings, flags: string[]): void {
    for (const [name, value] of Object.entries({ steps, batch, lr, seed })) settings[name as keyof typeof settings].value = String(value);
    model.reset();
    for (let i = 0; i + 1 < flags.length; i += 2) model.set(flags[i]!.slice(2) as ModelOption, flags[i + 1]!);
  }
}

export const planned = new Planned();
