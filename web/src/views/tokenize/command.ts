// The commands that give the same tokens in a terminal, in their order.
import type { Side } from './side.svelte';

const longest = 300; // characters of a text that stands in the command itself

export function commands(side: Pick<Side, 'choice' | 'vocab' | 'source' | 'file' | 'book'>, text: string): string[][] {
  const where = text.length > longest ? ['--file', 'text.txt'] : [text];
  const show = (tokenizer: string) => ['tokenize', '--tokenizer', tokenizer, '--show', ...where];
  if (side.choice.value === 'file') return [show(`./${side.file?.name ?? 'tokenizer.json'}`)];
  if (side.choice.value !== 'own') return [show(side.choice.value)];
  // The stories come with `reckon train`, whose run has the tokenizer.
  const train =
    side.source.value === 'stories'
      ? ['train', 'mini-gpt', '--vocab', side.vocab.value, '--steps', '1', '--out', 'mine']
      : ['tokenizer', 'train', (side.source.value === 'file' && side.book?.name) || 'text.txt', '--vocab', side.vocab.value, '--out', 'mine'];
  return [train, show('./mine')];
}
