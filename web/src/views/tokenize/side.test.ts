import { beforeEach, expect, test, vi } from 'vitest';

vi.hoisted(() => {
  vi.stubGlobal('location', { search: '', hash: '' });
  vi.stubGlobal('document', { baseURI: 'http://localhost/page/' });
});
vi.mock('./versions', () => ({ versions: { gpt2: '0a1b', cl100k_base: '2c3d' } })); // what this page was built with
import { runner } from '../../engine/client';
import { commands } from './command';
import { Side } from './side.svelte';

// An engine that cuts text into its bytes, and remembers what it was asked.
let asked: Record<string, unknown>[];
let files: Map<string, Uint8Array>;
beforeEach(() => {
  asked = [];
  files = new Map();
  let handles = 0;
  vi.spyOn(runner, 'write').mockImplementation(async (path, bytes) => void files.set(path, bytes));
  vi.spyOn(runner, 'remove').mockImplementation(async (path) => void files.delete(path));
  vi.spyOn(runner, 'ask').mockImplementation(async (request: object) => {
    const question = request as Record<string, unknown>;
    asked.push(question);
    const text = question.text as string;
    const answers: Record<string, () => object> = {
      tokenizer: () => ({ tokenizer: ++handles, vocab: 256, special: 0 }),
      train_tokenizer: () => ({ tokenizer: ++handles, vocab: question.vocab, merges: (question.vocab as number) - 256, text_bytes: 9, text_tokens: 5 }),
      encode: () => ({ tokens: text.length, bytes: text.length, ids: [], pieces: [], decoded: text, exact: true }),
      forget: () => ({}),
    };
    return { json: answers[question.ask as string]!() as never, arrays: [] };
  });
});
const settled = () => new Promise((resolve) => setTimeout(resolve, 10));
const kinds = () => asked.map(({ ask }) => ask);

test('a tokenizer is opened once, however much is typed', async () => {
  const side = new Side('a1', 'bytes');
  side.ask('a');
  await settled();
  side.ask('ab');
  await settled();
  expect(kinds()).toEqual(['tokenizer', 'encode', 'encode']);
  expect(side.encoded?.tokens).toBe(2);
});

test('of what is typed while an answer is on its way only the newest is asked for', async () => {
  const side = new Side('a2', 'bytes');
  for (const text of ['a', 'ab', 'abc', 'abcd']) side.ask(text);
  await settled();
  expect(asked.filter(({ ask }) => ask === 'encode').map(({ text }) => text)).toEqual(['a', 'abcd']);
});

test('a published vocabulary is fetched from beside the page, and handed over by its path', async () => {
  vi.stubGlobal('fetch', async (address: string) => {
    expect(address).toBe('http://localhost/page/tokenizers/gpt2.tiktoken?v=0a1b');
    return new Response('IQ== 0\n');
  });
  const side = new Side('a3', 'gpt2');
  side.ask('a');
  await settled();
  expect(asked[0]).toEqual({ ask: 'tokenizer', name: '/tokenizers/gpt2.tiktoken' });
  expect(files.get('/tokenizers/gpt2.tiktoken')).toEqual(new TextEncoder().encode('IQ== 0\n'));
});

test('a vocabulary that the server has not is told in one sentence, also where the server answers with a page', async () => {
  for (const reply of [new Response('', { status: 404 }), new Response('<html>', { headers: { 'content-type': 'text/html' } })]) {
    vi.stubGlobal('fetch', async () => reply);
    const side = new Side('a4', 'cl100k_base');
    side.ask('a');
    await settled();
    expect(side.failed).toMatch(/^the vocabulary of cl100k_base is not on this server/);
    expect(side.encoded).toBeUndefined();
  }
});

test('a vocabulary that the page was built without is not asked for, and one without network is told of', async () => {
  const fetched = vi.fn(async () => Promise.reject(new TypeError('Failed to fetch')));
  vi.stubGlobal('fetch', fetched);
  const side = new Side('a10', 'o200k_base');
  side.ask('a');
  await settled();
  expect(side.failed).toMatch(/^the vocabulary of o200k_base is not on this server/);
  expect(fetched).not.toHaveBeenCalled();
  side.choice.value = 'gpt2';
  side.ask('a');
  await settled();
  expect(side.failed).toMatch(/^the vocabulary of gpt2 could not be fetched/);
});

test('an own tokenizer is trained on the box, again when the text or its size changes, and the older one is forgotten', async () => {
  const side = new Side('a5', 'own');
  side.source.value = 'text';
  side.ask('abab');
  await settled();
  expect(asked[0]).toMatchObject({ ask: 'train_tokenizer', vocab: 512, text: ['/tokenizers/text-1.txt'] });
  side.vocab.value = '300';
  side.ask('abab');
  await settled();
  expect(kinds()).toEqual(['train_tokenizer', 'encode', 'forget', 'train_tokenizer', 'encode']);
  expect(side.encoded?.opened.trained?.merges).toBe(44);
  expect(files.size).toBe(0); // its text does not stay behind
});

test('an own tokenizer from the stories is not trained again while one types', async () => {
  const side = new Side('a6', 'own');
  side.ask('a');
  await settled();
  side.ask('ab');
  await settled();
  expect(kinds()).toEqual(['train_tokenizer', 'encode', 'encode']);
  expect(asked[0]).toEqual({ ask: 'train_tokenizer', vocab: 512 });
});

test('a file is asked for before anything is opened', async () => {
  const side = new Side('a7', 'file');
  side.ask('a');
  await settled();
  expect(asked).toEqual([]);
  expect(side.missing).toMatch(/^Drop a tokenizer.json/);
});

test('the engine starting anew opens the tokenizer anew', async () => {
  const side = new Side('a8', 'bytes');
  side.ask('a');
  await settled();
  runner.onstop.forEach((hear) => hear());
  side.ask('ab');
  await settled();
  expect(kinds()).toEqual(['tokenizer', 'encode', 'tokenizer', 'encode']);
});

test('the commands are those that give the same tokens in a terminal', () => {
  const side = new Side('a9', 'o200k_base');
  expect(commands(side, 'Hello')).toEqual([['tokenize', '--tokenizer', 'o200k_base', '--show', 'Hello']]);
  expect(commands(side, 'x'.repeat(301))).toEqual([['tokenize', '--tokenizer', 'o200k_base', '--show', '--file', 'text.txt']]);
  side.choice.value = 'own';
  side.source.value = 'text';
  expect(commands(side, 'a')[0]).toEqual(['tokenizer', 'train', 'text.txt', '--vocab', '512', '--out', 'mine']);
  side.source.value = 'stories';
  expect(commands(side, 'a')).toEqual([
    ['train', 'mini-gpt', '--vocab', '512', '--steps', '1', '--out', 'mine'],
    ['tokenize', '--tokenizer', './mine', '--show', 'a'],
  ]);
});
