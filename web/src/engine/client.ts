// The page's side of the two workers. `engine` counts (first view); `runner` runs, and is fetched when first used.
import { ended } from './life';
import type { CountReply, CountRequest, Failed, GivenFile, Report, RunReply, RunRequest } from './messages';
import type { AdvanceReply, Handle } from './run';

declare const __ENGINE_VERSION__: string;
declare const __ENGINE_THREADS__: boolean; // whether there is a build of it with threads

const base = () => new URL('engine/', document.baseURI).href;

type WithoutId<T> = T extends { id: number } ? Omit<T, 'id'> : never;

// A worker that answers by ids. One that dies fails everything that was asked of it, and is made anew by the next.
export class Line<Request extends { id: number }, Reply extends { id: number; kind: string }> {
  #worker: Worker | null = null;
  #ready: Promise<Reply> | null = null;
  #opened = false;
  #way = 0;
  #next = 1;
  #waiting = new Map<
    number,
    { resolve: (reply: Reply) => void; reject: (error: Error) => void; hear?: (news: Reply) => void }
  >();

  // Where there are several ways to start, the next one is taken where one fails, and kept where it does not.
  constructor(
    private readonly make: () => Worker,
    private readonly hello: (life: string, way: number) => WithoutId<Request>,
    private readonly hear: { started?: (reply: Reply) => void; died?: () => void } = {},
    private readonly ways = 1,
  ) {}

  // Starts the worker and has it fetch its module.
  open(): Promise<Reply> {
    if (!this.#ready) {
      const ready = (this.#ready = this.#start());
      // Whoever asks hears of it, and the next question tries again.
      ready.catch(() => void (this.#ready === ready && (this.#ready = null)));
    }
    return this.#ready;
  }

  async #start(): Promise<Reply> {
    while (true) {
      try {
        return await this.#greet();
      } catch (error) {
        this.#way = (this.#way + 1) % this.ways;
        if (this.#way === 0) throw error;
      }
    }
  }

  async #greet(): Promise<Reply> {
    const worker = (this.#worker = this.make());
    worker.onmessage = ({ data }: MessageEvent<Reply>) => this.#settle(data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.stop(event.message || 'the engine could not be started');
    };
    const life = `reckon ${performance.timeOrigin} ${Math.random()}`;
    try {
      const reply = await this.#post(this.hello(life, this.#way), []);
      this.#opened = true;
      this.hear.started?.(reply);
      void ended(life).then(() => void (this.#worker === worker && this.stop('the engine has stopped')));
      return reply;
    } catch (error) {
      worker.terminate();
      throw error;
    }
  }

  // `hear` is told of what comes before the answer.
  async ask(request: WithoutId<Request>, transfer: Transferable[] = [], hear?: (news: Reply) => void): Promise<Reply> {
    await this.open();
    return this.#post(request, transfer, hear);
  }

  stop(why: string): void {
    this.#worker?.terminate();
    this.#worker = null;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const one of waiting) one.reject(new Error(why));
    if (!this.#opened) return; // nobody had anything in it
    this.#opened = false;
    this.#ready = null;
    this.hear.died?.();
  }

  #post(request: WithoutId<Request>, transfer: Transferable[], hear?: (news: Reply) => void): Promise<Reply> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, hear });
      this.#worker!.postMessage({ ...request, id }, transfer);
    });
  }

  #settle(reply: Reply): void {
    const one = this.#waiting.get(reply.id);
    if (reply.kind === 'news') return one?.hear?.(reply);
    this.#waiting.delete(reply.id);
    if (reply.kind !== 'failed') return one?.resolve(reply);
    const { error, dead } = reply as unknown as Failed;
    one?.reject(new Error(error));
    if (dead) this.stop(error);
  }
}

// Of what is asked while an answer is on its way only the newest is kept: sliders never queue.
// `answer` is not called for what was superseded.
export function latestWins<A, R>(
  ask: (args: A) => Promise<R>,
  answer: (result: R, args: A) => void,
  fail: (error: Error, args: A) => void = () => {},
): (args: A) => void {
  let busy = false;
  let next: { args: A } | null = null;
  const start = (args: A) => {
    busy = true;
    ask(args)
      .then((result) => answer(result, args), (error: Error) => fail(error, args))
      .finally(() => {
        busy = false;
        if (next) {
          const newest = next;
          next = null;
          start(newest.args);
        }
      });
  };
  return (args) => {
    if (busy) next = { args };
    else start(args);
  };
}

class CountEngine {
  #line = new Line<CountRequest, CountReply>(
    () => new Worker(new URL('./count.worker.ts', import.meta.url), { type: 'module', name: 'count' }),
    (life) => ({ kind: 'open', life, base: base(), version: __ENGINE_VERSION__, files: this.#files }),
  );
  #files: GivenFile[] = [];
  #folders = 0;

  open = () => this.#line.open();

  // `reckon ARGS`
  async report(args: string[]): Promise<Report> {
    const reply = await this.#line.ask({ kind: 'report', args });
    if (reply.kind !== 'report') throw new Error('the engine gave no report');
    return reply.report;
  }

  // `reckon ARGS --format json`, parsed. Throws the engine's own sentence.
  async json<T>(args: string[]): Promise<T> {
    const report = await this.report([...args, '--format', 'json']);
    if (report.code !== 0) throw new Error(sentence(report.err));
    return report.json as T;
  }

  // Puts files where the engine finds them, and says where: one by its path, several by their folder.
  async give(files: { name: string; bytes: Uint8Array; size: number }[]): Promise<string> {
    const folder = `/given/${++this.#folders}${files.length > 1 ? '/model' : ''}`;
    const paths: string[] = [];
    for (const { name, bytes, size } of files) {
      const file = { path: `${folder}/${name.replace(/[^\w.-]+/g, '_')}`, bytes, size };
      await this.#line.ask({ kind: 'file', file });
      this.#files.push(file);
      paths.push(file.path);
    }
    return paths.length === 1 ? paths[0]! : folder;
  }
  file = (name: string, bytes: Uint8Array) => this.give([{ name, bytes, size: bytes.length }]);
}

// "reckon: no model called …" is shown without its first word, and a dropped file without its place. Notes that come
// with a failure are left out.
export const sentence = (err: string) =>
  (err.trim().split(/\n(?=reckon: )/).at(-1) ?? '').replace(/^reckon: /, '').replace(/\/given\/\d+\//g, '');

export interface Answer<T> {
  json: T;
  arrays: Float32Array[];
}

class Runner {
  #line = new Line<RunRequest, RunReply>(
    () => new Worker(new URL('./run.worker.ts', import.meta.url), { type: 'module', name: 'run' }),
    (life, way) => ({ kind: 'open', life, base: base(), version: __ENGINE_VERSION__, threads: way === 0 ? possibleThreads() : 1 }),
    {
      started: (reply) => this.onstart.forEach((hear) => hear(reply.kind === 'done' ? (reply.threads ?? 1) : 1)),
      died: () => this.onstop.forEach((hear) => hear()),
    },
    possibleThreads() > 1 ? 2 : 1, // where its threads cannot be started, the plain one
  );
  // Called when the worker was ended or died: every handle is gone.
  readonly onstop = new Set<() => void>();
  // Called when it was started, with how many threads it has.
  readonly onstart = new Set<(threads: number) => void>();

  // A request of src/page, see run.ts. Throws the engine's own sentence.
  async ask<T>(request: object): Promise<Answer<T>> {
    const reply = await this.#line.ask({ kind: 'ask', request });
    if (reply.kind !== 'answer') throw new Error('the engine gave no answer');
    const failed = (reply.json as { error?: string }).error;
    if (failed !== undefined) throw new Error(failed);
    return { json: reply.json as T, arrays: reply.arrays };
  }
  async write(path: string, bytes: Uint8Array): Promise<void> {
    await this.#line.ask({ kind: 'write', path, bytes });
  }
  async read(path: string): Promise<Uint8Array> {
    const reply = await this.#line.ask({ kind: 'read', path });
    if (reply.kind !== 'file') throw new Error(`no file ${path}`);
    return reply.bytes;
  }
  async list(path: string): Promise<string[]> {
    const reply = await this.#line.ask({ kind: 'list', path });
    return reply.kind === 'names' ? reply.names : [];
  }
  // Every file in the folder; paths from it on.
  async folder(path: string): Promise<{ path: string; bytes: Uint8Array }[]> {
    const reply = await this.#line.ask({ kind: 'folder', path });
    return reply.kind === 'files' ? reply.files : [];
  }
  // Trains on its own, in a background tab too, until the last step or `halt`.
  async follow(run: Handle, hear: (news: AdvanceReply) => void): Promise<void> {
    await this.#line.ask({ kind: 'follow', run }, [], (reply) => reply.kind === 'news' && hear(reply.news));
  }
  async halt(): Promise<void> {
    await this.#line.ask({ kind: 'halt' });
  }
  async remove(path: string): Promise<void> {
    await this.#line.ask({ kind: 'remove', path });
  }
}

// Threads need a page that is isolated from others (COOP and COEP). Each is a worker with a stack of its own, so there are
// no more than eight.
export const possibleThreads = () =>
  __ENGINE_THREADS__ && globalThis.crossOriginIsolated ? Math.max(1, Math.min(navigator.hardwareConcurrency || 1, 8)) : 1;

export const engine = new CountEngine();
export const runner = new Runner();
