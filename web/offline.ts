// Vite's plugin that writes the service worker (src/sw.js) with the list of files that the page needs without a network.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Plugin } from 'vite';

// Beside what was bundled: the counting engine. The running one is kept when it was first fetched.
function engineFiles(version: string): string[] {
  const folder = new URL('public/engine/', import.meta.url);
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter((name) => /^(count|more)\./.test(name)).map((name) => `engine/${name}?v=${version}`);
}

export function offline(engineVersion: string): Plugin {
  return {
    name: 'offline',
    apply: 'build',
    enforce: 'post',
    generateBundle(_options, bundle) {
      const files = ['./', 'icon.svg', ...Object.keys(bundle).filter((name) => name !== 'index.html'), ...engineFiles(engineVersion)];
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
