// Vite's plugin that asks the engine for the answers which the page's first view comes with (src/engine/stored.ts).
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import type { Plugin } from 'vite';
import { firstQuestions } from './src/engine/first-questions';
import type { Step } from './src/views/count/parts';
import type { Preset } from './src/views/count/presets';

type Ask = (args: string[]) => string;

// The engine's module under node, else the program that RECKON names.
async function makeAsk(): Promise<Ask | null> {
  const engine = new URL('public/engine/', import.meta.url);
  if (existsSync(new URL('count.wasm', engine))) {
    const [count, more] = await Promise.all(
      ['count', 'more'].map(async (name) => {
        const glue = await import(new URL(`${name}.js`, engine).href);
        return glue.default({ wasmBinary: readFileSync(new URL(`${name}.wasm`, engine)) });
      }),
    );
    return (args) => (args[0] === 'count' ? count : more).report(args).out;
  }
  const program = process.env.RECKON;
  return program ? (args) => spawnSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 26 }).stdout : null;
}

// An answer that is none would make a page that does not open.
function answered(args: string[], text: string): string {
  if (!text) throw new Error(`the engine has no answer to: reckon ${args.join(' ')}`);
  return text;
}

// Without spaces, but with every digit: not parsed, as doubles would round. Of the models and of a derivation's steps,
// what the page shows of them.
function short(args: string[], text: string): string {
  if (args[0] === 'models') {
    const { models } = JSON.parse(text) as { models: Preset[] };
    return JSON.stringify({ models: models.map(({ name, family, parameters }) => ({ name, family, parameters })) });
  }
  if (args[0] === 'explain') {
    const { steps } = JSON.parse(text) as { steps: Step[] };
    return JSON.stringify({ steps: steps.map(({ stage, path, name, formula, why }) => ({ stage, path, name, formula, why })) });
  }
  return text.replace(/\n\s*/g, '').replace(/": /g, '":');
}

export function storedAnswers(): Plugin {
  const name = 'virtual:stored-answers';
  return {
    name,
    resolveId: (id) => (id === name ? `\0${name}` : undefined),
    async load(id) {
      if (id !== `\0${name}`) return undefined;
      const ask = await makeAsk();
      const texts: Record<string, string> = {};
      for (const args of ask ? firstQuestions : []) texts[args.join(' ')] = short(args, answered(args, ask!([...args, '--format', 'json'])));
      return `export default ${JSON.stringify(texts)}`;
    },
  };
}
