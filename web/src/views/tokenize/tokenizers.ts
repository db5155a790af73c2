// The tokenizers that the view offers, and how each is opened in the engine.
import type { Reply } from '../../engine/run';
import { runner } from '../../engine/client';
import { keep } from '../../engine/keep';
import { versions } from './versions';

export const choices = [
  { value: 'gpt2', label: 'GPT-2', file: 'gpt2.tiktoken' },
  { value: 'cl100k_base', label: 'cl100k', file: 'cl100k_base.tiktoken' },
  { value: 'o200k_base', label: 'o200k', file: 'o200k_base.tiktoken' },
  { value: 'bytes', label: 'bytes' },
  { value: 'own', label: 'your own' },
  { value: 'file', label: 'a file' },
] as const;
export type Choice = (typeof choices)[number]['value'];
export const labelOf = (choice: string): string => choices.find(({ value }) => value === choice)?.label ?? choice;

export interface File {
  name: string;
  bytes: Uint8Array;
}

// What a tokenizer is made of. `text`: what an own one is trained on; none: the stories that come with reckon.
export type Recipe =
  | { choice: Exclude<Choice, 'own' | 'file'> }
  | { choice: 'own'; vocab: number; text?: Uint8Array | undefined }
  | { choice: 'file'; file: File };

export interface Opened {
  handle: number;
  vocab: number;
  trained?: Reply<'train_tokenizer'>;
}

let files = 0;

// A file of the page's own build, put where the engine finds it.
async function fetched(file: string): Promise<string> {
  const name = file.replace('.tiktoken', '');
  const version = versions[name];
  const missing = `the vocabulary of ${name} is not on this server; scripts/fetch-tokenizers brings it, then build again`;
  if (version === undefined) throw new Error(missing);
  const address = new URL(`tokenizers/${file}?v=${version}`, document.baseURI).href;
  const reply = await fetch(address).catch(() => {
    throw new Error(`the vocabulary of ${name} could not be fetched; it is kept once it was there`);
  });
  // A host that answers every address with the page itself gives HTML.
  if (!reply.ok || reply.headers.get('content-type')?.startsWith('text/html')) throw new Error(missing);
  void keep([address]);
  const path = `/tokenizers/${file}`;
  await runner.write(path, new Uint8Array(await reply.arrayBuffer()));
  return path;
}

export async function open(recipe: Recipe): Promise<Opened> {
  if (recipe.choice === 'own') {
    const path = `/tokenizers/text-${++files}.txt`;
    if (recipe.text) await runner.write(path, recipe.text);
    const request = { ask: 'train_tokenizer', vocab: recipe.vocab, ...(recipe.text && { text: [path] }) };
    try {
      const { json } = await runner.ask<Reply<'train_tokenizer'>>(request);
      return { handle: json.tokenizer, vocab: json.vocab, trained: json };
    } finally {
      if (recipe.text) await runner.remove(path);
    }
  }
  let name: string = recipe.choice;
  if (recipe.choice === 'file') {
    name = `/tokenizers/given-${++files}/${recipe.file.name}`;
    await runner.write(name, recipe.file.bytes);
  } else {
    const known = choices.find(({ value }) => value === recipe.choice)!;
    if ('file' in known) name = await fetched(known.file);
  }
  const { json } = await runner.ask<Reply<'tokenizer'>>({ ask: 'tokenizer', name });
  return { handle: json.tokenizer, vocab: json.vocab };
}
