import { beforeEach, expect, test, vi } from 'vitest';
import { runner } from '../../engine/client';
import { folderOf } from '../../parts/dropped';
import { writeTar } from '../../parts/tar';
import { put } from './given';

let written: string[];
let room: number; // in the engine
beforeEach(() => {
  written = [];
  room = 4 * 1024 ** 3;
  vi.spyOn(runner, 'ask').mockImplementation(async () => ({ json: { bytes: room + 1000, used: 1000 } as never, arrays: [] }));
  vi.spyOn(runner, 'write').mockImplementation(async (path) => void written.push(path.replace(/^\/given\/\d+\//, '')));
});
const file = (path: string, size = 3): File => {
  const one = new File(['x'.repeat(Math.min(size, 100))], path.split('/').at(-1)!);
  Object.defineProperty(one, 'webkitRelativePath', { value: path.includes('/') ? path : '' });
  Object.defineProperty(one, 'size', { value: size });
  return one;
};

test('the folder is that of the highest config.json, of checkpoints the last', () => {
  expect(folderOf(['m/onnx/config.json', 'm/config.json'])).toBe('m/');
  expect(folderOf(['r/checkpoints/step-000100/config.json', 'r/checkpoints/step-000300/config.json'])).toBe('r/checkpoints/step-000300/');
  expect(folderOf(['config.json'])).toBe('');
  expect(folderOf(['m/model.safetensors'])).toBeUndefined();
});

test('of a folder only what a model is read from is taken', async () => {
  const names = ['config.json', 'model.safetensors', 'tokenizer.json', 'optimizer.safetensors', 'pytorch_model.bin', '.gitattributes', 'onnx/model.safetensors'];
  const progress: number[] = [];
  const { name } = await put(names.map((one) => file(`tiny/${one}`)), (done) => progress.push(done));
  expect(written).toEqual(['config.json', 'model.safetensors', 'tokenizer.json']);
  expect(name).toBe('tiny');
  expect(progress).toEqual([3, 6, 9]);
});

test('a .tar of a run gives its last checkpoint', async () => {
  const bytes = new Uint8Array(1);
  const inside = ['config.json', 'model.safetensors'].flatMap((one) => ['100', '200'].map((step) => ({ path: `run/checkpoints/step-000${step}/${one}`, bytes })));
  const { name } = await put([new File([writeTar(inside) as Uint8Array<ArrayBuffer>], 'run.tar')], () => {});
  expect(written).toEqual(['config.json', 'model.safetensors']);
  expect(name).toBe('step-000200');
});

test('what is too large, or no model, is refused in one sentence before anything is read', async () => {
  const large = [file('m/config.json'), file('m/model.safetensors', 3 * 1024 ** 3)];
  await expect(put(large, () => {})).rejects.toThrow('these files have 3.00 GiB; a model on this page may have up to 2.00 GiB');
  await expect(put([file('m/model.safetensors')], () => {})).rejects.toThrow('no config.json is among these files');
  await expect(put([file('m/config.json')], () => {})).rejects.toThrow('no .safetensors lies beside m/config.json');
  expect(written).toEqual([]);
});

test('files that the engine has no room for are refused before anything is copied', async () => {
  room = 1024 ** 3;
  const large = [file('m/config.json'), file('m/model.safetensors', 1.5 * 1024 ** 3)];
  await expect(put(large, () => {})).rejects.toThrow('these files have 1.50 GiB; the engine in this browser has room for 1.00 GiB');
  expect(written).toEqual([]);
  room *= 2;
  await put(large, () => {});
  expect(written).toEqual(['config.json', 'model.safetensors']);
});
