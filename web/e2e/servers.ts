// Serves web/dist while the tests run: by `reckon serve`, and plainly.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

export const dist = fileURLToPath(new URL('../dist', import.meta.url));
export const program = process.env.RECKON ?? fileURLToPath(new URL('../../build/release/reckon', import.meta.url));

declare module 'vitest' {
  export interface ProvidedContext {
    isolated: string; // addresses
    plain: string;
  }
}

// `reckon serve`, and the address that it names.
export async function serve(): Promise<{ address: string; process: ChildProcess }> {
  const child = spawn(program, ['serve', '--folder', dist, '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const address = await new Promise<string>((resolve, reject) => {
    child.stdout!.once('data', (line: Buffer) => resolve(String(line).trim()));
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`reckon serve ended with ${code}`)));
  });
  return { address, process: child };
}

const types: Record<string, string> = {
  '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm', '.svg': 'image/svg+xml',
}; // prettier-ignore

// The files of web/dist by a server that knows nothing of isolation, as many hosts. `served` is told of each file's path.
export async function servePlainly(served: (path: string) => void = () => {}): Promise<{ address: string; close: () => void }> {
  const server = createServer((request, response) => {
    const path = join(dist, decodeURIComponent(new URL(request.url!, 'http://x').pathname).replace(/\/$/, '/index.html'));
    if (!path.startsWith(dist) || !existsSync(path) || !statSync(path).isFile()) return void response.writeHead(404).end();
    served(path);
    response.writeHead(200, { 'Content-Type': types[extname(path)] ?? 'application/octet-stream' }).end(readFileSync(path));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close: () => server.close() };
}

export default async function setup(project: TestProject) {
  if (!existsSync(join(dist, 'index.html'))) throw new Error(`${dist}: the page is not built; scripts/page builds it`);
  const { address, process: child } = await serve();
  const plain = await servePlainly();
  project.provide('isolated', address);
  project.provide('plain', plain.address);
  return () => {
    child.kill();
    plain.close();
  };
}
