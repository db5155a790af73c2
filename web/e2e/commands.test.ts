// Every figure names the command that gives it: what the commands of each view print in the terminal is what the page shows.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { browse, digits, settled, type views } from './browse';
import { commandsIn, inTerminal, wordsOf } from './terminal';
import { atTrain, done, minutes, start } from './training';

const open = browse();
const minute = { timeout: 60_000 };
let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'reckon-commands-'))));
afterEach(() => rmSync(folder, { recursive: true }));

// Of training no more than two steps.
const short = (line: string) => line.replace(/--steps \d+/, '--steps 2');
const fits = (page: Page) => page.locator('section', { hasText: 'Fits on' });

// With what shows further ones. The files that a command needs are written by those before it.
const scenes: { view: (typeof views)[number]; link: string; least: number; play?: (page: Page) => Promise<unknown> }[] = [
  {
    view: 'count', link: '?v=1&model=gpt2&precision=int8', least: 9,
    play: async (page) => {
      await page.getByRole('slider', { name: 'Layers' }).focus();
      await page.getByText('Layers ×2', { exact: true }).waitFor(minute);
      await fits(page).scrollIntoViewIfNeeded();
      await fits(page).getByRole('button', { name: /to serve/ }).first().waitFor(minute);
    },
  },
  { view: 'count', link: '?v=1&model=mixtral-8x7b&phase=train&batch=2&by=bytes', least: 7 },
  { view: 'tokenize', link: '?v=1&tokenize.a=bytes&tokenize.b=own#tokenize', least: 3 },
  { view: 'train', link: '?v=1&model=mini-gpt&train.steps=2#train', least: 1 },
  {
    view: 'generate', link: '?v=1&generate.temperature=0.8&generate.min-p=0.001#generate', least: 5,
    play: async (page) => {
      await page.getByRole('button', { name: 'Step', exact: true }).click();
      await expect.poll(() => page.locator('.story .token').count(), minute).toBe(1);
    },
  },
  { view: 'tour', link: '?v=1&tour.step=3#tour', least: 2, play: (page) => page.getByRole('button', { name: 'Show me' }).click() },
]; // prettier-ignore
test.each(scenes)('$view, $link: every command that is named runs', { timeout: 2 * minutes }, async ({ view, link, least, play }) => {
  const page = await open(link);
  await settled(page, view);
  await play?.(page);
  await expect.poll(() => commandsIn(page).count(), minute).toBeGreaterThanOrEqual(least);
  const lines = await commandsIn(page).allInnerTexts();
  expect(lines.filter((line) => line.includes('/given/'))).toEqual([]); // the engine's own file system
  for (const line of lines) {
    const printed = inTerminal(short(line), folder);
    if (printed) expect(JSON.parse(printed), line).toHaveProperty('schema');
  }
});

test('weights in a precision of files alone are those of the command beside them', async () => {
  const page = await open('?v=1&model=gpt2&precision=int8');
  const lead = commandsIn(page.locator('.lead'));
  await expect.poll(() => lead.count(), minute).toBe(2);
  const { memory } = JSON.parse(inTerminal(await lead.last().innerText())) as { memory: { weights: number } };
  expect(await page.locator('.card', { has: page.locator('[data-figure="weights"]') }).innerText()).toContain('in int8');
  expect(await page.locator('[data-figure="weights"]').innerText()).toBe(`${(memory.weights / 2 ** 20).toFixed(2)} MiB`);
});

test('what doubling a size brings is what its command says, which stays when the slider is left', async () => {
  const page = await open();
  await settled(page, 'count');
  await page.getByRole('slider', { name: 'Width' }).focus();
  const note = page.locator('.slider', { hasText: 'Width' }).locator('small');
  await expect.poll(() => note.innerText(), minute).toMatch(/^×2: parameters ×[\d.]+/);
  const factor = Number(/parameters ×([\d.]+)/.exec(await note.innerText())![1]);
  await page.getByRole('heading', { name: 'gpt2' }).click();
  const line = await commandsIn(page.locator('.doubled')).innerText();
  const total = (json: string) => Number(digits(json, 'total').replaceAll(',', ''));
  expect(total(inTerminal(line)) / total(inTerminal('reckon count gpt2'))).toBeCloseTo(factor, 1);
});

test('each figure of what fits on a device shows its command, by keys too', async () => {
  const page = await open('?v=1&model=llama-3.1-8b');
  await settled(page, 'count');
  await fits(page).scrollIntoViewIfNeeded();
  const cell = fits(page).getByRole('button', { name: /^a100-80gb-sxm to train/ });
  await cell.waitFor(minute);
  await cell.focus();
  await page.keyboard.press('Enter');
  expect(await cell.getAttribute('aria-pressed')).toBe('true');
  const line = await commandsIn(fits(page)).innerText();
  expect(wordsOf(line)).toEqual(expect.arrayContaining(['--phase', 'train', '--on', 'a100-80gb-sxm']));
  const report = JSON.parse(inTerminal(line)) as { memory: { total: number }; device: { memory: number } };
  expect(await cell.innerText()).toContain(`${(report.memory.total / report.device.memory).toFixed(1)} ×`);
});

test('attention and neighbours of a run are those of their commands, once it is downloaded', { timeout: 2 * minutes }, async () => {
  const page = await atTrain(open, 30);
  await start(page);
  await done(page);
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download the run (.tar)' }).click()]);
  const tar = join(folder, download.suggestedFilename());
  await download.saveAs(tar);
  execFileSync('tar', ['xf', tar, '-C', folder]);

  const attention = page.locator('section', { has: page.getByRole('heading', { name: 'Attention', exact: true }) });
  await attention.scrollIntoViewIfNeeded();
  const heads = attention.getByRole('button', { name: /^Layer/ });
  await heads.first().waitFor(minute);
  const { layers } = JSON.parse(inTerminal(await commandsIn(attention).innerText(), folder)) as {
    layers: { heads: { itself: number; before: number; first: number; weights: number[][] }[] }[];
  };
  const most = layers.flatMap(({ heads }) => heads.map(({ itself, before, first }) => Math.max(itself, before, first)));
  const shown = await heads.evaluateAll((all) => all.map((one) => Number(/([\d.]+) on average/.exec(one.getAttribute('aria-label')!)![1])));
  expect(shown).toHaveLength(most.length);
  shown.forEach((weight, i) => expect(Math.abs(weight - most[i]!)).toBeLessThan(0.0051)); // two digits are shown
  await heads.last().click();
  const weights = (await attention.locator('.words small').allInnerTexts()).map(Number);
  layers.at(-1)!.heads.at(-1)!.weights.at(-1)!.forEach((weight, i) => expect(Math.abs(weight - weights[i]!)).toBeLessThan(0.0051));

  const near = page.locator('section', { has: page.getByRole('heading', { name: 'Neighbours in the embedding' }) });
  await near.locator('li').first().waitFor(minute);
  const { nearest } = JSON.parse(inTerminal(await commandsIn(near).innerText(), folder)) as { nearest: { cosine: number }[] };
  const cosines = (await near.locator('li span').allInnerTexts()).map(Number);
  expect(cosines).toHaveLength(nearest.length);
  nearest.forEach(({ cosine }, i) => expect(Math.abs(cosine - cosines[i]!)).toBeLessThan(0.0015));
});
