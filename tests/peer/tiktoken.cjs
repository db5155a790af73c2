// The peer: encodes each string of a JSON list on standard input with the npm package tiktoken.
//   node tests/peer/tiktoken.cjs PACKAGE_FOLDER ENCODING          prints the lists of ids as JSON
//   node tests/peer/tiktoken.cjs PACKAGE_FOLDER ENCODING --time   prints the best rate of three runs over all, in MB/s
const [, , folder, encoding, mode] = process.argv;
const { get_encoding } = require(require("path").resolve(folder));
const encoder = get_encoding(encoding);
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
if (mode === "--time") {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  let best = Infinity;
  for (let run = 0; run < 3; ++run) {
    const start = process.cpuUsage();
    for (const text of texts) encoder.encode_ordinary(text);
    const { user, system } = process.cpuUsage(start);
    best = Math.min(best, user + system);
  }
  console.log((bytes / best).toFixed(2));
} else {
  console.log(JSON.stringify(texts.map((text) => Array.from(encoder.encode_ordinary(text)))));
}
