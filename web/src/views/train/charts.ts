// The charts of a run, beside those of the run before it.
import type { Axis, History, Name } from './history';
import type { Chart, Curve } from './curves';
import { rowAt } from './curves';
import type { TrainedRun } from './session.svelte';

export const axisNames: Record<Axis, string> = { step: 'steps', tokens: 'tokens', flops: 'FLOPs', seconds: 'seconds' };

const olderOpacity = 0.4;

// Where a step lies on the axis.
export function placeOf(history: History, axis: Axis, step: number): number {
  if (axis === 'step') return step;
  if (axis === 'tokens') return step * history.stepTokens;
  if (axis === 'flops') return step * history.stepFlops;
  return history.column('seconds')[history.row(step)] ?? 0;
}

// The step at a place on the axis, of those that were done.
export function stepAt(history: History, axis: Axis, x: number): number | null {
  if (history.length === 0) return null;
  return history.column('step')[Math.max(0, rowAt(history.column(axis), x))]!;
}

const scaled = (values: Float64Array, factor: number) => (factor === 1 ? values : values.map((value) => value * factor));

// Losses of two tokenizers are compared in bits of a byte: a token of one is not a token of the other.
export function differentTokens(current: TrainedRun | null, before: TrainedRun | null): boolean {
  if (!current || !before || current.bitsPerNat === null || before.bitsPerNat === null) return false;
  return Math.abs(current.bitsPerNat / before.bitsPerNat - 1) > 1e-6;
}

function lossCurves(run: TrainedRun, axis: Axis, factor: number, older: boolean, named: boolean): Curve[] {
  const { history } = run;
  const x = history.column(axis);
  const opacity = older ? olderOpacity : 1;
  const name = named ? `${run.name}: ` : '';
  const evaluations = {
    x: history.evaluations.map((line) => placeOf(history, axis, line.step)),
    y: history.evaluations.map((line) => line.loss * factor),
  };
  const mean: Curve = { name: `${name}training`, color: '--accent', kind: 'line', x, y: scaled(history.column('loss mean'), factor), opacity };
  const dots: Curve = { name: `${name}validation`, color: '--warm', kind: 'dots', ...evaluations, opacity };
  const steps: Curve = { name: `${name}training`, color: '--accent', kind: 'faint', x, y: scaled(history.column('loss'), factor), opacity };
  return older ? [mean, dots] : [steps, mean, dots];
}

const xEnd = (axis: Axis, runs: (TrainedRun | null)[], planned: number) =>
  Math.max(0, ...runs.map((run) => run?.end(axis) ?? 0)) || planned;

// `planned`: steps of a run that is not begun.
export function lossChart(current: TrainedRun | null, before: TrainedRun | null, axis: Axis, planned: number, vocab: number): Chart {
  const bits = differentTokens(current, before);
  const factor = (run: TrainedRun) => (bits ? run.bitsPerNat! : 1);
  // Of a model that knows nothing, and of one that knows how often each token occurs; in nats.
  const marks = current
    ? [
        { y: current.reply.ln_vocab * factor(current), label: `guessing: ln ${vocab.toLocaleString('en')} = ${current.reply.ln_vocab.toFixed(2)}` },
        { y: current.reply.unigram_entropy * factor(current), label: `counting tokens: ${current.reply.unigram_entropy.toFixed(2)}` },
      ]
    : [];
  return {
    title: 'Loss',
    note: `mean cross-entropy in ${bits ? 'bits per byte, as the tokenizers differ' : 'nats per token'}`,
    xName: axisNames[axis],
    xEnd: xEnd(axis, [current, before], planned),
    curves: [
      ...(before ? lossCurves(before, axis, factor(before), true, true) : []),
      ...(current ? lossCurves(current, axis, factor(current), false, before !== null) : []),
    ],
    marks,
  };
}

// Of the same place on the axis: below 0 the new run is better.
export function differenceChart(current: TrainedRun, before: TrainedRun, axis: Axis): Chart {
  const factor = (run: TrainedRun) => (differentTokens(current, before) ? run.bitsPerNat! : 1);
  const x = current.history.column(axis);
  const old = { x: before.history.column(axis), y: before.history.column('loss mean') };
  const mean = current.history.column('loss mean');
  const count = rowAt(x, old.x[old.x.length - 1] ?? 0) + 1; // where both have been
  const y = Float64Array.from({ length: count }, (_, i) => mean[i]! * factor(current) - old.y[Math.max(0, rowAt(old.x, x[i]!))]! * factor(before));
  return {
    title: 'Difference',
    note: `loss of “${current.name}” less that of “${before.name}” at the same ${axisNames[axis]}; below 0 the new one is better`,
    xName: axisNames[axis],
    xEnd: xEnd(axis, [current, before], 0),
    curves: [{ name: 'difference', color: '--purple', kind: 'line', x: x.subarray(0, count), y }],
    marks: [{ y: 0, label: '' }],
  };
}

type Shown = { title: string; note: string; column: Name; mean?: Name; logarithmic?: boolean; zero?: boolean };
const small: Record<'lr' | 'norm' | 'rate', Shown> = {
  lr: { title: 'Learning rate', note: '', column: 'lr', zero: true },
  norm: { title: 'Gradient norm', note: '', column: 'norm', mean: 'norm mean', logarithmic: true },
  rate: { title: 'Tokens per second', note: '', column: 'rate', mean: 'rate mean', zero: true },
};

export function smallChart(which: keyof typeof small, current: TrainedRun | null, before: TrainedRun | null, axis: Axis, planned: number): Chart {
  const { column, mean, ...rest } = small[which];
  const curves: Curve[] = [];
  for (const run of [before, current]) {
    if (!run) continue;
    const x = run.history.column(axis);
    const one = { name: before ? run.name : rest.title.toLowerCase(), color: '--calm', x, opacity: run === before ? olderOpacity : 1 };
    if (mean && run === current) curves.push({ ...one, kind: 'faint', y: run.history.column(column) });
    curves.push({ ...one, kind: 'line', y: run.history.column(mean ?? column) });
  }
  return { ...rest, xName: axisNames[axis], xEnd: xEnd(axis, [current, before], planned), curves };
}

// A line for each part of the model; layers as a ramp of lightness, from the first to the last.
export function partsChart(run: TrainedRun, axis: Axis, what: 'gradient' | 'update'): Chart {
  const { history } = run;
  const parts = history.layers[0]?.parts.map(({ part }) => part) ?? [];
  const stack = parts.filter((part) => part.startsWith('layer '));
  const color = (part: string) => {
    const layer = stack.indexOf(part);
    if (layer >= 0) return `hsl(205 70% ${Math.round(38 + (34 * layer) / Math.max(1, stack.length - 1))}%)`;
    return part.includes('embedding') ? '--orange' : part.includes('norm') ? '--grey' : '--green';
  };
  const x = history.layers.map((line) => placeOf(history, axis, line.step));
  return {
    title: what === 'gradient' ? 'Gradient of each layer' : 'Update to weight',
    note: what === 'gradient' ? 'norm before clipping' : 'norm of a step’s change over that of the weights; near 1e−3 is usual',
    xName: axisNames[axis],
    xEnd: run.end(axis),
    logarithmic: true,
    curves: parts.map((part, i) => ({
      name: part.replace('_', ' '),
      color: color(part),
      kind: 'line' as const,
      x,
      y: history.layers.map(({ parts: all }) => (what === 'gradient' ? all[i]!.gradient_norm : all[i]!.update_norm / all[i]!.weight_norm)),
    })),
  };
}
