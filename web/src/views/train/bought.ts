// What a run has bought against another one: of its loss, per 100,000 parameters more and per so many FLOPs more.
import { flops, grouped } from '../../numbers';

export interface Spent {
  name: string;
  parameters: number;
  flops: number; // of matrix products, so far
  loss: number; // validation; NaN: not known
}

// Of small runs GFLOPs.
export const unitOf = (spent: number) => (spent < 5e11 ? { name: 'GFLOP', flops: 1e9 } : { name: 'TFLOP', flops: 1e12 });

export const columns = (unit: { name: string }) => ['run', 'parameters', 'FLOPs spent', 'validation', 'change', 'per 100k parameters', `per ${unit.name}`];

const signed = (value: number) => (value < 0 ? '−' : '+') + Math.abs(value).toFixed(3);

export function row(run: Spent, base: Spent | null, unit: { flops: number }): string[] {
  const figures = [run.name, grouped(run.parameters), flops(run.flops), Number.isFinite(run.loss) ? run.loss.toFixed(3) : '–'];
  if (!base || run === base) return [...figures, '', '', ''];
  const gain = run.loss - base.loss;
  if (!Number.isFinite(gain)) return [...figures, '–', '–', '–'];
  const parameters = run.parameters - base.parameters;
  const work = run.flops - base.flops;
  return [
    ...figures,
    signed(gain),
    parameters === 0 ? 'no more' : signed(gain / (parameters / 1e5)),
    Math.abs(work) < 1 ? 'no more' : signed(gain / (work / unit.flops)),
  ];
}
