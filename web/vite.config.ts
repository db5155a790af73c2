import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';
import { engineFiles, offline } from './offline';
import { smallGlue } from './small-glue';
import { storedAnswers } from './stored-answers';
import { vocabularies } from './vocabularies';

// The engine's files keep their names (its glue asks for them by name), so their contents are told apart by ?v=….
function engineVersion(): string {
  const folder = new URL('public/engine/', import.meta.url);
  if (!existsSync(folder)) return 'none';
  const hash = createHash('sha256');
  for (const name of readdirSync(folder).sort()) hash.update(readFileSync(new URL(name, folder)));
  return hash.digest('hex').slice(0, 10);
}

// What lets the browser give the engine threads; public/_headers says the same to hosts that read it.
const isolation = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

export default defineConfig({
  base: './', // any folder of any host
  plugins: [svelte(), storedAnswers(), vocabularies(), offline(engineVersion()), smallGlue()],
  define: {
    __ENGINE_VERSION__: JSON.stringify(engineVersion()),
    __RUN_FILES__: JSON.stringify(engineFiles('run', 'run-threads', 'run-more', 'run-more-threads')),
    __ENGINE_THREADS__: String(existsSync(new URL('public/engine/run-threads.wasm', import.meta.url))),
  },
  build: { target: 'es2022', modulePreload: { polyfill: false } },
  worker: { format: 'es' },
  server: { headers: isolation, host: '127.0.0.1' },
  preview: { headers: isolation, host: '127.0.0.1' },
  test: { include: ['src/**/*.test.ts'] },
});
