import { expect, test } from 'vitest';
import type { CountReport, Row } from '../../state/facts.svelte';
import { litWords, meanFactor, stopsOf, verdict, wordsOf, type ExplainReport, type Figure, type Step } from './stops';

const none: Figure = { formula: '0', numbers: '0', value: 0 };
const figure = (formula: string, value: number): Figure => ({ formula, numbers: formula.toUpperCase(), value });
const step = (name: string, path: string, parameters = none, matmul = none, elementwise = none, times = 2): Step => ({
  stage: 'forward', times, name, path, formula: [`y = ${name}`], why: `Why ${name}.`, parameters, flops: { matmul, elementwise },
}); // prettier-ignore
const row = (name: string, formula: string, value: number) => ({ name, formula, numbers: formula.toUpperCase(), value }) as Row;

const explained = {
  model: 'mini',
  architecture: { layers: 2, context: 8 },
  workload: { tokens: 8 },
  steps: [
    step('tokens', 'input'),
    step('token embedding', 'embedding/token', figure('v·d', 40), none, none, 1),
    step('query', 'attention/query', figure('d²', 16), figure('2·t·d²', 256)),
    step('softmax', 'attention/softmax', none, none, figure('5·t', 40)),
    step('output', 'attention/output', figure('d²', 16), figure('2·t·d²', 256)),
    step('head', 'head', none, figure('2·t·v·d', 640), none, 1),
  ],
  totals: { parameters: 104, matmul: 1664, elementwise: 80 },
  growth: [{ doubled: 'width', from: 4, to: 8, parameters: 3.5 }],
  cache: { bytes_per_token: 32, bytes_at_context: 256 },
} as unknown as ExplainReport;
const count = {
  parameters: { total: 104, by_component: [row('token embedding', 'v·d', 40), row('attention', '4·d²', 64)] },
  flops: { matmul: 1664, by_component: [row('head', '2·t·v·d', 640)] },
} as unknown as CountReport;

test('steps with a number of their own are asked, the others told on the way', () => {
  const stops = stopsOf(explained, count);
  expect(stops.map((stop) => [stop.name, stop.part, stop.measure, stop.answer.value])).toEqual([
    ['token embedding', 'token embedding', 'parameters', 40],
    ['query', 'attention', 'parameters', 16],
    ['head', 'head', 'flops', 640],
    ['all parameters', '', 'parameters', 104],
    ['all products', '', 'flops', 1664],
    ['twice the width', '', 'parameters', 3.5],
    ['the cache', 'attention', 'parameters', 256],
  ]);
  expect(stops[0]!.told.map((one) => one.name)).toEqual(['tokens']);
  expect(stops[2]!.told.map((one) => [one.name, one.figure?.value])).toEqual([['softmax', 40], ['output', 16]]); // d² was asked
  expect(stops[1]!.question).toContain('in each of 2 layers');
});

test('totals have the sum of all formulas', () => {
  const total = stopsOf(explained, count).find((stop) => stop.name === 'all parameters')!;
  expect(total.answer.formula).toBe('v·d + 4·d²');
});

test('no answer lies outside of what can be guessed', () => {
  for (const { range, answer } of stopsOf(explained, count)) {
    expect(range[0]!).toBeLessThanOrEqual(Number(answer.value));
    expect(range.at(-1)!).toBeGreaterThanOrEqual(Number(answer.value));
  }
});

test('a guess is judged by its factor', () => {
  expect(verdict(40, 40)).toBe('Exactly.');
  expect(verdict(20, 40)).toBe('You said 20: 2 times too little.');
  expect(verdict(50_000, 32_768)).toBe('You said 50,000: 1.53 times too much.');
  expect(meanFactor([{ guess: 10, value: 40 }, { guess: 4, value: 4 }])).toBeCloseTo(2); // √(4·1)
});

test('words that name a block are found whole, the longer first', () => {
  const words = wordsOf(explained, ['token embedding', 'attention', 'head']);
  expect(litWords('The matrix is the token embedding itself; heads attend, the head answers.', words)).toEqual([
    { text: 'The matrix is the ' },
    { text: 'token embedding', part: 'token embedding' },
    { text: ' itself; heads attend, the ' },
    { text: 'head', part: 'head' },
    { text: ' answers.' },
  ]);
});
