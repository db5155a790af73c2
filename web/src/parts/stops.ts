// Where a slider stops: evenly on a logarithmic scale, so that 64 and 16,384 are both easily reached.

// From `low` to `high`, `perDoubling` stops in each doubling, rounded to whole `multiple`s.
export function logarithmicStops(low: number, high: number, perDoubling: number, multiple = 1): number[] {
  const stops = new Set<number>();
  const count = Math.round(Math.log2(high / low) * perDoubling);
  for (let i = 0; i <= count; ++i) {
    const exact = low * 2 ** (i / perDoubling);
    const step = Math.min(multiple, 2 ** Math.floor(Math.log2(exact)));
    stops.add(Math.round(exact / step) * step);
  }
  stops.add(high);
  return [...stops].sort((a, b) => a - b);
}

// The same with values that must be reachable: the model's own.
export const withStop = (stops: number[], value: number) =>
  stops.includes(value) ? stops : [...stops, value].sort((a, b) => a - b);

export function nearestStop(stops: number[], value: number): number {
  let best = 0;
  const distance = (stop: number) => Math.abs(Math.log((stop + 1e-9) / (value + 1e-9)));
  for (let i = 1; i < stops.length; ++i) if (distance(stops[i]!) < distance(stops[best]!)) best = i;
  return best;
}
