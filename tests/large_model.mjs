// The page's running module opens a model of 1.7 GiB and computes with it: node tests/large_model.mjs FOLDER NAME, where
// FOLDER has NAME.js and NAME.wasm, `run` or `run-threads`. The page reads files into the module's memory, of which there
// are 4 GiB at most.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import './no_workers.mjs';

const [folder, name] = [resolve(process.argv[2]), process.argv[3]];
const { default: create } = await import(pathToFileURL(`${folder}/${name}.js`).href);
const module = await create({ wasmBinary: readFileSync(`${folder}/${name}.wasm`), threads: 2 });
const ask = (request) => {
  const reply = JSON.parse(module.ask(JSON.stringify(request)).reply);
  if (reply.error) throw new Error(reply.error);
  return reply;
};

const d = 2048, wide = 8192, layers = 5, vocab = 32000;
const config = {
  model_type: 'llama', hidden_size: d, intermediate_size: wide, num_hidden_layers: layers, num_attention_heads: 16,
  num_key_value_heads: 16, vocab_size: vocab, max_position_embeddings: 64, rms_norm_eps: 1e-6, tie_word_embeddings: false,
};
const shapes = [['model.embed_tokens.weight', [vocab, d]], ['model.norm.weight', [d]]];
for (let layer = 0; layer < layers; ++layer) {
  const at = (part) => `model.layers.${layer}.${part}.weight`;
  for (const part of ['q', 'k', 'v', 'o']) shapes.push([at(`self_attn.${part}_proj`), [d, d]]);
  for (const part of ['gate', 'up']) shapes.push([at(`mlp.${part}_proj`), [wide, d]]);
  shapes.push([at('mlp.down_proj'), [d, wide]], [at('input_layernorm'), [d]], [at('post_attention_layernorm'), [d]]);
}
shapes.push(['lm_head.weight', [vocab, d]]); // the last in the file

const header = {};
let end = 0;
for (const [tensor, shape] of shapes) {
  const begin = end;
  end += 4 * shape.reduce((product, size) => product * size, 1);
  header[tensor] = { dtype: 'F32', shape, data_offsets: [begin, end] };
}
let text = JSON.stringify(header);
text += ' '.repeat(-text.length & 7);
const data = 8 + text.length;
const file = new Uint8Array(data + end);
new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
file.set(new TextEncoder().encode(text), 8);
const fill = (tensor, row, value) => new Float32Array(file.buffer, data + header[tensor].data_offsets[0] + 4 * d * row, d).fill(value);
fill('model.embed_tokens.weight', 5, 1);
fill('model.norm.weight', 0, 1);
fill('lm_head.weight', 7, 0.01);

module.FS.mkdirTree('/given');
module.FS.writeFile('/given/config.json', JSON.stringify(config));
module.FS.writeFile('/given/model.safetensors', file, { canOwn: true });
const { model } = ask({ ask: 'model', path: '/given' });
ask({ ask: 'prefill', model, ids: [5] });
const { draw } = ask({ ask: 'distribution', model, sampling: { temperature: 0 }, count: 1 });
// Layers of zeros add nothing: the head sees 2048 ones, whose root mean square is 1. 2048 · 0.01 = 20.48.
if (draw.id !== 7 || Math.abs(draw.logit - 20.48) > 1e-3) throw new Error(`of ${file.length} bytes came ${JSON.stringify(draw)}; expected a logit of 20.48 for 7`);
const { bytes, used } = ask({ ask: 'memory' });
console.log(`${name}: a model of ${file.length} bytes; of ${bytes} bytes of memory ${used} are used`);
