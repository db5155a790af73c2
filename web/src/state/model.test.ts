import { beforeEach, expect, test, vi } from 'vitest';

vi.hoisted(() => vi.stubGlobal('location', { search: '', hash: '' }));
import { engine } from '../engine/client';
import { linkOf, longestLink, model, type NamedBytes } from './model.svelte';

let given: string[][]; // names of the files that the engine was given
beforeEach(() => {
  given = [];
  vi.spyOn(engine, 'give').mockImplementation(async (files) => `/given/${given.push(files.map(({ name }) => name))}`);
  vi.spyOn(engine, 'json').mockResolvedValue({});
  model.choose('gpt2');
});
const config = (text: string): NamedBytes => ({ name: 'config.json', bytes: new TextEncoder().encode(text), size: text.length, text });
const weights: NamedBytes = { name: 'model.safetensors', bytes: new Uint8Array(8), size: 8 };

test('a link carries a config.json in one line, with what JSON does not have', () => {
  expect(linkOf('{\n "a  b": [0.0,\n  Infinity],\r\n\t"c": 1e-05\r\n}\n')).toBe('{"a  b": [0.0,Infinity],"c": 1e-05}');
  expect(linkOf(`{\n"a":${'1'.repeat(longestLink - 6)}\n}\n`)).toHaveLength(longestLink);
  expect(linkOf(`{\n"a":${'1'.repeat(longestLink - 5)}\n}\n`)).toBe('');
});

test('a file that is opened has its own sizes, and its config.json in the link, beside weights too', async () => {
  model.set('layers', 5);
  await model.open([config('{\n"limit": Infinity\n}\n')]);
  expect(model.changed).toBe(false);
  expect(model.file!.link).toBe('{"limit": Infinity}');
  await model.open([weights]);
  expect(given.at(-1)).toEqual(['config.json', 'model.safetensors']);
  expect(model.file!.link).toBe('{"limit": Infinity}');
});

test('what the engine refuses changes nothing', async () => {
  model.set('layers', 5);
  vi.spyOn(engine, 'json').mockRejectedValue(new Error('config.json: no'));
  await expect(model.open([config('{}')])).rejects.toThrow('config.json: no');
  expect(model.args()).toEqual(['gpt2', '--layers', '5']);
});
