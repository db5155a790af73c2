// One of the two tokenizers of the view: which it is, what the engine made of the text, and what went wrong.
import { latestWins, runner } from '../../engine/client';
import type { PlacedPiece, Reply } from '../../engine/run';
import { shared } from '../../state/shared.svelte';
import { labelOf, open, type Choice, type File, type Opened, type Recipe } from './tokenizers';

export type Encoded = Reply<'encode'> & {
  text: string;
  label: string;
  opened: Opened;
};

// Whether the pieces of both cover the same bytes.
export const comparable = (one: Encoded, other: Encoded): boolean =>
  one.text === other.text && ((one.exact && other.exact) || one.decoded === other.decoded);

const page = 1000; // pieces that are asked for and drawn at once: a frame's work

export class Side {
  readonly choice;
  readonly vocab;
  readonly source; // of an own one: stories, text (of the box) or file
  file = $state.raw<File>(); // a tokenizer
  book = $state.raw<File>(); // a text to train on
  most = $state(page);
  encoded = $state.raw<Encoded>();
  failed = $state('');
  busy = $state(false);

  #opened: { key: string; tokenizer: Opened } | undefined;

  constructor(name: string, choice: string) {
    this.choice = shared(`tokenize.${name}`, choice);
    this.vocab = shared(`tokenize.${name}.vocab`, '512');
    this.source = shared(`tokenize.${name}.from`, 'stories');
    runner.onstop.add(() => (this.#opened = undefined)); // its handles are gone
  }

  get label(): string {
    if (this.choice.value === 'own') return `your own ${this.vocab.value}`;
    if (this.choice.value === 'file' && this.file) return this.file.name;
    return labelOf(this.choice.value);
  }

  // What is missing before it can be opened, in a sentence; '' where nothing is.
  get missing(): string {
    if (this.choice.value === 'file' && !this.file) return 'Drop a tokenizer.json, a vocab.json or a .tiktoken file.';
    if (this.choice.value === 'own' && this.source.value === 'file' && !this.book) return 'Choose a text file to train on.';
    return '';
  }

  more(): void {
    this.most += page;
  }

  #recipe(text: string): { key: string; recipe: Recipe } {
    const choice = this.choice.value as Choice;
    if (choice === 'file') return { key: `file ${fileKey(this.file!)}`, recipe: { choice, file: this.file! } };
    if (choice !== 'own') return { key: choice, recipe: { choice } };
    const source = this.source.value;
    const key = `own ${this.vocab.value} ${source === 'file' ? fileKey(this.book!) : source === 'text' ? text : ''}`;
    const words = source === 'file' ? this.book!.bytes : source === 'text' ? new TextEncoder().encode(text) : undefined;
    return { key, recipe: { choice, vocab: this.vocab.number, text: words } };
  }

  // The tokenizer.json of what is open.
  async saved(): Promise<Uint8Array> {
    const path = '/tokenizers/saved/tokenizer.json';
    await runner.ask({ ask: 'save_tokenizer', tokenizer: this.encoded!.opened.handle, path });
    return runner.read(path);
  }

  // Called by the view whenever the text or a setting changes; reads all of them.
  ask(text: string): void {
    if (this.missing) {
      this.encoded = undefined;
      this.failed = '';
      return;
    }
    this.#renew({ ...this.#recipe(text), text, label: this.label, most: this.most });
  }

  #renew = latestWins(
    async ({ key, recipe, text, label, most }: { key: string; recipe: Recipe; text: string; label: string; most: number }) => {
      this.busy = true;
      if (this.#opened?.key !== key) {
        const before = this.#opened;
        this.#opened = undefined;
        if (before) await runner.ask({ ask: 'forget', handle: before.tokenizer.handle }).catch(() => {});
        this.#opened = { key, tokenizer: await open(recipe) };
      }
      const opened = this.#opened.tokenizer;
      const { json } = await runner.ask<Reply<'encode'>>({ ask: 'encode', tokenizer: opened.handle, text, most });
      return { ...json, text, label, opened };
    },
    (encoded: Encoded) => {
      this.encoded = { ...encoded, pieces: kept(this.encoded?.pieces ?? [], encoded.pieces) };
      this.failed = '';
      this.busy = false;
    },
    (error) => {
      this.encoded = undefined;
      // Where the engine has the file is nobody's concern.
      this.failed = error.message.replace(/\/tokenizers\/(given-\d+\/)?/g, '');
      this.busy = false;
    },
  );
}

// The new pieces, those that did not change being the objects that they were: only the others are drawn again.
function kept(before: PlacedPiece[], now: PlacedPiece[]): PlacedPiece[] {
  const same = (one: PlacedPiece, other: PlacedPiece | undefined) =>
    one.id === other?.id && one.begin === other.begin && one.end === other.end && one.text === other.text;
  return now.map((piece, i) => (same(piece, before[i]) ? before[i]! : piece));
}

const numbers = new WeakMap<File, number>();
let next = 0;
function fileKey(file: File): number {
  if (!numbers.has(file)) numbers.set(file, ++next);
  return numbers.get(file)!;
}
