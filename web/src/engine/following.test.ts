import { expect, test } from 'vitest';
import { Following } from './following';
import type { RunReply } from './messages';

const step = (number: number) => ({ kind: 'step', step: number });

// What is posted until the answer, where the engine answers `advance` with these, one after the other.
async function posted(...answers: object[]): Promise<RunReply[]> {
  const all: RunReply[] = [];
  await new Promise<void>((resolve) => {
    const following = new Following(() => answers.shift(), (reply) => (all.push(reply), reply.kind !== 'news' && resolve()));
    following.start(7, 1);
  });
  return all;
}

test('a run is advanced until it is done, and all its lines are told in order', async () => {
  const all = await posted(
    { lines: [step(1)], step: 1, steps: 3, done: false },
    { lines: [step(2)], step: 2, steps: 3, done: false },
    { lines: [step(3)], step: 3, steps: 3, done: true },
  );
  expect(all.flatMap((reply) => (reply.kind === 'news' ? reply.news.lines : []))).toEqual([1, 2, 3].map(step));
  expect(all.at(-1)).toEqual({ id: 7, kind: 'done' });
});

test('the steps before one that fails are told, those of the same slice too, and then the error', async () => {
  const all = await posted(
    { lines: [step(1)], step: 1, steps: 9, done: false },
    { lines: [step(2)], step: 2, steps: 9, done: false },
    { error: 'the loss is not finite', lines: [step(3), step(4)], step: 4, steps: 9, done: false },
  );
  expect(all.flatMap((reply) => (reply.kind === 'news' ? reply.news.lines : []))).toEqual([1, 2, 3, 4].map(step));
  expect(all.at(-1)).toEqual({ id: 7, kind: 'failed', error: 'the loss is not finite', dead: false });
});
