import { beforeEach, expect, test, vi } from 'vitest';

vi.hoisted(() => vi.stubGlobal('location', { search: '', hash: '' }));
import { engine } from '../../engine/client';
import type { Settings } from '../../engine/run';
import { model } from '../../state/model.svelte';
import { planned, type Chosen } from './choices.svelte';
import type { TrainedRun } from './session.svelte';

beforeEach(() => {
  vi.spyOn(engine, 'give').mockImplementation(async (files) => `/given/${files[0]!.name}`);
  vi.spyOn(engine, 'json').mockResolvedValue({});
  model.choose('mini-gpt');
  planned.pasted = '';
  planned.file = null;
  planned.settings.data.value = 'stories';
  planned.settings.tokenizer.value = 'train';
});
const settings = { steps: 10, batch: 8, lr: 0.001, seed: 0, text: [] as string[], tokens: '', tokenizer: 'train:512' };
const run = (chosen: Chosen | null, of: Partial<Settings> = {}) =>
  ({ chosen, text: 'book.txt', reply: { config: '{"layers": 3}', facts: { settings: { ...settings, ...of } } } }) as unknown as TrainedRun;

function chooseOthers(): void {
  model.choose('gpt2');
  model.set('heads', 6);
  planned.settings.data.value = 'stories';
  planned.settings.tokenizer.value = 'train';
  planned.settings.steps.value = '77';
  planned.pasted = 'something else';
}

test('a run is planned again with its model, text and tokenizer, whatever was chosen since', async () => {
  model.set('layers', 3);
  planned.settings.data.value = 'text';
  planned.settings.tokenizer.value = 'bytes';
  planned.pasted = 'Once upon a time';
  const before = { ...planned.choices, steps: 10 };
  const { chosen } = planned;
  chooseOthers();
  await planned.again(run(chosen));
  expect(planned.choices).toEqual(before);
  expect(new TextDecoder().decode(planned.text!.bytes)).toBe('Once upon a time');
});

test('a run of a config.json of your own is planned again with it', async () => {
  await model.open([{ name: 'mine.json', bytes: new Uint8Array(2), size: 2, text: '{}' }]);
  model.set('layers', 3);
  const { chosen } = planned;
  chooseOthers();
  await planned.again(run(chosen));
  expect(model.args()).toEqual(['/given/mine.json', '--layers', '3']);
});

test('a run that was loaded is planned again with its own model, and with its text once that is given', async () => {
  chooseOthers();
  const loaded = run(null, { text: ['/texts/book.txt'], tokenizer: 'bytes' });
  await expect(planned.again(loaded)).rejects.toThrow('book.txt, is not here');
  expect(model.file!.config!.text).toBe('{"layers": 3}');
  expect(model.changed).toBe(false);
  expect(planned.choices.tokenizer).toBe('bytes');
  planned.file = { name: 'book.txt', bytes: new Uint8Array(9) };
  await planned.again(loaded);
  expect(planned.text).toBe(planned.file);
});
