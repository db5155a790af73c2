import { expect, test } from 'vitest';
import { browse, withThreads } from './browse';

const open = browse();
const minutes = 4 * 60_000;

test.skipIf(!withThreads)('`reckon serve` isolates the page, which then trains on as many threads as its header says', { timeout: 2 * minutes }, async () => {
  const page = await open('?v=1&model=mini-gpt&train.steps=100#train');
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(true);
  const threads = Math.min(await page.evaluate(() => navigator.hardwareConcurrency), 8);
  expect(threads).toBeGreaterThan(1);
  await page.getByText(`on ${threads} threads`).waitFor({ timeout: minutes });
  expect(await page.locator('header .threads').innerText()).toBe(`${threads} threads`);
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('button', { name: 'Train 100 steps more' }).waitFor({ timeout: minutes });
  const validation = await page.locator('.cards .card', { hasText: 'validation' }).locator('b').innerText();
  expect(Number(validation)).toBeLessThan(5.5);
});

test.skipIf(!withThreads)('where the threads cannot be started the page trains on one, and says so', { timeout: 2 * minutes }, async () => {
  const page = await open('?v=1&model=mini-gpt&train.steps=5', { missing: /run-threads\.wasm/ });
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(true);
  await page.getByRole('link', { name: 'Train' }).click();
  await expect.poll(() => page.locator('p.lead').first().innerText(), { timeout: minutes }).toContain('on one thread, for the browser could start no more');
  expect(await page.locator('header .threads').innerText()).toBe('1 thread');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('button', { name: 'Train 5 steps more' }).waitFor({ timeout: minutes });
});
