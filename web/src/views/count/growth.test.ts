import { expect, test } from 'vitest';
import type { CountReport } from '../../state/facts.svelte';
import { growthSentence, movedParts } from './growth';

const report = (attention: number, embedding: number, matmul: number, cache: number) =>
  ({
    architecture: { tied: false },
    parameters: {
      total: attention + embedding,
      active: attention + embedding,
      by_component: [
        { name: 'attention', group: 'block', value: attention },
        { name: 'token embedding', group: 'embedding', value: embedding },
      ],
    },
    flops: { matmul, by_component: [{ name: 'output', group: 'attention', value: matmul }] },
    cache: { bytes: cache },
  }) as unknown as CountReport;

test('a doubling is told in factors, with what stays', () => {
  expect(growthSentence(report(3, 1, 10, 5), report(6, 1, 25, 5))).toBe('parameters ×1.75, FLOPs ×2.5, KV cache unchanged');
});

test('the parts that a size moves are those whose figures change', () => {
  expect(movedParts(report(3, 1, 10, 5), report(6, 1, 25, 5))).toEqual(new Set(['attention']));
});
