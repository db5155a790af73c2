// Reading a dropped model: a config.json whole, of a .safetensors file its header alone.

import { folderOf } from '../../parts/dropped';
import type { NamedBytes } from '../../state/model.svelte';

const mostHeader = 100_000_000; // bytes: what safetensors itself allows
const mostConfig = 10_000_000;

// Those that a model is counted from: a folder of Hugging Face has more, other JSON and other forms of the weights among
// it. The weights come last. Where it is none of them, all: reading says what is wrong.
export function modelFiles(files: File[]): File[] {
  const path = (file: File) => file.webkitRelativePath || file.name;
  const folder = folderOf(files.map(path));
  const kept = files.filter((file) =>
    folder === undefined ? /\.(json|safetensors)$/i.test(file.name)
    : path(file) === folder + file.name && /^config\.json$|\.safetensors(\.index\.json)?$/i.test(file.name)); // prettier-ignore
  const weights = (file: File) => Number(/\.safetensors$/i.test(file.name));
  return kept.length > 0 ? kept.sort((one, other) => weights(one) - weights(other)) : files;
}

export async function readModelFile(name: string, file: Blob): Promise<NamedBytes> {
  if (!/\.safetensors$/i.test(name)) {
    if (file.size > mostConfig) throw new Error(`${name} has ${file.size.toLocaleString('en')} bytes; expected a config.json or a .safetensors file`);
    const bytes = new Uint8Array(await file.arrayBuffer());
    const text = /index\.json$/.test(name) ? undefined : new TextDecoder().decode(bytes);
    return { name, bytes, size: bytes.length, text };
  }
  // The first 8 bytes are the length of the header, little-endian; the header is JSON.
  const first = new DataView(await file.slice(0, 8).arrayBuffer());
  const header = first.byteLength === 8 ? Number(first.getBigUint64(0, true)) : 0;
  const end = Math.min(file.size, 8 + Math.min(header, mostHeader));
  return { name, bytes: new Uint8Array(await file.slice(0, end).arrayBuffer()), size: file.size };
}
