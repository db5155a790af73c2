// What a run is looked at with and compared with, and what may change under way.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { browse, digits, reckon, violations } from './browse';
import { atTrain, card, done, minutes, start } from './training';

const open = browse();
const scratch = mkdtempSync(join(tmpdir(), 'reckon-runs-'));
afterAll(() => rmSync(scratch, { recursive: true }));
const part = (page: Page, heading: string) => page.locator('section.card', { has: page.getByRole('heading', { name: heading, exact: true }) });

test('attention maps of every head and neighbours are those of the weights as they are, and axe is content', { timeout: minutes }, async () => {
  const page = await atTrain(open, 60);
  await start(page);
  const attention = part(page, 'Attention');
  await attention.scrollIntoViewIfNeeded({ timeout: minutes });
  const heads = attention.getByRole('button', { name: /^Layer \d, head \d: looks most at/ });
  await done(page);
  await expect.poll(() => heads.count(), { timeout: 30_000 }).toBe(2 * 4); // of mini-gpt
  const weights = async () => (await attention.locator('.words small').allInnerTexts()).map(Number);
  await heads.first().click();
  await expect.poll(async () => (await weights()).reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 0); // each rounded
  expect(await attention.getByRole('alert').count()).toBe(0);

  const neighbours = part(page, 'Neighbours in the embedding');
  await neighbours.getByRole('listitem').nth(7).waitFor();
  const cosines = (await neighbours.locator('li .number').allInnerTexts()).map(Number);
  expect(cosines).toEqual([...cosines].sort((a, b) => b - a));
  expect(await violations(page)).toEqual([]);

  const before = await weights();
  await page.getByRole('button', { name: 'Train 60 steps more' }).click();
  await page.getByRole('button', { name: 'Train 120 steps more' }).waitFor({ timeout: minutes });
  await attention.scrollIntoViewIfNeeded(); // what nobody sees is not renewed
  await expect.poll(weights, { timeout: 30_000 }).not.toEqual(before);
});

test('a second run with one knob changed stands beside the first, with what it bought', { timeout: minutes }, async () => {
  const page = await atTrain(open, 10);
  await start(page);
  await done(page);
  await page.getByRole('button', { name: 'layers 2→4' }).click();
  const rows = page.getByRole('table', { name: /^What each bought/ }).locator('tbody tr');
  await expect.poll(() => rows.count(), { timeout: minutes }).toBe(2);
  await done(page);
  const [first, second] = await Promise.all([0, 1].map((row) => rows.nth(row).locator('th, td').allInnerTexts()));
  expect(second![0]).toContain('layers');
  for (const [cells, more] of [[first!, []], [second!, ['--layers', '4']]] as const) {
    expect(cells[1]).toBe(digits(reckon(['count', 'mini-gpt', ...more, '--format', 'json']), 'total'));
  }
  const number = (cell: string) => Number(cell.replace('−', '-'));
  expect(number(second![4]!)).toBeCloseTo(number(second![3]!) - number(first![3]!), 2);
  expect(number(second![4]!)).not.toBe(0);
  // Ten steps of each, as `reckon count` counts one, and what the difference bought.
  const flops = [[], ['--layers', '4']].map((more) => {
    const count = reckon(['count', 'mini-gpt', ...more, '--phase', 'train', '--batch', '8', '--causal', 'exact', '--format', 'json']);
    return 10 * (JSON.parse(count) as { flops: { matmul: number } }).flops.matmul;
  });
  expect(first![2]).toBe(`${(flops[0]! / 1e9).toFixed(3)} GFLOP`);
  expect(second![2]).toBe(`${(flops[1]! / 1e9).toFixed(3)} GFLOP`);
  const parameters = [first!, second!].map((cells) => Number(cells[1]!.replaceAll(',', '')));
  expect(number(second![5]!)).toBeCloseTo(number(second![4]!) / ((parameters[1]! - parameters[0]!) / 1e5), 2);
  expect(number(second![6]!)).toBeCloseTo(number(second![4]!) / ((flops[1]! - flops[0]!) / 1e9), 2);
  await page.getByText(/loss of “.*layers.*” less that of “mini-gpt”/).waitFor({ state: 'attached' });
});

test('one knob changed trains the run of before, whatever was chosen since', { timeout: minutes }, async () => {
  const page = await atTrain(open, 5, '&train.tokenizer=bytes');
  await page.getByRole('radio', { name: 'Pasted' }).check();
  await page.getByLabel('Text to train on').fill('The cat sat on the mat, and the owl on the hill. '.repeat(400));
  await start(page);
  await done(page);
  await page.getByRole('link', { name: 'Count' }).click();
  await page.getByLabel('All models').selectOption('gpt2');
  await page.getByRole('link', { name: 'Train' }).click();
  await page.getByRole('radio', { name: 'Stories' }).check();
  await page.getByRole('radio', { name: 'Trained on the text' }).check();
  await page.getByRole('button', { name: 'Train a small sibling' }).waitFor({ timeout: minutes });
  await page.getByRole('button', { name: 'layers 2→4' }).click();
  const rows = page.getByRole('table', { name: /^What each bought/ }).locator('tbody tr');
  await expect.poll(() => rows.count(), { timeout: minutes }).toBe(2);
  await done(page);
  const cells = await rows.nth(1).locator('th, td').allInnerTexts();
  expect(cells[0]).toBe('layers 2→4'); // and nothing else
  expect(cells[1]).toBe(digits(reckon(['count', 'mini-gpt', '--layers', '4', '--vocab', '256', '--format', 'json']), 'total'));
  expect(await page.getByLabel('Text to train on').inputValue()).toContain('The cat sat');
});

test('the learning rate that is set while it trains is that of the next steps', { timeout: minutes }, async () => {
  const page = await atTrain(open, 10_000);
  await start(page);
  const chart = page.locator('figure', { hasText: 'Learning rate' });
  await chart.scrollIntoViewIfNeeded({ timeout: minutes });
  const rate = async () => Number((await chart.locator('.legend b').innerText()).replace('−', '-'));
  await expect.poll(rate, { timeout: minutes }).toBeGreaterThan(0.0009); // warm: 0.001, then slowly less
  expect(await rate()).toBeLessThanOrEqual(0.001);
  await page.getByLabel('Learning rate, number').fill('4e-3');
  await page.keyboard.press('Enter');
  expect(await page.getByRole('button', { name: 'Pause' }).isVisible()).toBe(true);
  await expect.poll(rate, { timeout: 10_000 }).toBeGreaterThan(0.003);
  expect(await rate()).toBeLessThanOrEqual(0.004);
});

test('a pasted text is trained on, as in the terminal', { timeout: minutes }, async () => {
  const animals = ['cat', 'dog', 'owl', 'fox', 'hen'], places = ['mat', 'log', 'hill', 'roof', 'bed'];
  const text = Array.from({ length: 1500 }, (_, i) => `The ${animals[(i * 7) % 5]} sat on the ${places[(i * i) % 5]}.`).join(' ');
  const page = await atTrain(open, 40, '&vocab=300');
  await page.getByRole('radio', { name: 'Pasted' }).check();
  await page.getByLabel('Text to train on').fill(text);
  await start(page);
  await done(page);
  const validation = Number(await card(page, 'validation'));
  writeFileSync(join(scratch, 'text.txt'), text);
  reckon(['train', 'mini-gpt', '--vocab', '300', '--text', 'text.txt', '--steps', '40', '--out', 'pasted'], scratch);
  const lines = readFileSync(join(scratch, 'pasted/metrics.jsonl'), 'utf8').trim().split('\n');
  expect(validation).toBeCloseTo((JSON.parse(lines.at(-1)!) as { validation: number }).validation, 1);
  expect(await page.locator('.controls code[aria-label="Command for the terminal"]').innerText()).toContain('--text text.txt');
});

test('after a reload the run of before is offered, and goes on from where it was', { timeout: minutes }, async () => {
  const page = await atTrain(open, 10_000);
  await start(page);
  await page.getByRole('button', { name: 'Pause' }).click({ timeout: minutes });
  await page.getByRole('button', { name: 'Continue' }).waitFor();
  const saved = page.getByRole('listitem').filter({ hasText: 'the last run' });
  await expect.poll(async () => (await saved.innerText()).includes(`step ${await card(page, 'step')} of 10,000`), { timeout: minutes }).toBe(true);
  const step = await card(page, 'step');
  const number = (text: string) => Number(text.replaceAll(',', ''));
  await page.reload();
  await page.getByText(`A run of mini-gpt stopped at step ${step} of 10,000.`).waitFor({ timeout: minutes });
  await page.getByRole('button', { name: 'Continue it' }).click();
  await expect.poll(async () => number(await card(page, 'step')), { timeout: minutes }).toBeGreaterThan(number(step));
  expect(await page.getByText(/^The loss began at 6\.2/).count()).toBe(1); // its curve from the beginning
});

// A file that is dropped there; whether the browser was told not to open it.
const dropped = (place: ReturnType<Page['locator']>) =>
  place.evaluate((element) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(['no tar at all'], 'run.tar'));
    return ['dragover', 'drop'].map((kind) => !element.dispatchEvent(new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true })));
  });

test('a file that is dropped beside its place opens nothing, and a run anywhere in the place for it', async () => {
  const page = await open();
  for (const view of ['Tokenize', 'Train', 'Generate', 'Tour']) {
    await page.getByRole('link', { name: view }).click();
    const heading = page.getByRole('heading', { level: 1 }).filter({ visible: true });
    await heading.waitFor();
    expect(await dropped(heading), view).toEqual([true, true]);
  }
  await page.getByRole('link', { name: 'Train' }).click();
  expect(await page.getByRole('alert').count()).toBe(0);
  expect(await dropped(page.getByText('or drop either here'))).toEqual([true, true]);
  await page.getByRole('alert').getByText('run.tar').waitFor({ timeout: minutes });
  await page.getByRole('link', { name: 'Count' }).click();
  expect(await page.getByRole('heading', { level: 1, name: 'gpt2' }).isVisible()).toBe(true); // a drop on Train is no model
});

// A tab in the background: it is hidden, and nothing is drawn until it is seen again.
function hideable(): void {
  const frame = requestAnimationFrame.bind(window);
  let held: FrameRequestCallback[] | null = null;
  window.requestAnimationFrame = (draw) => (held ? held.push(draw) : frame(draw));
  const show = (state: DocumentVisibilityState) => {
    Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });
    Object.defineProperty(document, 'hidden', { value: state === 'hidden', configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  };
  Object.assign(window, {
    hide: () => ((held = []), show('hidden')),
    unhide: () => {
      const draw = held ?? [];
      held = null;
      show('visible');
      draw.forEach((one) => frame(one));
    },
  });
}

test('in a background tab a run goes on and is saved, and is drawn when it is seen again', { timeout: minutes }, async () => {
  const page = await open('?v=1&model=mini-gpt&train.steps=5000#train', { before: hideable });
  const number = (text: string) => Number(text.replaceAll(',', ''));
  const step = async () => number(await card(page, 'step'));
  await start(page);
  await expect.poll(step, { timeout: minutes }).toBeGreaterThan(0);
  await page.evaluate('hide()');
  const drawn = await step();
  const saved = page.getByRole('listitem').filter({ hasText: 'the last run' });
  const savedStep = async () => number(/step ([\d,]+) of/.exec((await saved.allInnerTexts()).join())?.[1] ?? '0');
  await expect.poll(savedStep, { timeout: minutes }).toBeGreaterThan(drawn + 50);
  expect(await step()).toBe(drawn);
  await page.evaluate('unhide()');
  await expect.poll(step, { timeout: 20_000 }).toBeGreaterThanOrEqual(await savedStep());
});
