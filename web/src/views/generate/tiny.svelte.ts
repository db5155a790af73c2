// A small GPT to try at once: made here, untrained at first, and trained for some seconds when asked.
import { runner } from '../../engine/client';
import type { Handle, Reply } from '../../engine/run';

export const tinySteps = 600;
const context = 64;
const rate = 3e-3;

// The same training in a terminal.
export const tinyArgs = ['train', 'mini-gpt', '--context', String(context), '--steps', String(tinySteps), '--lr', String(rate), '--out', 'tiny'];

export class Tiny {
  run = $state.raw<Handle>();
  step = $state(0);
  loss = $state.raw<number>(); // nats
  knows = $state.raw(0); // ln V
  learning = $state(false);

  // Its weights are random, its tokenizer is trained on the stories.
  async make(): Promise<Handle> {
    const settings = { model: 'mini-gpt', steps: tinySteps, lr: rate, eval_every: tinySteps, save_every: tinySteps, keep: 1 };
    const { json } = await runner.ask<Reply<'train'>>({ ask: 'train', out: '/runs/tiny', settings, changes: { context } });
    this.run = json.run;
    this.step = json.step;
    this.knows = json.ln_vocab;
    return json.run;
  }

  // In slices, so that the engine answers others in between. Ends when stopped, or at the last step.
  async learn(): Promise<void> {
    this.learning = true;
    try {
      for (let done = false; this.learning && !done; ) {
        const { json } = await runner.ask<Reply<'advance'>>({ ask: 'advance', run: this.run, milliseconds: 50 });
        this.step = json.step;
        for (const line of json.lines) if (line.kind === 'step') this.loss = line.loss;
        done = json.done;
      }
    } finally {
      this.learning = false;
    }
  }
  stop = () => (this.learning = false);
}
