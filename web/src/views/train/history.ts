// What a run has told so far: the lines of metrics.jsonl, as columns that are made once and filled as it goes.
import type { Line, LayersLine, StepLine } from '../../engine/run';

export type Axis = 'step' | 'tokens' | 'flops' | 'seconds';
const averaged = ['loss', 'norm', 'rate', 'gflops'] as const; // each has a running mean beside it
type Averaged = (typeof averaged)[number];
export type Name = Axis | 'lr' | Averaged | `${Averaged} mean`;
const names: Name[] = ['step', 'tokens', 'flops', 'seconds', 'lr', ...averaged, ...averaged.map((name) => `${name} mean` as const)];

export class History {
  length = 0; // steps that are there
  evaluations: { step: number; loss: number }[] = [];
  samples: { step: number; text: string }[] = [];
  layers: { step: number; parts: LayersLine['parts'] }[] = [];
  limits: number[] = []; // GFLOP/s of one large product, measured now and then
  end: { step: number; validation: number | null; seconds: number } | undefined;
  #columns: Record<Name, Float64Array>;
  #sums: Record<Averaged, Float64Array>; // so that a mean of any stretch is one subtraction
  #reach: number; // steps to each side that the mean takes

  // `steps` of the whole run, each of so many tokens and FLOPs of matrix products.
  constructor(
    readonly steps: number,
    readonly stepTokens: number,
    readonly stepFlops: number,
  ) {
    const room = Math.max(1, steps);
    const columns = <T extends string>(of: readonly T[], size: number) =>
      Object.fromEntries(of.map((name) => [name, new Float64Array(size)])) as Record<T, Float64Array>;
    this.#columns = columns(names, room);
    this.#sums = columns(averaged, room + 1);
    this.#reach = Math.floor(steps / 100);
  }

  // A view, not a copy: good until the next push.
  column(name: Name): Float64Array {
    return this.#columns[name].subarray(0, this.length);
  }

  last(name: Name): number {
    return this.length > 0 ? this.#columns[name][this.length - 1]! : NaN;
  }

  // The mean over the last fiftieth of the run.
  recent(name: Averaged): number {
    const from = Math.max(0, this.length - 2 * this.#reach - 1);
    return this.length > 0 ? (this.#sums[name][this.length]! - this.#sums[name][from]!) / (this.length - from) : NaN;
  }

  // Which row is the step, or the last one before it; -1 before the first.
  row(step: number): number {
    const steps = this.#columns.step;
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (steps[middle]! <= step) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  push(line: Line): void {
    if (line.kind === 'step') this.#pushStep(line);
    else if (line.kind === 'evaluation') this.evaluations.push(line);
    else if (line.kind === 'sample') this.samples.push(line);
    else if (line.kind === 'layers') this.layers.push(line);
    else if (line.kind === 'limit') this.limits.push(line.gflops_per_second);
    else if (line.kind === 'end') this.end = line;
    else if (line.kind === 'run' && line.limit_gflops_per_second !== null) this.limits.push(line.limit_gflops_per_second);
  }

  #pushStep(line: StepLine): void {
    const at = this.length;
    if (at === this.#columns.step.length) this.#grow();
    const columns = this.#columns;
    columns.step[at] = line.step;
    columns.tokens[at] = line.step * this.stepTokens;
    columns.flops[at] = line.step * this.stepFlops;
    columns.seconds[at] = line.seconds;
    columns.loss[at] = line.loss;
    columns.lr[at] = line.lr;
    columns.norm[at] = line.gradient_norm;
    columns.rate[at] = line.tokens_per_second;
    columns.gflops[at] = line.gflops_per_second;
    this.length = at + 1;
    this.end = undefined; // it goes on
    for (const name of averaged) {
      this.#sums[name][at + 1] = this.#sums[name][at]! + columns[name][at]!;
      for (let i = Math.max(0, at - this.#reach); i <= at; ++i) columns[`${name} mean`][i] = this.#mean(name, i);
    }
  }

  // As the report draws it: the mean over as many steps before as after, fewer at the ends.
  #mean(name: Averaged, i: number): number {
    const near = Math.min(this.#reach, i, this.length - 1 - i);
    return (this.#sums[name][i + near + 1]! - this.#sums[name][i - near]!) / (2 * near + 1);
  }

  // A run that goes on past the steps it was begun with.
  #grow(): void {
    const twice = (old: Float64Array, room: number) => {
      const column = new Float64Array(room);
      column.set(old);
      return column;
    };
    const room = 2 * this.#columns.step.length;
    for (const name of names) this.#columns[name] = twice(this.#columns[name], room);
    for (const name of averaged) this.#sums[name] = twice(this.#sums[name], room + 1);
  }
}
