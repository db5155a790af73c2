// Measures the page in Chromium, and training in it in turns with the program: node bench/page.mjs ADDRESS ROUNDS PROGRAM,
// where ADDRESS serves web/dist. Prints JSON.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const { chromium } = createRequire(new URL('../web/', import.meta.url))('playwright-core');
const [address, rounds, program] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });

// From the request to the first view with its figures, in a browser that has never seen the page. Milliseconds.
async function firstView() {
  const page = await (await browser.newContext()).newPage();
  await page.goto(address, { waitUntil: 'load' });
  await page.waitForFunction(() => /\d,\d{3},\d{3}/.test(document.body.innerText));
  const taken = await page.evaluate(() => performance.now());
  await page.context().close();
  return taken;
}

// In a worker, as the page has it: a module, and what is asked of it one by one. `limit` is one large product by our own
// kernels; training is that of `reckon train mini-gpt`.
async function ready(name) {
  const { default: create } = await import(new URL(`${name}.js`, base).href);
  const module = await create({ locateFile: (file) => new URL(file, base).href, threads: Math.min(navigator.hardwareConcurrency, 8) }); // as the page has it
  const ask = (request) => {
    const reply = JSON.parse(module.ask(JSON.stringify(request)).reply);
    if (reply.error) throw new Error(reply.error);
    return reply;
  };
  let run;
  const steps = (lines) => lines.filter((line) => line.kind === 'step');
  return {
    // Milliseconds of a count.
    count() {
      const times = [];
      for (let i = 0; i < 2000; ++i) {
        const begin = performance.now();
        module.report(['count', 'gpt2', '--layers', String(1 + (i % 48)), '--format', 'json']);
        times.push(performance.now() - begin);
      }
      return times.slice(1000);
    },
    begin() {
      const settings = { model: 'mini-gpt', steps: 100000, eval_every: 0, sample_every: 0, layers_every: 0, save_every: 0 };
      ({ run } = ask({ ask: 'train', out: '/run', settings }));
      ask({ ask: 'advance', run, milliseconds: 3000 }); // until all is compiled for speed
    },
    round() {
      const limits = Array.from({ length: 3 }, () => ask({ ask: 'limit' }));
      const { lines } = ask({ ask: 'advance', run, milliseconds: 500 });
      return { threads: limits[0].threads, limits: limits.map((one) => one.gflops_per_second), rates: steps(lines).map((line) => line.gflops_per_second) };
    },
    // Where the time of a step goes, in milliseconds.
    profile() {
      const { operations, lines } = ask({ ask: 'advance', run, milliseconds: 1500, profile: true });
      return operations.map(({ operation, seconds }) => [operation, (1000 * seconds) / steps(lines).length]);
    },
  };
}

// What `ready` makes of a module, each function answered by a promise; `close` ends it.
async function inWorker(name) {
  const page = await (await browser.newContext()).newPage();
  await page.goto(address);
  await page.evaluate(
    ({ code, name }) => {
      const text = `const base = '${new URL('engine/', location.href)}'; const made = (${code})('${name}');
        onmessage = async ({ data }) => {
          try { postMessage({ result: (await made)[data]() }); } catch (error) { postMessage({ error: String(error) }); }
        };`;
      window.worker = new Worker(URL.createObjectURL(new Blob([text], { type: 'text/javascript' })), { type: 'module' });
    },
    { code: ready.toString(), name },
  );
  const ask = (what) =>
    page.evaluate(
      (what) =>
        new Promise((resolve, reject) => {
          window.worker.onmessage = ({ data }) => (data.error ? reject(new Error(data.error)) : resolve(data.result));
          window.worker.onerror = (event) => reject(new Error(event.message));
          window.worker.postMessage(what);
        }),
      what,
    );
  const functions = ['count', 'begin', 'round', 'profile'].map((what) => [what, () => ask(what)]);
  return { ...Object.fromEntries(functions), close: () => page.context().close() };
}

// The rates of the same training by the program, step by step, in GFLOP/s.
function native(threads) {
  const folder = mkdtempSync(join(tmpdir(), 'reckon-bench-'));
  try {
    const words = ['train', 'mini-gpt', '--steps', '400', '--threads', String(threads), '--out', join(folder, 'run')];
    execFileSync(program, words, { stdio: 'ignore' });
    const lines = readFileSync(join(folder, 'run/metrics.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
    return lines.filter((line) => line.kind === 'step').map((line) => line.gflops_per_second);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const views = [];
for (let i = 0; i < 7; ++i) views.push(await firstView());
const counting = await inWorker('count');
const result = { browser: `Chromium ${browser.version()}`, first_view_ms: median(views), count_ms: median(await counting.count()) };
await counting.close();

// Both modules and the program, in turns.
const modules = ['run', 'run-threads'];
const measured = [];
for (const name of modules) {
  const worker = await inWorker(name);
  await worker.begin();
  measured.push({ name, worker, limits: [], rates: [], native: [] });
}
for (let round = 0; round < Number(rounds); ++round) {
  for (const one of measured) {
    const { threads, limits, rates } = await one.worker.round();
    one.threads = threads;
    one.limits.push(...limits);
    one.rates.push(...rates);
    one.native.push(...native(threads));
  }
}
for (const { name, worker, threads, limits, rates, native } of measured) {
  result[name] = { threads, limit: median(limits), training: median(rates), native: median(native), operations: await worker.profile() };
  await worker.close();
}
await browser.close();
console.log(JSON.stringify(result));
