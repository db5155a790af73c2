// The stops of the tour: the derivation that `reckon explain` gives, cut where there is a number to predict. Every
// figure, formula and reason is the engine's.
import type { Count } from '../../engine/json';
import type { Architecture, CountReport, Row } from '../../state/facts.svelte';
import { grouped } from '../../numbers';
import { logarithmicStops } from '../../parts/stops';
import { partOf, type Measure } from '../count/parts';

export interface Figure {
  formula: string;
  numbers: string;
  value: Count;
}
export interface Step {
  stage: string;
  times: number;
  name: string;
  path: string;
  formula: string[];
  why: string;
  parameters: Figure;
  flops: { matmul: Figure; elementwise: Figure };
}
// reckon.explain/1
export interface ExplainReport {
  model: string;
  architecture: Architecture;
  workload: { tokens: number };
  steps: Step[];
  totals: { parameters: Count; matmul: Count; elementwise: Count };
  growth: { doubled: string; from: number; to: number; parameters: number | null }[];
  cache: { bytes_per_token: Count; bytes_at_context: Count };
}

// A step that is told on the way.
export interface Told {
  name: string;
  part: string; // of the network's picture
  why: string;
  lines: string[]; // its mathematics
  figure: (Figure & { unit: string }) | null;
}

export interface Stop {
  name: string;
  part: string;
  measure: Measure; // of the picture
  told: Told[]; // what comes before it
  why: string;
  lines: string[];
  question: string;
  unit: string;
  answer: Figure;
  range: number[]; // where the slider stops
}

const units = { parameters: 'parameters', matmul: 'FLOPs of matrix products', elementwise: 'element-wise FLOPs' };
const figuresOf = ({ parameters, flops }: Step) =>
  [{ ...parameters, unit: units.parameters }, { ...flops.matmul, unit: units.matmul }, { ...flops.elementwise, unit: units.elementwise }].filter(
    (figure) => figure.value !== 0,
  );

const told = (step: Step): Told => ({
  name: step.name, part: partOf(step.path), why: step.why, lines: step.formula, figure: figuresOf(step)[0] ?? null,
}); // prettier-ignore

// Of these rows, as one sum.
const summed = (rows: Row[], value: Count): Figure => ({
  formula: rows.map((row) => row.formula).join(' + '),
  numbers: rows.map((row) => row.numbers).join(' + '),
  value,
});

// From 1 to beyond the largest answer of all: where a slider ends gives nothing away.
const counts = (largest: Count) => logarithmicStops(1, 10 ** Math.ceil(Math.log10(Number(largest))), 6);
const factors = Array.from({ length: 61 }, (_, i) => Math.round(100 * 10 ** (i / 60)) / 100); // 1 … 10

// A step is asked for the parameters it has, else for its products; one that has neither, or a formula that was asked
// before, is told on the way to the next.
export function stopsOf(explained: ExplainReport, count: CountReport): Stop[] {
  const { architecture, totals, growth, cache } = explained;
  const range = counts(totals.matmul);
  const asked = new Set<string>();
  const stops: Stop[] = [];
  let waiting: Told[] = [];
  for (const step of explained.steps.filter((one) => one.stage === 'forward')) {
    const figure = figuresOf(step)[0];
    if (!figure || figure.unit === units.elementwise || asked.has(figure.unit + figure.formula)) {
      waiting.push(told(step));
      continue;
    }
    asked.add(figure.unit + figure.formula);
    const each = step.times > 1 ? ` in each of ${step.times} layers` : '';
    const products = figure.unit === units.matmul;
    stops.push({
      name: step.name, part: partOf(step.path), measure: products ? 'flops' : 'parameters', told: waiting,
      why: step.why, lines: step.formula, unit: figure.unit, answer: figure, range,
      question: `${step.name[0]!.toUpperCase()}${step.name.slice(1)}: how many ${figure.unit}${each}?`,
    }); // prettier-ignore
    waiting = [];
  }

  const all = { part: '', measure: 'parameters' as Measure, lines: [], range };
  stops.push({
    ...all, name: 'all parameters', told: waiting, unit: 'parameters',
    why: `Every learned number of the network: its table, ${architecture.layers} equal layers, and what is around them.`,
    question: `How many are all parameters together?`,
    answer: summed(count.parameters.by_component, count.parameters.total),
  }, {
    ...all, name: 'all products', measure: 'flops', told: [], unit: units.matmul,
    why: `One forward pass over ${grouped(explained.workload.tokens)} tokens. Training computes the gradients, too: about three times as much.`,
    question: 'How many FLOPs do all products take?',
    answer: summed(count.flops.by_component, count.flops.matmul),
  }); // prettier-ignore
  const width = growth.find((one) => one.doubled === 'width');
  if (width?.parameters) {
    stops.push({
      ...all, name: 'twice the width', told: [], unit: 'times the parameters', range: factors,
      why: 'The matrices of a layer grow with the square of the width, the table in proportion.',
      question: `With twice the width, ${grouped(width.from)} → ${grouped(width.to)}, how many times the parameters?`,
      answer: { formula: `d: ${grouped(width.from)} → ${grouped(width.to)}, heads and feed-forward along`, numbers: 'counted again', value: width.parameters },
    }); // prettier-ignore
  }
  stops.push({
    ...all, part: 'attention', name: 'the cache', told: [], unit: 'bytes',
    why: 'To generate, the keys and values of all tokens so far are kept, so that none is computed twice.',
    question: `How many bytes is the cache of a full context, in bfloat16?`,
    answer: { formula: 'bytes of a token · context', numbers: `${grouped(cache.bytes_per_token)}·${grouped(architecture.context)}`, value: cache.bytes_at_context },
  }); // prettier-ignore
  return stops;
}

// How near a guess was. Factors, not differences: these numbers span seven powers of ten.
export function verdict(guess: number, value: Count): string {
  const ratio = guess / Number(value);
  if (Math.abs(ratio - 1) < 0.005) return 'Exactly.';
  const times = ratio > 1 ? ratio : 1 / ratio;
  const digits = times < 10 ? 2 : times < 100 ? 1 : 0;
  return `You said ${grouped(guess)}: ${grouped(Number(times.toFixed(digits)))} times too ${ratio > 1 ? 'much' : 'little'}.`;
}

// Of several guesses, by what factor they are off in the middle (the geometric mean).
export function meanFactor(guesses: { guess: number; value: Count }[]): number {
  const logs = guesses.map(({ guess, value }) => Math.abs(Math.log(guess / Number(value))));
  return Math.exp(logs.reduce((all, one) => all + one, 0) / Math.max(1, logs.length));
}

// Cuts a sentence at the words that stand for a part of the picture.
export function litWords(text: string, words: Map<string, string>): { text: string; part?: string }[] {
  const names = [...words.keys()].sort((a, b) => b.length - a.length).map((word) => word.replace(/[^\w\s]/g, '\\$&'));
  if (names.length === 0) return [{ text }];
  return text
    .split(new RegExp(`(?<![\\w-])(${names.join('|')})(?![\\w-])`, 'i'))
    .filter((piece) => piece !== '')
    .map((piece) => {
      const part = words.get(piece.toLowerCase());
      return part === undefined ? { text: piece } : { text: piece, part };
    });
}

// The words that light a block: names of parts and of steps, and what a sentence calls them.
export function wordsOf(explained: ExplainReport, parts: string[]): Map<string, string> {
  const words = new Map(parts.map((part) => [part, part]));
  for (const step of explained.steps) {
    const part = partOf(step.path);
    if (parts.includes(part) && step.name.length > 4) words.set(step.name, part);
  }
  const also = { norm: 'norms', 'feed-forward': 'feed-forward', table: 'token embedding', cache: 'attention', keys: 'attention', values: 'attention' };
  for (const [word, part] of Object.entries(also)) if (parts.includes(part)) words.set(word, part);
  return words;
}
