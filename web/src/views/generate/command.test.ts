import { expect, test, vi } from 'vitest';

vi.hoisted(() => vi.stubGlobal('location', { search: '', hash: '' }));
import { beamsCommand, costCommand, nextCommand } from './command';
import { settings } from './session.svelte';

const source = { folder: 'tiny' };
const piece = (id: number) => ({ id, text: 'x', kind: 'word' as const });
const model = { tokenizer: 3 } as never;
const begun = { prompt: [piece(5), piece(9)], taken: [], model, slid: false };
const written = { ...begun, taken: [{ piece: piece(11), probability: 1, byHand: false }] };

test('the next token is that of the whole text so far, drawn as it is set, by the same number', () => {
  const next = { draw: { u: 0.25 } } as never;
  expect(nextCommand(source, { ...written, next }).join(' ')).toBe('logits ./tiny --ids 5,9,11 --next 50 --u 0.25');
  settings.temperature.value = '0.8';
  settings.top_k.value = '40';
  expect(nextCommand(source, { ...begun, next }).join(' ')).toBe('logits ./tiny --ids 5,9 --next 50 --temperature 0.8 --top-k 40 --u 0.25');
  settings.temperature.value = '1';
  settings.top_k.value = '0';
});

test('a beam search begins with the prompt as it was typed, or with the ids where more was written', () => {
  expect(beamsCommand(source, begun, 3, 6)).toEqual(['generate', './tiny', 'Once upon a time', '--beams', '3', '--best', '3', '--tokens', '6']);
  expect(beamsCommand(source, written, 3, 6).slice(1, 4)).toEqual(['./tiny', '--ids', '5,9,11']);
  expect(beamsCommand(source, { ...begun, model: { tokenizer: null } as never }, 1, 1).slice(2, 4)).toEqual(['--ids', '5,9']);
});

test('the cost is that of the last token, behind those before it', () => {
  expect(costCommand(source, { cache: { length: 3, capacity: 64, bytes: 0 } })).toEqual(['count', './tiny', '--phase', 'decode', '--past', '2', '--causal', 'exact', '--precision', 'float32']);
});
