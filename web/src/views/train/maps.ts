// What an attention map says in words.
import type { Habits } from '../../engine/run';

const places: [keyof Habits, string][] = [['itself', 'itself'], ['before', 'the token before'], ['first', 'the first token']];

// Where a head looks most; of equal ones the earlier in this list.
export function habit(habits: Habits): { where: string; weight: number } {
  const all = places.map(([place, where]) => ({ where, weight: habits[place] }));
  return all.reduce((best, one) => (one.weight > best.weight ? one : best));
}
