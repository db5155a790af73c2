import { expect, test } from 'vitest';
import { ancestry, beside, placed } from './tree';

test('leaves take a row each and a parent lies in the middle of its children', () => {
  //  0 ─┬─ 1
  //     └─ 2
  //  3 ─── 4
  const nodes = [
    { parent: -1, depth: 0 },
    { parent: 0, depth: 1 },
    { parent: 0, depth: 1 },
    { parent: -1, depth: 0 },
    { parent: 3, depth: 1 },
  ];
  expect(placed(nodes)).toEqual({
    nodes: [
      { column: 0, row: 0.5 },
      { column: 1, row: 0 },
      { column: 1, row: 1 },
      { column: 0, row: 2 },
      { column: 1, row: 2 },
    ],
    columns: 2,
    rows: 3,
  });
});

test('no nodes take no room', () => {
  expect(placed([])).toEqual({ nodes: [], columns: 0, rows: 0 });
});

test('arrow keys lead to the parent, the first child, and the neighbours of the column', () => {
  const nodes = [
    { parent: -1, depth: 0 },
    { parent: 0, depth: 1 },
    { parent: 0, depth: 1 },
    { parent: -1, depth: 0 },
  ];
  const places = placed(nodes).nodes;
  const from = (node: number, key: string) => beside(nodes, places, node, key);
  expect(from(0, 'ArrowLeft')).toBeUndefined();
  expect(from(0, 'ArrowRight')).toBe(1);
  expect(from(1, 'ArrowRight')).toBeUndefined();
  expect(from(1, 'ArrowDown')).toBe(2);
  expect(from(2, 'ArrowUp')).toBe(1);
  expect(from(0, 'ArrowDown')).toBe(3);
  expect(from(2, 'ArrowLeft')).toBe(0);
  expect(from(2, 'x')).toBeUndefined();
});

test('the ancestry of a node begins behind the prompt', () => {
  expect(ancestry([{ parent: -1, depth: 0 }, { parent: 0, depth: 1 }, { parent: 1, depth: 2 }], 2)).toEqual([0, 1, 2]);
});
