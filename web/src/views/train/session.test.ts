import { beforeEach, expect, test, vi } from 'vitest';
import { readTar } from '../../parts/tar';
import { FakeEngine } from './fake';
import type { Choices } from './plan';
import { Session } from './session.svelte';
import type { Saved, Store } from './storage';

const choices: Choices = {
  model: 'mini-gpt', flags: [], tokenizer: 'train', steps: 200, batch: 8, lr: 1e-3, seed: 0, text: null,
};

class Memory implements Store {
  all = new Map<string, { about: Saved; tar: Uint8Array }>();
  list = async () => [...this.all.values()].map((one) => one.about);
  put = async (about: Saved, tar: Uint8Array) => void this.all.set(about.name, { about, tar });
  get = async (name: string) => this.all.get(name)!.tar;
  remove = async (name: string) => void this.all.delete(name);
}

let engine: FakeEngine;
let store: Memory;
let session: Session;
beforeEach(() => {
  engine = new FakeEngine();
  store = new Memory();
  session = new Session(engine, async () => store);
});
const frames = () => new Promise((resolve) => setTimeout(resolve, 5));

test('a run ends by itself at its last step', async () => {
  await session.start(choices, 'mini-gpt', null);
  expect(session.state).toBe('done');
  expect(session.current!.history.length).toBe(200);
  expect(session.current!.step).toBe(200);
  expect(session.current!.validation).toBeCloseTo(session.current!.history.end!.validation!);
});

test('it pauses, keeps what it has, and continues to the end', async () => {
  engine.pace = 1;
  const started = session.start(choices, 'mini-gpt', null);
  while (session.state !== 'running' || (session.current?.step ?? 0) < 40) await frames();
  await session.pause();
  await started;
  expect(session.state).toBe('paused');
  const { step } = session.current!;
  expect(step).toBeLessThan(200);
  await session.go();
  expect(session.state).toBe('done');
  expect([...session.current!.history.column('step')]).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
});

test('reset forgets the run, and the same seed gives the same losses again', async () => {
  await session.start(choices, 'mini-gpt', null);
  const first = [...session.current!.history.column('loss')];
  await session.reset();
  expect(session.state).toBe('idle');
  expect(session.current).toBeNull();
  expect(session.told).toContain('seed 0');
  expect([...engine.files.keys()].filter((path) => path.startsWith('/runs/'))).toEqual([]);
  await session.start(choices, 'mini-gpt', null);
  expect([...session.current!.history.column('loss')]).toEqual(first);
});

test('a second run is named by what changed, and the first stays to compare with', async () => {
  await session.start(choices, 'mini-gpt', null);
  await session.start({ ...choices, flags: ['--layers', '4'] }, 'mini-gpt', null);
  expect(session.current!.name).toBe('layers 2→4');
  expect(session.before!.name).toBe('mini-gpt');
  expect(session.before!.history.length).toBe(200);
});

test('what the engine refuses is said in its words and changes nothing', async () => {
  await session.start(choices, 'mini-gpt', null);
  engine.refuse = 'texts/a.txt: is too short';
  await session.start({ ...choices, text: 'a.txt' }, 'mini-gpt', { name: 'a.txt', bytes: new Uint8Array(3) });
  expect(session.error).toBe('texts/a.txt: is too short');
  expect(session.state).toBe('done');
  expect(session.current!.history.length).toBe(200);
});

test('a kept run is continued where it stood', async () => {
  engine.pace = 1;
  const started = session.start(choices, 'mini-gpt', null);
  while ((session.current?.step ?? 0) < 40) await frames();
  await session.pause();
  await started;
  const { step } = session.current!;
  await session.keep('mine');
  expect(session.saved.map((one) => [one.name, one.step, one.steps])).toContainEqual(['mine', step, 200]);

  const reloaded = new Session(new FakeEngine(), async () => store);
  await reloaded.listSaved();
  await reloaded.openSaved('mine', readTar);
  expect(reloaded.error).toBe('');
  expect(reloaded.state).toBe('paused');
  expect(reloaded.current!.step).toBe(step);
  await reloaded.go();
  expect(reloaded.current!.step).toBe(200);
});

test('the run that goes on is saved every half minute, however seldom it is evaluated', async () => {
  engine.stepsOfNews = 1;
  const now = vi.spyOn(performance, 'now').mockImplementation(() => 1000 * (session.current?.step ?? 0)); // a second a step
  const put = vi.spyOn(store, 'put');
  await session.start(choices, 'mini-gpt', null);
  now.mockRestore();
  expect(put.mock.calls.map(([about]) => about.step)).toEqual([31, 62, 93, 124, 155, 186, 200]);
});

test('a file that holds no run is refused in a sentence', async () => {
  await session.open(async () => [{ path: 'photo.jpg', bytes: new Uint8Array(3) }], 'photo.jpg');
  expect(session.error).toContain('photo.jpg: has no checkpoint');
  expect(session.state).toBe('idle');
});

test('the rate is given to the run that goes on', async () => {
  await session.start(choices, 'mini-gpt', null);
  await session.setRate(3e-4);
  expect(engine.asked.at(-1)).toEqual({ ask: 'rate', run: session.current!.handle, lr: 3e-4 });
});

test('a run that is done goes on to more steps, as one run', async () => {
  await session.start(choices, 'mini-gpt', null);
  await session.extend(300);
  expect(session.error).toBe('');
  expect(session.state).toBe('done');
  expect(session.current!.steps).toBe(300);
  expect([...session.current!.history.column('step')]).toEqual(Array.from({ length: 300 }, (_, i) => i + 1));
  expect(session.older).toEqual([]);
});

test('where the engine stops, the curves stay and the run can be opened again', async () => {
  engine.pace = 1;
  const started = session.start(choices, 'mini-gpt', null);
  while ((session.current?.step ?? 0) < 40) await frames();
  await session.keep('mine');
  session.lost();
  await engine.halt();
  await started;
  expect(session.state).toBe('idle');
  expect(session.current).toBeNull();
  expect(session.error).toContain('has stopped');
  expect(session.older[0]!.history.length).toBeGreaterThanOrEqual(40);
  await session.openSaved('mine', readTar);
  expect(session.state).toBe('paused');
  expect(session.current!.step).toBeGreaterThanOrEqual(40);
});

test('what a training reached of the limit is what the next one is expected to', async () => {
  await session.probe(); // 20 GFLOP/s
  expect(session.share).toBeUndefined();
  await session.start({ ...choices, steps: 10 }, 'mini-gpt', null);
  expect(session.share).toBeUndefined(); // too few steps
  await session.start(choices, 'mini-gpt', null);
  // A step has 50331648 + 2 · 78741504 = 207814656 FLOPs in 12.5 ms: 16.6 GFLOP/s.
  expect(session.share).toBeCloseTo(207814656 / 0.0125 / 20e9, 6);
});
