import { expect, test } from 'vitest';
import { differenceChart, differentTokens, lossChart, placeOf, smallChart, stepAt } from './charts';
import { FakeEngine } from './fake';
import type { Choices } from './plan';
import { Session, TrainedRun } from './session.svelte';

const choices: Choices = {
  model: 'mini-gpt', flags: [], tokenizer: 'train', steps: 200, batch: 8, lr: 1e-3, seed: 0, text: null,
};

async function twoRuns(flags: string[]): Promise<[TrainedRun, TrainedRun]> {
  const session = new Session(new FakeEngine(), () => Promise.reject(new Error('nothing is kept')));
  await session.start(choices, 'mini-gpt', null);
  await session.start({ ...choices, flags }, 'mini-gpt', null);
  return [session.current!, session.before!];
}

test('the axis spans the whole run before its first step', () => {
  expect(lossChart(null, null, 'step', 1000, 512).xEnd).toBe(1000);
});

test('the older run is there at 40%, and each is named', async () => {
  const [current, before] = await twoRuns(['--layers', '4']);
  const chart = lossChart(current, before, 'step', 200, 512);
  expect(chart.curves.map(({ name, kind, opacity }) => [name, kind, opacity])).toEqual([
    ['mini-gpt: training', 'line', 0.4], ['mini-gpt: validation', 'dots', 0.4],
    ['layers 2→4: training', 'faint', 1], ['layers 2→4: training', 'line', 1], ['layers 2→4: validation', 'dots', 1],
  ]);
  expect(chart.marks!.map((mark) => mark.y)).toEqual([Math.log(512), 5.06]);
});

test('by FLOPs the larger model reaches farther, and a place on the axis is a step again', async () => {
  const [current, before] = await twoRuns(['--layers', '4']);
  expect(current.end('flops')).toBeGreaterThan(1.5 * before.end('flops'));
  expect(smallChart('lr', current, before, 'flops', 200).xEnd).toBe(current.end('flops'));
  expect(stepAt(current.history, 'flops', placeOf(current.history, 'flops', 57))).toBe(57);
  expect(stepAt(current.history, 'seconds', placeOf(current.history, 'seconds', 57))).toBe(57);
});

test('the difference is that of the means at the same place, as far as both have been', async () => {
  const [current, before] = await twoRuns(['--layers', '4']);
  const bySteps = differenceChart(current, before, 'step').curves[0]!;
  expect(bySteps.y.length).toBe(200);
  expect(bySteps.y[150]).toBeCloseTo(current.history.column('loss mean')[150]! - before.history.column('loss mean')[150]!);
  const byFlops = differenceChart(current, before, 'flops').curves[0]!;
  expect(byFlops.y.length).toBeLessThan(200);
});

test('losses of two tokenizers are compared in bits per byte', async () => {
  const [current, before] = await twoRuns([]);
  expect(differentTokens(current, before)).toBe(false);
  const bytes = { ...current.reply, bytes_per_token: 1, lines: [] };
  const other = Object.assign(Object.create(Object.getPrototypeOf(current)) as TrainedRun, current, { reply: bytes });
  expect(differentTokens(other, before)).toBe(true);
  const chart = lossChart(other, before, 'step', 200, 512);
  expect(chart.note).toContain('bits per byte');
  // nats / ln 2 / bytes of a token: the older run's first loss, 2.81 bytes a token
  expect(chart.curves[0]!.y[0]).toBeCloseTo(before.history.column('loss mean')[0]! / Math.LN2 / 2.81);
});
