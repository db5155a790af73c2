// The running engine in a worker: tokenizers, training, generation. Requests are those of src/page.
import { parseJson } from './json';
import { loadModule, type EngineModule } from './module';
import type { RunReply, RunRequest } from './messages';

let module: EngineModule | null = null;

async function handle(request: RunRequest): Promise<{ reply: RunReply; transfer?: Transferable[] }> {
  const { id } = request;
  switch (request.kind) {
    case 'open': {
      module = await loadModule(request.base, request.threads > 1 ? 'run-threads' : 'run', request.version);
      return { reply: { id, kind: 'done', threads: request.threads } };
    }
    case 'ask': {
      const text = module!.ccall('ask', 'string', ['string'], [JSON.stringify(request.request)]) as string;
      const count = module!.ccall('array_count', 'number', [], []) as number;
      const arrays: Float32Array<ArrayBuffer>[] = [];
      for (let i = 0; i < count; ++i) {
        const data = (module!.ccall('array_data', 'number', ['number'], [i]) as number) / 4;
        const size = module!.ccall('array_size', 'number', ['number'], [i]) as number;
        arrays.push(new Float32Array(module!.HEAPF32.subarray(data, data + size))); // a copy: the heap is the module's
      }
      return { reply: { id, kind: 'answer', json: parseJson(text), arrays }, transfer: arrays.map((a) => a.buffer) };
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
      return { reply: { id, kind: 'names', names: module!.FS.readdir(request.path).filter((n) => !/^\.\.?$/.test(n)) } };
    case 'remove':
      module!.FS.unlink(request.path);
      return { reply: { id, kind: 'done' } };
  }
}

onmessage = async ({ data }: MessageEvent<RunRequest>) => {
  try {
    const { reply, transfer } = await handle(data);
    postMessage(reply, { transfer: transfer ?? [] });
  } catch (error) {
    postMessage({ id: data.id, kind: 'failed', error: (error as Error).message } satisfies RunReply);
  }
};
