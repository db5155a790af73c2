// A model that a person gives: a folder, its files, or a .tar of it, put where the engine finds it.
import { runner } from '../../engine/client';
import type { Reply } from '../../engine/run';
import { bytes as size } from '../../numbers';
import { folderOf } from '../../parts/dropped';
import { readTar } from '../../parts/tar';

const most = 2 * 1024 ** 3; // bytes in all, where the engine has room for them

// What a model is read from; other forms of the same weights (.bin, .onnx, .gguf) stay where they are.
const wanted = /(^|\/)([^/]+\.json|[^/]+\.safetensors|merges\.txt|[^/]+\.tiktoken)$/;
const needless = /(^|\/)(optimizer\.safetensors|\.[^/]*)$/;

interface Part {
  path: string;
  size: number;
  read: () => Promise<Uint8Array>;
}

async function listed(files: File[]): Promise<Part[]> {
  const one = files[0]!;
  if (files.length === 1 && /\.tar$/i.test(one.name)) {
    if (one.size > most) throw tooLarge(one.size);
    const tar = readTar(new Uint8Array(await one.arrayBuffer()), one.name);
    return tar.map(({ path, bytes }) => ({ path, size: bytes.length, read: async () => bytes }));
  }
  return files.map((file) => ({
    path: file.webkitRelativePath || file.name,
    size: file.size,
    read: async () => new Uint8Array(await file.arrayBuffer()),
  }));
}

const tooLarge = (bytes: number) => new Error(`these files have ${size(bytes)}; a model on this page may have up to ${size(most)}`);

let count = 0;

// The path of the model's folder in the engine, and what to call it. `progress`: bytes so far, of all.
export async function put(files: File[], progress: (done: number, all: number) => void): Promise<{ path: string; name: string }> {
  const parts = await listed(files);
  const folder = folderOf(parts.map(({ path }) => path));
  if (folder === undefined) throw new Error(`no config.json is among these files; expected config.json, *.safetensors and tokenizer.json`);
  const inside = parts.filter(({ path }) => path.startsWith(folder) && !path.slice(folder.length).includes('/') && wanted.test(path) && !needless.test(path));
  if (!inside.some(({ path }) => path.endsWith('.safetensors'))) {
    throw new Error(`no .safetensors lies beside ${folder}config.json; expected the weights as well`);
  }
  const all = inside.reduce((sum, part) => sum + part.size, 0);
  if (all > most) throw tooLarge(all);
  // The engine reads the files into its own memory, which is smaller where the browser gave it no more.
  const { bytes, used } = (await runner.ask<Reply<'memory'>>({ ask: 'memory' })).json;
  if (all > bytes - used) throw new Error(`these files have ${size(all)}; the engine in this browser has room for ${size(bytes - used)}`);
  const path = `/given/${++count}`;
  let done = 0;
  for (const part of inside) {
    await runner.write(`${path}/${part.path.slice(folder.length)}`, await part.read());
    progress((done += part.size), all);
  }
  return { path, name: folder.split('/').filter(Boolean).at(-1) ?? files[0]!.name.replace(/\.(tar|json|safetensors)$/, '') };
}
