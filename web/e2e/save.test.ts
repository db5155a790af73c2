// Pictures and tables that are saved: they are whole, and have what the page shows.
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browse, settled } from './browse';

const open = browse();
const minute = { timeout: 60_000 };

async function saved(page: Page, name: string, kind: 'SVG' | 'PNG' | 'CSV'): Promise<Buffer> {
  const button = page.getByRole('button', { name: `Save ${name} as ${kind}`, exact: true });
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  expect(download.suggestedFilename()).toBe(`${name}.${kind.toLowerCase()}`);
  return readFileSync((await download.path())!);
}
// The texts in an SVG as the browser parses it; an error in it is one of them.
const textsOf = (page: Page, svg: Buffer) =>
  page.evaluate((text) => {
    const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
    return [...parsed.querySelectorAll('text, title, parsererror')].map((one) => one.textContent!.trim());
  }, svg.toString());
// Width and height in a PNG's first chunk.
function sizeOf(png: Buffer): [number, number] {
  expect([...png.subarray(0, 8)]).toEqual([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return [png.readUInt32BE(16), png.readUInt32BE(20)];
}
const linesOf = (csv: Buffer) => csv.toString().trim().split('\n');

test('Count: pictures have the names and figures of the page, tables their rows', minute, async () => {
  const page = await open();
  await settled(page, 'count');
  const network = await textsOf(page, await saved(page, 'gpt2-parameters', 'SVG'));
  expect(network.join(' ')).toContain('feed-forward');
  expect(network.join(' ')).not.toMatch(/error/);

  const share = page.locator('section', { hasText: "The embedding's share" });
  await expect.poll(() => share.locator('li').count(), minute).toBeGreaterThan(4);
  const figures = await share.locator('li b').allInnerTexts();
  const texts = await textsOf(page, await saved(page, 'embedding-share', 'SVG'));
  for (const figure of figures) expect(texts).toContain(figure);
  const [width, height] = sizeOf(await saved(page, 'embedding-share', 'PNG'));
  expect(width).toBe(2 * 720);
  expect(height).toBeGreaterThan(2 * 24 * figures.length);
  expect(linesOf(await saved(page, 'embedding-share', 'CSV'))).toHaveLength(1 + figures.length);

  const all = await page.locator('section', { hasText: 'Memory of training' }).locator('.caption b').innerText();
  expect(await textsOf(page, await saved(page, 'training-memory', 'SVG'))).toContain(all);
  const chart = await textsOf(page, await saved(page, 'flops-against-context', 'SVG'));
  for (const name of ['scores and mixing', 'projections', 'feed-forward', 'head']) expect(chart).toContain(name);
  const swept = linesOf(await saved(page, 'flops-against-context', 'CSV')).map((line) => line.split(','));
  const context = swept.find(([tokens]) => tokens === '1024')!;
  // Of a token of gpt2 at its context, in full attention: 24·L·d² + 4·L·T·d + 2·V·d.
  expect(Number(context[1])).toBe(24 * 12 * 768 ** 2 + 4 * 12 * 1024 * 768 + 2 * 50257 * 768);
  await page.getByRole('heading', { name: 'Fits on' }).scrollIntoViewIfNeeded();
  const fits = page.locator('section', { hasText: 'Fits on' });
  await fits.locator('.share').nth(17).waitFor(minute); // nine devices, to serve and to train
  const devices = await textsOf(page, await saved(page, 'fits-on', 'SVG'));
  for (const name of ['rtx-4090', 'h100-sxm', 'to train']) expect(devices).toContain(name);

  await page.getByRole('option', { name: /^attention/ }).click();
  const tensors = page.getByRole('region', { name: 'Tensors' }).locator('tr');
  await expect.poll(() => tensors.count(), minute).toBeGreaterThan(2);
  const rows = linesOf(await saved(page, 'attention-tensors', 'CSV'));
  expect(rows).toHaveLength(1 + (await tensors.count()));
  expect(rows[0]).toBe('tensor,formula,layers,each,parameters');
});

test('Tokenize: the table has a row for each token', minute, async () => {
  const page = await open('?v=1&tokenize.a=bytes&tokenize.b=own#tokenize');
  await page.getByLabel('Text', { exact: true }).fill('a,"b"');
  await expect.poll(() => page.getByTestId('tokens').first().innerText(), minute).toBe('5');
  expect(linesOf(await saved(page, 'tokens-1', 'CSV'))).toEqual(['token,id,first byte,end', 'a,97,0,1', '",",44,1,2', '"""",34,2,3', 'b,98,3,4', '"""",34,4,5']);
  expect(await textsOf(page, await saved(page, 'tokens-1', 'SVG'))).toEqual(expect.arrayContaining(['a', ',', '"', 'b', '97', '44', '34', '98']));
});

test('Generate: the next token, the beams, the cache and the times', { timeout: 120_000 }, async () => {
  const page = await open('#generate');
  await settled(page, 'generate');
  for (let i = 1; i <= 3; ++i) {
    await page.getByRole('button', { name: 'Step', exact: true }).click();
    await expect.poll(() => page.locator('.story .token').count(), minute).toBe(i);
  }
  const table = page.getByRole('table', { name: 'Next token' });
  const likely = (await table.locator('tbody tr').first().locator('.wide b').innerText()).trim();
  expect(await textsOf(page, await saved(page, 'next-token', 'SVG'))).toContain(likely);
  expect(linesOf(await saved(page, 'next-token', 'CSV'))).toHaveLength(1 + 50 + 1);
  sizeOf(await saved(page, 'next-token', 'PNG'));
  expect(await textsOf(page, await saved(page, 'kv-cache', 'SVG'))).toContain('generated');
  expect(await textsOf(page, await saved(page, 'token-times', 'SVG'))).toContain('tokens');
  expect(linesOf(await saved(page, 'token-times', 'CSV'))).toHaveLength(1 + 3);
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByRole('tree', { name: 'Beams' }).waitFor(minute);
  expect(linesOf(await saved(page, 'beams', 'CSV'))).toHaveLength(1 + (await page.getByRole('treeitem').count()));
  expect((await textsOf(page, await saved(page, 'beams', 'SVG'))).length).toBeGreaterThan(10);
});

test('Train: attention and neighbours of a run', { timeout: 240_000 }, async () => {
  const page = await open('?v=1&model=mini-gpt&train.steps=3&train.sentence=One+day#train');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('button', { name: 'Train 3 steps more' }).waitFor({ timeout: 180_000 });
  const curve = linesOf(await saved(page, 'loss', 'CSV')).map((line) => line.split(','));
  const losses = curve.filter(([name]) => name === 'training (each step)');
  expect(losses.map(([, step]) => step)).toEqual(['1', '2', '3']);
  expect(Number(losses[0]![2])).toBeCloseTo(Math.log(512), 0);
  expect((await textsOf(page, await saved(page, 'loss', 'SVG'))).join(' ')).toContain('Loss');
  await page.getByRole('heading', { name: 'Attention' }).scrollIntoViewIfNeeded();
  const heads = page.locator('.grid button');
  await heads.first().waitFor(minute);
  const titles = (await textsOf(page, await saved(page, 'attention', 'SVG'))).filter((text) => /^layer \d+, head \d+:/.test(text));
  expect(titles).toHaveLength(await heads.count());
  sizeOf(await saved(page, 'attention', 'PNG'));
  const weights = linesOf(await saved(page, 'attention', 'CSV')).slice(1).map((line) => Number(line.split(',').at(-1)));
  const sum = weights.reduce((all, weight) => all + weight, 0);
  const tokens = Math.round(sum / (await heads.count())); // every row of every map sums to 1
  expect(weights).toHaveLength(((await heads.count()) * tokens * (tokens + 1)) / 2);
  expect(sum).toBeCloseTo((await heads.count()) * tokens, 2);
  await page.getByRole('heading', { name: 'Neighbours' }).scrollIntoViewIfNeeded();
  await page.locator('ol li .number').nth(7).waitFor(minute);
  expect(linesOf(await saved(page, 'neighbours', 'CSV'))).toHaveLength(1 + 8);
  const cosine = await page.locator('section', { hasText: 'Neighbours' }).locator('ol li .number').first().innerText();
  expect(await textsOf(page, await saved(page, 'neighbours', 'SVG'))).toContain(cosine);
});

test('Tour: the picture', minute, async () => {
  const page = await open('#tour');
  await settled(page, 'tour');
  expect((await textsOf(page, await saved(page, 'mini-gpt-parameters', 'SVG'))).join(' ')).toContain('embedding');
  expect(linesOf(await saved(page, 'mini-gpt-parameters', 'CSV'))[0]).toBe('part,parameters');
});
