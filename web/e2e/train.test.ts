import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { browse, reckon, settled } from './browse';
import { atTrain, card, done, minutes, start } from './training';

const open = browse();
const scratch = mkdtempSync(join(tmpdir(), 'reckon-page-'));
afterAll(() => rmSync(scratch, { recursive: true }));

const metrics = (folder: string) =>
  readFileSync(join(folder, 'metrics.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line) as { kind: string; step: number; loss: number; validation: number });

function expectClose(found: { step: number; loss: number }[], expected: { step: number; loss: number }[]): void {
  expect(found.map(({ step }) => step)).toEqual(expected.map(({ step }) => step));
  const apart = found.map(({ loss }, i) => Math.abs(loss - expected[i]!.loss));
  expect(Math.max(...apart), JSON.stringify([found, expected])).toBeLessThan(2e-3);
}

// The run's folder, from the .tar that the page downloads.
async function downloaded(page: Page): Promise<string> {
  const failed = page.getByRole('alert').innerText({ timeout: minutes }).then((sentence) => Promise.reject(new Error(sentence)));
  failed.catch(() => {});
  const [download] = await Promise.race([
    failed,
    Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download the run (.tar)' }).click()]),
  ]);
  const tar = join(scratch, download.suggestedFilename());
  await download.saveAs(tar);
  execFileSync('tar', ['xf', tar, '-C', scratch]);
  return tar.replace(/\.tar$/, '');
}

// Trains mini-gpt to the last step, from a link.
async function trained(steps: number): Promise<Page> {
  const page = await atTrain(open, steps);
  await start(page);
  await done(page);
  return page;
}

test('training lowers the loss from ln V, as in the terminal', { timeout: 2 * minutes }, async () => {
  const page = await trained(150);
  const first = Number((await page.locator('.cards .card', { hasText: 'at first' }).locator('small').last().innerText()).split(' ')[0]);
  expect(first).toBeCloseTo(Math.log(512), 0);
  const validation = Number(await card(page, 'validation'));
  expect(validation).toBeLessThan(5); // 4.53 in the terminal
  // The share of the limit is the rate, in products of a token, of the most that one large product reached.
  const speed = page.locator('.cards .card', { hasText: 'tokens/s' });
  const tokens = Number((await speed.locator('b').innerText()).replaceAll(',', ''));
  const limit = Number(/of ([\d.]+) GFLOP/.exec((await speed.locator('small').last().getAttribute('title'))!)![1]);
  const share = Number(/^(\d+)% of limit$/.exec(await speed.locator('small').last().innerText())![1]);
  const step = reckon(['count', 'mini-gpt', '--phase', 'train', '--batch', '8', '--causal', 'exact', '--format', 'json']);
  const perToken = (JSON.parse(step) as { flops: { matmul: number } }).flops.matmul / (8 * 32);
  expect(Math.abs(share - (100 * tokens * perToken) / (limit * 1e9))).toBeLessThan(2); // each is a mean of its own, and rounded
  expect(await page.locator('p.lead').innerText()).toContain('as in the last training');
  // Other kernels round otherwise; the batches and the first weights are the same.
  reckon(['train', 'mini-gpt', '--steps', '150', '--out', 'native'], scratch);
  expect(validation).toBeCloseTo(metrics(join(scratch, 'native')).at(-1)!.validation, 1);
  expect(await page.getByRole('region', { name: 'Samples' }).locator('pre').innerText()).toMatch(/\w{3}/);
  expect(await page.getByText(/The loss began at 6\.2/).count()).toBe(1);
});

test('a run goes from the page to the terminal, and is continued there', { timeout: 2 * minutes }, async () => {
  const page = await trained(20);
  const folder = await downloaded(page);
  const before = metrics(folder).filter((line) => line.kind === 'step');
  expect(before.map((line) => line.step)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
  reckon(['train', '--resume', '--out', folder, '--steps', '25'], scratch);
  const after = metrics(folder).filter((line) => line.kind === 'step');
  expect(after.at(-1)!.step).toBe(25);
  expect(after.slice(0, 20).map((line) => line.loss)).toEqual(before.map((line) => line.loss));
  // As a run goes on that never left the terminal. Kernels round otherwise, by far less than weights or moments move the loss.
  reckon(['train', 'mini-gpt', '--steps', '20', '--out', 'stayed'], scratch);
  reckon(['train', '--resume', '--out', 'stayed', '--steps', '25'], scratch);
  expectClose(after.slice(20), metrics(join(scratch, 'stayed')).filter((line) => line.kind === 'step').slice(20));
  expect(reckon(['generate', join(folder, 'checkpoints', 'step-000025'), 'One day', '--tokens', '8', '--window'], scratch)).toMatch(/\S/);
});

test('a run goes from the terminal to the page, and is continued there', { timeout: 2 * minutes }, async () => {
  reckon(['train', 'mini-gpt', '--steps', '10', '--out', 'given'], scratch);
  const page = await open('?v=1&model=mini-gpt#train');
  await page.getByLabel('Open a run folder').locator('input[type="file"]').setInputFiles(join(scratch, 'given'));
  await page.getByText('at step 10 of 10').waitFor({ timeout: minutes });
  await page.getByRole('button', { name: 'Train 10 steps more' }).click();
  await page.getByRole('button', { name: 'Train 20 steps more' }).waitFor({ timeout: minutes });
  expect(await card(page, 'step')).toBe('20');
  reckon(['train', '--resume', '--out', 'given', '--steps', '20'], scratch);
  const steps = (folder: string) => metrics(folder).filter((line) => line.kind === 'step').slice(10);
  expectClose(steps(await downloaded(page)), steps(join(scratch, 'given')));
});

test('pause, continue and reset', { timeout: 2 * minutes }, async () => {
  const page = await open('?v=1&model=mini-gpt&train.steps=10000#train');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('button', { name: 'Pause' }).click({ timeout: minutes });
  await page.getByRole('button', { name: 'Continue' }).waitFor();
  await page.waitForTimeout(300); // the last figures that the engine sent are drawn
  const step = await card(page, 'step');
  await page.waitForTimeout(300);
  expect(await card(page, 'step')).toBe(step);
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect.poll(() => card(page, 'step'), { timeout: 20_000 }).not.toBe(step);
  await page.getByRole('button', { name: 'Reset' }).click();
  await page.getByText('Step 0 again').waitFor();
});

test('what is no run is refused with a sentence, and then a text of any bytes is trained on', { timeout: 2 * minutes }, async () => {
  const page = await open('?v=1&model=mini-gpt&train.steps=5#train');
  const tar = page.getByLabel('Open a .tar').locator('input[type="file"]');
  for (const buffer of [Buffer.from('no tar at all'), Buffer.alloc(1024), Buffer.alloc(0)]) {
    await tar.setInputFiles({ name: 'run.tar', mimeType: 'application/x-tar', buffer });
    await expect.poll(() => page.getByRole('alert').allInnerTexts(), { timeout: 10_000 }).toEqual([expect.stringMatching(/run\.tar/)]);
  }
  await page.getByRole('radio', { name: 'File' }).check();
  const text = page.getByLabel('Choose a text file').locator('input[type="file"]');
  const binary = Buffer.from(Array.from({ length: 60_000 }, (_, i) => (i * i * 31 + i) % 256));
  await text.setInputFiles({ name: 'binary.txt', mimeType: 'text/plain', buffer: binary });
  await start(page);
  await done(page);
  expect(await page.getByRole('alert').count()).toBe(0);
  writeFileSync(join(scratch, 'binary.txt'), binary);
  reckon(['train', 'mini-gpt', '--text', 'binary.txt', '--steps', '5', '--out', 'binary'], scratch);
  expect(Number(await card(page, 'validation'))).toBeCloseTo(metrics(join(scratch, 'binary')).at(-1)!.validation, 2);
});

test('a seed that is emptied is that of before, on the page and in its link', async () => {
  const page = await open('?v=1&model=mini-gpt&train.seed=7#train');
  await settled(page, 'train');
  const seed = page.getByLabel('Seed', { exact: true });
  for (const nothing of ['', 'x', '-1']) {
    await seed.fill(nothing);
    await page.keyboard.press('Tab');
    expect(await seed.inputValue()).toBe('7');
  }
  const steps = page.getByLabel('Steps, number'); // another change: by now the link would have had the seed's
  await steps.fill('60');
  await page.keyboard.press('Tab');
  await expect.poll(() => page.url(), { timeout: 3000 }).toContain('train.steps=60');
  expect(page.url()).toContain('train.seed=7');
  await seed.fill('12');
  await page.keyboard.press('Tab');
  await expect.poll(() => page.url(), { timeout: 3000 }).toContain('train.seed=12');
});

test('the tour ends in front of a training', { timeout: 2 * minutes }, async () => {
  const page = await open('?v=1&tour.step=99#tour');
  await page.getByLabel('Your bet, in nats, number').fill('6');
  await page.keyboard.press('Tab');
  await page.getByRole('button', { name: 'Train mini-gpt' }).click();
  await page.getByRole('heading', { level: 1, name: 'Train' }).waitFor();
  await expect.poll(() => page.getByText(/The loss began at 6\.2.*you bet 6\.00/).count(), { timeout: minutes }).toBe(1);
});

test('the model just trained writes in Generate what its checkpoint writes in the terminal', { timeout: 2 * minutes }, async () => {
  const page = await trained(30);
  const folder = await downloaded(page);
  await page.getByRole('link', { name: 'Generate' }).click();
  await settled(page, 'generate');
  const model = page.getByRole('region', { name: 'Model', exact: true });
  expect(await model.getByRole('radio', { name: 'the one in Train' }).isChecked()).toBe(true);
  await page.getByRole('button', { name: 'Greedy' }).click();
  const story = page.locator('.story .token');
  for (let i = 1; i <= 8; ++i) {
    await page.getByRole('button', { name: 'Step', exact: true }).click();
    await expect.poll(() => story.count(), { timeout: 60_000 }).toBe(i);
  }
  const checkpoint = join(folder, 'checkpoints', 'step-000030');
  const text = reckon(['generate', checkpoint, 'Once upon a time', '--tokens', '8', '--temperature', '0']).replace(/\n$/, '');
  expect((await story.allTextContents()).join('')).toBe(text);
});

test('a model folder generates what the terminal does', { timeout: 2 * minutes }, async () => {
  const folder = fileURLToPath(new URL('../../tests/data/tiny/llama-gqa', import.meta.url));
  const page = await open('?v=1&generate.temperature=0#generate');
  await page.getByRole('radio', { name: 'a folder of yours' }).check();
  await page.getByLabel('Choose a folder').locator('input[type="file"]').setInputFiles(folder);
  await page.getByLabel(/^Prompt \(ids/).fill('1,2,3', { timeout: minutes });
  const story = page.locator('.story');
  await expect.poll(() => story.innerText()).toBe('#1#2#3');
  for (let i = 1; i <= 6; ++i) {
    await page.getByRole('button', { name: 'Step', exact: true }).click();
    await expect.poll(() => story.getByRole('option').count()).toBe(i);
  }
  const ids = (await story.getByRole('option').allInnerTexts()).map((text) => Number(text.slice(1)));
  const native = JSON.parse(reckon(['generate', folder, '--ids', '1,2,3', '--tokens', '6', '--temperature', '0', '--format', 'json'])) as { ids: number[] };
  expect(ids).toEqual(native.ids);
});

test('a folder without weights is refused with a sentence', async () => {
  const page = await open('?v=1#generate');
  await page.getByRole('radio', { name: 'a folder of yours' }).check();
  const input = page.getByLabel('Choose a folder').locator('input[type="file"]');
  await input.evaluate((one: HTMLInputElement) => (one.webkitdirectory = false)); // single files, as when they are dropped
  await input.setInputFiles({ name: 'config.json', mimeType: 'application/json', buffer: Buffer.from('{"model_type":"llama"}') });
  expect(await page.getByRole('alert').innerText()).toMatch(/safetensors/);
  await page.getByRole('radio', { name: 'a tiny one, made here' }).check();
  await page.getByRole('button', { name: 'Step', exact: true }).click({ timeout: minutes });
});
