import type { Page } from 'playwright-core';
import { expect, inject, test } from 'vitest';
import { browse, parametersOf, settled } from './browse';
import { serve } from './servers';

const open = browse();
const minutes = 4 * 60_000;

// A worker may end with an error outside of any request, or without a word.
const ends = {
  'with an error': () => void setTimeout(() => { throw new Error('killed'); }),
  'silently': () => void setTimeout(() => self.close()),
}; // prettier-ignore
async function kill(page: Page, name: string, end: () => void): Promise<void> {
  const worker = page.workers().find((one) => one.url().includes(`${name}.worker`));
  await worker!.evaluate(end);
}

for (const [how, end] of Object.entries(ends)) {
  test(`a counting engine that dies ${how} is started again by the next question`, async () => {
    const page = await open();
    const choose = (name: string) => page.getByLabel('All models').selectOption(name);
    await settled(page, 'count');
    await choose('gpt2-medium');
    await expect.poll(() => parametersOf(page)).toBe('354,823,168');
    await kill(page, 'count', end);
    await page.waitForTimeout(100);
    await choose('gpt2-large');
    await expect.poll(() => parametersOf(page)).toBe('774,030,080');
  });

  test(`a run whose engine dies ${how} is told, and another one can be started`, { timeout: 2 * minutes }, async () => {
    const page = await open('?v=1&model=mini-gpt&train.steps=10000#train');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor({ timeout: minutes });
    await kill(page, 'run', end);
    expect(await page.getByRole('alert').innerText()).toMatch(/engine has stopped/);
    await page.getByRole('button', { name: /^Start/ }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor({ timeout: minutes });
  });
}

test('a page that is not isolated runs all the same, on one thread', { timeout: minutes }, async () => {
  const page = await open('?v=1&model=mini-gpt&train.steps=5#train', { at: inject('plain') });
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(false);
  await page.getByText('on one thread').waitFor({ timeout: minutes });
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('button', { name: 'Train 5 steps more' }).waitFor({ timeout: minutes });
});

test('without a network the page opens and counts', async () => {
  const { address, process: server } = await serve();
  const page = await open('', { at: address });
  await settled(page, 'count');
  await page.keyboard.press('Tab'); // whoever touches the page has it from then on
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await page.reload(); // from now on the service worker has the page
  await settled(page, 'count');
  const gone = new Promise((resolve) => server.once('exit', resolve));
  server.kill();
  await gone;
  await page.reload();
  await settled(page, 'count');
  await page.getByLabel('All models').selectOption('gpt2-xl');
  await expect.poll(() => parametersOf(page), { timeout: 10_000 }).toBe('1,557,611,200');
});
