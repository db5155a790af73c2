import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { beyondTheEdge, browse, devices, parametersOf, settled, violations, views } from './browse';
import { done, minutes, start } from './training';

const open = browse();

for (const view of views) {
  for (const [name, device] of Object.entries(devices)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      test(`${view}, ${name}, ${colorScheme}: all is inside the window, and axe is content`, async () => {
        const page = await open(`#${view}`, { ...device, colorScheme, reducedMotion: 'reduce' });
        await settled(page, view);
        expect(await beyondTheEdge(page)).toEqual([]);
        expect(await violations(page)).toEqual([]);
      });
    }
  }
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`phone, ${colorScheme}: with the sheet of sliders open all is inside the window, and axe is content`, async () => {
    const page = await open('', { ...devices.phone, colorScheme, reducedMotion: 'reduce' });
    await settled(page, 'count');
    await page.getByRole('button', { name: 'Change sizes' }).click();
    await page.getByRole('slider', { name: 'Layers' }).waitFor();
    expect(await beyondTheEdge(page)).toEqual([]);
    expect(await violations(page)).toEqual([]);
  });

  test(`phone, ${colorScheme}: after a run all is inside the window, and axe is content`, { timeout: minutes }, async () => {
    const page = await open('?v=1&model=mini-gpt&train.steps=3#train', { ...devices.phone, colorScheme, reducedMotion: 'reduce' });
    await start(page);
    await done(page);
    await page.getByRole('heading', { name: 'Attention' }).scrollIntoViewIfNeeded();
    await page.locator('.grid button').first().waitFor({ timeout: 60_000 });
    expect(await beyondTheEdge(page)).toEqual([]);
    expect(await violations(page)).toEqual([]);
  });
}

test('nothing moves by itself where less motion is wanted', async () => {
  const page = await open('#generate', { reducedMotion: 'reduce' });
  await settled(page, 'generate');
  expect(await page.evaluate(() => document.getAnimations().length)).toBe(0);
});

// Tab until what is focused has this name.
async function tabTo(page: Page, name: RegExp): Promise<void> {
  for (let i = 0; i < 120; ++i) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate(() => {
      const one = document.activeElement as HTMLInputElement;
      return one.getAttribute('aria-label') ?? one.labels?.[0]?.textContent ?? one.textContent ?? '';
    });
    if (name.test(focused.trim())) return;
  }
  throw new Error(`no Tab leads to ${name}`);
}

test('with the keyboard alone: a size is changed, a part is chosen, the tour is taken', async () => {
  const page = await open();
  await settled(page, 'count');
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement!.textContent!.trim())).toBe('Skip to the content');
  await page.keyboard.press('Enter');
  const before = await parametersOf(page);
  await tabTo(page, /^Layers$/);
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => parametersOf(page), { timeout: 10_000 }).not.toBe(before);
  await tabTo(page, /^The parts of gpt2/);
  await page.keyboard.press('End');
  expect(await page.locator('.inspector h2').innerText()).toBe('head');
  await page.keyboard.press('Enter');
  expect(await page.evaluate(() => document.activeElement!.tagName)).toBe('H2');

  await page.goto(page.url().replace(/[?#].*/, '') + '#tour');
  await page.reload();
  await settled(page, 'tour');
  await tabTo(page, /^Your guess, number$/);
  await page.keyboard.type('30000');
  await page.keyboard.press('Enter');
  await page.getByText('You said 30,000: 1.09 times too little.').waitFor();
  expect(await page.evaluate(() => document.activeElement!.textContent)).toBe('Next');
  await page.keyboard.press('Enter');
  expect(await page.evaluate(() => document.activeElement!.id)).toBe('tour-step');
  await tabTo(page, /^Show me$/);
  await page.keyboard.press('Enter');
  await page.getByText('Next', { exact: true }).waitFor();
});

test('every stop of the tour has its block in the picture, and its answer', async () => {
  const page = await open('#tour');
  await settled(page, 'tour');
  const stops = await page.getByRole('navigation', { name: 'Steps of the tour' }).getByRole('button').count();
  expect(stops).toBeGreaterThan(8);
  const answers: string[] = [];
  for (let i = 1; i < stops; ++i) {
    await page.getByRole('button', { name: 'Show me' }).click();
    answers.push(await page.locator('.answer b').innerText());
    await page.getByRole('button', { name: i + 1 < stops ? 'Next' : 'And now train it' }).click();
  }
  expect(answers).toContain('131,392'); // docs/explain-mini-gpt.md
  await page.getByRole('button', { name: 'Train mini-gpt' }).waitFor();
  await page.getByRole('button', { name: /^1: / }).click();
  await page.getByRole('button', { name: /: show it in the picture$/ }).first().focus();
  expect(await page.locator('.moved').count()).toBe(1);
});
