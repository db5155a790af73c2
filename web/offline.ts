// Vite's plugin that writes the service worker (src/sw.js) with the list of files that the page needs without a network.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Plugin } from 'vite';

// The engine's files whose names begin with one of these.
export function engineFiles(...modules: string[]): string[] {
  const folder = new URL('public/engine/', import.meta.url);
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter((name) => modules.includes(name.split('.')[0]!)).sort();
}

// Beside what was bundled: the counting engine. The running one is kept a little later (src/engine/keep.ts).
const counting = (version: string) => engineFiles('count', 'more').map((name) => `engine/${name}?v=${version}`);

export function offline(engineVersion: string): Plugin {
  return {
    name: 'offline',
    apply: 'build',
    enforce: 'post',
    generateBundle(_options, bundle) {
      const files = ['./', 'icon.svg', ...Object.keys(bundle).filter((name) => name !== 'index.html'), ...counting(engineVersion)];
      const version = createHash('sha256').update(JSON.stringify([files, bundle['index.html']?.fileName])).digest('hex').slice(0, 10);
      const source = readFileSync(new URL('src/sw.js', import.meta.url), 'utf8');
      this.emitFile({
        type: 'asset',
        fileName: 'sw.js',
        source: source.replace('__FILES__', JSON.stringify(files)).replace('__VERSION__', JSON.stringify(version)),
      });
    },
  };
}
