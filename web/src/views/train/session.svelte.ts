// The training that goes on: one run at a time, and those before it to compare with. It lives as long as the page,
// whatever view is open.
import { engine as counter, runner } from '../../engine/client';
import type { AdvanceReply, Ask, Handle, Reply, Request, RunReply } from '../../engine/run';
import type { CountReport } from '../../state/facts.svelte';
import { trained } from '../../state/trained.svelte';
import { recurrent } from '../count/sizes';
import type { Chosen } from './choices.svelte';
import { packed, runAmong, unpacked } from './folders';
import { History, type Axis } from './history';
import { knobsOf, runName, type Knobs, type Network } from './knobs';
import { textName, trainRequest, type Choices } from './plan';
import { openStore, type Saved, type Store } from './storage';
import type { TarFile } from '../../parts/tar';

// What the session needs of the two engines; tests have one that follows a script.
export interface Engine {
  ask<K extends Ask>(request: Request<K>): Promise<{ json: Reply<K>; arrays: Float32Array[] }>;
  follow(run: Handle, hear: (news: AdvanceReply) => void): Promise<void>;
  halt(): Promise<void>;
  folder(path: string): Promise<TarFile[]>;
  write(path: string, bytes: Uint8Array): Promise<void>;
  remove(path: string): Promise<void>;
  network(config: string): Promise<Network>;
}

export type State = 'idle' | 'preparing' | 'running' | 'paused' | 'done';

export class TrainedRun {
  readonly history: History;
  readonly knobs: Knobs;
  readonly name: string;

  constructor(
    readonly reply: RunReply,
    readonly network: Network,
    readonly text: string,
    base: TrainedRun | null, // that it is named after
    readonly label: string, // the model's name
    readonly choices: Choices | null, // null: it was loaded
    readonly chosen: Chosen | null, // to do it again
  ) {
    const { settings, step_matmul_flops } = reply.facts;
    this.history = new History(settings.steps, settings.batch * settings.accumulate * settings.context, step_matmul_flops);
    this.knobs = knobsOf(label, network.architecture, settings as unknown as Record<string, unknown>, text);
    this.name = runName(base?.knobs, this.knobs, label);
    this.history.push(reply.facts);
    for (const line of reply.lines) this.history.push(line);
  }
  get handle(): Handle {
    return this.reply.run;
  }
  // Its name in the terminal, once it is saved.
  get folder(): string {
    return this.reply.out.replace(/.*\//, '');
  }
  get steps(): number {
    return this.reply.facts.settings.steps;
  }
  get step(): number {
    return this.history.length > 0 ? this.history.last('step') : this.reply.step;
  }
  get parameters(): number {
    return this.reply.facts.parameters;
  }
  // The whole run's, in the unit of an axis; seconds are known when it is done.
  end(axis: Axis): number {
    if (axis === 'seconds') return this.history.length > 0 ? (this.history.last('seconds') / this.step) * this.steps : 0;
    return this.steps * { step: 1, tokens: this.history.stepTokens, flops: this.history.stepFlops }[axis];
  }
  // The held-out loss: of all that is held out at the end, else the newest.
  get validation(): number | null {
    return this.history.end?.validation ?? this.history.evaluations.at(-1)?.loss ?? null;
  }
  // Nats of a token to bits of a byte, which may be compared between tokenizers.
  get bitsPerNat(): number | null {
    return this.reply.bytes_per_token === null ? null : 1 / (Math.LN2 * this.reply.bytes_per_token);
  }
  // Seconds that the rest takes at the pace of the last fifth.
  get secondsLeft(): number {
    const { history } = this;
    const last = history.length - 1;
    const first = Math.max(0, last - Math.max(20, Math.floor(history.length / 5)));
    if (last <= first) return NaN;
    const seconds = history.column('seconds');
    return ((this.steps - this.step) * (seconds[last]! - seconds[first]!)) / (last - first);
  }
}

export const autosave = 'the last run'; // its name in the browser's storage
const autosaveEvery = 30; // seconds
const mostOlder = 5;
const leastMeasured = 20; // steps
const nextFrame: (draw: () => void) => void = globalThis.requestAnimationFrame ?? ((draw) => setTimeout(draw));

export class Session {
  state = $state<State>('idle');
  error = $state('');
  told = $state(''); // what was just done, for the eye and the ear
  current = $state.raw<TrainedRun | null>(null);
  older = $state.raw<TrainedRun[]>([]); // oldest first
  base = $state.raw<TrainedRun | null>(null); // what later runs are compared with: the first one, or the chosen one
  saved = $state.raw<Saved[]>([]);
  frame = $state(0); // grows when there is something new to draw, once a frame at most
  step = $state<number | null>(null); // under the crosshair; null: the newest
  axis = $state<Axis>('step');
  gflops = $state(0); // of one large product, measured; 0: not yet
  threads = $state(1);
  share = $state<number>(); // that the last training reached of it, all that was done between its steps counted in
  lr = $state(0); // of the run that goes on, its highest
  #folders = 0;
  #pending = false;
  #savedAt = 0;

  constructor(
    private readonly engine: Engine,
    private readonly store: () => Promise<Store>,
  ) {}

  // The run that the current one is compared with.
  get before(): TrainedRun | null {
    return this.base === this.current ? null : this.base;
  }
  get busy(): boolean {
    return this.state === 'preparing' || this.state === 'running';
  }
  // The most that one large product reached here: a busy machine only makes it less.
  get limit(): number {
    return Math.max(this.gflops, ...(this.current?.history.limits ?? []));
  }

  // Fetches the engine and measures what it can do, unless a run does.
  async probe(): Promise<void> {
    if (this.gflops > 0 || this.busy) return;
    try {
      const { json } = await this.engine.ask({ ask: 'limit' });
      this.gflops = json.gflops_per_second;
      this.threads = json.threads;
    } catch (error) {
      this.error = (error as Error).message;
    }
  }

  // `source`: of the model, and `text`: both as the run engine's file system has them.
  async start(choices: Choices, source: string, text: { name: string; bytes: Uint8Array } | null, chosen: Chosen | null = null): Promise<void> {
    if (this.busy) return;
    await this.#prepare(`${choices.tokenizer === 'train' ? 'Training a tokenizer and encoding' : 'Encoding'} the text …`, async () => {
      const out = this.#newFolder(choices.model);
      const path = text ? `/texts/${text.name.replace(/[^\w.-]+/g, '_')}` : null;
      if (text && path) await this.engine.write(path, text.bytes);
      const { json } = await this.engine.ask({ ask: 'train', ...trainRequest(choices, source, path, out) });
      await this.#begin(json, choices.text ?? 'stories', choices.model, { choices, chosen });
    });
    if (this.state === 'paused') await this.go();
  }

  // Trains until the last step, or until it is paused.
  async go(): Promise<void> {
    const run = this.current;
    if (!run || this.state !== 'paused') return;
    this.state = 'running';
    this.told = '';
    const before = run.history.length;
    try {
      await this.engine.follow(run.handle, (news) => this.#hear(run, news));
      if (this.state === 'running') this.state = 'paused';
      this.#measure(run, before);
      await this.keep(autosave);
    } catch (error) {
      if (this.current !== run) return; // the engine is gone, and has said so
      this.state = 'paused';
      this.error = (error as Error).message;
    }
  }

  // Of the steps behind the first so many.
  #measure({ history }: TrainedRun, before: number): void {
    const steps = history.length - 1 - before;
    const seconds = history.last('seconds') - (history.column('seconds')[before] ?? NaN);
    if (steps >= leastMeasured && this.limit > 0) this.share = (steps * history.stepFlops) / (seconds * this.limit * 1e9);
  }

  // The engine has ended, and every run in it; what was drawn stays.
  lost(): void {
    this.gflops = 0;
    if (!this.current) return;
    this.older = [...this.older, this.current].slice(-mostOlder);
    this.base ??= this.current;
    this.current = trained.now = null;
    this.state = 'idle';
    this.told = '';
    this.error = 'The engine has stopped. The run can be continued from where it was last saved.';
  }

  async pause(): Promise<void> {
    if (this.state === 'running') await this.engine.halt();
  }

  // Back to the weights that the seed gives; the run is gone.
  async reset(): Promise<void> {
    await this.pause();
    const seed = this.current?.reply.facts.settings.seed ?? 0;
    if (this.current) await this.#free(this.current);
    if (this.base === this.current) this.base = null;
    this.current = trained.now = null;
    this.step = null;
    this.state = 'idle';
    this.told = `Step 0 again: seed ${seed} gives the same first weights and the same batches.`;
  }

  // A run that is done goes on to more steps.
  async extend(steps: number): Promise<void> {
    const run = this.current;
    if (!run || this.busy) return;
    await this.#prepare('', async () => {
      const { out, tokenizer } = run.reply;
      await this.engine.ask({ ask: 'save', run: run.handle });
      await this.engine.ask({ ask: 'forget', handle: run.handle });
      if (tokenizer !== null) await this.engine.ask({ ask: 'forget', handle: tokenizer });
      const { json } = await this.engine.ask({ ask: 'resume', out, settings: { steps } });
      await this.#begin(json, run.text, run.label, run, run);
    });
    if (this.state === 'paused') await this.go();
  }

  async setRate(lr: number): Promise<void> {
    if (!this.current || !(lr > 0)) return;
    this.lr = lr;
    await this.#try(() => this.engine.ask({ ask: 'rate', run: this.current!.handle, lr }));
  }

  // The runs before go; the current one is what the next is compared with.
  forgetOlder(): void {
    this.older = [];
    this.base = null;
  }

  // ---- Checkpoints ----

  async tar(): Promise<Uint8Array> {
    const run = this.current!;
    await this.engine.ask({ ask: 'save', run: run.handle });
    return packed(this.engine, run.reply.out);
  }

  async keep(name: string): Promise<void> {
    const run = this.current;
    if (!run) return;
    this.#savedAt = performance.now();
    await this.#try(async () => {
      const tar = await this.tar();
      const about = { name, model: run.label, step: run.step, steps: run.steps, validation: run.validation };
      const store = await this.store();
      await store.put({ ...about, saved: Date.now(), bytes: tar.length }, tar);
      this.saved = await store.list();
      if (name !== autosave) this.told = `Saved as “${name}” in this browser.`;
    });
  }

  // Before the page may be gone.
  async keepNow(): Promise<void> {
    if (this.state === 'running' && performance.now() - this.#savedAt > 5000) await this.keep(autosave);
  }

  async listSaved(): Promise<void> {
    try {
      this.saved = await (await this.store()).list();
    } catch {
      this.saved = []; // a browser that keeps nothing
    }
  }

  async removeSaved(name: string): Promise<void> {
    await this.#try(async () => {
      const store = await this.store();
      await store.remove(name);
      this.saved = await store.list();
    });
  }

  async openSaved(name: string, unpack: (tar: Uint8Array, name: string) => TarFile[]): Promise<void> {
    await this.open(async () => unpack(await (await this.store()).get(name), name), name);
  }

  // A run folder, of this page or of the command line: it can be continued.
  async open(files: () => Promise<TarFile[]>, source: string): Promise<void> {
    await this.pause();
    await this.#prepare('Opening the run …', async () => {
      const run = runAmong(await files(), source);
      const out = this.#newFolder('run');
      await unpacked(this.engine, run, out);
      const { json } = await this.engine.ask({ ask: 'resume', out });
      const { settings, model } = json.facts;
      await this.#begin(json, textName(settings) ?? 'stories', model.replace(/.*\//, ''), { choices: null, chosen: null });
      this.told = `${this.current!.label} at step ${this.current!.step.toLocaleString('en')} of ${this.current!.steps.toLocaleString('en')}.`;
    });
  }

  // The new run takes the place of the one before, whose curves stay.
  async #begin(reply: RunReply, text: string, label: string, from: Pick<TrainedRun, 'choices' | 'chosen'>, same?: TrainedRun): Promise<void> {
    const before = same ? null : this.current;
    const network = await this.engine.network(reply.config);
    this.base ??= before;
    const run = new TrainedRun(reply, network, text, this.base === same ? null : this.base, label, from.choices, from.chosen);
    if (this.base === same) this.base = null;
    if (before) {
      await this.#free(before);
      this.older = [...this.older, before].filter((one, i, all) => one === this.base || i >= all.length - mostOlder);
    }
    this.current = run;
    trained.now = { run: run.handle, name: run.label, folder: run.folder };
    this.lr = reply.facts.settings.lr;
    this.step = null;
    this.state = run.step >= run.steps ? 'done' : 'paused';
    ++this.frame;
  }

  // What fails leaves everything as it was.
  async #prepare(told: string, work: () => Promise<void>): Promise<void> {
    const before = this.state;
    this.state = 'preparing';
    this.error = '';
    this.told = told;
    try {
      await work();
    } catch (error) {
      this.error = (error as Error).message;
      this.told = '';
      this.state = before;
    }
  }

  async #try(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.error = (error as Error).message;
    }
  }

  #hear(run: TrainedRun, news: AdvanceReply): void {
    for (const line of news.lines) run.history.push(line);
    if (news.done) this.state = 'done';
    if (performance.now() - this.#savedAt > autosaveEvery * 1000) void this.keep(autosave);
    if (this.#pending) return;
    this.#pending = true;
    nextFrame(() => {
      this.#pending = false;
      ++this.frame;
    });
  }

  #newFolder(name: string): string {
    return `/runs/${name.replace(/[^\w.-]+/g, '_').replace(/\.json$/, '')}-${++this.#folders}`;
  }

  async #free(run: TrainedRun): Promise<void> {
    for (const handle of [run.handle, run.reply.tokenizer]) {
      if (handle !== null) await this.engine.ask({ ask: 'forget', handle });
    }
    await this.engine.remove(run.reply.out);
  }
}

let configs = 0;
const realEngine: Engine = {
  ask: (request) => runner.ask(request),
  follow: (run, hear) => runner.follow(run, hear),
  halt: () => runner.halt(),
  folder: (path) => runner.folder(path),
  write: (path, bytes) => runner.write(path, bytes),
  remove: (path) => runner.remove(path),
  async network(config) {
    const path = await counter.file(`config-${++configs}.json`, new TextEncoder().encode(config));
    const counted = await counter.json<CountReport>(['count', path]);
    return { architecture: counted.architecture, recurrent: recurrent(counted) };
  },
};

export const session = new Session(realEngine, openStore);
runner.onstop.add(() => session.lost());
