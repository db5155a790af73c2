import { expect, test } from 'vitest';
import type { Line } from '../../engine/run';
import { History } from './history';

const step = (step: number, loss: number): Line => ({
  kind: 'step', step, loss, lr: 1e-3, gradient_norm: 1, tokens_per_second: 100, gflops_per_second: 2, seconds: step / 10,
});

test('steps fill columns, with tokens and FLOPs that follow from the step', () => {
  const history = new History(4, 256, 1000);
  history.push(step(1, 6));
  history.push(step(2, 5));
  expect([...history.column('step')]).toEqual([1, 2]);
  expect([...history.column('tokens')]).toEqual([256, 512]);
  expect([...history.column('flops')]).toEqual([1000, 2000]);
  expect([...history.column('seconds')]).toEqual([0.1, 0.2]);
  expect(history.last('loss')).toBe(5);
});

test('the mean takes a hundredth of the run to each side, fewer at the ends', () => {
  const history = new History(200, 1, 1); // two to each side
  for (const [i, loss] of [8, 4, 6, 2, 0].entries()) history.push(step(i + 1, loss));
  // 8; (8+4+6)/3; (8+4+6+2+0)/5; (6+2+0)/3; 0
  expect([...history.column('loss mean')].map((x) => +x.toFixed(6))).toEqual([8, 6, 4, 2.666667, 0]);
});

test('a row is found by its step, also where the first steps are missing', () => {
  const history = new History(10, 1, 1);
  for (const at of [5, 6, 8]) history.push(step(at, 1));
  expect([4, 5, 7, 8, 99].map((at) => history.row(at))).toEqual([-1, 0, 1, 2, 2]);
});

test('a run may go on past its steps', () => {
  const history = new History(2, 1, 1);
  for (let at = 1; at <= 9; ++at) history.push(step(at, at));
  expect(history.length).toBe(9);
  expect([...history.column('loss')]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('other lines are kept by kind', () => {
  const history = new History(2, 1, 1);
  history.push({ kind: 'evaluation', step: 1, loss: 3 });
  history.push({ kind: 'sample', step: 1, text: 'Once' });
  history.push({ kind: 'limit', step: 1, gflops_per_second: 20 });
  history.push({ kind: 'end', step: 2, validation: 2.5, seconds: 3, arena_high_water_bytes: 0, sent_bytes: 0 });
  expect(history.evaluations.map((line) => line.loss)).toEqual([3]);
  expect(history.samples.map((line) => line.text)).toEqual(['Once']);
  expect(history.limits).toEqual([20]);
  expect(history.end?.validation).toBe(2.5);
});

test('what is shown as now is the mean of the last fiftieth', () => {
  const history = new History(100, 1, 1); // three steps
  expect(history.recent('loss')).toBeNaN();
  for (const [i, loss] of [9, 6, 3, 3].entries()) history.push(step(i + 1, loss));
  expect(history.recent('loss')).toBe(4);
});
