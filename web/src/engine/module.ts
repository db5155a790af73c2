// Emscripten's modules, which lie beside the page as they were built: engine/count.js, count.wasm, run.js …

import type { Failed } from './messages';

export interface EngineModule {
  ccall(name: string, result: string | null, types: string[], values: unknown[]): unknown;
  HEAPF32: Float32Array;
  HEAPU8: Uint8Array;
  FS: {
    mkdirTree(path: string): void;
    writeFile(path: string, bytes: Uint8Array): void;
    readFile(path: string): Uint8Array;
    lookupPath(path: string): { node: { usedBytes: number } }; // of its files in memory
    unlink(path: string): void;
    rmdir(path: string): void;
    readdir(path: string): string[];
    stat(path: string): { mode: number };
    isDir(mode: number): boolean;
  };
}

// What is told of an error. The engine's own come as replies; what is thrown here is of the module itself.
export function failed(id: number, error: unknown): Failed {
  const dead = error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
  return { id, kind: 'failed', error: dead ? `the engine stopped (${(error as Error).message}) and is started again` : String((error as Error).message ?? error), dead };
}

type Create = (options: { locateFile(name: string): string }) => Promise<EngineModule>;

export async function loadModule(base: string, name: string, version: string): Promise<EngineModule> {
  const at = (file: string) => `${base}${file}?v=${version}`;
  const glue = (await import(/* @vite-ignore */ at(`${name}.js`))) as { default: Create };
  return glue.default({ locateFile: at });
}
