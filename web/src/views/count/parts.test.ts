import { expect, test } from 'vitest';
import type { CountReport } from '../../state/facts.svelte';
import { byteParts, flopParts, parameterParts, partOf, partOfTensor, type MemoryReport } from './parts';

const row = (name: string, value: number | bigint, group: string) => ({ name, value, group, formula: '', numbers: '' });
const report = (tied: boolean, total: number, active: number, rows: ReturnType<typeof row>[], flops: ReturnType<typeof row>[] = []) =>
  ({ architecture: { tied }, parameters: { total, active, by_component: rows }, flops: { by_component: flops } }) as unknown as CountReport;

test('roles and names of tensors belong to the parts that the rows of count name', () => {
  expect(partOf('attention/norm')).toBe('norms');
  expect(partOf('attention/kv_down_norm')).toBe('attention');
  expect(partOf('feed_forward/experts/gate')).toBe('experts');
  expect(partOf('feed_forward/shared/up')).toBe('shared expert');
  expect(partOf('head/project')).toBe('head');
  expect(partOf('recurrence/norm')).toBe('norms');
  expect(partOf('recurrence/gate_norm')).toBe('recurrence');
  expect(partOf('')).toBe('workspace');
  expect(partOfTensor('layers.*.feed_forward.router.weight')).toBe('router');
  expect(partOfTensor('layers.3.attention.1.query.weight')).toBe('attention');
  expect(partOfTensor('layers.*.attention.norm.weight')).toBe('norms');
  expect(partOfTensor('final_norm.weight')).toBe('final norm');
});

test('parts come in the order of the data, and a tied head counts nothing', () => {
  const parts = parameterParts(
    report(true, 10, 10, [row('norms', 1, 'block'), row('token embedding', 4, 'embedding'), row('attention', 5, 'block')]),
  );
  expect(parts.map((part) => [part.name, part.slab, part.value])).toEqual([
    ['token embedding', 'embedding', 4],
    ['attention', 'stack', 5],
    ['norms', 'stack', 1],
    ['head', 'head', 0],
  ]);
});

test('experts that a token does not take are a piece of their own', () => {
  const experts = parameterParts(report(false, 100, 30, [row('experts', 80, 'block')]))[0]!;
  expect(experts.pieces.map((piece) => [piece.name, piece.value, piece.inactive ?? false])).toEqual([
    ['active', 10, false],
    ['inactive', 70, true],
  ]);
});

test('FLOPs beyond a double add up exactly, and the look-up costs none', () => {
  const parts = flopParts(report(true, 1, 1, [], [row('scores', 2n ** 60n, 'attention'), row('mixing', 1, 'attention'), row('experts down', 3, 'feed-forward')]));
  expect(parts.map((part) => [part.name, part.value])).toEqual([
    ['token embedding', 0],
    ['attention', 2n ** 60n + 1n],
    ['experts', 3],
  ]);
});

test('bytes are brought together by part and by what holds them', () => {
  const tensors = [
    { name: 'a', held: 'weights', role: 'attention/query', instances: 2, bytes: 8 },
    { name: 'b', held: 'weights', role: 'attention/key', instances: 2, bytes: 8 },
    { name: 'c', held: 'cache', role: 'attention/cache', instances: 2, bytes: 5 },
  ];
  const [attention] = byteParts({ tensors } as unknown as MemoryReport);
  expect(attention!.pieces).toEqual([{ name: 'weights', value: 16 }, { name: 'KV cache', value: 5 }]);
});

test('a recurrence stands in the stack, and what it keeps are states', () => {
  const parts = parameterParts(report(false, 10, 10, [row('recurrence', 5, 'block'), row('head', 1, 'head'), row('attention', 4, 'block')]));
  expect(parts.map((part) => [part.name, part.slab])).toEqual([['attention', 'stack'], ['recurrence', 'stack'], ['head', 'head']]);
  const tensors = [{ name: 'a', held: 'cache', role: 'recurrence/state', instances: 2, bytes: 8 }];
  expect(byteParts({ tensors } as unknown as MemoryReport)[0]!.pieces).toEqual([{ name: 'states', value: 8 }]);
});
