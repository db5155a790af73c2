// The counting engine in a worker: every request is a command line, run inside WebAssembly.
import { parseJson } from './json';
import { failed, loadModule, type CountModule } from './module';
import type { CountReply, CountRequest, GivenFile, Report } from './messages';

let module: CountModule | null = null;

function report(args: string[]): Report {
  const { code, out, err } = module!.report(args);
  const asked = args[args.lastIndexOf('--format') + 1] === 'json';
  return asked && code === 0 ? { code, out: '', err, json: parseJson(out) } : { code, out, err };
}

function write({ path, bytes, size }: GivenFile): void {
  const { FS } = module!;
  FS.mkdirTree(path.replace(/\/[^/]*$/, ''));
  FS.writeFile(path, bytes);
  // Truncating would allot the whole size: only what the file claims to have is changed. Nobody reads past its bytes.
  if (size > bytes.length) FS.lookupPath(path).node.usedBytes = size;
}

async function handle(request: CountRequest): Promise<CountReply> {
  const { id } = request;
  switch (request.kind) {
    case 'open':
      module = await loadModule<CountModule>(request.base, 'count', request.version);
      request.files.forEach(write);
      return { id, kind: 'done' };
    case 'report':
      return { id, kind: 'report', report: report(request.args) };
    case 'file':
      write(request.file);
      return { id, kind: 'done' };
  }
}

onmessage = async ({ data }: MessageEvent<CountRequest>) => {
  try {
    postMessage(await handle(data));
  } catch (error) {
    postMessage(failed(data.id, error));
  }
};
