// The page's running modules generate what transformers generated with every small model of tests/data, greedily:
// node tests/run_module.mjs FOLDER [-threads]. FOLDER has run.js and run-more.js with their .wasm, or run-threads.js and
// run-more-threads.js. What the first lacks it says, and the second has it; attention maps among that, of a model that
// the first holds and hands over.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import './no_workers.mjs';

const folder = resolve(process.argv[2]), ending = process.argv[3] ?? '';
process.chdir(resolve(new URL('..', import.meta.url).pathname));
async function load(name) {
  const { default: create } = await import(pathToFileURL(`${folder}/${name}${ending}.js`).href);
  const module = await create({ wasmBinary: readFileSync(`${folder}/${name}${ending}.wasm`), threads: 2 });
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

// ---- Looking inside gpt2, held against its weights as they lie in the file ----

const path = 'tests/data/tiny/gpt2', ids = [7, 200, 13, 99, 4, 56];
const file = readFileSync(`${path}/model.safetensors`), data = 8 + Number(file.readBigUInt64LE());
const header = JSON.parse(file.subarray(8, data));
function tensor(name) {
  const { shape, data_offsets: [from, to] } = header[`transformer.${name}`];
  const bytes = file.subarray(data + from, data + to);
  const at = (i) => bytes.readFloatLE(4 * i), width = shape.at(-1);
  return { width, at, row: (r) => Array.from({ length: width }, (_, i) => at(r * width + i)) };
}
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

// What the heads of the first layer attend to: softmax of q·k/√12, q and k of the norm of what is embedded.
function firstMaps() {
  const { n_embd: d, n_head: heads, layer_norm_epsilon: epsilon } = JSON.parse(readFileSync(`${path}/config.json`));
  const gain = tensor('h.0.ln_1.weight').row(0), shift = tensor('h.0.ln_1.bias').row(0);
  const matrix = tensor('h.0.attn.c_attn.weight'), bias = tensor('h.0.attn.c_attn.bias').row(0);
  const position = tensor('wpe.weight'), token = tensor('wte.weight');
  const projected = ids.map((id, t) => {
    const x = token.row(id).map((value, i) => value + position.row(t)[i]);
    const mean = x.reduce((sum, value) => sum + value, 0) / d;
    const deviation = Math.sqrt(x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / d + epsilon);
    const normed = x.map((value, i) => ((value - mean) / deviation) * gain[i] + shift[i]);
    return bias.map((value, column) => value + normed.reduce((sum, one, i) => sum + one * matrix.at(i * matrix.width + column), 0));
  });
  const width = d / heads, maps = [];
  for (let head = 0; head < heads; ++head) {
    const part = (t, from) => projected[t].slice(from + head * width, from + (head + 1) * width);
    for (let t = 0; t < ids.length; ++t) {
      const weights = ids.map((_, s) => (s > t ? 0 : Math.exp(dot(part(t, 0), part(s, d)) / Math.sqrt(width))));
      maps.push(...weights.map((weight) => weight / weights.reduce((sum, one) => sum + one, 0)));
    }
  }
  return maps;
}
const apart = (found, expected) => (found.length === expected.length ? Math.max(...expected.map((value, i) => Math.abs(value - found[i]))) : Infinity);

// The maps of what the first module holds: the second opens what the first has written, as web/src/engine/run-modules.ts does.
function mapsOf(of) {
  if (!first.question({ ask: 'attention', of, ids }).lacking) complain('run should leave attention maps to run-more');
  const { path: written, error } = first.question({ ask: 'write_model', of, path: '/handed' });
  if (error) return { error };
  second.FS.mkdirTree(written);
  for (const name of first.FS.readdir(written).filter((name) => !name.startsWith('.'))) second.FS.writeFile(`${written}/${name}`, first.FS.readFile(`${written}/${name}`));
  const opened = second.question({ ask: 'model', path: written });
  if (opened.error) return opened;
  const { reply, array } = second.ask(JSON.stringify({ ask: 'attention', of: opened.model, ids }));
  return { ...JSON.parse(reply), maps: [...array] };
}

{
  const { model } = first.question({ ask: 'model', path });
  for (const name of ['config.json', 'model.safetensors']) first.FS.unlink(`${path}/${name}`); // the page keeps no files of a model
  const { layers, maps, error } = mapsOf(model);
  if (error) complain(`attention: ${error}`);
  else {
    const from = layers[0].from, size = layers[0].heads * ids.length ** 2;
    const away = apart(maps.slice(from, from + size), firstMaps());
    if (!(away < 1e-5)) complain(`attention: the first layer is ${away} away from what its weights say`);
    if (layers.length !== 3 || maps.length !== 3 * size) complain(`attention: ${layers.length} layers, ${maps.length} weights`);
  }

  const rows = tensor('wte.weight'), of = rows.row(42);
  const cosines = Array.from({ length: 257 }, (_, id) => ({ id, cosine: dot(of, rows.row(id)) / Math.sqrt(dot(of, of) * dot(rows.row(id), rows.row(id))) }));
  const nearest = cosines.filter(({ id }) => id !== 42).sort((a, b) => b.cosine - a.cosine).slice(0, 5);
  const { neighbours = [], error: failed } = first.question({ ask: 'neighbours', of: model, token: 42, count: 5 });
  if (failed || `${neighbours.map(({ id }) => id)}` !== `${nearest.map(({ id }) => id)}` || !(apart(neighbours.map(({ cosine }) => cosine), nearest.map(({ cosine }) => cosine)) < 1e-5))
    complain(`neighbours: ${failed ?? JSON.stringify(neighbours)}, expected ${JSON.stringify(nearest)}`);
}

// Of a run, the maps are those of its weights now.
{
  const settings = { model: path, tokenizer: 'bytes', steps: 4, batch: 2, text: ['/text'] };
  first.FS.mkdirTree(path);
  first.FS.writeFile(`${path}/config.json`, readFileSync(`${path}/config.json`));
  first.FS.writeFile('/text', Buffer.from('A cat sat on a mat and saw a rat. '.repeat(200)));
  const { run, error } = first.question({ ask: 'train', out: '/out', settings });
  const before = error ? { error } : mapsOf(run);
  if (!error) first.question({ ask: 'advance', run, milliseconds: 0 });
  const after = error ? { error } : mapsOf(run);
  if (before.error || after.error) complain(`attention of a run: ${before.error ?? after.error}`);
  else if (!(apart(after.maps, before.maps) > 0) || before.pieces[0].text === null) complain('attention of a run: the maps are the same after a step, or without its tokenizer');
}
console.log(`${models} small models, of which run leaves ${lacking.size} to run-more`);
process.exitCode = wrong > 0 ? 1 : 0;
