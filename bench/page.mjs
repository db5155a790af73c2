// Measures the page in Chromium: node bench/page.mjs ADDRESS ROUNDS, where ADDRESS serves web/dist. Prints JSON.
import { createRequire } from 'node:module';

const { chromium } = createRequire(new URL('../web/', import.meta.url))('playwright-core');
const [address, rounds] = process.argv.slice(2);
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

// In a worker, as the page has it. `limit` is one large product by our own kernels; training is that of
// `reckon train mini-gpt`; both in turns.
async function measure({ name, rounds }) {
  const { default: create } = await import(new URL(`${name}.js`, base).href);
  const module = await create({ locateFile: (file) => new URL(file, base).href, threads: Math.min(navigator.hardwareConcurrency, 8) }); // as the page has it
  if (name === 'count') {
    const times = [];
    for (let i = 0; i < 2000; ++i) {
      const begin = performance.now();
      module.report(['count', 'gpt2', '--layers', String(1 + (i % 48)), '--format', 'json']);
      times.push(performance.now() - begin);
    }
    return times.slice(1000);
  }
  const ask = (request) => {
    const reply = JSON.parse(module.ask(JSON.stringify(request)).reply);
    if (reply.error) throw new Error(reply.error);
    return reply;
  };
  const settings = { model: 'mini-gpt', steps: 100000, eval_every: 0, sample_every: 0, layers_every: 0, save_every: 0 };
  const { run } = ask({ ask: 'train', out: '/run', settings });
  ask({ ask: 'advance', run, milliseconds: 3000 }); // until all is compiled for speed
  const limits = [], steps = [];
  let threads = 0;
  for (let round = 0; round < rounds; ++round) {
    for (let i = 0; i < 3; ++i) {
      const limit = ask({ ask: 'limit' });
      limits.push(limit.gflops_per_second);
      threads = limit.threads;
    }
    for (const line of ask({ ask: 'advance', run, milliseconds: 500 }).lines)
      if (line.kind === 'step') steps.push(line.gflops_per_second);
  }
  // Where the time of a step goes, in milliseconds.
  const { operations, lines } = ask({ ask: 'advance', run, milliseconds: 1500, profile: true });
  const count = lines.filter((line) => line.kind === 'step').length;
  return { threads, limits, steps, operations: operations.map(({ operation, seconds }) => [operation, (1000 * seconds) / count]) };
}

async function inWorker(name) {
  const page = await (await browser.newContext()).newPage();
  await page.goto(address);
  const result = await page.evaluate(
    ({ code, name, rounds }) => {
      const text = `const base = '${new URL('engine/', location.href)}'; const measure = ${code};
        onmessage = async ({ data }) => {
          try { postMessage({ result: await measure(data) }); } catch (error) { postMessage({ error: String(error) }); }
        };`;
      const worker = new Worker(URL.createObjectURL(new Blob([text], { type: 'text/javascript' })), { type: 'module' });
      return new Promise((resolve, reject) => {
        worker.onmessage = ({ data }) => (data.error ? reject(new Error(data.error)) : resolve(data.result));
        worker.onerror = (event) => reject(new Error(event.message));
        worker.postMessage({ name, rounds });
      });
    },
    { code: measure.toString(), name, rounds: Number(rounds) },
  );
  await page.context().close();
  return result;
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const views = [];
for (let i = 0; i < 7; ++i) views.push(await firstView());
const result = { browser: `Chromium ${browser.version()}`, first_view_ms: median(views), count_ms: median(await inWorker('count')) };
for (const name of ['run', 'run-threads']) {
  const { threads, limits, steps, operations } = await inWorker(name);
  result[name] = { threads, limit: median(limits), training: median(steps), operations };
}
await browser.close();
console.log(JSON.stringify(result));
