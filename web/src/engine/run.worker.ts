// The running engine in a worker: tokenizers, training, generation. Requests are those of src/page.
import { live } from './life';
import { failed, loadModule, type RunModule } from './module';
import type { RunReply, RunRequest } from './messages';
import { RunModules } from './run-modules';
import type { AdvanceReply, Failure } from './run';

let engine: RunModules;

// The run that trains by itself, in slices: between two of them other requests are answered. A message to oneself, not
// a timer, begins the next one: timers of a tab in the background are held back.
const slice = 50; // milliseconds
let followed: { id: number; run: number; told: number; news: AdvanceReply | null } | null = null;
const again = new MessageChannel();
again.port1.onmessage = () => {
  if (!followed) return;
  const { id, run, told, news: before } = followed;
  try {
    const news = engine.ask({ ask: 'advance', run, milliseconds: slice }).json as AdvanceReply | Failure;
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
      const load = (name: string) =>
        loadModule<RunModule>(request.base, request.threads > 1 ? `${name}-threads` : name, request.version);
      engine = new RunModules(await load('run'), () => load('run-more'));
      return { reply: { id, kind: 'done', threads: request.threads } };
    }
    case 'ask': {
      const { json, arrays } = await engine.askEither(request.request);
      return { reply: { id, kind: 'answer', json, arrays }, transfer: arrays.map((a) => a.buffer) };
    }
    case 'write':
      engine.write(request.path, request.bytes);
      return { reply: { id, kind: 'done' } };
    case 'read': {
      const bytes = engine.read(request.path);
      return { reply: { id, kind: 'file', bytes }, transfer: [bytes.buffer] };
    }
    case 'list':
      return { reply: { id, kind: 'names', names: engine.list(request.path) } };
    case 'remove':
      engine.remove(request.path);
      return { reply: { id, kind: 'done' } };
    case 'folder': {
      const files = engine.folder(request.path);
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
