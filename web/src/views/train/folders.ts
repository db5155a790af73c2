// Run folders between the engine's file system, a .tar, and what a person drops on the page.
import { readTar, writeTar, type TarFile } from '../../parts/tar';

export interface Files {
  folder(path: string): Promise<TarFile[]>;
  write(path: string, bytes: Uint8Array): Promise<void>;
}

// Everything in the engine's folder, under the folder's own name; its lock stays behind.
export async function packed(files: Files, folder: string): Promise<Uint8Array> {
  const name = folder.split('/').at(-1)!;
  const inside = (await files.folder(folder)).filter((file) => file.path !== '.lock');
  return writeTar(inside.map((file) => ({ path: `${name}/${file.path}`, bytes: file.bytes })));
}

// The run that lies among these files, with the path of its folder cut off: what holds metrics.jsonl, or checkpoints.
export function runAmong(files: TarFile[], source: string): TarFile[] {
  const found = files.find((file) => /(^|\/)checkpoints\/step-\d+\/training\.json$/.test(file.path));
  if (!found) throw new Error(`${source}: has no checkpoint; expected a run folder, with checkpoints/step-000100 and so on`);
  const folder = found.path.replace(/checkpoints\/step-\d+\/training\.json$/, '');
  return files
    .filter((file) => file.path.startsWith(folder))
    .map((file) => ({ path: file.path.slice(folder.length), bytes: file.bytes }));
}

export async function unpacked(files: Files, run: TarFile[], folder: string): Promise<void> {
  for (const { path, bytes } of run) if (path !== '.lock') await files.write(`${folder}/${path}`, bytes);
}

// What a person chose or dropped: a .tar, or the files of a folder.
export async function chosenFiles(files: File[]): Promise<TarFile[]> {
  const one = files[0];
  if (files.length === 1 && one && /\.tar$/i.test(one.name)) return readTar(new Uint8Array(await one.arrayBuffer()), one.name);
  return Promise.all(
    files.map(async (file) => ({
      path: file.webkitRelativePath || file.name,
      bytes: new Uint8Array(await file.arrayBuffer()),
    })),
  );
}
