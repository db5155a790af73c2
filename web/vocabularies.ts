// Vite's plugin that copies the vocabularies which scripts/fetch-tokenizers brought into the page's folder, where the view
// Tokenize fetches them when they are asked for, and tells it their versions: what was fetched once is kept by them. One
// that is missing is left out: the page says so.
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';

const names = ['gpt2', 'cl100k_base', 'o200k_base'];

// Where `reckon` looks for them.
const data = () =>
  process.env.RECKON_DATA || join(process.env.XDG_DATA_HOME || join(homedir(), '.local/share'), 'reckon');

export function vocabularies(): Plugin {
  return {
    name: 'vocabularies',
    config() {
      const folder = fileURLToPath(new URL('public/tokenizers/', import.meta.url));
      mkdirSync(folder, { recursive: true });
      const versions: Record<string, string> = {};
      for (const name of names) {
        const from = join(data(), 'tokenizers', `${name}.tiktoken`);
        const to = join(folder, `${name}.tiktoken`);
        if (existsSync(from) && !(existsSync(to) && statSync(to).size === statSync(from).size)) copyFileSync(from, to);
        if (existsSync(to)) versions[name] = createHash('sha256').update(readFileSync(to)).digest('hex').slice(0, 10);
      }
      return { define: { __VOCABULARIES__: JSON.stringify(versions) } };
    },
  };
}
