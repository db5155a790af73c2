import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browse, reckon, settled, violations } from './browse';
import { commandsIn, inTerminal } from './terminal';

const open = browse();
const prompt = 'Once upon a time';
let folder: string;
let checkpoint: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reckon-generate-'));
  reckon(['train', 'mini-gpt', '--steps', '30', '--lr', '3e-3', '--threads', '1', '--out', join(folder, 'run')]);
  const checkpoints = join(folder, 'run/checkpoints');
  checkpoint = join(checkpoints, readdirSync(checkpoints).sort().at(-1)!);
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true }));

const minute = { timeout: 60_000 };
const model = (page: Page) => page.getByRole('region', { name: 'Model', exact: true });
const written = async (page: Page) => (await page.locator('.story .token').allTextContents()).join('');

// The view with this folder in place of the tiny model.
async function given(link: string, path = checkpoint): Promise<Page> {
  const page = await open(link);
  await settled(page, 'generate');
  await model(page).getByRole('radio', { name: 'a folder of yours' }).check();
  await model(page).locator('input[type="file"]').setInputFiles(path);
  await model(page).getByText(basename(path), { exact: true }).waitFor(minute);
  return page;
}

test.each([
  ['top-k', '5'],
  ['top-p', '0.5'],
  ['min-p', '0.2'],
])('with %s %s a folder draws the tokens that reckon generate draws with the same seed', { timeout: 120_000 }, async (filter, value) => {
  const page = await given(`?v=1&generate.${filter}=${value}&generate.seed=7#generate`);
  for (let i = 1; i <= 10; ++i) {
    await page.getByRole('button', { name: 'Step', exact: true }).click();
    await expect.poll(() => page.locator('.story .token').count(), minute).toBe(i);
  }
  const args = ['generate', checkpoint, prompt, '--tokens', '10', '--seed', '7'];
  const text = reckon([...args, `--${filter}`, value]);
  expect(await written(page)).toBe(text.replace(/\n$/, ''));
  expect(text).not.toBe(reckon(args)); // it took out what would have been drawn
});

test('a token that is picked is taken, and a click on it goes back to before it', { timeout: 120_000 }, async () => {
  const page = await given('#generate');
  const bytes = page.getByRole('region', { name: 'KV cache' }).locator('.figure b');
  const before = await bytes.innerText();
  await page.getByRole('table', { name: 'Next token' }).getByRole('button').nth(2).click();
  await expect.poll(() => page.locator('.story .token').count(), minute).toBe(1);
  expect(await bytes.innerText()).not.toBe(before);
  await page.locator('.story .token').click();
  await expect.poll(() => page.locator('.story .token').count(), minute).toBe(0);
  expect(await bytes.innerText()).toBe(before);
});

test('the random number stays while the temperature is dragged', { timeout: 120_000 }, async () => {
  const page = await given('#generate');
  const u = page.getByRole('slider', { name: 'Random number u' });
  const before = await u.inputValue();
  const most = page.getByRole('table', { name: 'Next token' }).locator('tbody tr').first().locator('.wide b');
  const likely = await most.innerText();
  await page.getByRole('slider', { name: 'Temperature', exact: true }).fill('4'); // the fifth stop
  await expect.poll(() => most.innerText(), minute).not.toBe(likely);
  expect(await u.inputValue()).toBe(before);
});

test('the best beam is that of reckon generate, and axe is content with the tree', { timeout: 120_000 }, async () => {
  const page = await given('#generate');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByRole('tree', { name: 'Beams' }).waitFor(minute);
  const text = reckon(['generate', checkpoint, prompt, '--beams', '3', '--tokens', '6']).replace(/\n$/, '');
  const best = (await page.locator('.path code').innerText()).replaceAll('·', ' ').replaceAll('↵', '\n');
  expect(best).toBe(text);
  expect(await violations(page)).toEqual([]);
});

// What the command in this part of the page prints as JSON, where the folder lies.
const terminal = async (page: Page, region: string) =>
  inTerminal(await commandsIn(page.getByRole('region', { name: region })).last().innerText(), dirname(checkpoint));

test('the commands beside the figures give them, of the prompt and of what was written since', { timeout: 120_000 }, async () => {
  const page = await given('#generate');
  for (let i = 1; i <= 2; ++i) {
    await page.getByRole('button', { name: 'Step', exact: true }).click();
    await expect.poll(() => page.locator('.story .token').count(), minute).toBe(i);
  }
  await page.getByRole('slider', { name: 'Temperature', exact: true }).fill('4'); // 0.4, the fifth stop
  const rows = page.getByRole('table', { name: 'Next token' }).locator('tbody tr');
  await expect.poll(() => rows.first().locator('.scaled').innerText(), minute).not.toBe(await rows.first().locator('td').first().innerText());
  const next = JSON.parse(await terminal(page, 'Distribution')) as {
    tokens: { id: number; logit: number; scaled: number; probability: number }[];
    rest: { count: number };
    draw: { probability: number };
  };
  for (const i of [0, 5]) {
    const [logit, scaled] = (await rows.nth(i).locator('td').allInnerTexts()).map((text) => Number(text.replace('−', '-')));
    const share = Number((await rows.nth(i).locator('.wide b').innerText()).replace(/[^\d.]/g, ''));
    expect(logit).toBeCloseTo(next.tokens[i]!.logit, 1);
    expect(scaled).toBeCloseTo(next.tokens[i]!.scaled, 1);
    expect(share).toBeCloseTo(100 * next.tokens[i]!.probability, 0);
    expect(await rows.nth(i).getByRole('button').getAttribute('title')).toBe(`Take this token, id ${next.tokens[i]!.id}`);
  }
  expect(await rows.locator('button').last().innerText()).toBe(`rest: ${next.rest.count + 50 - 12} tokens`); // 12 rows are shown

  const wide = Number(/([\d.]+)% wide/.exec(await page.getByText(/% wide/).innerText())![1]);
  expect(wide).toBeCloseTo(100 * next.draw.probability, 0);

  const count = JSON.parse(await terminal(page, 'KV cache')) as { cache: { bytes: number }; flops: { matmul: number } };
  expect(await page.getByRole('region', { name: 'KV cache' }).locator('.figure b').innerText()).toBe(count.cache.bytes.toLocaleString('en'));
  const flops = page.getByRole('region', { name: 'Cost of a token' }).getByRole('row', { name: 'last' }).locator('td').nth(2);
  expect(await flops.getAttribute('title')).toBe(count.flops.matmul.toLocaleString('en'));

  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByRole('tree', { name: 'Beams' }).waitFor(minute);
  const best = (await page.locator('.path code').innerText()).replaceAll('·', ' ').replaceAll('↵', '\n');
  const { continuations } = JSON.parse(await terminal(page, 'Beam search')) as { continuations: { ids: number[] }[] };
  expect(continuations).toHaveLength(3);
  expect(best).toBe(reckon(['tokenize', '--tokenizer', checkpoint, '--decode', continuations[0]!.ids.join(',')]).replace(/\n$/, ''));
});

test('files that are no model are refused with a sentence, and the model before stays', { timeout: 120_000 }, async () => {
  const page = await open('#generate');
  await settled(page, 'generate');
  await model(page).getByRole('radio', { name: 'a folder of yours' }).check();
  const config = { name: 'config.json', mimeType: 'application/json', buffer: Buffer.from('{"model_type": "gpt2"') };
  const weights = { name: 'model.safetensors', mimeType: '', buffer: Buffer.alloc(64, 255) };
  const input = model(page).locator('input[type="file"]');
  await input.evaluate((element: HTMLInputElement) => element.removeAttribute('webkitdirectory'));
  await input.setInputFiles([weights]);
  await expect.poll(() => model(page).getByRole('alert').innerText(), minute).toContain('no config.json');
  await input.setInputFiles([config, weights]);
  await expect.poll(() => model(page).getByRole('alert').innerText(), minute).toMatch(/^model\.safetensors: the header/);
  await page.getByRole('button', { name: 'Step', exact: true }).click();
  await expect.poll(() => page.locator('.story .token').count(), minute).toBe(1);
});

// Which of the engine's files the page's workers have fetched.
async function fetched(page: Page): Promise<string[]> {
  const names = () => performance.getEntriesByType('resource').map(({ name }) => name);
  const all = (await Promise.all(page.workers().map((worker) => worker.evaluate(names)))).flat();
  return all.map((name) => /engine\/([^?]+)/.exec(name)?.[1] ?? '');
}

// The first module lacks the family of the one, and has that of the other.
test.each([
  { family: 'mamba2', root: 'families/tiny', more: true },
  { family: 'qwen2', root: 'tiny', more: false },
])('$family is run as in the terminal, by the module of rarer families: $more', { timeout: 120_000 }, async ({ family, root, more }) => {
  const path = fileURLToPath(new URL(`../../tests/data/${root}/${family}`, import.meta.url));
  const page = await given('?v=1&generate.prompt=1+2+3+4&generate.temperature=0#generate', path);
  for (let i = 1; i <= 8; ++i) {
    await page.getByRole('button', { name: 'Step', exact: true }).click();
    await expect.poll(() => page.locator('.story .token').count(), minute).toBe(i);
  }
  const ids = reckon(['generate', path, '--ids', '1,2,3,4', '--tokens', '8', '--temperature', '0']).trim().split(/\s+/);
  expect(await page.locator('.story .token').allTextContents()).toEqual(ids.map((id) => `#${id}`));
  const files = await fetched(page);
  expect(files.some((name) => /^run(-threads)?\.js$/.test(name))).toBe(true);
  expect(files.some((name) => /^run-more(-threads)?\.js$/.test(name))).toBe(more);
});
