import { expect, test } from 'vitest';
import type { DistributionReply, ShownToken } from '../../engine/run';
import { distributionBars, distributionRows } from './saved';

const token = (id: number, text: string, probability: number, removed: ShownToken['removed'] = null): ShownToken => ({
  id, text, kind: 'word', logit: 2, scaled: 4, removed, model_probability: 0.25, probability, from: 0, to: probability,
}); // prettier-ignore
const next: DistributionReply = {
  tokens: [token(7, ' a', 0.5), token(8, ',', 0.25), token(9, 'b', 0, 'top_k')],
  rest: { count: 509, kept: 3, model_probability: 0.25, probability: 0.25 },
  kept: 5,
  draw: { ...token(8, ',', 0.25), u: 0.6 },
};

test('the table of the next token has every token and the rest, in full digits', () => {
  expect(distributionRows(next).slice(1)).toEqual([
    ['·a', 7, 2, 4, '', 0.5, 0.25, 0, 0.5],
    [',', 8, 2, 4, '', 0.25, 0.25, 0, 0.25],
    ['b', 9, 2, 4, 'top_k', 0, 0.25, 0, 0],
    ['rest: 509 tokens', '', '', '', '', 0.25, 0.25, '', ''],
  ]);
});

test('the picture has as many bars as the page, and what is folded away is in the rest', () => {
  const { bars } = distributionBars(next, 1);
  expect(bars.map(({ name }) => name)).toEqual(['·a', 'rest: 511 tokens']);
  expect(bars[1]!.parts[0]!.value).toBe(0.5); // 0.25 of the comma, 0 of what is removed, 0.25 of the rest
  expect(bars[1]!.mark).toBe(0.75);
});

test('the drawn token has a colour of its own', () => {
  const colors = distributionBars(next, 3).bars.map(({ parts }) => parts[0]!.color);
  expect(colors[1]).not.toBe(colors[0]);
});
