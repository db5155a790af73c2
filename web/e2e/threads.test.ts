import { expect, test } from 'vitest';
import { browse, withThreads } from './browse';

const open = browse();
const minutes = 4 * 60_000;

test.skipIf(!withThreads)('`reckon serve` isolates the page, which then trains on several threads', { timeout: 2 * minutes }, async () => {
  const page = await open('?v=1&model=mini-gpt&train.steps=100#train');
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(true);
  await page.getByText(/on \d+ threads/).waitFor({ timeout: minutes });
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('button', { name: 'Train 100 steps more' }).waitFor({ timeout: minutes });
  const validation = await page.locator('.cards .card', { hasText: 'validation' }).locator('b').innerText();
  expect(Number(validation)).toBeLessThan(5.5);
});
