// `npm run pictures` writes the pictures of docs/, `npm run pictures:all` every view in both sizes and themes, to look at:
// PICTURES names the folder, EVERY asks for all of them. Otherwise nothing is done.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { test } from 'vitest';
import { browse, devices, settled, views } from './browse';

const open = browse();
const folder = process.env.PICTURES ?? '';
const minutes = 5 * 60_000;

// What is to be seen in each view, beyond what it shows by itself.
const scenes: Record<(typeof views)[number], { link: string; play?: (page: Page) => Promise<unknown> }> = {
  count: { link: '' },
  tokenize: {
    // Of letters that every machine has a font for.
    link: `?v=1&tokenize.text=${encodeURIComponent('Tokenizers cut text into pieces: Grüße, naïve façades, 1234567 tokens.\n    for i in range(10): print(i, 2026)\nDonaudampfschifffahrtsgesellschaft')}#tokenize`,
  },
  train: {
    link: '?v=1&model=mini-gpt&train.steps=500#train',
    play: async (page) => {
      await page.getByRole('button', { name: 'Start', exact: true }).click();
      await page.getByRole('button', { name: 'Train 500 steps more' }).waitFor({ timeout: minutes });
    },
  },
  generate: {
    link: '?v=1&generate.temperature=0.8#generate',
    play: async (page) => {
      await page.getByRole('button', { name: 'Let it read stories' }).click();
      await page.getByText(/It has read stories for/).waitFor({ timeout: minutes });
      for (let i = 0; i < 12; ++i) await page.getByRole('button', { name: 'Step', exact: true }).click();
    },
  },
  tour: {
    link: '?v=1&tour.step=3#tour',
    play: async (page) => {
      await page.getByLabel('Your guess, number').fill('10000');
      await page.keyboard.press('Enter');
      await page.getByText(/You said/).waitFor();
    },
  },
};

const documented = [
  'count-desktop-light', 'count-phone-light', 'tokenize-desktop-light', 'train-desktop-dark', 'train-phone-dark',
  'generate-desktop-dark', 'tour-desktop-light',
]; // prettier-ignore
for (const view of views) {
  for (const [size, device] of Object.entries(devices)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const picture = `${view}-${size}-${colorScheme}`;
      test.skipIf(!folder || !(process.env.EVERY || documented.includes(picture)))(picture, { timeout: 2 * minutes }, async () => {
        mkdirSync(folder, { recursive: true });
        const { link, play } = scenes[view];
        const page = await open(link, { ...device, colorScheme, reducedMotion: 'reduce' });
        await settled(page, view);
        await play?.(page);
        await page.mouse.move(0, 0);
        await page.waitForTimeout(400);
        await page.screenshot({ path: join(folder, `${picture}.png`) });
      });
    }
  }
}
