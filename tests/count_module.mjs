// The page's counting modules say what the program says, byte for byte: node tests/count_module.mjs PROGRAM FOLDER
// FOLDER has count.js and more.js with their .wasm.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [program, folder] = process.argv.slice(2).map((path) => resolve(path));
process.chdir(resolve(new URL('..', import.meta.url).pathname));
async function load(name) {
  const { default: create } = await import(pathToFileURL(`${folder}/${name}.js`).href);
  return create({ wasmBinary: readFileSync(`${folder}/${name}.wasm`) });
}
const modules = { count: await load('count'), more: await load('more') };
// As the page asks them (web/src/engine/count.worker.ts).
let first = 0;
function ask(words) {
  if (words[0] === 'count' && words.includes('json')) {
    const answer = modules.count.report(words);
    if (answer.code === 0) return (++first, answer);
  }
  return modules.more.report(words);
}

function native(words) {
  const env = { ...process.env, LC_ALL: 'C.UTF-8' };
  delete env.COLUMNS;
  const { status, stdout, stderr } = spawnSync(program, words, { env, maxBuffer: 1 << 28 });
  return { code: status, out: stdout.toString(), err: stderr.toString() };
}

let wrong = 0;
function complain(sentence) {
  console.log(sentence);
  ++wrong;
}

function firstDifference(a, b) {
  let i = 0;
  while (i < a.length && a[i] === b[i]) ++i;
  const from = Math.max(0, i - 40);
  return `at ${i}: the module has ${JSON.stringify(a.slice(from, i + 40))}, the program ${JSON.stringify(b.slice(from, i + 40))}`;
}

function compare(words) {
  const here = ask(words), there = native(words);
  for (const key of ['code', 'out', 'err'])
    if (here[key] !== there[key])
      complain(`reckon ${words.join(' ')}: ${key} differs ${firstDifference(String(here[key]), String(there[key]))}`);
  return here;
}

const models = native(['models', '--format', 'csv']).out.trim().split('\n').slice(1).map((line) => line.split(',')[0]);
for (const model of models) {
  compare(['count', model, '--format', 'json']);
  compare(['count', model, '--phase', 'train', '--batch', '16', '--format', 'json']);
  compare(['memory', model, '--format', 'json']);
}
// Two thirds of them at least: rarer families are the larger module's.
if (first < (4 / 3) * models.length) complain(`the first module counts ${first / 2} of ${models.length} presets`);

// Files that are put into the module's own file system, under the paths that they have here.
for (const path of ['tests/data/tiny/gpt2/config.json', 'tests/data/tiny/gpt2/model.safetensors']) {
  for (const { FS } of Object.values(modules)) {
    FS.mkdirTree(path.replace(/\/[^/]*$/, ''));
    FS.writeFile(path, readFileSync(path));
  }
}

for (const line of `
  count
  count gpt3
  count gpt2 --layer 3
  count gpt2 --layers -3
  count gpt2 --layers=
  count gpt2 --layers 3 --layers 4
  count gpt2 --layers
  count gpt2 x
  count -x gpt2
  time gpt2 --on h100 --price abc
  hardware --sources=maybe
  count gpt2 --layers 24 --d-model 1k --heads 16
  count gpt2 --by op --format markdown
  count mixtral-8x7b --phase decode --past 4k --by layer
  count deepseek-v3 --phase train --tokens 4k --by tensor --format csv
  count llama-3.1-405b --phase train --batch 2000000000 --tokens 100000 --format json
  count tests/data/tiny/gpt2 --format json
  count tests/data/tiny/gpt2/model.safetensors
  count no/such/config.json
  explain mini-gpt
  explain gpt2 --phase train --format markdown
  explain deepseek-v3 --tokens 4 --format json
  explain gpt2 --prompt Hello --tokenizer bytes
  models --format json
  hardware
  hardware h100 --format json
  compare gpt2 gpt2-xl --format json
  compare gpt2 llama-3.1-8b
  sweep gpt2 --context 1k..1M --format json
  sweep gpt2 --layers 1..48:1 --format csv
  memory llama-3.1-8b --context 8k --on h100
  memory gpt2 --phase train --on h100 --format json
  time gpt2 --phase train --on h200
  time llama-3.1-8b --phase decode --batch 8 --past 4k --on h100 --format json`.trim().split('\n'))
  compare(line.trim().split(/ +/));

// Counts beyond what a double holds keep their digits.
const { out } = compare(['count', 'llama-3.1-405b', '--phase', 'train', '--tokens', '8k', '--format', 'json']);
if (!/\d{17,}/.test(out)) complain('no count of llama-3.1-405b has 17 digits or more: is this training?');

// A slider calls it thousands of times: nothing is left behind. (bench/page has the time of a call.)
const words = ['count', 'gpt2', '--format', 'json'];
const bytes = () => modules.count.HEAPU8.length;
for (let i = 0; i < 200; ++i) modules.count.report(words);
const before = bytes();
const times = [];
for (let i = 0; i < 2000; ++i) {
  const begin = performance.now();
  modules.count.report(words);
  times.push(performance.now() - begin);
}
times.sort((a, b) => a - b);
console.log(`reckon ${words.join(' ')}: ${times[1000].toFixed(3)} ms in the median of 2,000 calls`);
if (bytes() !== before) complain(`its memory grew from ${before} to ${bytes()} bytes in 2,000 calls`);
process.exitCode = wrong > 0 ? 1 : 0;
