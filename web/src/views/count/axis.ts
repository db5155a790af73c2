// Axes of charts: places and labels, logarithmic.

export interface Axis {
  place: (value: number) => number; // 0 … 1
  ticks: number[];
}

// Over whole powers of `base`, at most `most` ticks.
export function logAxis(values: number[], base: number, most: number): Axis {
  const positive = values.filter((value) => value > 0);
  const power = (value: number) => Math.log(value) / Math.log(base);
  const low = Math.floor(power(Math.min(...positive)) + 1e-9);
  const high = Math.max(low + 1, Math.ceil(power(Math.max(...positive)) - 1e-9));
  const step = Math.ceil((high - low) / most);
  const ticks: number[] = [];
  for (let p = low; p <= high; p += step) ticks.push(base ** p);
  return { place: (value) => (power(Math.max(value, base ** low)) - low) / (high - low), ticks };
}

// 128, 1k, 1M: as the terminal takes sizes.
export const binary = (value: number) =>
  value >= 2 ** 20 ? `${value / 2 ** 20}M` : value >= 1024 ? `${value / 1024}k` : String(value);
