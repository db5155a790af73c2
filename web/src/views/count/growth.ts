// What doubling one size does, from two reports of the engine.
import type { CountReport } from '../../state/facts.svelte';
import { factor } from '../../numbers';
import { flopParts, parameterParts, type Part } from './parts';

// "parameters ×3.37, FLOPs ×3.19, KV cache ×2"
export function growthSentence(one: CountReport, two: CountReport): string {
  const ratio = (a: number | bigint | undefined, b: number | bigint | undefined) => (a && b ? Number(b) / Number(a) : 1);
  const all: [string, number][] = [
    ['parameters', ratio(one.parameters.total, two.parameters.total)],
    ['FLOPs', ratio(one.flops.matmul, two.flops.matmul)],
    one.cache ? ['KV cache', ratio(one.cache.bytes, two.cache?.bytes)] : ['training state', ratio(one.state?.total, two.state?.total)],
  ];
  const moved = all.filter(([, times]) => times !== 1).map(([name, times]) => `${name} ${factor(times)}`);
  const stay = all.filter(([, times]) => times === 1).map(([name]) => name);
  return [...moved, ...(stay.length ? [`${stay.join(', ')} unchanged`] : [])].join(', ');
}

// The parts whose parameters or FLOPs are other ones.
export function movedParts(one: CountReport, two: CountReport): Set<string> {
  const changed = (a: Part[], b: Part[]) =>
    [...a, ...b].map((part) => part.name).filter((name) => a.find((p) => p.name === name)?.value !== b.find((p) => p.name === name)?.value);
  return new Set([...changed(parameterParts(one), parameterParts(two)), ...changed(flopParts(one), flopParts(two))]);
}
