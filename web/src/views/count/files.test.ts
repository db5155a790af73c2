import { expect, test } from 'vitest';
import { modelFiles, readModelFile } from './files';

const safetensors = (length: bigint, rest: string) => {
  const start = new DataView(new ArrayBuffer(8));
  start.setBigUint64(0, length, true);
  return new Blob([start.buffer, rest]);
};

test('of a safetensors file only the header is read, and its size is told', async () => {
  const file = await readModelFile('model.safetensors', safetensors(2n, '{}' + 'x'.repeat(1000)));
  expect(new TextDecoder().decode(file.bytes.slice(8))).toBe('{}');
  expect(file.size).toBe(1010);
});

test('a header that claims more than the file has is read as far as it goes: the engine says what is wrong', async () => {
  const file = await readModelFile('model.safetensors', safetensors(2n ** 63n, '{}'));
  expect(file.bytes.length).toBe(10);
  expect((await readModelFile('model.safetensors', new Blob(['abc']))).bytes.length).toBe(3);
});

test('a config.json is read whole', async () => {
  const file = await readModelFile('config.json', new Blob(['{"model_type": "gpt2"}']));
  expect(file.text).toBe('{"model_type": "gpt2"}');
  // An index of shards is JSON, too, but no config.
  expect((await readModelFile('model.safetensors.index.json', new Blob(['{}']))).text).toBeUndefined();
});

test('a large file that is neither is refused with a sentence', async () => {
  const large = { size: 5e9 } as Blob;
  await expect(readModelFile('movie.mp4', large)).rejects.toThrow('movie.mp4 has 5,000,000,000 bytes; expected a config.json or a .safetensors file');
});

const at = (path: string): File => {
  const file = new File([], path.split('/').at(-1)!);
  if (path.includes('/')) Object.defineProperty(file, 'webkitRelativePath', { value: path });
  return file;
};
const kept = (...paths: string[]) => modelFiles(paths.map(at)).map((file) => file.webkitRelativePath || file.name);

test('of a folder of Hugging Face the config.json, the weights and their index are taken', () => {
  const shards = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'];
  const others = ['README.md', '.gitattributes', 'generation_config.json', 'tokenizer.json', 'pytorch_model.bin', 'vocab.json'];
  const taken = ['config.json', 'model.safetensors.index.json', ...shards];
  expect(kept(...others, ...shards, 'config.json', 'model.safetensors.index.json')).toEqual(taken);
  const folder = (names: string[]) => names.map((name) => `llama/${name}`);
  expect(kept(...folder(others), ...folder(taken), 'llama/onnx/config.json', 'llama/original/model.safetensors')).toEqual(folder(taken));
});

test('a config.json of another name is taken beside weights, and what is no model is left to its sentence', () => {
  expect(kept('mine.json', 'model.safetensors', 'notes.txt')).toEqual(['mine.json', 'model.safetensors']);
  expect(kept('config.txt')).toEqual(['config.txt']);
});
