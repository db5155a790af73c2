// The run of Train, while the run engine has it: Generate opens a copy of its model.
import type { Handle } from '../engine/run';

export interface TrainedRun {
  run: Handle;
  name: string; // what a person calls it
  folder: string; // its name in the terminal, once saved
}

class Trained {
  now = $state.raw<TrainedRun | null>(null);
}
export const trained = new Trained();
