import { expect, test, vi } from 'vitest';
import type { RunModule } from './module';
import { RunModules } from './run-modules';

// A module whose file system is a map of paths. `answer` makes the reply.
function fake(answer: (request: Record<string, unknown>, files: Map<string, Uint8Array>) => object) {
  const files = new Map<string, Uint8Array>();
  const asked: Record<string, unknown>[] = [];
  const inside = (path: string) => [...files.keys()].filter((file) => file.startsWith(path.replace(/\/?$/, '/')));
  const FS = {
    mkdirTree: () => {},
    writeFile: (path: string, bytes: Uint8Array) => void files.set(path, bytes),
    readFile: (path: string) => files.get(path)!,
    readdir: (path: string) => ['.', '..', ...new Set(inside(path).map((file) => file.slice(path.replace(/\/?$/, '/').length).split('/')[0]!))],
    stat: (path: string) => ({ mode: files.has(path) ? 0 : 1 }),
    isDir: (mode: number) => mode === 1,
    lookupPath: (path: string) => ({ node: { contents: files.get(path)!, usedBytes: files.get(path)!.length } }),
    analyzePath: (path: string) => ({ exists: files.has(path) || inside(path).length > 0 }),
    unlink: (path: string) => void files.delete(path),
    rmdir: () => {},
  };
  const ask = (text: string) => {
    const request = JSON.parse(text) as Record<string, unknown>;
    asked.push(request);
    return { reply: JSON.stringify(answer(request, files)), array: new Float32Array() };
  };
  return { module: { FS, ask } as RunModule, files, asked };
}

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (found: Uint8Array) => new TextDecoder().decode(found);
const rare = ({ settings, path }: Record<string, unknown>, files: Map<string, Uint8Array>) =>
  settings ? (settings as { model: string }).model === 'rare' : path !== undefined && text(files.get(`${path}/config.json`)!) === 'rare';

function both() {
  const first = fake((request, files) => (rare(request, files) ? { error: 'lacks', lacking: true } : { model: 1, text: 'first' }));
  const second = fake((request, files) => {
    if (request.ask === 'train') files.set(`${request.out}/metrics.jsonl`, bytes('{}'));
    return request.ask === 'train' ? { run: 2 ** 32, out: request.out } : { model: 2 ** 32, text: 'second' };
  });
  const load = vi.fn(async () => second.module);
  return { first, second, load, engine: new RunModules(first.module, load) };
}

test('what the first module has never loads the second', async () => {
  const { engine, load, second } = both();
  engine.write('/given/1/config.json', bytes('common'));
  expect((await engine.askEither({ ask: 'model', path: '/given/1' })).json).toMatchObject({ text: 'first' });
  expect((await engine.askEither({ ask: 'prefill', model: 1 })).json).toMatchObject({ text: 'first' });
  expect(load).not.toHaveBeenCalled();
  expect(second.asked).toEqual([]);
});

test('what it lacks the second answers, with the same files, and all that is asked of its handles', async () => {
  const { engine, first, second, load } = both();
  engine.write('/given/1/config.json', bytes('rare'));
  const twice = await Promise.all([1, 2].map(() => engine.askEither({ ask: 'model', path: '/given/1' })));
  expect(twice.map(({ json }) => json)).toEqual([{ model: 2 ** 32, text: 'second' }, { model: 2 ** 32, text: 'second' }]);
  expect(load).toHaveBeenCalledTimes(1);
  expect(text(second.files.get('/given/1/config.json')!)).toBe('rare');
  expect(engine.ask({ ask: 'prefill', model: 2 ** 32 }).json).toMatchObject({ text: 'second' });
  expect(engine.ask({ ask: 'prefill', model: 1 }).json).toMatchObject({ text: 'first' });
  engine.remove('/given/1');
  expect([first.files.size, second.files.size]).toEqual([0, 0]);
});

test('the files of a run are those of the module that trains it', async () => {
  const { engine, second } = both();
  const out = '/runs/a-1';
  await engine.askEither({ ask: 'train', out, settings: { model: 'rare' } });
  expect(engine.list(out)).toEqual(['metrics.jsonl']);
  expect(engine.folder(out)).toEqual([{ path: 'metrics.jsonl', bytes: bytes('{}') }]);
  await engine.askEither({ ask: 'resume', out });
  expect(second.asked.at(-1)).toEqual({ ask: 'resume', out });
  engine.remove(out);
  expect(second.files.size).toBe(0);
});

test('where the second module cannot be fetched, the next request tries again', async () => {
  const { engine, load } = both();
  engine.write('/given/1/config.json', bytes('rare'));
  load.mockRejectedValueOnce(new Error('no network'));
  await expect(engine.askEither({ ask: 'model', path: '/given/1' })).rejects.toThrow('no network');
  expect((await engine.askEither({ ask: 'model', path: '/given/1' })).json).toMatchObject({ text: 'second' });
});

test('what the second is to look into, and the first holds, it is given as it is now, and keeps nothing of it', async () => {
  let step = 0;
  const first = fake((request, files) => {
    if (request.ask === 'attention') return { error: 'lacks', lacking: true };
    if (request.ask === 'write_model') files.set(`${request.path}/model.safetensors`, bytes(`step ${++step}`));
    return { path: request.path };
  });
  let opened = 2 ** 32;
  const second = fake((request, files) => {
    if (request.ask === 'model') return { model: ++opened, tokenizer: ++opened, weights: text(files.get(`${request.path}/model.safetensors`)!) };
    return { tokens: 2 };
  });
  const engine = new RunModules(first.module, async () => second.module);
  first.files.set('/runs/a-1/data', bytes('of the run'));
  for (let i = 0; i < 2; ++i) expect((await engine.askEither({ ask: 'attention', of: 7, ids: [1, 2] })).json).toEqual({ tokens: 2 });
  expect(step).toBe(2);
  expect(first.asked.filter(({ ask }) => ask === 'write_model')).toEqual([1, 2].map(() => ({ ask: 'write_model', of: 7, path: '/handed' })));
  const asked = (n: number) => [{ ask: 'model', path: '/handed' }, { ask: 'attention', of: 2 ** 32 + n, ids: [1, 2] }, { ask: 'forget', handle: 2 ** 32 + n }, { ask: 'forget', handle: 2 ** 32 + n + 1 }];
  expect(second.asked).toEqual([...asked(1), ...asked(3)]);
  expect([[...first.files.keys()], [...second.files.keys()]]).toEqual([['/runs/a-1/data'], []]);
});

test('where a copy cannot be made or opened, that is the answer', async () => {
  const first = fake((request) => (request.ask === 'write_model' ? { error: 'the memory is not enough' } : { error: 'lacks', lacking: true }));
  const second = fake(() => ({ error: 'never asked' }));
  const engine = new RunModules(first.module, async () => second.module);
  expect((await engine.askEither({ ask: 'attention', of: 7, ids: [1] })).json).toEqual({ error: 'the memory is not enough' });
  expect(second.asked).toEqual([]);
});
