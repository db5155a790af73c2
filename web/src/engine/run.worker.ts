// The running engine in a worker: tokenizers, training, generation. Requests are those of src/page.
import { Following } from './following';
import { live } from './life';
import { failed, loadModule, type RunModule } from './module';
import type { RunReply, RunRequest } from './messages';
import { RunModules } from './run-modules';

let engine: RunModules;

const following = new Following((request) => engine.ask(request).json, (reply) => postMessage(reply));

async function handle(request: RunRequest): Promise<{ reply?: RunReply; transfer?: Transferable[] }> {
  const { id } = request;
  switch (request.kind) {
    case 'open': {
      await live(request.life);
      const load = (name: string) =>
        loadModule<RunModule>(request.base, request.threads > 1 ? `${name}-threads` : name, request.version, request.threads);
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
      following.start(id, request.run);
      return {};
    case 'halt':
      following.halt();
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
