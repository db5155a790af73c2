// How many threads the running engine has: as many as the browser allows, until it was started.
import { possibleThreads, runner } from '../engine/client';

class Threads {
  number = $state(possibleThreads());

  constructor() {
    runner.onstart.add((threads) => (this.number = threads));
  }
  // They were there to be had, and could not be started.
  get failed(): boolean {
    return this.number < possibleThreads();
  }
  get reason(): string {
    if (this.number > 1) return 'What runs here uses them all.';
    if (this.failed) return 'This browser could not start the threads of the engine: what runs here has one.';
    return 'This page is not isolated from others (headers COOP and COEP), or the machine has one core: what runs here has one thread.';
  }
}
export const threads = new Threads();
