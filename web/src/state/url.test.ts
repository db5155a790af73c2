import { expect, test, vi } from 'vitest';
import { readAddress, throttled, writeAddress } from './url';

test('an address holds the view, a version and what differs from the defaults', () => {
  const values = new Map([['model', 'llama-3-8b'], ['layers', '24'], ['tokenize.text', 'a & b']]);
  const address = writeAddress({ view: 'train', values });
  expect(address).toBe('?v=1&model=llama-3-8b&layers=24&tokenize.text=a+%26+b#train');
  expect(readAddress(address.split('#')[0]!, '#train')).toEqual({ view: 'train', values });
});

test('where nothing differs, nothing is in the address', () => {
  expect(writeAddress({ view: 'count', values: new Map() })).toBe('');
});

test('an unknown view is the first one, and a link of another version gives the defaults', () => {
  expect(readAddress('?v=2&layers=24', '#nothing')).toEqual({ view: 'count', values: new Map() });
});

test('addresses are written at most every half second, the newest last', () => {
  vi.useFakeTimers();
  const written: string[] = [];
  const write = throttled((address) => written.push(address));
  for (let i = 0; i < 100; ++i) {
    write(String(i));
    vi.advanceTimersByTime(20);
  }
  vi.advanceTimersByTime(500);
  expect(written.length).toBeLessThanOrEqual(5);
  expect(written.at(-1)).toBe('99');
  vi.useRealTimers();
});
