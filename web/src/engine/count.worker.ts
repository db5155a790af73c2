// The counting engine in a worker: every request is a command line, run inside WebAssembly.
import { parseJson } from './json';
import { live } from './life';
import { failed, loadModule, type CountModule } from './module';
import type { CountReply, CountRequest, GivenFile, Report } from './messages';

// What the first view cannot wait for is a module of its own: counts of most models, as JSON. All else is in a second
// one, which is fetched when it is first asked for (cmake/page_modules.cmake).
let load: (name: string) => Promise<CountModule>;
const modules = new Map<string, Promise<CountModule>>();
const files: GivenFile[] = [];

function moduleOf(name: string): Promise<CountModule> {
  let module = modules.get(name);
  if (!module) modules.set(name, (module = load(name)));
  return module;
}

// What the first module fails at it may only lack: the second one's word holds.
async function answer(args: string[], json: boolean): Promise<Report> {
  const first = json && args[0] === 'count' ? (await moduleOf('count')).report(args) : null;
  return first?.code === 0 ? first : (await moduleOf('more')).report(args);
}

async function report(args: string[]): Promise<Report> {
  const asked = args[args.lastIndexOf('--format') + 1] === 'json';
  const { code, out, err } = await answer(args, asked);
  return asked && code === 0 ? { code, out: '', err, json: parseJson(out) } : { code, out, err };
}

function write({ FS }: CountModule, { path, bytes, size }: GivenFile): void {
  FS.mkdirTree(path.replace(/\/[^/]*$/, ''));
  FS.writeFile(path, bytes);
  // Truncating would allot the whole size: only what the file claims to have is changed. Nobody reads past its bytes.
  if (size > bytes.length) FS.lookupPath(path).node.usedBytes = size;
}

async function handle(request: CountRequest): Promise<CountReply> {
  const { id } = request;
  switch (request.kind) {
    case 'open':
      await live(request.life);
      files.push(...request.files);
      load = async (name) => {
        const module = await loadModule<CountModule>(request.base, name, request.version);
        for (const file of files) write(module, file);
        return module;
      };
      await moduleOf('count');
      return { id, kind: 'done' };
    case 'report':
      return { id, kind: 'report', report: await report(request.args) };
    case 'file':
      files.push(request.file);
      for (const module of modules.values()) write(await module, request.file);
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
