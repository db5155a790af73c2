import { afterEach, expect, test, vi } from 'vitest';
import { keep, runFiles } from './keep';

afterEach(() => vi.unstubAllGlobals());

test('of the running modules those that this page uses are kept, with what they are made of, the first one first', () => {
  const files = ['run-more-threads.wasm', 'run-more.js', 'run-more.wasm', 'run-threads.js', 'run-threads.wasm', 'run-threads.worker.js', 'run.js', 'run.wasm'];
  expect(runFiles(files, false)).toEqual(['run.js', 'run.wasm', 'run-more.js', 'run-more.wasm']);
  expect(runFiles(files, true)).toEqual(['run-threads.js', 'run-threads.wasm', 'run-threads.worker.js', 'run-more-threads.wasm']);
});

test('what is to be kept is told to the service worker once it is there', async () => {
  const postMessage = vi.fn();
  let there!: (registration: object) => void;
  vi.stubGlobal('navigator', { serviceWorker: { ready: new Promise((resolve) => (there = resolve)) } });
  const told = keep(['http://localhost/a?v=1']);
  expect(postMessage).not.toHaveBeenCalled();
  there({ active: { postMessage } });
  await told;
  expect(postMessage).toHaveBeenCalledWith({ keep: ['http://localhost/a?v=1'] });
});

test('where there is no service worker nothing is kept, and nothing fails', async () => {
  vi.stubGlobal('navigator', {});
  await keep(['http://localhost/a?v=1']);
});
