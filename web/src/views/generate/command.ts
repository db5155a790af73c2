// The command that continues the same text in a terminal.
import type { Source } from './source.svelte';
import { settings, type Session } from './session.svelte';

export function command(source: Pick<Source, 'folder'>, session: Pick<Session, 'taken' | 'model'>): string[] {
  const flag = (name: string, value: string, off: string) => (value === off ? [] : [name, value]);
  const prompt = session.model?.tokenizer === null ? ['--ids', settings.prompt.value.replace(/[\s,]+/g, ',')] : [settings.prompt.value];
  return [
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
}
