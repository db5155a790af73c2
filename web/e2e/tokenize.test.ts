import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { browse, reckon } from './browse';
import { dist } from './servers';

const open = browse();
const texts = ['Hello, I am', 'Grüße, 世界! 🙂 x = 42\n\n  tabs\tand   spaces', 'naïve café — ½ ﬁ’s', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1234567890'];
const idsOf = (tokenizer: string, text: string) =>
  (JSON.parse(reckon(['tokenize', '--tokenizer', tokenizer, '--format', 'json', text])) as { ids: number[] }).ids.join(' ');
const own = fileURLToPath(new URL('../../tests/data/tokenizer/shakespeare8k.tokenizer.json', import.meta.url));

const choices: [string, string][] = [['gpt2', 'GPT-2'], ['cl100k_base', 'cl100k'], ['o200k_base', 'o200k'], ['bytes', 'bytes']];
for (const [name, label] of choices) {
  const there = name === 'bytes' || existsSync(join(dist, 'tokenizers', `${name}.tiktoken`));
  test.skipIf(!there)(`${label}: the ids are those of reckon tokenize`, async () => {
    const page = await open('?v=1&tokenize.two=no#tokenize');
    const side = page.getByRole('region', { name: 'Tokenizer 1' });
    await side.getByRole('radio', { name: label, exact: true }).check();
    for (const text of texts) {
      await page.getByLabel('Text', { exact: true }).fill(text);
      await expect.poll(async () => (await side.locator('.ids').innerText()).trim().split(/\s+/).join(' '), { timeout: 30_000 }).toBe(idsOf(name, text));
    }
  });
}

test("a tokenizer.json of one's own gives the ids of reckon tokenize", async () => {
  const page = await open('?v=1&tokenize.two=no&tokenize.a=file#tokenize');
  await page.locator('.own input[type="file"]').setInputFiles(own);
  const side = page.getByRole('region', { name: 'Tokenizer 1' });
  await page.getByLabel('Text', { exact: true }).fill(texts[1]!);
  await expect.poll(async () => (await side.locator('.ids').innerText()).trim().split(/\s+/).join(' '), { timeout: 30_000 }).toBe(idsOf(own, texts[1]!));
});

test("a tokenizer that is trained on a text gives the ids of reckon's", { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reckon-tokenizer-'));
  try {
    const book = join(folder, 'book.txt');
    writeFileSync(book, readFileSync(fileURLToPath(new URL('../../CONTRIBUTING.md', import.meta.url))));
    reckon(['tokenizer', 'train', book, '--vocab', '640', '--out', folder]);
    const page = await open('?v=1&tokenize.two=no&tokenize.a=own&tokenize.a.vocab=640&tokenize.a.from=file#tokenize');
    await page.getByLabel('Choose a text').locator('input[type="file"]').setInputFiles(book);
    const side = page.getByRole('region', { name: 'Tokenizer 1' });
    await side.getByText(/^384 merges from/).waitFor({ timeout: 30_000 });
    for (const text of [...texts, 'Expected values are worked out by hand or come from a named outside source.']) {
      await page.getByLabel('Text', { exact: true }).fill(text);
      await expect.poll(async () => (await side.locator('.ids').innerText()).trim().split(/\s+/).join(' '), { timeout: 30_000 }).toBe(idsOf(join(folder, 'tokenizer.json'), text));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.each([
  ['garbage', Buffer.from('{"model": {"type": "BPE", "vocab": [1, 2')],
  ['JSON that is no tokenizer', Buffer.from('{"version": "1.0", "model": {"type": "Unigram"}}')],
  ['bytes that are no text', Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 91) % 256))],
  ['nothing', Buffer.alloc(0)],
])('a tokenizer.json of %s is refused with a sentence', async (_what, buffer) => {
  const page = await open('?v=1&tokenize.two=no&tokenize.a=file#tokenize');
  await page.locator('.own input[type="file"]').setInputFiles({ name: 'tokenizer.json', mimeType: 'application/json', buffer });
  expect(await page.getByRole('alert').innerText()).toMatch(/tokenizer\.json.*\w/);
  await page.getByRole('radio', { name: 'bytes' }).check();
  await page.getByLabel('Text', { exact: true }).fill('ab');
  await expect.poll(() => page.locator('.ids').innerText(), { timeout: 10_000 }).toMatch(/97\s+98/);
});

test('a text travels with the link', async () => {
  const page = await open('?v=1&tokenize.two=no&tokenize.a=bytes#tokenize');
  await page.getByLabel('Text', { exact: true }).fill('a & b = 50% #1');
  await expect.poll(() => page.url(), { timeout: 3000 }).toContain('tokenize.text=');
  const again = await open(page.url().replace(/^[^?]*/, ''));
  expect(await again.getByLabel('Text', { exact: true }).inputValue()).toBe('a & b = 50% #1');
});
