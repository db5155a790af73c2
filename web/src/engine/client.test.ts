import { afterEach, expect, test, vi } from 'vitest';
import { latestWins, Line, sentence } from './client';

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

// A worker that answers what it is told to.
class FakeWorker {
  onmessage = (_: { data: unknown }) => {};
  onerror = (_: { message: string; preventDefault(): void }) => {};
  constructor(readonly answer: (request: { id: number; way?: number }, worker: FakeWorker) => object | null) {}
  postMessage(request: { id: number }): void {
    setTimeout(() => {
      const reply = this.answer(request, this);
      if (reply) this.onmessage({ data: { id: request.id, ...reply } });
    });
  }
  terminate(): void {}
}
function lineOf(ways: number, answer: FakeWorker['answer']) {
  vi.stubGlobal('navigator', {}); // no locks
  const hear = { started: vi.fn(), died: vi.fn() };
  const make = vi.fn(() => new FakeWorker(answer) as unknown as Worker);
  const line = new Line<{ id: number; kind: string; way?: number }, { id: number; kind: string }>(make, (_, way) => ({ kind: 'open', way }), hear, ways);
  return { line, hear, make };
}
afterEach(() => vi.unstubAllGlobals());
const die = (worker: FakeWorker) => (worker.onerror({ message: 'no thread', preventDefault: () => {} }), null);

test.each([
  ['refuses', () => ({ kind: 'failed', error: 'no thread', dead: false })],
  ['dies', (_: object, worker: FakeWorker) => die(worker)],
] as const)('an engine that %s at its start is started in the next way, which is kept', async (_how, fails) => {
  const { line, hear, make } = lineOf(2, (request, worker) => (request.way === 0 ? fails(request, worker) : { kind: 'done', way: request.way }));
  const [one, other] = await Promise.all([line.open(), line.open()]);
  expect(one).toMatchObject({ way: 1 });
  expect(other).toBe(one);
  expect(make).toHaveBeenCalledTimes(2);
  line.stop('stopped');
  expect(await line.open()).toMatchObject({ way: 1 });
  expect(make).toHaveBeenCalledTimes(3);
  expect(hear.started).toHaveBeenCalledTimes(2);
  expect(hear.died).toHaveBeenCalledTimes(1); // nothing was lost with the one that never started
});

test('where no way leads to an engine its error is told, and the next question begins with the first way again', async () => {
  let there = false;
  const ways: unknown[] = [];
  const { line } = lineOf(2, ({ way }) => (ways.push(way), there ? { kind: 'done' } : { kind: 'failed', error: `not by ${way}`, dead: false }));
  await expect(line.ask({ kind: 'ask' })).rejects.toThrow('not by 1');
  there = true;
  await line.open();
  expect(ways).toEqual([0, 1, 0]);
});
