// One model and one text that it continues: what is in the cache, how the next token is drawn, and what each step cost.
// Every figure is the engine's.
import { latestWins, runner } from '../../engine/client';
import type { Ask, BeamsReply, DistributionReply, Handle, ModelReply, Piece, Reply, Sampling, StepReply } from '../../engine/run';
import { shared } from '../../state/shared.svelte';

export interface Taken {
  piece: Piece;
  probability: number; // of being drawn, when it was taken
  byHand: boolean; // picked, or drawn with a u that was moved
}
export interface Cost {
  tokens: number;
  seconds: number;
  flops: number;
}

export const settings = {
  prompt: shared('generate.prompt', 'Once upon a time'),
  temperature: shared('generate.temperature', '1'),
  top_k: shared('generate.top-k', '0'),
  top_p: shared('generate.top-p', '1'),
  min_p: shared('generate.min-p', '0'),
  seed: shared('generate.seed', '0'),
};
export const sampling = (): Sampling => ({
  temperature: settings.temperature.number,
  top_k: settings.top_k.number,
  top_p: settings.top_p.number,
  min_p: settings.min_p.number,
  seed: settings.seed.number,
});

const large = 2 ** 28; // bytes of weights

const ask = async <K extends Ask>(kind: K, request: object) => (await runner.ask<Reply<K>>({ ask: kind, ...request })).json;

export class Session {
  model = $state.raw<ModelReply>();
  prompt = $state.raw<Piece[]>([]); // what is in the cache before the first taken one
  taken = $state.raw<Taken[]>([]);
  costs = $state.raw<Cost[]>([]); // of the prompt, then of each token
  cache = $state.raw({ length: 0, capacity: 0, bytes: 0 });
  next = $state.raw<DistributionReply>();
  u = $state.raw<number>(); // moved or redrawn by hand, for this token alone
  beams = $state.raw<BeamsReply>();
  running = $state(false);
  busy = $state(false);
  failed = $state('');
  ended = $state<'' | 'full' | 'end'>(''); // why no more tokens come
  slid = $state(false); // the random numbers began anew since the prompt

  // Whether `reckon generate` with the same seed draws the same tokens.
  get repeatable(): boolean {
    return !this.slid && !this.taken.some(({ byHand }) => byHand);
  }

  constructor() {
    runner.onstop.add(() => {
      this.model = this.next = this.beams = undefined; // its handles are gone
      this.running = false;
    });
  }

  // In place of the model before, which stays where this one cannot be opened, unless it is too large to stay meanwhile.
  // Throws the engine's sentence.
  async open(request: { path: string } | { run: Handle }): Promise<void> {
    let failure: unknown;
    await this.#alone(async () => {
      try {
        if (this.model && this.model.weight_bytes > large) await this.#close();
        const model = await ask('model', request);
        await this.#close();
        this.model = model;
      } catch (error) {
        failure = error;
        return;
      }
      await this.#begin();
    });
    if (failure) throw failure;
  }
  async #close(): Promise<void> {
    const before = this.model;
    this.model = this.next = this.beams = undefined;
    this.prompt = this.taken = this.costs = [];
    for (const handle of [before?.model, before?.tokenizer]) if (handle != null) await ask('forget', { handle }).catch(() => {});
  }

  begin = () => this.#alone(() => this.#begin());

  // As one types: only the newest prompt is run.
  #written = latestWins(
    () => this.begin(),
    () => {},
  );
  write(prompt: string): void {
    settings.prompt.value = prompt;
    this.stop();
    this.#written(undefined);
  }

  // The prompt anew. Without a tokenizer it is ids.
  async #begin(): Promise<void> {
    const text = settings.prompt.value;
    const given = this.model!.tokenizer === null ? { ids: text.split(/[\s,]+/).filter(Boolean).map(Number) } : { text };
    const reply = await ask('prefill', { model: this.model!.model, ...given });
    this.prompt = reply.pieces;
    this.slid = false;
    this.taken = [];
    this.costs = [];
    this.ended = '';
    await this.#after(reply);
  }

  async #after(reply: StepReply): Promise<void> {
    this.costs = [...this.costs, { tokens: reply.pieces.length, seconds: reply.seconds, flops: reply.flops }];
    this.#cached(reply);
    await this.#renewed();
  }
  #cached({ length, capacity, cache_bytes }: StepReply): void {
    this.cache = { length, capacity, bytes: cache_bytes };
    this.beams = undefined;
    this.u = undefined;
  }
  async #renewed(): Promise<void> {
    this.next = await ask('distribution', { model: this.model!.model, sampling: sampling(), u: this.u });
  }

  // While the sampling or u is dragged: only the newest is asked for.
  #look = latestWins(
    ({ request }: { request: object; length: number }) => ask('distribution', request),
    (reply, { length }) => {
      if (length === this.cache.length) this.next = reply;
    },
    (error) => (this.failed = error.message),
  );
  // Called by the view whenever the sampling or u changes.
  renew(sampling: Sampling, u: number | undefined): void {
    if (this.model && this.next) this.#look({ request: { model: this.model.model, sampling, u }, length: this.cache.length });
  }

  // Takes this token, or the one that is drawn.
  take = (id?: number) => this.#alone(() => this.#take(id));

  async #take(id?: number): Promise<void> {
    if (this.cache.length >= this.cache.capacity) {
      this.ended = 'full';
      return;
    }
    const { draw, tokens } = this.next!;
    const chosen = id === undefined || id === draw.id ? draw : tokens.find((token) => token.id === id);
    if (!chosen) return; // the text went on before the click came to its turn
    const byHand = chosen !== draw || this.u !== undefined;
    const reply = await ask('append', { model: this.model!.model, id: chosen.id });
    this.taken = [...this.taken, { piece: chosen, probability: chosen.probability, byHand }];
    await this.#after(reply);
    this.ended = this.model!.end_of_text.includes(chosen.id) ? 'end' : '';
  }

  async run(): Promise<void> {
    this.running = true;
    await this.#alone(async () => {
      while (this.running) {
        await this.#take();
        if (this.ended) break;
        await frame(); // what came is drawn, and Stop is heard
      }
    });
    this.running = false;
  }
  stop = () => (this.running = false);

  // Back to before the taken token with this index.
  back = (index: number) =>
    this.#alone(async () => {
      const reply = await ask('rewind', { model: this.model!.model, length: this.cache.length - this.taken.length + index });
      this.taken = this.taken.slice(0, index);
      this.costs = this.costs.slice(0, index + 1);
      this.ended = '';
      this.#cached(reply);
      await this.#renewed();
    });

  // A full cache is filled again with the newer half of the text, as --window does; that half is run anew.
  slide = () =>
    this.#alone(async () => {
      const ids = [...this.prompt, ...this.taken.map(({ piece }) => piece)].map(({ id }) => id);
      const kept = ids.slice(-Math.ceil(this.cache.capacity / 2));
      const reply = await ask('prefill', { model: this.model!.model, ids: kept });
      this.prompt = [...this.prompt, ...this.taken.map(({ piece }) => piece)];
      this.slid = true;
      this.taken = [];
      this.costs = [];
      this.ended = '';
      await this.#after(reply);
    });

  search = (beams: number, tokens: number) =>
    this.#alone(async () => {
      this.beams = await ask('beams', { model: this.model!.model, beams, tokens });
    });

  // One thing at a time; what goes wrong is told in the engine's sentence.
  #line: Promise<void> = Promise.resolve();
  #alone(work: () => Promise<void>): Promise<void> {
    this.#line = this.#line.then(async () => {
      this.busy = true;
      this.failed = '';
      await work().catch((error: Error) => (this.failed = error.message));
      this.busy = false;
    });
    return this.#line;
  }
}

const frame = () => new Promise<void>((resolve) => (document.hidden ? setTimeout(resolve) : requestAnimationFrame(() => resolve())));
