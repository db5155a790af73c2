import { expect, test } from 'vitest';
import { barPicture } from './bar-picture';

const named = (name: string) => `[${name}]`;
const widths = (svg: string, color: string) => [...svg.matchAll(/width="([\d.]+)" height="15"(?: rx="3")? fill="([^"]+)"/g)].filter(([, , fill]) => fill === color).map(([, width]) => Number(width));

test('bars are as long as their values are of the most, and have their names and figures', () => {
  const svg = barPicture({
    title: 'Share',
    bars: [
      { name: 'gpt2', detail: '124M', parts: [{ value: 1, color: 'var(--embedding)' }], text: '31.6%' },
      { name: 'a <b> & "c"', parts: [{ value: 0.25, color: 'var(--embedding)' }], text: '25%' },
    ],
  }, named); // prettier-ignore
  const [one, other] = widths(svg, '[--embedding]');
  expect(other! / one!).toBeCloseTo(0.25, 2);
  for (const text of ['Share', 'gpt2', '124M', '31.6%', '25%', 'a &lt;b&gt; &amp; &quot;c&quot;']) expect(svg).toContain(text);
  expect(svg).not.toContain('var(');
});

test('parts of one bar lie side by side, and none reaches beyond the scale', () => {
  const svg = barPicture({ title: '', most: 4, bars: [{ name: 'x', parts: [{ value: 1, color: 'red' }, { value: 2, color: 'blue' }, { value: 9, color: 'green' }], text: '' }] }, named);
  const [track] = widths(svg, '[--hover]');
  expect(widths(svg, 'red')[0]).toBeCloseTo(track! / 4, 1);
  expect(widths(svg, 'blue')[0]).toBeCloseTo(track! / 2, 1);
  expect(widths(svg, 'green')[0]).toBeCloseTo(track! / 4, 1);
});

test('what is nothing is not drawn, and what is very little still is', () => {
  const svg = barPicture({ title: '', most: 1, bars: [{ name: '', parts: [{ value: 0, color: 'red' }, { value: 1e-9, color: 'blue' }], text: '' }] }, named);
  expect(widths(svg, 'red')).toEqual([]);
  expect(widths(svg, 'blue')).toEqual([0.5]);
});
