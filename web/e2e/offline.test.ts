import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browse, settled } from './browse';
import { dist, serve } from './servers';

const open = browse();
const minute = { timeout: 60_000 };

const keptFiles = (page: Page) =>
  page.evaluate(async () => {
    const all = await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).keys()));
    return all.flat().map(({ url }) => /[^/]*$/.exec(url.replace(/\?v=.*/, ''))![0]);
  });

// One visit to a view, until its engines are kept, and then no network: the page is opened again at another view.
async function withoutNetwork(visit: string, then: string, meanwhile?: (page: Page) => Promise<unknown>): Promise<Page> {
  const { address, process: server } = await serve();
  const page = await open(visit, { at: address });
  await page.keyboard.press('Tab'); // whoever touches the page has it from then on
  await meanwhile?.(page);
  await expect.poll(() => keptFiles(page), minute).toContainEqual(expect.stringMatching(/^run-more(-threads)?\.wasm$/));
  const gone = new Promise((resolve) => server.once('exit', resolve));
  server.kill();
  await gone;
  await page.goto(address + then);
  return page;
}

test('after one visit to Count, text is tokenized without a network, by a tokenizer trained there and then', async () => {
  const page = await withoutNetwork('', '?v=1&tokenize.a=bytes&tokenize.b=own#tokenize');
  await page.getByLabel('Text', { exact: true }).fill('once once');
  await expect.poll(() => page.getByTestId('tokens').first().innerText(), minute).toBe('9');
  await expect.poll(() => page.getByTestId('tokens').nth(1).innerText(), minute).toMatch(/^[1-8]$/);
});

// The vocabulary is fetched as the page opens, before anybody keeps anything.
const gpt2 = existsSync(join(dist, 'tokenizers/gpt2.tiktoken'));
test.skipIf(!gpt2)('a vocabulary that was fetched once is there without a network', async () => {
  const link = '?v=1&tokenize.two=no&tokenize.a=gpt2#tokenize';
  const page = await withoutNetwork(link, link, async (first) => {
    await settled(first, 'tokenize');
    await expect.poll(() => keptFiles(first), minute).toContain('gpt2.tiktoken');
  });
  await page.getByLabel('Text', { exact: true }).fill('Hello, I am');
  await expect.poll(() => page.locator('.ids').innerText(), minute).toMatch(/^15496\s+11\s+314\s+716\s*$/); // tiktoken's
});

test('after one visit to Count, a model is trained and writes without a network', { timeout: 240_000 }, async () => {
  const page = await withoutNetwork('', '?v=1&model=mini-gpt&train.steps=5#train');
  await page.getByRole('button', { name: 'Start', exact: true }).click(minute);
  await page.getByRole('button', { name: 'Train 5 steps more' }).waitFor({ timeout: 180_000 });
  await page.getByRole('link', { name: 'Generate' }).click();
  await settled(page, 'generate');
  expect(await page.getByRole('radio', { name: 'the one in Train' }).isChecked()).toBe(true);
  await page.getByRole('button', { name: 'Step', exact: true }).click();
  await expect.poll(() => page.locator('.story .token').count(), minute).toBe(1);
});
