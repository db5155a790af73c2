// What the tests in a browser share: pages that note every complaint, and the program to compare with.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest';
import { dist, program } from './servers';

export const views = ['count', 'tokenize', 'train', 'generate', 'tour'] as const;
// A phone's scroll bar lies over the page, and its window is as wide as the device.
export const devices = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
};
export const withThreads = existsSync(join(dist, 'engine/run-threads.wasm'));

// `reckon ARGS`: what it prints.
export function reckon(args: string[], folder?: string): string {
  const done = spawnSync(program, args, { encoding: 'utf8', cwd: folder, maxBuffer: 1 << 26 });
  if (done.status !== 0) throw new Error(`reckon ${args.join(' ')}: ${done.stderr}`);
  return done.stdout;
}
// The sentence with which it refuses them.
export function refusal(args: string[], folder: string): string {
  const done = spawnSync(program, args, { encoding: 'utf8', cwd: folder });
  if (done.status === 0) throw new Error(`reckon ${args.join(' ')} refuses nothing`);
  return done.stderr.trim().replace(/^reckon: /, '');
}
// A number as it stands in the JSON, every digit of it, with commas.
export function digits(json: string, key: string): string {
  const found = new RegExp(`"${key}": (\\d+)`).exec(json)?.[1];
  if (!found) throw new Error(`there is no ${key} in what reckon printed`);
  return found.replace(/\B(?=(\d{3})+$)/g, ',');
}

interface Options extends BrowserContextOptions {
  at?: string; // the server; `reckon serve` by default
  before?: () => void; // in the page, before anything of it runs
  missing?: RegExp; // addresses that cannot be fetched, of which the browser may complain
}

// One browser for the tests of a file. The function opens the page at a link; every test ends with none of its pages
// having written an error or a warning to the console, or having asked anything but files of its own server.
export function browse(): (link?: string, options?: Options) => Promise<Page> {
  let browser: Browser;
  const open: { context: BrowserContext; complaints: string[] }[] = [];
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: ['--no-sandbox'],
      ignoreDefaultArgs: ['--hide-scrollbars'], // readers have them
    });
  });
  afterAll(() => browser?.close());
  afterEach(async () => {
    const all = open.splice(0);
    for (const { context } of all) await context.close();
    expect(all.flatMap(({ complaints }) => complaints)).toEqual([]);
  });
  return async (link = '', { at = inject('isolated'), before, missing, ...options } = {}) => {
    const context = await browser.newContext({ ...devices.desktop, ...options });
    if (before) await context.addInitScript(before);
    if (missing) await context.route(missing, (route) => route.abort());
    const page = await context.newPage();
    const complaints: string[] = [];
    open.push({ context, complaints });
    page.on('console', (message) => {
      const told = missing && /net::ERR_FAILED|sent an error/.test(message.text());
      if (['error', 'warning'].includes(message.type()) && !told) complaints.push(`${message.type()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => complaints.push(String(error)));
    // Of the page, its workers and its service worker. What is saved is made in the page (blob:, data:).
    context.on('request', (request) => {
      const own = request.url().startsWith(at) || /^(blob|data):/.test(request.url());
      if (!own || request.method() !== 'GET' || request.postData() !== null) complaints.push(`asked ${request.method()} ${request.url()}`);
    });
    await page.goto(at + link);
    return page;
  };
}

// The exact number of parameters on the view Count.
export const parametersOf = (page: Page) =>
  page.locator('.card:has([data-figure="parameters"]) small.number').innerText().then((text) => text.replace(/, .* active$/, ''));

// Waits until a view has what it shows without being asked.
export async function settled(page: Page, view: (typeof views)[number]): Promise<void> {
  if (view === 'count') await page.locator('[data-figure="parameters"]').waitFor();
  if (view === 'tokenize') await page.getByTestId('tokens').first().waitFor();
  if (view === 'train') await page.getByRole('button', { name: 'Start', exact: true }).or(page.getByRole('button', { name: 'Train a small sibling' })).waitFor();
  if (view === 'generate') await page.getByRole('region', { name: 'Distribution' }).getByRole('button').first().waitFor();
  if (view === 'tour') await page.getByRole('button', { name: 'Show me' }).waitFor();
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
interface Violation {
  id: string;
  nodes: { target: unknown[] }[];
}
// What axe has to say against the page.
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run(options: object): Promise<{ violations: Violation[] }> } };
    return (await axe.run({ resultTypes: ['violations'] })).violations;
  });
  return found.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(' ')}`));
}

// Elements that reach beyond the window's right edge and that nobody can scroll to. (scrollWidth does not see all; and
// innerWidth has a scroll bar in it, and grows on a phone, which zooms out to show what is too wide.)
export const beyondTheEdge = (page: Page) =>
  page.evaluate(() => {
    const clipped = (element: Element): boolean => {
      for (let one = element.parentElement; one; one = one.parentElement) if (getComputedStyle(one).overflowX !== 'visible') return true;
      return false;
    };
    const edge = document.documentElement.clientWidth;
    return [...document.querySelectorAll('body *')]
      .filter((one) => one.getBoundingClientRect().width > 0 && one.getBoundingClientRect().right > edge + 0.5 && !clipped(one))
      .map((one) => `${one.tagName} ${one.className} ${one.textContent?.trim().slice(0, 40)}`);
  });
