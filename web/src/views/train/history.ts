// What a run has told so far: the lines of metrics.jsonl, as columns that are made once and filled as it goes.
import type { Line, LayersLine, StepLine } from '../../engine/run';

export type Axis = 'step' | 'tokens' | 'flops' | 'seconds';
type Name = Axis | 'loss' | 'mean' | 'lr' | 'norm' | 'rate' | 'gflops';
const NAMES: Name[] = ['step', 'tokens', 'flops', 'seconds', 'loss', 'mean', 'lr', 'norm', 'rate', 'gflops'];

// The middle value; NaN of none.
export function median(values: ArrayLike<number>): number {
  if (values.length === 0) return NaN;
  const sorted = Float64Array.from(values).sort();
  return sorted[sorted.length >> 1]!;
}

export class History {
  length = 0; // steps that are there
  evaluations: { step: number; loss: number }[] = [];
  samples: { step: number; text: string }[] = [];
  layers: { step: number; parts: LayersLine['parts'] }[] = [];
  limits: number[] = []; // GFLOP/s of one large product, measured now and then
  end: { step: number; validation: number | null; seconds: number } | undefined;
  #columns: Record<Name, Float64Array>;
  #sums: Float64Array; // of losses, so that a mean of any stretch is one subtraction
  #reach: number; // steps to each side that the mean takes

  // `steps` of the whole run, each of so many tokens and FLOPs of matrix products.
  constructor(
    readonly steps: number,
    readonly stepTokens: number,
    readonly stepFlops: number,
  ) {
    const room = Math.max(1, steps);
    this.#columns = Object.fromEntries(NAMES.map((name) => [name, new Float64Array(room)])) as Record<Name, Float64Array>;
    this.#sums = new Float64Array(room + 1);
    this.#reach = Math.floor(steps / 100);
  }

  // A view, not a copy: good until the next push.
  column(name: Name): Float64Array {
    return this.#columns[name].subarray(0, this.length);
  }

  last(name: Name): number {
    return this.length > 0 ? this.#columns[name][this.length - 1]! : NaN;
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
    this.#sums[at + 1] = this.#sums[at]! + line.loss;
    this.length = at + 1;
    for (let i = Math.max(0, at - this.#reach); i <= at; ++i) columns.mean[i] = this.#meanAround(i);
  }

  // As the report draws it: the mean over as many steps before as after, fewer at the ends.
  #meanAround(i: number): number {
    const near = Math.min(this.#reach, i, this.length - 1 - i);
    return (this.#sums[i + near + 1]! - this.#sums[i - near]!) / (2 * near + 1);
  }

  // A run that goes on past the steps it was begun with.
  #grow(): void {
    const twice = (old: Float64Array, room: number) => {
      const column = new Float64Array(room);
      column.set(old);
      return column;
    };
    const room = 2 * this.#columns.step.length;
    for (const name of NAMES) this.#columns[name] = twice(this.#columns[name], room);
    this.#sums = twice(this.#sums, room + 1);
  }
}
