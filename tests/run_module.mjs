// The page's running modules generate what transformers generated with every small model of tests/data, greedily:
// node tests/run_module.mjs FOLDER. FOLDER has run.js and run-more.js with their .wasm. What the first lacks it says, and
// the second has it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const folder = resolve(process.argv[2]);
process.chdir(resolve(new URL('..', import.meta.url).pathname));
async function load(name) {
  const { default: create } = await import(pathToFileURL(`${folder}/${name}.js`).href);
  const module = await create({ wasmBinary: readFileSync(`${folder}/${name}.wasm`) });
  return { ...module, question: (request) => JSON.parse(module.ask(JSON.stringify(request)).reply) };
}
const first = await load('run'), second = await load('run-more');

// The prompt and what follows it, greedily, as far as the context goes; or what was wrong.
function generated({ FS, question }, path, prompt, most) {
  FS.mkdirTree(path);
  for (const file of ['config.json', 'model.safetensors']) FS.writeFile(`${path}/${file}`, readFileSync(`${path}/${file}`));
  const opened = question({ ask: 'model', path });
  if (opened.error) return opened;
  const { model, capacity } = opened;
  const length = Math.min(most, capacity);
  const ids = [...prompt];
  let reply = question({ ask: 'prefill', model, ids });
  while (!reply.error && ids.length < length) {
    const { draw } = question({ ask: 'distribution', model, sampling: { temperature: 0 }, count: 1 });
    ids.push(draw.id);
    if (ids.length < length) reply = question({ ask: 'append', model, id: draw.id });
  }
  question({ ask: 'forget', handle: model });
  return reply.error ? reply : { ids };
}

let wrong = 0;
function complain(sentence) {
  console.log(sentence);
  ++wrong;
}

let models = 0;
const lacking = new Set(), there = new Set();
for (const root of ['tests/data/tiny', 'tests/data/families/tiny']) {
  for (const name of readdirSync(root)) {
    const path = `${root}/${name}`;
    if (!existsSync(`${path}/io.json`)) continue;
    const { greedy_prompt: prompt, greedy } = JSON.parse(readFileSync(`${path}/io.json`));
    const here = generated(first, path, prompt, greedy.length), all = generated(second, path, prompt, greedy.length);
    for (const [module, { ids, error, lacking: lacks }] of [['run', here], ['run-more', all]]) {
      if (lacks && module === 'run') continue;
      if (`${ids}` !== `${greedy.slice(0, ids?.length)}`) complain(`${path}: ${module} has ${ids ?? error}, expected ${greedy}`);
    }
    (here.lacking ? lacking : there).add(name);
    ++models;
  }
}
for (const name of ['gpt2', 'gpt_neox', 'llama3-rope', 'mistral', 'mixtral', 'qwen2', 'qwen3', 'qwen3_moe', 'gemma', 'gemma2', 'gemma3_text', 'phi', 'phi3', 'gpt_oss'])
  if (!there.has(name)) complain(`${name} is common, and the first module does not run it`);
for (const name of ['mamba2', 'zamba2', 'qwen3_next', 'deepseek_v4', 'gemma3n_text'])
  if (!lacking.has(name)) complain(`${name} is rare; the first module should be without it`);
console.log(`${models} small models, of which run leaves ${lacking.size} to run-more`);
process.exitCode = wrong > 0 ? 1 : 0;
