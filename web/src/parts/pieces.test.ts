import { expect, test } from 'vitest';
import { line, nameOf, parts, widened } from './pieces';

const bytes = (text: string) => new TextEncoder().encode(text);

test('whole characters are text and white space is marked', () => {
  expect(parts(bytes(' Grüße\n'))).toEqual([
    { kind: 'space', text: '·' },
    { kind: 'text', text: 'Grüße' },
    { kind: 'space', text: '↵\n' },
  ]);
});

test('a character that is cut over tokens is shown as its bytes, never as the replacement character', () => {
  const world = bytes(' 世'); // 20 e4 b8 96
  expect(parts(world.subarray(0, 3))).toEqual([
    { kind: 'space', text: '·' },
    { kind: 'bytes', text: 'e4 b8' },
  ]);
  expect(parts(world.subarray(3))).toEqual([{ kind: 'bytes', text: '96' }]);
});

test('bytes that are no UTF-8 at all are shown as bytes: surrogates, overlong forms, lone leads', () => {
  expect(line(Uint8Array.of(0xed, 0xa0, 0x80))).toBe('⟨ed a0 80⟩');
  expect(line(Uint8Array.of(0xc0, 0xaf))).toBe('⟨c0 af⟩');
  expect(line(Uint8Array.of(0x61, 0xf0))).toBe('a⟨f0⟩');
  expect(line(Uint8Array.of(0xff))).toBe('⟨ff⟩');
});

test('a replacement character that the user wrote stays text', () => {
  expect(parts(bytes('\ufffd'))).toEqual([{ kind: 'text', text: '\ufffd' }]);
});

test('control characters are seen', () => {
  expect(line(bytes('a\u0000\u001b\r'))).toBe('a␀␛␍');
});

test('a byte order mark is a character as any other', () => {
  expect(parts(bytes('\ufeffa'))).toEqual([{ kind: 'text', text: '\ufeffa' }]);
});

test('a range of bytes is widened to the characters that it touches', () => {
  const text = bytes('a世b'); // a at 0, 世 at 1 to 4, b at 4
  expect(widened(text, 2, 3)).toEqual({ begin: 1, end: 4 });
  expect(widened(text, 0, 1)).toEqual({ begin: 0, end: 1 });
});

test('a token is called by its text, a special one by its name, and one that no tokenizer knows by its number', () => {
  expect(nameOf({ id: 5, text: ' a', kind: 'word' })).toBe('·a');
  expect(nameOf({ id: 5, text: null, bytes: [0xe4], kind: 'part of a character' })).toBe('⟨e4⟩');
  expect(nameOf({ id: 5, text: '<|endoftext|>', kind: 'special' })).toBe('<|endoftext|>');
  expect(nameOf({ id: 50300, text: null, kind: 'part of a character' })).toBe('#50300');
});
