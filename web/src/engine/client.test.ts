import { expect, test } from 'vitest';
import { latestWins, sentence } from './client';

const turn = () => new Promise((resolve) => setTimeout(resolve));

test('of what is asked while an answer is on its way only the newest is asked', async () => {
  const asked: number[] = [];
  const answered: number[] = [];
  let finish = (_: number) => {};
  const ask = latestWins<number, number>(
    (n) => {
      asked.push(n);
      return new Promise((resolve) => (finish = resolve));
    },
    (result) => answered.push(result),
  );
  ask(1);
  ask(2);
  ask(3);
  expect(asked).toEqual([1]);
  finish(10);
  await turn();
  expect(asked).toEqual([1, 3]);
  finish(30);
  await turn();
  expect(answered).toEqual([10, 30]);
});

test('a failure is told, and the next question is still asked', async () => {
  const told: string[] = [];
  const ask = latestWins<string, string>(
    (word) => (word === 'bad' ? Promise.reject(new Error('no')) : Promise.resolve(word)),
    (result) => told.push(result),
    (error) => told.push(error.message),
  );
  ask('bad');
  ask('good');
  await turn();
  expect(told).toEqual(['no', 'good']);
});

test('the name of the program is left out of its sentences', () => {
  expect(sentence('reckon: no model called gtp2\n')).toBe('no model called gtp2');
  expect(sentence('reckon: note: a head is left out\nreckon: /given/3/config.json: no layers\n')).toBe('config.json: no layers');
});
