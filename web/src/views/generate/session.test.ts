import { beforeEach, expect, test, vi } from 'vitest';

vi.hoisted(() => {
  vi.stubGlobal('location', { search: '', hash: '' });
  vi.stubGlobal('document', { hidden: true });
});
import { runner } from '../../engine/client';
import { commands } from './command';
import { Session, settings } from './session.svelte';

// An engine with four tokens, of which u < 0.5 draws 0 and the rest 1; it holds four tokens. Token 3 ends a text.
let asked: { ask: string }[];
let length: number;
let hang: Promise<void> | undefined; // what the next distribution waits for
const piece = (id: number) => ({ id, text: 'abc§'[id]!, kind: id === 3 ? 'special' : 'word' });
const shown = (id: number, probability: number) => ({ ...piece(id), probability, removed: null });
beforeEach(() => {
  asked = [];
  length = 0;
  hang = undefined;
  settings.prompt.value = 'ab';
  settings.temperature.value = '1';
  vi.spyOn(runner, 'ask').mockImplementation(async (request: object) => {
    const question = request as { ask: string; id: number; length: number; u?: number; ids?: number[] };
    asked.push(question);
    const step = (ids: number[]) => ({ length, capacity: 4, pieces: ids.map(piece), seconds: 0.001, flops: 100, cache_bytes: 8 * length });
    const answers: Record<string, () => object> = {
      model: () => ({ model: 7, tokenizer: 8, vocab: 4, capacity: 4, cache_bytes: 32, end_of_text: [3], notes: [] }),
      prefill: () => ((length = question.ids ? question.ids.length : 2), step([0, 1])),
      append: () => (length++, step([question.id])),
      rewind: () => ((length = question.length), step([])),
      distribution: () => {
        const u = question.u ?? 0.25;
        return { tokens: [shown(0, 0.5), shown(1, 0.5), shown(3, 0)], draw: { ...shown(u < 0.5 ? 0 : 1, 0.5), u }, kept: 2 };
      },
      beams: () => ({ nodes: [], best: [], seconds: 0 }),
      forget: () => ({}),
    };
    if (question.ask === 'distribution') await hang;
    return { json: answers[question.ask]!() as never, arrays: [] };
  });
});
const kinds = () => asked.map(({ ask }) => ask);
const opened = async () => {
  const session = new Session();
  await session.open({ run: 1 });
  return session;
};

test('a model begins with the prompt, and shows what may come next', async () => {
  const session = await opened();
  expect(kinds()).toEqual(['model', 'prefill', 'distribution']);
  expect(session.cache).toEqual({ length: 2, capacity: 4, bytes: 16 });
  expect(session.next?.draw.id).toBe(0);
});

test('a model that cannot be opened is told, and the one before stays', async () => {
  const session = await opened();
  vi.mocked(runner.ask).mockRejectedValueOnce(new Error('config.json: is no JSON'));
  await expect(session.open({ path: '/given/1' })).rejects.toThrow('config.json: is no JSON');
  expect(session.model?.model).toBe(7);
  await session.take();
  expect(session.taken).toHaveLength(1);
});

test('another model begins anew, and the one before is forgotten', async () => {
  const session = await opened();
  await session.take();
  await session.open({ run: 2 });
  expect(session.taken).toEqual([]);
  expect(asked.filter(({ ask }) => ask === 'forget').map((one) => (one as unknown as { handle: number }).handle)).toEqual([7, 8]);
});

test('a step takes the token that is drawn, with its probability and its cost', async () => {
  const session = await opened();
  await session.take();
  expect(session.taken).toMatchObject([{ piece: { id: 0 }, probability: 0.5, byHand: false }]);
  expect(session.costs).toEqual([{ tokens: 2, seconds: 0.001, flops: 100 }, { tokens: 1, seconds: 0.001, flops: 100 }]);
  expect(session.cache.bytes).toBe(24);
});

test('a token that is picked, or drawn by a u that was moved, is by hand; u is free again after it', async () => {
  const session = await opened();
  await session.take(1);
  session.u = 0.75;
  session.renew({}, 0.75);
  await vi.waitFor(() => expect(session.next?.draw.id).toBe(1));
  await session.take();
  expect(session.taken.map(({ piece, byHand }) => [piece.id, byHand])).toEqual([[1, true], [1, true]]);
  expect(session.repeatable).toBe(false);
  expect(session.u).toBeUndefined();
});

test('a distribution that comes after the text went on is not shown', async () => {
  const session = await opened();
  let release = () => {};
  hang = new Promise((resolve) => (release = resolve));
  session.renew({ temperature: 2 }, 0.9);
  hang = undefined;
  await session.take(0);
  const now = session.next;
  release();
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(session.next).toBe(now);
});

test('going back leaves the tokens before it, and their costs', async () => {
  const session = await opened();
  await session.take();
  await session.take();
  await session.back(1);
  expect(asked.find(({ ask }) => ask === 'rewind')).toMatchObject({ length: 3 });
  expect(session.taken).toHaveLength(1);
  expect(session.costs).toHaveLength(2);
});

test('running ends where the cache is full; sliding runs the newer half anew and goes on', async () => {
  const session = await opened();
  await session.run();
  expect(session.taken).toHaveLength(2);
  expect(session.ended).toBe('full');
  await session.slide();
  expect(asked.findLast(({ ask }) => ask === 'prefill')).toMatchObject({ ids: [0, 0] });
  expect(session.prompt.map(({ id }) => id)).toEqual([0, 1, 0, 0]); // the whole text is still shown
  expect(session.ended).toBe('');
  expect(session.repeatable).toBe(false);
});

test('running ends behind the token that ends a text', async () => {
  const session = await opened();
  await session.take(3);
  expect(session.ended).toBe('end');
});

test('stop ends a run behind the token that is on its way', async () => {
  const session = await opened();
  const run = session.run();
  session.stop();
  await run;
  expect(session.taken.length).toBeLessThan(2);
});

test('what goes wrong is told in the engine’s sentence, and the next thing can be done', async () => {
  const session = await opened();
  vi.mocked(runner.ask).mockRejectedValueOnce(new Error('the prompt has 9 tokens; expected at most 4'));
  await session.begin();
  expect(session.failed).toBe('the prompt has 9 tokens; expected at most 4');
  await session.begin();
  expect(session.failed).toBe('');
});

test('the command says what was changed and nothing else', async () => {
  const session = await opened();
  const source = { opened: 'folder', folder: 'model' } as const;
  settings.temperature.value = '0.8';
  expect(commands(source, session)).toEqual([['generate', './model', 'ab', '--tokens', '64', '--temperature', '0.8']]);
  await session.take();
  expect(commands(source, session)[0]).toContain('1');
  expect(commands({ opened: 'tiny', folder: 'tiny' }, session)[0]!.slice(0, 2)).toEqual(['train', 'mini-gpt']);
});
