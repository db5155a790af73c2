// How the bytes of a token are shown: whole characters as text, white space by marks, and the bytes of a character that
// is cut over several tokens as two hexadecimal digits each. Nothing is ever shown as the replacement character.

import type { Piece } from '../engine/run';

export type Part = { kind: 'text' | 'space' | 'bytes'; text: string };

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

// White space and control characters that would not be seen. A line break is kept behind its mark.
const marks: Record<string, string> = { ' ': '·', '\n': '↵\n', '\r': '␍', '\t': '⇥\t', '\u00a0': '⍽', '\u3000': '□' };

// Length in bytes of the character that begins at `at`; 0 where no whole one does.
function whole(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!;
  const length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length < 2) return length;
  if (at + length > bytes.length) return 0;
  try {
    decoder.decode(bytes.subarray(at, at + length));
    return length;
  } catch {
    return 0;
  }
}

export const hex = (byte: number): string => byte.toString(16).padStart(2, '0');

export function parts(bytes: Uint8Array): Part[] {
  const found: Part[] = [];
  const add = (kind: Part['kind'], text: string, between = '') => {
    const last = found.at(-1);
    if (last?.kind === kind) last.text += between + text;
    else found.push({ kind, text });
  };
  for (let at = 0; at < bytes.length; ) {
    const length = whole(bytes, at);
    if (length === 0) {
      add('bytes', hex(bytes[at]!), ' ');
      at += 1;
      continue;
    }
    const character = length === 1 ? String.fromCharCode(bytes[at]!) : decoder.decode(bytes.subarray(at, at + length));
    const code = character.codePointAt(0)!;
    const mark = marks[character] ?? (code < 0x20 ? String.fromCharCode(0x2400 + code) : undefined);
    if (mark !== undefined) add('space', mark);
    else add('text', character);
    at += length;
  }
  return found;
}

// The same in one line, for labels and tables: marks without the line breaks.
export const line = (bytes: Uint8Array): string =>
  parts(bytes)
    .map(({ kind, text }) => (kind === 'bytes' ? `⟨${text}⟩` : text.replace(/[\n\t]/g, '')))
    .join('');

// The characters that a range of bytes of a text touches, widened to whole ones: [begin, end) in bytes.
export function widened(text: Uint8Array, begin: number, end: number): { begin: number; end: number } {
  const inside = (at: number) => at > 0 && at < text.length && (text[at]! & 0xc0) === 0x80;
  while (inside(begin)) begin -= 1;
  while (inside(end)) end += 1;
  return { begin, end };
}

const encoder = new TextEncoder();
export const bytesOf = (piece: Piece): Uint8Array =>
  piece.text === null ? Uint8Array.from(piece.bytes ?? []) : encoder.encode(piece.text);

// A token in one line. A special one is its own name; one that no tokenizer knows is its number.
export function nameOf(piece: Piece): string {
  if (piece.kind === 'special' && piece.text) return piece.text;
  const bytes = bytesOf(piece);
  return bytes.length ? line(bytes) : `#${piece.id}`;
}
