import { expect, test } from 'vitest';
import { colour, framed, legendText } from './svg';

const named = (name: string) => `[${name}]`;

test('a colour of the page is given by its value, any other stays', () => {
  expect(colour('var(--accent)', named)).toBe('[--accent]');
  expect(colour('#e69f00', named)).toBe('#e69f00');
});

test('a picture has its title for the eye and a sentence for the ear', () => {
  const svg = framed({ width: 10, height: 20, title: 'a & b', note: '', said: 'from 1 to 2' }, named, []);
  expect(svg).toContain('>a &amp; b<');
  expect(svg).toContain('aria-label="from 1 to 2"');
  expect(svg).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" viewBox="0 0 10 20" width="10" height="20"/);
});

test('names of a legend stand beside their colours, one after the other', () => {
  const text = legendText([{ name: 'all', color: 'var(--text)' }, { name: 'head', color: 'green' }], 100, named);
  expect([...text.matchAll(/<rect x="(\d+)"/g)].map(([, x]) => Number(x))).toEqual([16, 16 + 32 + 21]);
  expect(text).toContain('fill="[--text]"');
  expect(text).toContain('>head</text>');
});
