import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browse, digits, parametersOf, reckon, refusal, settled } from './browse';

const open = browse();
const presets = (JSON.parse(reckon(['models', '--format', 'json'])) as { models: { name: string }[] }).models.map((one) => one.name);

test('every preset has the parameters that reckon counts', async () => {
  const page = await open();
  await page.locator('select option').nth(presets.length - 1).waitFor({ state: 'attached' });
  for (const name of presets) {
    await page.getByLabel('All models').selectOption(name);
    const total = digits(reckon(['count', name, '--format', 'json']), 'total');
    await expect.poll(() => parametersOf(page), { message: name, timeout: 10_000, interval: 20 }).toBe(total);
  }
});

test('training FLOPs beyond a double keep every digit', async () => {
  const page = await open('?v=1&model=llama-3.1-405b&phase=train&by=flops');
  const matmul = digits(reckon(['count', 'llama-3.1-405b', '--phase', 'train', '--format', 'json']), 'matmul');
  await page.getByText('the same as a table').click();
  const sum = async () => {
    const cells = await page.locator('figure.picture table tbody td:nth-child(2)').allInnerTexts();
    return cells.reduce((all, cell) => all + BigInt(cell.replaceAll(',', '')), 0n).toString();
  };
  await expect.poll(sum, { timeout: 10_000 }).toBe(matmul.replaceAll(',', ''));
  expect(Number(matmul.replaceAll(',', ''))).toBeGreaterThan(Number.MAX_SAFE_INTEGER);
});

test('the command beside a figure gives it', async () => {
  const page = await open('?v=1&model=gpt2-xl&layers=50');
  const line = page.locator('.inspector code[aria-label="Command for the terminal"]').last();
  await expect.poll(() => line.innerText(), { timeout: 10_000 }).toMatch(/^reckon count gpt2-xl --layers 50/);
  const words = (await line.innerText()).split(' ').slice(1);
  expect(await parametersOf(page)).toBe(digits(reckon([...words, '--format', 'json']), 'total'));
});

// Milliseconds from each event to the new figure, and how many tasks took more than 50 of them.
async function drag(page: Page): Promise<{ latencies: number[]; long: number }> {
  return page.getByRole('slider', { name: 'Layers' }).evaluate(async (slider: HTMLInputElement) => {
    let long = 0;
    const watch = new PerformanceObserver((list) => (long += list.getEntries().length));
    watch.observe({ type: 'longtask' });
    const figure = document.querySelector('[data-figure="parameters"]')!.closest('.card')!;
    const latencies: number[] = [];
    for (let i = 0; i < 60; ++i) {
      const began = performance.now();
      const changed = new Promise<void>((resolve) => {
        const seen = new MutationObserver(() => (seen.disconnect(), resolve()));
        seen.observe(figure, { subtree: true, characterData: true, childList: true });
      });
      slider.value = String(1 + (i % 20));
      slider.dispatchEvent(new Event('input', { bubbles: true }));
      await changed;
      latencies.push(performance.now() - began);
      await new Promise(requestAnimationFrame);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
    watch.disconnect();
    return { latencies: latencies.sort((a, b) => a - b), long };
  });
}

test('a slider moves the figures within a frame, and no event takes long', { retry: 3 }, async () => {
  const page = await open();
  await page.getByRole('slider', { name: 'Layers' }).focus();
  await drag(page); // the engine is there
  const { latencies, long } = await drag(page);
  expect(latencies[30]!).toBeLessThan(1000 / 60);
  expect(long).toBe(0);
});

test('the picture changes in the same frame as the figures', async () => {
  const page = await open();
  await settled(page, 'count');
  const changes = await page.getByRole('slider', { name: 'Layers' }).evaluate(async (slider: HTMLInputElement) => {
    const figure = document.querySelector('[data-figure="parameters"]')!.closest('.card')!;
    const blocks = () => [...document.querySelectorAll('figure.picture svg [role="option"]')].map((one) => one.outerHTML).join();
    const both: boolean[] = [];
    for (const layers of ['3', '9', '15']) {
      const before = [figure.outerHTML, blocks()];
      slider.value = layers;
      slider.dispatchEvent(new Event('input', { bubbles: true }));
      while (figure.outerHTML === before[0]) await new Promise(requestAnimationFrame); // before that frame is drawn
      both.push(blocks() !== before[1]);
    }
    return both;
  });
  expect(changes).toEqual([true, true, true]);
});

test('a link gives the same page again', async () => {
  const page = await open();
  await page.getByLabel('All models').selectOption('gpt2-large');
  await expect.poll(() => parametersOf(page)).toBe('774,030,080');
  await page.getByRole('slider', { name: 'Layers' }).focus();
  for (let i = 0; i < 3; ++i) await page.keyboard.press('ArrowRight');
  await page.getByRole('radio', { name: 'FLOPs' }).check();
  await expect.poll(() => page.url(), { timeout: 3000 }).toMatch(/layers=\d\d&model=gpt2-large&by=flops/);
  const figure = await parametersOf(page);
  const again = await open(page.url().replace(/^[^?]*/, ''));
  await expect.poll(() => parametersOf(again)).toBe(figure);
  expect(await again.getByRole('radio', { name: 'FLOPs' }).isChecked()).toBe(true);
  expect(await parametersOf(again)).not.toBe(digits(reckon(['count', 'gpt2-large', '--format', 'json']), 'total'));
});

test('Back undoes a step to another view', async () => {
  const page = await open('?v=1&model=gpt2-xl');
  await page.getByRole('link', { name: 'Tour' }).click();
  await page.getByRole('button', { name: 'Show me' }).waitFor();
  await page.goBack();
  expect(await page.getByRole('heading', { level: 1, name: 'gpt2-xl' }).isVisible()).toBe(true);
});

const tiny = fileURLToPath(new URL('../../tests/data/tiny', import.meta.url));
const header = (json: string, size = json.length) => {
  const buffer = Buffer.alloc(8 + json.length);
  buffer.writeBigUInt64LE(BigInt(size));
  buffer.write(json, 8);
  return buffer;
};
const hostile: [string, string, Buffer][] = [
  ['a truncated .safetensors', 'model.safetensors', header('{"a":{"dtype":"F32","shape":[1000],"data_offsets":[0,4000]}}')],
  ['a header that is longer than the file', 'model.safetensors', header('{}', 2 ** 40)],
  ['a header of nonsense', 'model.safetensors', header('}{')],
  ['an empty .safetensors', 'model.safetensors', Buffer.alloc(0)],
  ['a broken config.json', 'config.json', Buffer.from('{"model_type": "llama", ')],
  ['a config.json with sizes of nonsense', 'config.json', Buffer.from('{"model_type":"llama","hidden_size":-4,"num_hidden_layers":1e30}')],
  ['brackets without end', 'config.json', Buffer.from('['.repeat(1_000_000))],
  ['bytes that are no text', 'config.json', Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 37) % 256))],
];
// Weights lie beside a config.json that is right.
test.each(hostile)('%s is refused with the sentence of the program', async (_what, name, buffer) => {
  const files = [{ name, mimeType: 'application/octet-stream', buffer }];
  if (name !== 'config.json') files.unshift({ name: 'config.json', mimeType: 'application/json', buffer: readFileSync(join(tiny, 'gpt2/config.json')) });
  const folder = mkdtempSync(join(tmpdir(), 'reckon-hostile-'));
  try {
    mkdirSync(join(folder, 'model'));
    for (const file of files) writeFileSync(join(folder, files.length > 1 ? 'model' : '', file.name), file.buffer);
    const page = await open();
    await page.getByRole('button', { name: 'Your own …' }).click();
    await page.locator('.own input[type="file"]').setInputFiles(files);
    expect(await page.getByRole('alert').innerText()).toBe(refusal(['count', files.length > 1 ? 'model' : name], folder));
    await page.getByLabel('All models').selectOption('gpt2-medium');
    await expect.poll(() => parametersOf(page)).toBe(digits(reckon(['count', 'gpt2-medium', '--format', 'json']), 'total'));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a .safetensors file that is dropped with its config.json is counted, and only its header is read', async () => {
  const folder = join(tiny, 'llama-gqa');
  const [config, weights] = ['config.json', 'model.safetensors'].map((name) => readFileSync(join(folder, name)));
  const page = await open();
  await page.evaluate(([configBytes, weightBytes]) => {
    const files = new DataTransfer();
    files.items.add(new File([new Uint8Array(configBytes!)], 'config.json'));
    files.items.add(new File([new Uint8Array(weightBytes!)], 'model.safetensors'));
    const read = Blob.prototype.arrayBuffer;
    (window as unknown as { read: number[] }).read = [];
    Blob.prototype.arrayBuffer = function () {
      (window as unknown as { read: number[] }).read.push(this.size);
      return read.call(this);
    };
    window.dispatchEvent(new DragEvent('drop', { dataTransfer: files, cancelable: true }));
  }, [[...config!], [...weights!]]);
  await page.getByText('every tensor of the model is there').waitFor({ timeout: 10_000 });
  const counted = reckon(['count', folder, '--format', 'json']);
  expect(await parametersOf(page)).toBe(digits(counted, 'total'));
  await page.getByText(`${digits(counted, 'elements')} elements`).waitFor();
  const read = await page.evaluate(() => (window as unknown as { read: number[] }).read);
  const header = 8 + Number(weights!.readBigUInt64LE());
  expect(read.sort((a, b) => a - b)).toEqual([8, config!.length, header].sort((a, b) => a - b));
  expect(header).toBeLessThan(weights!.length / 4);
});

// A folder as Hugging Face has it: other JSON before the config.json, and large files of other forms.
const folderFiles = () => [
  { name: 'README.md', mimeType: 'text/markdown', buffer: Buffer.from('---\nlicense: mit\n---\n') },
  { name: 'generation_config.json', mimeType: 'application/json', buffer: Buffer.from('{"eos_token_id": 2}') },
  { name: 'pytorch_model.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(11_000_000) },
  ...['config.json', 'model.safetensors'].map((name) => ({ name, mimeType: 'application/octet-stream', buffer: readFileSync(join(tiny, 'llama-gqa', name)) })),
];

test('of a Hugging Face folder the config.json and the weights are counted: its files, and the folder itself', async () => {
  const total = digits(reckon(['count', join(tiny, 'llama-gqa'), '--format', 'json']), 'total');
  const page = await open();
  await page.getByRole('button', { name: 'Your own …' }).click();
  await page.locator('.own input[type="file"]').setInputFiles(folderFiles());
  await page.getByText('every tensor of the model is there').waitFor({ timeout: 10_000 });
  expect(await parametersOf(page)).toBe(total);

  const other = await open();
  await settled(other, 'count');
  await other.evaluate((all) => {
    const entries = all.map(({ name, bytes }) => ({ isFile: true, fullPath: `/llama/${name}`, file: (give: (file: File) => void) => give(new File([new Uint8Array(bytes)], name)) }));
    const folder = { isDirectory: true, createReader: () => ({ readEntries: (give: (some: object[]) => void) => give(entries.splice(0)) }) };
    const drop = new DragEvent('drop', { cancelable: true, bubbles: true });
    const data = { types: ['Files'], files: [new File([], 'llama')], items: [{ webkitGetAsEntry: () => folder }] };
    Object.defineProperty(drop, 'dataTransfer', { value: data });
    document.body.dispatchEvent(drop);
  }, folderFiles().map(({ name, buffer }) => ({ name, bytes: [...buffer.subarray(0, 1_000_000)] })));
  await other.getByText('every tensor of the model is there').waitFor({ timeout: 10_000 });
  expect(await parametersOf(other)).toBe(total);
});

test('a config.json of your own is counted, changed, and travels with the link', async () => {
  const config = { model_type: 'llama', hidden_size: 256, intermediate_size: 512, num_hidden_layers: 3, num_attention_heads: 4, vocab_size: 1000 };
  const page = await open();
  await page.getByRole('button', { name: 'Your own …' }).click();
  await page.getByLabel('or paste a config.json').fill(JSON.stringify(config));
  await page.getByRole('button', { name: 'Count it' }).click();
  await page.getByRole('heading', { level: 1, name: 'config.json' }).waitFor();
  const own = await parametersOf(page);
  await page.getByLabel('Layers, number').fill('5');
  await page.keyboard.press('Tab');
  await page.getByRole('heading', { level: 1, name: 'config.json, changed' }).waitFor();
  await expect.poll(() => parametersOf(page)).not.toBe(own);
  const figure = await parametersOf(page);
  await expect.poll(() => page.url(), { timeout: 3000 }).toMatch(/config=.*layers=5|layers=5.*config=/);
  const again = await open(page.url().replace(/^[^?]*/, ''));
  await again.getByRole('heading', { level: 1, name: 'config.json, changed' }).waitFor();
  await expect.poll(() => parametersOf(again)).toBe(figure);
  expect(again.url()).toContain('layers=5');
});

test('a published config.json with Infinity is counted, and travels with the link', async () => {
  const mamba2 = fileURLToPath(new URL('../../tests/data/families/published/mamba2.json', import.meta.url));
  const page = await open();
  await page.getByRole('button', { name: 'Your own …' }).click();
  await page.locator('.own input[type="file"]').setInputFiles(mamba2);
  await page.getByRole('heading', { level: 1, name: 'mamba2.json' }).waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
  const total = digits(reckon(['count', mamba2, '--format', 'json']), 'total');
  await expect.poll(() => parametersOf(page)).toBe(total);
  await expect.poll(() => page.url(), { timeout: 3000 }).toContain('config=');
  const again = await open(page.url().replace(/^[^?]*/, ''));
  await expect.poll(() => parametersOf(again)).toBe(total);
});

test('a config.json in a link that is refused is told with the sentence of the program, in every view', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reckon-link-'));
  try {
    writeFileSync(join(folder, 'config.json'), '{"model_type":"llama","hidden_size":-4}');
    const sentence = refusal(['count', 'config.json'], folder);
    const page = await open('?v=1&config=%7B%22model_type%22%3A%22llama%22%2C%22hidden_size%22%3A-4%7D#tour');
    await page.getByRole('alert').getByText(`The model of this link is refused: ${sentence}`).waitFor();
    await page.getByRole('link', { name: 'Count' }).click();
    expect(await page.getByRole('alert').count()).toBe(1);
    await page.getByLabel('All models').selectOption('gpt2-medium');
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a config.json that is too long for a link says so', async () => {
  const llama = { model_type: 'llama', hidden_size: 256, intermediate_size: 512, num_hidden_layers: 3, num_attention_heads: 4, vocab_size: 1000 };
  const id2label = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [i, `LABEL_${i}`]));
  const page = await open();
  await page.getByRole('button', { name: 'Your own …' }).click();
  await page.getByLabel('or paste a config.json').fill(JSON.stringify({ ...llama, id2label }));
  await page.getByRole('button', { name: 'Count it' }).click();
  await page.getByText('too long for a link, which carries up to 4,000 characters').waitFor();
});

test('a network of recurrences alone is drawn with them, and offers no heads, positions or feed-forward', async () => {
  const config = { model_type: 'mamba', hidden_size: 768, num_hidden_layers: 24, state_size: 16, vocab_size: 50280, expand: 2, conv_kernel: 4, time_step_rank: 48 };
  const page = await open();
  await page.getByRole('button', { name: 'Your own …' }).click();
  await page.getByLabel('or paste a config.json').fill(JSON.stringify(config));
  await page.getByRole('button', { name: 'Count it' }).click();
  await page.getByRole('heading', { level: 1, name: 'config.json' }).waitFor();
  await expect.poll(() => parametersOf(page)).toBe('129,135,360'); // mamba-130m, as published
  await page.getByText('states instead of a KV cache').waitFor();
  expect(await page.getByRole('slider', { name: /Heads|Feed-forward|Width/ }).count()).toBe(0);
  await page.getByRole('option', { name: /^recurrence/ }).click();
  await page.getByRole('region', { name: 'The chosen part' }).getByText('L·(3·d·dᵢ + dᵢ·w + 99·dᵢ + 3·dᵢ·N)').waitFor();
});
