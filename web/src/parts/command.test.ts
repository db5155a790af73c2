import { expect, test } from 'vitest';
import { commandLine } from './command';

test('a command line can be pasted into a shell', () => {
  expect(commandLine(['count', 'gpt2', '--layers', '24'])).toBe('reckon count gpt2 --layers 24');
  expect(commandLine(['tokenize', "it's $5"])).toBe(`reckon tokenize 'it'\\''s $5'`);
});

test('a dropped file is named without its place on the page', () => {
  expect(commandLine(['count', '/given/3/config.json'])).toBe('reckon count ./config.json');
});
