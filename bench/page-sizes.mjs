// What a browser fetches of the page, each file gzipped (level 9), and the limits: node bench/page-sizes.mjs FOLDER, where
// FOLDER is web/dist. Prints rows of Markdown; fails where something is beyond its limit.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { gzipSync } from 'node:zlib';

const folder = resolve(process.argv[2]);
const bytes = (files) => files.reduce((sum, file) => sum + gzipSync(readFileSync(`${folder}/${file}`), { level: 9 }).length, 0);
const engine = (name) => ['js', 'wasm', ...(name.endsWith('-threads') ? ['worker.js'] : [])].map((kind) => `engine/${name}.${kind}`);
const html = readFileSync(`${folder}/index.html`, 'utf8');
const bundle = [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.(?:js|css))"/g)].map(([, file]) => file);
const workers = readdirSync(`${folder}/assets`).filter((file) => /^count\.worker.*\.js$/.test(file)).map((file) => `assets/${file}`);

const rows = [
  ['JavaScript, styles and WebAssembly of the first view', [...bundle, ...workers, ...engine('count')], 400],
  ['of that, the counting module', engine('count')],
  ['the module of the other commands that count', engine('more')],
  ['the running module', engine('run'), 600],
  ['the running module with threads', engine('run-threads'), 620],
  ['the running module of rarer families', engine('run-more')],
  ['the running module of rarer families with threads', engine('run-more-threads')],
];
for (const [what, files, most] of rows) {
  if (!files.every((file) => existsSync(`${folder}/${file}`))) continue; // threads are built when asked for
  const size = bytes(files) / 1000;
  console.log(`| ${what} | ${size.toFixed(1)} kB | ${most ? `${most} kB` : ''} |`);
  if (size > most) process.exitCode = 1;
}
