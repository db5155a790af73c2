// A report that follows what is asked: the newest wins, and until it comes the last one stays.
import { engine, latestWins } from '../engine/client';
import { storedAnswer } from '../engine/stored';

export class Asked<T> {
  value = $state.raw<T | null>(null);
  args = $state.raw<string[]>([]); // that `value` answers
  error = $state(''); // the engine's sentence on what was asked last; '' where it answered
  #asked = '';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #send = latestWins<string[], T>(
    (args) => engine.json<T>(args),
    (value, args) => this.#answer(args, value),
    (error, args) => this.#answer(args, null, error.message),
  );

  // `wait`: milliseconds in which no other question may come, for what need not follow a drag.
  constructor(private readonly wait = 0) {}

  ask(args: string[]): void {
    const key = args.join('\n');
    if (key === this.#asked) return;
    this.#asked = key;
    clearTimeout(this.#timer);
    const stored = storedAnswer<T>(args);
    if (stored !== undefined) this.#answer(args, stored);
    else if (this.wait === 0) this.#send(args);
    else this.#timer = setTimeout(() => this.#send(args), this.wait);
  }

  #answer(args: string[], value: T | null, error = ''): void {
    if (value !== null) {
      this.value = value;
      this.args = args;
    }
    // A sentence on a question that was meanwhile replaced is of no interest.
    if (args.join('\n') === this.#asked) this.error = error;
  }
}
