// The commands that continue the same text in a terminal, and those that give its figures.
import { tinyArgs } from './tiny.svelte';
import type { Source } from './source.svelte';
import { settings, type Session } from './session.svelte';

type Where = Pick<Source, 'folder'>;
type Text = Pick<Session, 'prompt' | 'taken' | 'model' | 'slid'>;

const idsOf = ({ prompt, taken }: Text) => [...prompt, ...taken.map(({ piece }) => piece)].map(({ id }) => id).join(',');
// As it was typed; by its ids where the model has written since, as text may be cut otherwise.
const textSoFar = (session: Text): string[] =>
  session.model?.tokenizer === null || session.taken.length > 0 || session.slid ? ['--ids', idsOf(session)] : [settings.prompt.value];

// How a token is drawn; what is off is left out.
function drawing(): string[] {
  const flag = (name: string, value: string, off: string) => (value === off ? [] : [name, value]);
  return [
    ...flag('--temperature', settings.temperature.value, '1'),
    ...flag('--top-k', settings.top_k.value, '0'),
    ...flag('--top-p', settings.top_p.value, '1'),
    ...flag('--min-p', settings.min_p.value, '0'),
  ];
}

// What becomes of the last position's logits: as many tokens as the engine gives, and the one that is drawn.
export const nextCommand = ({ folder }: Where, session: Text & Pick<Session, 'next'>): string[] => [
  'logits', `./${folder}`, '--ids', idsOf(session), '--next', '50', ...drawing(), ...(session.next ? ['--u', String(session.next.draw.u)] : []),
]; // prettier-ignore

export const beamsCommand = ({ folder }: Where, session: Text, beams: number, tokens: number): string[] => [
  'generate', `./${folder}`, ...textSoFar(session), '--beams', String(beams), '--best', String(beams), '--tokens', String(tokens),
]; // prettier-ignore

// The cache with the last token in it, and the FLOPs of that token. What runs here is float32.
export const costCommand = ({ folder }: Where, { cache }: Pick<Session, 'cache'>): string[] => [
  'count', `./${folder}`, '--phase', 'decode', '--past', String(Math.max(0, cache.length - 1)), '--causal', 'exact', '--precision', 'float32',
]; // prettier-ignore

export function commands(source: Pick<Source, 'folder' | 'opened'>, session: Pick<Session, 'taken' | 'model'>): string[][] {
  const prompt = session.model?.tokenizer === null ? ['--ids', settings.prompt.value.replace(/[\s,]+/g, ',')] : [settings.prompt.value];
  const generate = [
    'generate',
    `./${source.folder}`,
    ...prompt,
    '--tokens',
    String(session.taken.length || 64),
    ...drawing(),
    ...(settings.seed.value === '0' ? [] : ['--seed', settings.seed.value]),
  ];
  return source.opened === 'tiny' ? [tinyArgs, generate] : [generate];
}
