// What will be trained when Start is pressed, and what it will cost.
import { engine, latestWins, runner } from '../../engine/client';
import type { Count } from '../../engine/json';
import type { Settings } from '../../engine/run';
import type { Architecture } from '../../state/facts.svelte';
import { model, type ChosenModel, type ModelOption } from '../../state/model.svelte';
import { shared } from '../../state/shared.svelte';
import { recurrent } from '../count/sizes';
import { changes, knobsOf } from './knobs';
import { countArgs, flagsOf, ladder, secondsFor, sibling, textName, usual, type Choices, type Cost, type Pace, type Size } from './plan';
import type { TrainedRun } from './session.svelte';

interface GivenText {
  name: string;
  bytes: Uint8Array;
}

// What `Choices` has by name: what a training needs to be done again when other things were chosen since.
export interface Chosen {
  model: ChosenModel;
  data: string;
  tokenizer: string;
  pasted: string;
  file: GivenText | null;
}

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
  file = $state.raw<GivenText | null>(null);
  architecture = $state.raw<Architecture | null>(null);
  recurrent = $state(false);
  cost = $state.raw<Cost | null>(null);
  error = $state('');

  // The text, if it is not the stories; null where there is none yet.
  get text(): GivenText | null {
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
  get chosen(): Chosen {
    const { data, tokenizer } = settings;
    return { model: model.chosen, data: data.value, tokenizer: tokenizer.value, pasted: this.pasted, file: this.file };
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

  // What a run was trained with, once more. Throws where its text is not here.
  async again(run: TrainedRun): Promise<void> {
    const { chosen } = run;
    if (!chosen) {
      await this.adopt(run);
      if (this.textMissing) throw new Error(`the text of that run, ${run.text}, is not here: choose it under Text first`);
      return;
    }
    model.restore(chosen.model);
    settings.data.value = chosen.data;
    settings.tokenizer.value = chosen.tokenizer;
    this.pasted = chosen.pasted;
    this.file = chosen.file;
    this.#set(run.reply.facts.settings);
  }

  // The choices of a run that was loaded, and its model, unless that is here. Of its text there is the name alone.
  async adopt({ label, text: of, knobs, reply }: TrainedRun): Promise<void> {
    const { config, facts: { settings: trained } } = reply; // prettier-ignore
    const here = this.architecture !== null && changes(knobsOf(label, this.architecture, { ...trained }, of), knobs).length === 0;
    if (!here) {
      const bytes = new TextEncoder().encode(config);
      await model.open([{ name: 'config.json', bytes, size: bytes.length, text: config }]);
    }
    const text = textName(trained);
    if (text === null) settings.data.value = 'stories';
    else if (this.text?.name !== text) {
      settings.data.value = 'file';
      if (this.file?.name !== text) this.file = null;
    }
    settings.tokenizer.value = trained.tokenizer === 'bytes' ? 'bytes' : 'train';
    this.#set(trained);
  }

  #set({ steps, batch, lr, seed }: Settings): void {
    for (const [name, value] of Object.entries({ steps, batch, lr, seed })) settings[name as keyof typeof settings].value = String(value);
  }
}

export const planned = new Planned();
