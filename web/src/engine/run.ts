// The requests of the run module and their replies: what src/page/ answers, one entry of `Run` for each.
//
// A request is a JSON object whose `ask` names it; a reply is one, too, and where it says so an array of float32 comes
// with it. What went wrong is { error: sentence } instead of the reply, and changes nothing.
// Files are exchanged through the module's file system (FS of emscripten); paths are paths there.
// Handles are whole numbers, never used twice; `forget` frees what is behind one. Times are seconds, losses and
// entropies nats, log-probabilities ln p.

export type Handle = number;
export type Path = string;

export interface Failure {
  error: string;
  /** Only the larger module has what this needs (run-modules.ts). */
  lacking?: true;
  /** Of `advance`: what came before it. */
  lines?: Line[];
}

// ---- Tokenizers ----

export type TokenKind = "word" | "number" | "symbol" | "white space" | "part of a character" | "special";

/** A token as a person reads it. */
export interface Piece {
  id: number;
  /** null where its bytes are no whole characters: show `bytes`, never �; or where no tokenizer knows it. */
  text: string | null;
  /** Only where text is null: the values of its bytes; none where no tokenizer knows it. */
  bytes?: number[];
  kind: TokenKind;
}

/** A token in its place in a text. */
export interface PlacedPiece extends Piece {
  /** Bytes [begin, end) of the UTF-8 of `decoded` in the reply, which is the text itself where `exact` says so.
   *  Empty for a special token that the tokenizer adds. */
  begin: number;
  end: number;
  /** It begins within a character that the piece before began: both are shown as one. */
  joined: boolean;
}

export interface TokenizerReply {
  tokenizer: Handle;
  /** One past the highest id. */
  vocab: number;
  /** Of those, how many are special. */
  special: number;
}

export interface TrainedTokenizerReply extends TokenizerReply {
  /** Below the wanted size: the text was too small for more. */
  merges: number;
  text_bytes: number;
  text_tokens: number;
  distinct_words: number;
}

export interface EncodeReply {
  tokens: number;
  bytes: number;
  /** At most the first `most`. */
  ids: number[];
  pieces: PlacedPiece[];
  /** What the ids stand for, as far as pieces go. */
  decoded: string;
  /** Whether that is the text, byte for byte (else the tokenizer normalises: NFC, a space in front …). */
  exact: boolean;
}

// ---- Sampling ----

/** As --temperature, --top-k … of `reckon generate`; what is left out is off. */
export interface Sampling {
  repetition_penalty?: number;
  /** 0: greedy. */
  temperature?: number;
  top_k?: number;
  top_p?: number;
  min_p?: number;
  seed?: number;
}

// ---- Training ----

/** The settings of a checkpoint's training.json, as the options of `reckon train` are called, with _ for -. */
export interface Settings {
  model: string;
  /** Paths of text files; empty (and no tokens): the stories that come with reckon. */
  text: Path[];
  tokens: Path;
  /** A name, a path, "bytes" or "train:N". */
  tokenizer: string;
  init: "gpt2" | "scaled";
  seed: number;
  batch: number;
  context: number;
  accumulate: number;
  ranks: number;
  steps: number;
  schedule: "cosine" | "linear" | "constant" | "wsd";
  lr: number;
  min_lr: number;
  warmup: number;
  decay_share: number;
  beta1: number;
  beta2: number;
  epsilon: number;
  decay: number;
  clip: number;
  dropout: number;
  precision: "float32" | "bfloat16";
  recompute: "none" | "selective" | "block";
  validation: number;
  eval_every: number;
  eval_windows: number;
  save_every: number;
  keep: number;
  sample: string;
  sample_every: number;
  layers_every: number;
}

/** Changes to the model, as the options of every command are called, with _ for -. */
export interface Changes {
  layers?: number;
  d_model?: number;
  heads?: number;
  kv_heads?: number;
  d_head?: number;
  d_ff?: number | "match";
  d_expert?: number;
  d_shared?: number;
  vocab?: number;
  context?: number;
  window?: number;
  experts?: number;
  active_experts?: number;
  ffn?: "gelu" | "relu" | "silu" | "swiglu" | "geglu";
  norm?: "layernorm" | "rmsnorm";
  norm_position?: "pre" | "post";
  positions?: "learned" | "sinusoidal" | "rope" | "alibi" | "none";
  tied?: boolean;
  bias?: boolean;
  qkv_bias?: boolean;
}

/** Lines of metrics.jsonl (docs/training.md). */
export interface RunLine {
  kind: "run";
  step: number;
  model: string;
  parameters: number;
  data: string;
  training_tokens: number;
  validation_tokens: number;
  step_matmul_flops: number;
  /** Of one large product here; null: not measured. */
  limit_gflops_per_second: number | null;
  bytes: { weights: number; gradients: number; moments: number; arena: number; sent: number };
  settings: Settings;
}
export interface StepLine {
  kind: "step";
  step: number;
  loss: number;
  lr: number;
  gradient_norm: number;
  tokens_per_second: number;
  gflops_per_second: number;
  seconds: number;
}
export interface EvaluationLine {
  kind: "evaluation";
  step: number;
  loss: number;
}
export interface SampleLine {
  kind: "sample";
  step: number;
  text: string;
}
export interface LayersLine {
  kind: "layers";
  step: number;
  parts: { part: string; gradient_norm: number; update_norm: number; weight_norm: number }[];
}
export interface StatisticsLine {
  kind: "statistics";
  step: number;
  activations: { part: string; root_mean_square: number; largest: number }[];
  attention: { layer: number; entropy: number[] }[];
}
export interface LimitLine {
  kind: "limit";
  step: number;
  gflops_per_second: number;
}
export interface EndLine {
  kind: "end";
  step: number;
  validation: number | null;
  seconds: number;
  arena_high_water_bytes: number;
  sent_bytes: number;
}
export type Line =
  | RunLine
  | StepLine
  | EvaluationLine
  | SampleLine
  | LayersLine
  | StatisticsLine
  | LimitLine
  | EndLine;

export interface TrainRequest {
  /** The run's folder; made if need be. `reckon train --resume --out FOLDER` goes on with it anywhere: its data/ holds
   *  the text in ids, so the text itself need not come along. */
  out: Path;
  /** What `reckon train` is told; the rest has the usual values, as there. `model`: a preset, a folder or a
   *  config.json in the file system. */
  settings: Partial<Omit<Settings, "context" | "ranks">> & { model: string };
  /** The context is one of them. */
  changes?: Changes;
}

export interface ResumeRequest {
  out: Path;
  /** What may change: steps, recompute, eval_every, eval_windows, save_every, keep, sample, sample_every,
   *  layers_every. */
  settings?: Partial<Settings>;
}

export interface RunReply {
  run: Handle;
  /** Of the run; null where it trains on a file of ids. Belongs to the caller: `forget` it, too. */
  tokenizer: Handle | null;
  out: Path;
  facts: RunLine;
  /** The text of config.json. */
  config: string;
  /** ln V: the loss of a model that knows nothing. */
  ln_vocab: number;
  /** Of the training tokens: the loss of one that knows how often each occurs. */
  unigram_entropy: number;
  /** Of the training text; loss / ln 2 / this is bits per byte. null without a tokenizer. */
  bytes_per_token: number | null;
  /** Updates done. */
  step: number;
  /** Of a run that is resumed: all that is in metrics.jsonl so far. */
  lines: Line[];
  /** Sentences worth reading: what a description leaves open, other arithmetic than the checkpoint's … */
  notes: string[];
}

/** Where the time of some steps went. */
export interface OperationTime {
  operation: string;
  seconds: number;
  times: number;
}

export interface AdvanceReply {
  /** What came, in order. */
  lines: Line[];
  step: number;
  steps: number;
  /** The last step is done, and saved. */
  done: boolean;
  /** Where a profile was asked for. */
  operations?: OperationTime[];
}

export interface SampleReply {
  /** Prompt and continuation, special tokens left out. */
  text: string;
  ids: number[];
  prompt_tokens: number;
  seconds: number;
}

// ---- Looking inside ----

export interface Habits {
  itself: number;
  before: number;
  first: number;
}
export interface AttentionReply {
  tokens: number;
  pieces: Piece[];
  /** Of each layer with attention, which maps of the array are its: heads × tokens × tokens floats from float `from`
   *  on, a row for each query, 0 … 1. Its habits, head by head: the weight on these places, on average over the queries
   *  after the first. */
  layers: { layer: number; heads: number; from: number; habits: Habits[] }[];
}

export interface NeighboursReply {
  token: Piece;
  /** Nearest first, by the cosine between rows of the token embedding. */
  neighbours: (Piece & { cosine: number })[];
}

// ---- Generating ----

export interface ModelReply {
  model: Handle;
  /** null: none lies beside it; it then takes ids. Belongs to the caller: `forget` it, too. */
  tokenizer: Handle | null;
  name: string;
  parameters: number;
  layers: number;
  d_model: number;
  vocab: number;
  /** The longest text here: the model's context, or less where the memory would not do. */
  capacity: number;
  weight_bytes: number;
  /** Of the cache, at capacity. */
  cache_bytes: number;
  /** Ids that end a text, as its config says; of a run there are none. */
  end_of_text: number[];
  notes: string[];
}

/** After a step of the model. */
export interface StepReply {
  /** Tokens of the text so far, all in the cache. */
  length: number;
  capacity: number;
  /** Ids that this step ran, with their pieces. */
  pieces: Piece[];
  seconds: number;
  /** Of matrix products, causality exact. */
  flops: number;
  /** What the cache has for `length` tokens. */
  cache_bytes: number;
}

export interface ShownToken extends Piece {
  /** As the model gave it. */
  logit: number;
  /** After the repetition penalty, divided by the temperature (greedy: not divided). */
  scaled: number;
  /** The first filter that took it out; null: it can be drawn. */
  removed: "top_k" | "top_p" | "min_p" | "greedy" | null;
  /** By the model itself: softmax of the logits. */
  model_probability: number;
  /** Of being drawn; 0 where removed. */
  probability: number;
  /** The u in [from, to) draw it: tokens lie in the order of their ids, as the sampler walks them. Equal where removed. */
  from: number;
  to: number;
}

export interface DistributionReply {
  /** The `count` most likely by the model, best first. */
  tokens: ShownToken[];
  /** All others together: how many, how many of them can be drawn, their probabilities. */
  rest: { count: number; kept: number; model_probability: number; probability: number };
  /** How many tokens can be drawn, in all. */
  kept: number;
  /** The draw at u: that of the request, or the one that `reckon generate --seed` has at this place of the text.
   *  It may be none of `tokens`. */
  draw: ShownToken & { u: number };
}

export interface BeamNode {
  /** Index of the node before it; -1: it follows the prompt. */
  parent: number;
  /** Its place in the continuation, from 0 on. */
  depth: number;
  piece: Piece;
  /** ln p of this token, and of all from the prompt to it. */
  log_probability: number;
  sum: number;
  /** running: it went on; finished: a hypothesis ends here. */
  state: "running" | "finished";
  /** Of a finished one: what it is ranked by. */
  score: number | null;
}

export interface BeamsReply {
  /** What the search kept at each step, step after step. */
  nodes: BeamNode[];
  /** Best first; `node`: its last. `text`: null without a tokenizer. */
  best: { node: number; ids: number[]; text: string | null; sum: number; score: number; ending: Ending }[];
  seconds: number;
}

export type Ending = "length" | "end_of_text" | "context" | "stopped";

// ---- The table ----

/** Each request: what it is asked with, and what it answers. Where it says "array", one comes with the reply. */
export interface Run {
  /** name: bytes, gpt2, cl100k_base, o200k_base (a rank file NAME.tiktoken by its path), or the path of a
   *  tokenizer.json, a vocab.json, a folder. */
  tokenizer: [{ name: string }, TokenizerReply];
  /** text: paths; none: the stories. */
  train_tokenizer: [{ text?: Path[]; vocab: number }, TrainedTokenizerReply];
  /** Writes its tokenizer.json. */
  save_tokenizer: [{ tokenizer: Handle; path: Path }, { path: Path }];
  /** Tokens of the vocabulary, from id `first` on. */
  tokens: [{ tokenizer: Handle; first: number; count: number }, { tokens: Piece[] }];
  /** most: of ids and pieces that come back (20,000); special: whether to add <s> and the like (true). */
  encode: [{ tokenizer: Handle; text: string; most?: number; special?: boolean }, EncodeReply];
  /** text: bytes that are no whole characters are �; pieces tell them. */
  decode: [{ tokenizer: Handle; ids: number[] }, { text: string; pieces: Piece[] }];

  train: [TrainRequest, RunReply];
  resume: [ResumeRequest, RunReply];
  /** Steps until so many milliseconds are over, at least one. */
  advance: [{ run: Handle; milliseconds: number; profile?: boolean }, AdvanceReply];
  /** The highest learning rate from the next step on, and the last one in proportion; saved with the run. */
  rate: [{ run: Handle; lr: number }, { lr: number; min_lr: number }];
  /** Over all that is held out; null: nothing is. */
  evaluate: [{ run: Handle }, { step: number; loss: number | null }];
  sample: [{ run: Handle; prompt: string; tokens: number; sampling?: Sampling }, SampleReply];
  /** A checkpoint of now; path: its folder, a model of its own. */
  save: [{ run: Handle }, { path: Path; step: number }];
  /** Measures one large product. */
  limit: [Record<never, never>, { gflops_per_second: number; threads: number; arithmetic: string }];

  /** of: a run or a model. Array: the maps. */
  attention: [{ of: Handle; text?: string; ids?: number[] }, AttentionReply];
  /** token: an id. */
  neighbours: [{ of: Handle; token: number; count: number }, NeighboursReply];
  /** The run or model as it is now, its tokenizer too: a folder that `model` opens, in this module or another one. */
  write_model: [{ of: Handle; path: Path }, { path: Path }];

  /** A folder with config.json and safetensors (also a run's, or a checkpoint's), or a copy of a run's as it is now. */
  model: [{ path: Path } | { run: Handle }, ModelReply];
  /** Begins a text anew. */
  prefill: [{ model: Handle; text?: string; ids?: number[] }, StepReply];
  /** One more token. */
  append: [{ model: Handle; id: number }, StepReply];
  /** Back to the first `length` tokens. */
  rewind: [{ model: Handle; length: number }, StepReply];
  /** Of the next token; count: of those shown (50). array: true brings all V logits as the array. */
  distribution: [
    { model: Handle; sampling?: Sampling; count?: number; u?: number; array?: boolean },
    DistributionReply,
  ];
  /** From the text so far; it stays as it is. stop: ids that end a text (the model's end_of_text). */
  beams: [
    { model: Handle; beams: number; tokens: number; length_penalty?: number; stop?: number[] },
    BeamsReply,
  ];

  /** Bytes of the module's memory: all of it, and what is taken. */
  memory: [Record<never, never>, { bytes: number; used: number }];
  forget: [{ handle: Handle }, Record<never, never>];
}

export type Ask = keyof Run;
export type Request<K extends Ask = Ask> = { [Each in K]: { ask: Each } & Run[Each][0] }[K];
export type Reply<K extends Ask = Ask> = Run[K][1];

/** What the worker hands back. */
export interface Answer<K extends Ask = Ask> {
  reply: Reply<K> | Failure;
  array?: Float32Array;
}
