// The commands that continue the same text in a terminal.
import { tinyArgs } from './tiny.svelte';
import type { Source } from './source.svelte';
import { settings, type Session } from './session.svelte';

export function commands(source: Pick<Source, 'folder' | 'opened'>, session: Pick<Session, 'taken' | 'model'>): string[][] {
  const flag = (name: string, value: string, off: string) => (value === off ? [] : [name, value]);
  const prompt = session.model?.tokenizer === null ? ['--ids', settings.prompt.value.replace(/[\s,]+/g, ',')] : [settings.prompt.value];
  const generate = [
    'generate',
    `./${source.folder}`,
    ...prompt,
    '--tokens',
    String(session.taken.length || 64),
    ...flag('--temperature', settings.temperature.value, '1'),
    ...flag('--top-k', settings.top_k.value, '0'),
    ...flag('--top-p', settings.top_p.value, '1'),
    ...flag('--min-p', settings.min_p.value, '0'),
    ...flag('--seed', settings.seed.value, '0'),
  ];
  return source.opened === 'tiny' ? [tinyArgs, generate] : [generate];
}
