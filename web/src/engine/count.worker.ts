// The counting engine in a worker: every request is a command line, run inside WebAssembly.
import { parseJson } from './json';
import { loadModule, type EngineModule } from './module';
import type { CountReply, CountRequest, Report } from './messages';

let module: EngineModule | null = null;

function report(args: string[]): Report {
  const { code, out, err } = JSON.parse(
    module!.ccall('report', 'string', ['string'], [JSON.stringify(args)]) as string,
  ) as Report;
  const asked = args[args.lastIndexOf('--format') + 1] === 'json';
  return asked && code === 0 ? { code, out: '', err, json: parseJson(out) } : { code, out, err };
}

async function handle(request: CountRequest): Promise<CountReply> {
  const { id } = request;
  switch (request.kind) {
    case 'open':
      module = await loadModule(request.base, 'count', request.version);
      return { id, kind: 'done' };
    case 'report':
      return { id, kind: 'report', report: report(request.args) };
    case 'file': {
      const { FS } = module!;
      FS.mkdirTree(request.path.replace(/\/[^/]*$/, ''));
      FS.writeFile(request.path, request.bytes);
      if (request.size > request.bytes.length) FS.truncate(request.path, request.size);
      return { id, kind: 'done' };
    }
  }
}

onmessage = async ({ data }: MessageEvent<CountRequest>) => {
  try {
    postMessage(await handle(data));
  } catch (error) {
    postMessage({ id: data.id, kind: 'failed', error: (error as Error).message } satisfies CountReply);
  }
};
