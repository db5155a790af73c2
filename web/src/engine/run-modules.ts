// The two modules that run, as one. Most of what a page runs is of families that the first has; what it lacks it leaves
// to the second, which has everything and is fetched when it is first needed (cmake/page_modules.cmake). Attention maps
// are among that: of what the first module holds, the second is given a copy.
import { parseJson } from './json';
import type { RunModule } from './module';
import type { Failure, ModelReply } from './run';

export interface File {
  path: string;
  bytes: Uint8Array<ArrayBuffer>;
}

interface Answer {
  json: unknown;
  arrays: Float32Array<ArrayBuffer>[];
}

const firstOfMore = 2 ** 32; // where the handles of the second begin
const handles = ['run', 'model', 'tokenizer', 'of', 'handle'];
const system = ['dev', 'home', 'proc', 'tmp']; // folders that every module has
const handed = '/handed'; // a copy on its way

const children = ({ FS }: RunModule, path: string) => FS.readdir(path).filter((name) => !/^\.\.?$/.test(name));
const isFolder = ({ FS }: RunModule, path: string) => FS.isDir(FS.stat(path).mode);

// Every file below the folder; paths from it on.
function* below(module: RunModule, root: string, under = ''): Generator<string> {
  for (const name of children(module, `${root}${under}/`)) {
    const path = `${under}/${name}`;
    if (isFolder(module, root + path)) yield* below(module, root, path);
    else yield path;
  }
}

function write({ FS }: RunModule, path: string, bytes: Uint8Array): void {
  FS.mkdirTree(path.replace(/\/[^/]*$/, '') || '/');
  FS.writeFile(path, bytes, { canOwn: true });
}

const failed = ({ json }: Answer) => (json as Partial<Failure>).error !== undefined;

function remove(module: RunModule, path: string): void {
  if (!isFolder(module, path)) return module.FS.unlink(path);
  for (const name of children(module, path)) remove(module, `${path}/${name}`);
  module.FS.rmdir(path);
}

export class RunModules {
  #more: RunModule | null = null;
  #loading: Promise<RunModule> | null = null;
  // Each module has files of its own: the page's are in the first, what is at these paths the second has written.
  #written = new Set<string>();

  constructor(
    private readonly first: RunModule,
    private readonly loadMore: () => Promise<RunModule>,
  ) {}

  // Of a run or a model that is there already.
  ask(request: object): Answer {
    return this.#asked(this.#moduleFor(request as Record<string, unknown>), request);
  }

  async askEither(request: object): Promise<Answer> {
    const answer = this.ask(request);
    if (!(answer.json as { lacking?: boolean }).lacking) return answer;
    this.#loading ??= this.loadMore();
    this.#loading.catch(() => (this.#loading = null)); // the next request tries again
    this.#more = await this.#loading;
    if ('of' in request) return this.#askOfCopy(this.#more, request);
    for (const folder of children(this.first, '/')) if (!system.includes(folder)) this.#handOver(this.#more, `/${folder}`);
    return this.#asked(this.#more, request);
  }

  write(path: string, bytes: Uint8Array): void {
    write(this.#holder(path), path, bytes);
  }
  read(path: string): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#holder(path).FS.readFile(path));
  }
  list(path: string): string[] {
    return children(this.#holder(path), path);
  }
  folder(path: string): File[] {
    return [...below(this.#holder(path), path)].map((file) => ({ path: file.slice(1), bytes: this.read(path + file) }));
  }
  remove(path: string): void {
    const holder = this.#holder(path);
    for (const module of [this.first, this.#more]) {
      if (module && (module === holder || module.FS.analyzePath(path).exists)) remove(module, path);
    }
    this.#written.delete(path);
  }

  #asked(module: RunModule, request: object): Answer {
    const { reply, array } = module.ask(JSON.stringify(request));
    const json = parseJson(reply) as { out?: string; path?: string };
    const path = json.out ?? json.path;
    if (path !== undefined) this.#written[module === this.#more ? 'add' : 'delete'](path);
    return { json, arrays: array.length > 0 ? [new Float32Array(array)] : [] };
  }

  // That whose handles or files the request names.
  #moduleFor(request: Record<string, unknown>): RunModule {
    if (handles.some((field) => Number(request[field]) >= firstOfMore)) return this.#more!;
    const path = request.out ?? request.path;
    return typeof path === 'string' ? this.#holder(path) : this.first;
  }

  #holder(path: string): RunModule {
    const has = [...this.#written].some((one) => path === one || path.startsWith(`${one}/`));
    return has ? this.#more! : this.first;
  }

  // The second module sees what the first one's files hold now, without a copy: nobody writes into them.
  #handOver(more: RunModule, folder: string): void {
    for (const file of below(this.first, folder)) {
      const path = folder + file;
      if (this.#holder(path) === more) continue;
      const { contents, usedBytes } = this.first.FS.lookupPath(path).node;
      write(more, path, contents?.subarray(0, usedBytes) ?? new Uint8Array());
    }
  }

  // Of a run or model in the first module: the second opens it as it is now, answers, and forgets it.
  #askOfCopy(more: RunModule, request: { of?: unknown }): Answer {
    try {
      const written = this.#asked(this.first, { ask: 'write_model', of: request.of, path: handed });
      if (failed(written)) return written;
      this.#handOver(more, handed);
      const opened = this.#asked(more, { ask: 'model', path: handed });
      if (failed(opened)) return opened;
      const { model, tokenizer } = opened.json as ModelReply;
      try {
        return this.#asked(more, { ...request, of: model });
      } finally {
        for (const handle of [model, tokenizer]) if (handle !== null) this.#asked(more, { ask: 'forget', handle });
      }
    } finally {
      if (this.first.FS.analyzePath(handed).exists) this.remove(handed);
    }
  }
}
