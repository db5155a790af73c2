// Emscripten's modules, which lie beside the page as they were built: engine/count.js, count.wasm, run.js …

import type { Failed } from './messages';

interface Module {
  FS: {
    mkdirTree(path: string): void;
    writeFile(path: string, bytes: Uint8Array, options?: { canOwn: boolean }): void; // canOwn: without a copy
    readFile(path: string): Uint8Array;
    lookupPath(path: string): { node: { usedBytes: number; contents: Uint8Array | null } }; // of its files in memory
    analyzePath(path: string): { exists: boolean };
    unlink(path: string): void;
    rmdir(path: string): void;
    readdir(path: string): string[];
    stat(path: string): { mode: number };
    isDir(mode: number): boolean;
  };
}

// src/cli/wasm.js: `reckon WORDS`.
export interface CountModule extends Module {
  report(words: string[]): { code: number; out: string; err: string };
}

// src/page/wasm.js: a request of run.ts and its reply as JSON. `array` is the module's memory: copy it.
export interface RunModule extends Module {
  ask(request: string): { reply: string; array: Float32Array };
}

// What is told of an error. The engine's own come as replies; what is thrown here is of the module itself.
export function failed(id: number, error: unknown): Failed {
  const { message } = error as Error;
  const dead = error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
  return { id, kind: 'failed', error: dead ? `the engine stopped (${message}) and is started again` : String(message ?? error), dead };
}

// threads: of a build that has them, how many it takes.
type Create = (options: { locateFile(name: string): string; threads: number }) => Promise<unknown>;

export async function loadModule<M extends Module>(base: string, name: string, version: string, threads = 1): Promise<M> {
  const at = (file: string) => `${base}${file}?v=${version}`;
  const glue = (await import(/* @vite-ignore */ at(`${name}.js`))) as { default: Create };
  return (await glue.default({ locateFile: at, threads })) as M;
}
