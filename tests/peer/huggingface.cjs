// The peer: Hugging Face's tokenizers (Rust), as the npm package of that name.
//   node tests/peer/huggingface.cjs PACKAGE_FOLDER TOKENIZER_JSON     encodes each string of a JSON list on standard
//                                                                     input; prints the lists of ids as JSON
//   node tests/peer/huggingface.cjs PACKAGE_FOLDER --learn TEXT_FILE TOKENIZER_JSON
//                                                                     trains BPE, with 30,000 tokens at most, on the
//                                                                     lines of a text, and saves the tokenizer
//   node tests/peer/huggingface.cjs PACKAGE_FOLDER --train TEXT_FILE  prints the tokens that its BPE trainer makes (30,000
//                                                                     at most), and the least wall time and processor
//                                                                     time of three runs, in seconds
const [, , folder, file, text, trained] = process.argv;
const peer = require(require("path").resolve(folder));
const untrained = () => {
  const tokenizer = new peer.Tokenizer(peer.BPE.empty());
  tokenizer.setPreTokenizer(peer.byteLevelPreTokenizer(false));
  return tokenizer;
};
if (file === "--train") {
  let [tokens, wall, processor] = [0, Infinity, Infinity];
  for (let run = 0; run < 3; ++run) {
    const tokenizer = untrained();
    const [start, used] = [process.hrtime.bigint(), process.cpuUsage()];
    tokenizer.train([text]);
    const { user, system } = process.cpuUsage(used);
    wall = Math.min(wall, Number(process.hrtime.bigint() - start) / 1e9);
    processor = Math.min(processor, (user + system) / 1e6);
    tokens = tokenizer.getVocabSize();
  }
  console.log(`${tokens} ${wall.toFixed(3)} ${processor.toFixed(3)}`);
} else if (file === "--learn") {
  const tokenizer = untrained();
  tokenizer.train([text]);
  tokenizer.save(trained, false);
} else {
  const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
  const tokenizer = peer.Tokenizer.fromFile(file);
  const ids = async (one) => (await tokenizer.encode(one, null, { addSpecialTokens: true })).getIds();
  Promise.all(texts.map(ids)).then((all) => console.log(JSON.stringify(all)));
}
