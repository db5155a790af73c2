// The running engine in a worker: tokenizers, training, generation. Requests are those of src/page.
import { parseJson } from './json';
import { live } from './life';
import { failed, loadModule, type RunModule } from './module';
import type { RunReply, RunRequest } from './messages';
import type { AdvanceReply, Failure } from './run';

let module: RunModule | null = null;

const ask = (request: object) => {
  const { reply, array } = module!.ask(JSON.stringify(request));
  return { json: parseJson(reply), arrays: array.length > 0 ? [new Float32Array(array)] : [] };
};

const children = (path: string) => module!.FS.readdir(path).filter((name) => !/^\.\.?$/.test(name));
const isFolder = (path: string) => module!.FS.isDir(module!.FS.stat(path).mode);

function* filesIn(root: string, under: string): Generator<{ path: string; bytes: Uint8Array<ArrayBuffer> }> {
  for (const name of children(root + under)) {
    const path = `${under}/${name}`;
    if (isFolder(root + path)) yield* filesIn(root, path);
    else yield { path: path.slice(1), bytes: new Uint8Array(module!.FS.readFile(root + path)) };
  }
}

function remove(path: string): void {
  if (!isFolder(path)) return module!.FS.unlink(path);
  for (const name of children(path)) remove(`${path}/${name}`);
  module!.FS.rmdir(path);
}

// The run that trains by itself, in slices: between two of them other requests are answered. A message to oneself, not
// a timer, begins the next one: timers of a tab in the background are held back.
const slice = 50; // milliseconds
let followed: { id: number; run: number; told: number; news: AdvanceReply | null } | null = null;
const again = new MessageChannel();
again.port1.onmessage = () => {
  if (!followed) return;
  const { id, run, told, news: before } = followed;
  try {
    const news = ask({ ask: 'advance', run, milliseconds: slice }).json as AdvanceReply | Failure;
    if ('error' in news) throw new Error(news.error);
    followed.news = before ? { ...news, lines: [...before.lines, ...news.lines] } : news;
    if (performance.now() - told >= slice) tell();
    if (news.done) halt();
    else again.port2.postMessage(null);
  } catch (error) {
    followed = null;
    postMessage(failed(id, error));
  }
};

function tell(): void {
  if (!followed?.news) return;
  postMessage({ id: followed.id, kind: 'news', news: followed.news } satisfies RunReply);
  followed.told = performance.now();
  followed.news = null;
}

function halt(): void {
  tell();
  if (followed) postMessage({ id: followed.id, kind: 'done' } satisfies RunReply);
  followed = null;
}

async function handle(request: RunRequest): Promise<{ reply?: RunReply; transfer?: Transferable[] }> {
  const { id } = request;
  switch (request.kind) {
    case 'open': {
      await live(request.life);
      module = await loadModule<RunModule>(request.base, request.threads > 1 ? 'run-threads' : 'run', request.version);
      return { reply: { id, kind: 'done', threads: request.threads } };
    }
    case 'ask': {
      const { json, arrays } = ask(request.request);
      return { reply: { id, kind: 'answer', json, arrays }, transfer: arrays.map((a) => a.buffer) };
    }
    case 'write':
      module!.FS.mkdirTree(request.path.replace(/\/[^/]*$/, '') || '/');
      module!.FS.writeFile(request.path, request.bytes);
      return { reply: { id, kind: 'done' } };
    case 'read': {
      const bytes = new Uint8Array(module!.FS.readFile(request.path));
      return { reply: { id, kind: 'file', bytes }, transfer: [bytes.buffer] };
    }
    case 'list':
      return { reply: { id, kind: 'names', names: children(request.path) } };
    case 'remove':
      remove(request.path);
      return { reply: { id, kind: 'done' } };
    case 'folder': {
      const files = [...filesIn(request.path, '')];
      return { reply: { id, kind: 'files', files }, transfer: files.map((file) => file.bytes.buffer) };
    }
    case 'follow':
      halt();
      followed = { id, run: request.run, told: 0, news: null };
      again.port2.postMessage(null);
      return {};
    case 'halt':
      halt();
      return { reply: { id, kind: 'done' } };
  }
}

onmessage = async ({ data }: MessageEvent<RunRequest>) => {
  try {
    const { reply, transfer } = await handle(data);
    if (reply) postMessage(reply, { transfer: transfer ?? [] });
  } catch (error) {
    postMessage(failed(data.id, error));
  }
};
