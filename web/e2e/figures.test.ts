// Every choice and every figure of Count below its picture, against what the program says of the same.
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { bytes, compact, grouped, percent } from '../src/numbers';
import { browse, digits, parametersOf, reckon, settled } from './browse';

const open = browse();
const patience = { timeout: 15_000 };
const asked = <T>(args: string[]) => JSON.parse(reckon([...args, '--format', 'json'])) as T;
const figure = (page: Page, name: string) => page.locator(`[data-figure="${name}"]`).innerText();

test('every well-known model has a button, which opens it', { timeout: 120_000 }, async () => {
  const page = await open();
  await settled(page, 'count');
  const chips = page.getByRole('group', { name: 'Well-known models, by size' }).getByRole('button');
  await expect.poll(() => chips.count(), patience).toBeGreaterThan(10);
  for (const chip of await chips.all()) {
    await chip.click();
    expect(await chip.getAttribute('aria-pressed')).toBe('true');
    const name = await page.getByLabel('All models').inputValue();
    expect(await chip.innerText()).toContain(name);
    await expect.poll(() => parametersOf(page), { ...patience, message: name }).toBe(digits(reckon(['count', name, '--format', 'json']), 'total'));
  }
});

interface Count {
  workload: { batch: number; tokens: number };
  parameters: { total: number; by_component: { name: string; formula: string; numbers: string; value: number }[] };
  flops: { matmul: number };
  weights: Record<string, number>;
  rules: { meaning: string; unit: string; exact: number | null }[];
}
interface Memory {
  workload: { precision: string };
  memory: Record<string, number>;
  device?: { memory: number; fits: boolean };
}

const kinds: [string, string, [string, string][]][] = [
  ['Norm', 'norm', [['RMSNorm', 'rmsnorm'], ['LayerNorm', 'layernorm']]],
  ['Positions', 'positions', [['RoPE', 'rope'], ['ALiBi', 'alibi'], ['sines', 'sinusoidal'], ['none', 'none'], ['learned', 'learned']]],
  ['Feed-forward kind', 'ffn', [['ReLU', 'relu'], ['SiLU', 'silu'], ['SwiGLU', 'swiglu'], ['GeGLU', 'geglu'], ['GELU', 'gelu']]],
  ['Head', 'tied', [['its own', 'no'], ['tied to the embedding', 'yes']]],
];
test.each(kinds)('%s: each choice is the one of --%s', async (label, option, values) => {
  const page = await open();
  await settled(page, 'count');
  for (const [name, value] of values) {
    const args = ['count', 'gpt2', `--${option}`, value];
    await page.getByRole('group', { name: label }).getByRole('radio', { name, exact: true }).check();
    const { parameters, flops, workload } = asked<Count>(args);
    await expect.poll(() => page.locator('.lead code[aria-label="Command for the terminal"]').innerText(), patience).toBe(`reckon ${args.join(' ')}`);
    await expect.poll(() => parametersOf(page), { ...patience, message: value }).toBe(grouped(parameters.total));
    expect(await figure(page, 'flops')).toBe(compact(flops.matmul / workload.tokens));
  }
});

test('each phase and each precision has its FLOPs and its weights', async () => {
  const page = await open();
  await settled(page, 'count');
  for (const phase of ['decode', 'train', 'forward']) {
    await page.getByRole('group', { name: 'Phase' }).getByRole('radio', { name: phase, exact: true }).check();
    const { flops, workload } = asked<Count>(['count', 'gpt2', '--phase', phase]);
    await expect.poll(() => figure(page, 'flops'), { ...patience, message: phase }).toBe(compact(flops.matmul / workload.batch / workload.tokens));
  }
  for (const [name, precision] of [['fp32', 'float32'], ['fp8', 'float8_e4m3'], ['int8', 'int8'], ['int4', 'int4'], ['bf16', 'bfloat16']] as const) {
    await page.getByRole('group', { name: 'Precision' }).getByRole('radio', { name, exact: true }).check();
    const wide = precision === 'float32' || precision === 'bfloat16';
    const weights = wide ? asked<Count>(['count', 'gpt2', '--precision', precision]).weights[precision]! : asked<Memory>(['memory', 'gpt2', '--precision', precision]).memory.weights!;
    await expect.poll(() => figure(page, 'weights'), { ...patience, message: name }).toBe(bytes(weights));
    expect(await page.locator('.card:has([data-figure="weights"]) small').last().innerText()).toBe(`in ${precision}`);
  }
});

test('blocks that are sized by bytes are what memory holds', async () => {
  const page = await open();
  await settled(page, 'count');
  await page.getByRole('radio', { name: 'Bytes', exact: true }).check();
  const { total } = asked<Memory>(['memory', 'gpt2']).memory;
  await expect.poll(() => page.locator('figure.picture figcaption .total').innerText(), patience).toBe(bytes(total!));
  await page.getByText('the same as a table').click();
  const cells = await page.locator('figure.picture table tbody td:nth-child(2)').allInnerTexts();
  expect(cells.reduce((sum, cell) => sum + Number(cell.replaceAll(',', '')), 0)).toBe(total);
});

test('the chosen part has its formula, the numbers in it, and what they come to', async () => {
  const page = await open();
  await settled(page, 'count');
  await page.getByRole('option', { name: /^attention/ }).click();
  const rows = asked<Count>(['count', 'gpt2']).parameters.by_component;
  const { formula, numbers, value } = rows.find(({ name }) => name === 'attention')!;
  expect(value).toBe(12 * (768 * 3 * 768 + 3 * 768 + 768 * 768 + 768)); // of each layer query, key, value and the output, with biases
  const codes = page.getByRole('region', { name: 'The chosen part' }).locator('dd code');
  expect(await codes.allInnerTexts()).toEqual([formula, `= ${numbers}`, '= 28,348,416']);
  await page.getByRole('option', { name: /^token embedding/ }).click();
  expect(await codes.allInnerTexts()).toEqual(['V·d', '= 50,257·768', '= 38,597,376']);
});

test('scores and mixing cross the projections where the program says', async () => {
  const page = await open('?v=1&model=gpt2-xl');
  const section = page.locator('section', { hasText: 'FLOPs against the context' });
  const rule = asked<Count>(['count', 'gpt2-xl']).rules.find(({ meaning }) => /^context at which scores/.test(meaning))!;
  expect(rule.exact).toBe(3200); // 2·d: 4·T·d against 8·d²
  await expect.poll(() => section.locator('.caption b').innerText(), patience).toBe('3,200');
  await section.locator('circle').waitFor();
});

test('the memory of training is that of reckon memory, by kind', async () => {
  const page = await open();
  const section = page.locator('section', { hasText: 'Memory of training' });
  const { memory } = asked<Memory>(['memory', 'gpt2', '--phase', 'train']);
  await expect.poll(() => section.locator('.caption b').innerText(), patience).toBe(bytes(memory.total!));
  const kinds = { weights: 'weights', master: 'wide weights', gradients: 'gradients', optimizer: 'optimizer', activations: 'activations', temporary: 'temporary' };
  for (const [kind, name] of Object.entries(kinds)) {
    const cells = section.locator('tr').filter({ has: page.locator('th', { hasText: new RegExp(`^\\s*${name}`) }) }).locator('td');
    expect(await cells.allInnerTexts()).toEqual([bytes(memory[kind]!), percent(memory[kind]! / memory.total!)]);
  }
});

test('what it fits on is what reckon memory --on says', async () => {
  const page = await open('?v=1&model=llama-3.1-8b');
  await settled(page, 'count');
  await page.getByRole('heading', { name: 'Fits on' }).scrollIntoViewIfNeeded();
  const section = page.locator('section', { hasText: 'Fits on' });
  await section.locator('.share').nth(17).waitFor({ timeout: 60_000 });
  for (const device of ['rtx-4090', 'h100-sxm', 'mi300x']) {
    const shares = await section.locator('tr', { has: page.getByRole('rowheader', { name: device }) }).locator('.share').allInnerTexts();
    for (const [i, phase] of ['decode', 'train'].entries()) {
      const { memory, device: held } = asked<Memory>(['memory', 'llama-3.1-8b', '--phase', phase, '--on', device]);
      const used = memory.total! / held!.memory;
      expect(shares[i], `${device}, ${phase}`).toBe(held!.fits ? `✓ ${percent(used, used < 0.01 ? 1 : 0)}` : `${used >= 10 ? used.toFixed(0) : used.toFixed(1)} × too large`);
    }
  }
});
