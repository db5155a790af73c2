import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readTar, writeTar } from './tar';

const folder = mkdtempSync(join(tmpdir(), 'reckon-tar-'));
afterAll(() => rmSync(folder, { recursive: true }));
const bytes = (text: string) => new TextEncoder().encode(text);
const long = `${'deep-folder-of-a-run/'.repeat(8)}step-000100/model.safetensors`; // 196 bytes

test('tar xf unpacks what is written', () => {
  const every = Uint8Array.from({ length: 1300 }, (_, i) => i % 256);
  writeFileSync(join(folder, 'run.tar'), writeTar([
    { path: 'run/metrics.jsonl', bytes: bytes('{"kind":"run"}\n') },
    { path: 'run/empty', bytes: new Uint8Array(0) },
    { path: long, bytes: every },
  ]));
  execFileSync('tar', ['xf', 'run.tar'], { cwd: folder });
  expect(readFileSync(join(folder, 'run/metrics.jsonl'), 'utf8')).toBe('{"kind":"run"}\n');
  expect(readFileSync(join(folder, 'run/empty')).length).toBe(0);
  expect(new Uint8Array(readFileSync(join(folder, long)))).toEqual(every);
});

test.each(['gnu', 'ustar', 'pax'])('what tar writes in the form %s is read', (form) => {
  const longest = `${'x'.repeat(90)}/${form === 'ustar' ? 'y' : 'y'.repeat(180)}`;
  mkdirSync(join(folder, form, 'checkpoints'), { recursive: true });
  mkdirSync(join(folder, form, longest.split('/')[0]!), { recursive: true });
  writeFileSync(join(folder, form, 'checkpoints/config.json'), '{}');
  writeFileSync(join(folder, form, longest), 'long');
  execFileSync('tar', [`--format=${form}`, '-cf', `${form}.tar`, '-C', form, '.'], { cwd: folder });
  const files = readTar(new Uint8Array(readFileSync(join(folder, `${form}.tar`))));
  const found = Object.fromEntries(files.map((file) => [file.path, new TextDecoder().decode(file.bytes)]));
  expect(found).toEqual({ 'checkpoints/config.json': '{}', [longest]: 'long' });
});

test('what is written is read back', () => {
  const files = [{ path: long, bytes: bytes('a') }, { path: 'b', bytes: bytes('') }];
  expect(readTar(writeTar(files))).toEqual(files);
});

test('a hostile or broken file gets a sentence', () => {
  expect(() => readTar(bytes('PK not a tar'), 'a.zip')).toThrow('a.zip: is no .tar');
  expect(() => readTar(writeTar([{ path: '../../etc/passwd', bytes: bytes('x') }]))).toThrow('inside the folder');
  expect(() => readTar(writeTar([{ path: '/etc/passwd', bytes: bytes('x') }]))).toThrow('inside the folder');
  const whole = writeTar([{ path: 'a', bytes: new Uint8Array(5000) }]);
  expect(() => readTar(whole.subarray(0, 3000))).toThrow('ends in the middle of a');
  const damaged = writeTar([{ path: 'a', bytes: bytes('x') }, { path: 'b', bytes: bytes('x') }]);
  damaged[1024 + 3] = 7;
  expect(() => readTar(damaged)).toThrow('broken at byte 1024');
  expect(() => writeTar([{ path: 'x'.repeat(256), bytes: bytes('') }])).toThrow('too long');
});
