// How the page looks: the browser's frame around it, and names in the picture.
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browse, settled } from './browse';

const open = browse();

// The colour of the frame, and that of the page.
const colours = (page: Page) =>
  page.evaluate(() => {
    const metas = [...document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]')];
    const probe = document.body.appendChild(document.createElement('i'));
    probe.style.color = metas.find((meta) => !meta.media || matchMedia(meta.media).matches)!.content;
    const frame = getComputedStyle(probe).color;
    probe.remove();
    return { frame, page: getComputedStyle(document.body).backgroundColor };
  });

test.each(['light', 'dark'] as const)('the frame has the colour of the page: %s, then the other theme, then opened again', async (colorScheme) => {
  const page = await open('', { colorScheme });
  await settled(page, 'count');
  const before = await colours(page);
  expect(before.frame).toBe(before.page);
  await page.getByRole('button', { name: /^Use the (light|dark) theme$/ }).click();
  const after = await colours(page);
  expect(after.page).not.toBe(before.page);
  expect(after.frame).toBe(after.page);
  await page.reload();
  await settled(page, 'count');
  expect(await colours(page)).toEqual(after);
});

test('every part of the picture has its name in it or beside it', async () => {
  for (const model of ['gpt2', 'deepseek-v3', 'mini-gpt']) {
    const page = await open(`?v=1&model=${model}`);
    await settled(page, 'count');
    const options = page.getByRole('listbox').getByRole('option');
    await expect.poll(() => page.getByRole('listbox').getAttribute('aria-label'), { timeout: 10_000 }).toContain(model);
    const texts = (await page.getByRole('listbox').locator('text').allTextContents()).join('\n').replace('embedding', '');
    for (const label of await options.evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')!))) {
      const name = label.replace(/ [^ ]+%.*$/, '').replace(/ <.*$/, '');
      expect(texts.includes(name) || name === 'token embedding', `${model}: ${name}`).toBe(true);
    }
  }
});
