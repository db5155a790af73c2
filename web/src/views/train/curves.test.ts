import { expect, test } from 'vitest';
import { allRows, decades, extent, label, rowAt, rows, summary, svg, ticks, trace, type Chart } from './curves';

const chart: Chart = {
  title: 'Loss',
  note: 'nats',
  xName: 'step',
  xEnd: 100,
  curves: [
    { name: 'training', color: '--accent', kind: 'faint', x: [1, 2, 3], y: [6, 5, 4] },
    { name: 'training', color: '--accent', kind: 'line', x: [1, 2, 3], y: [6, 5, 4] },
    { name: 'a, "b"', color: '--warm', kind: 'dots', x: [2], y: [5.5] },
  ],
  marks: [{ y: Math.log(512), label: 'ln 512' }],
};

test('the axis holds every value and every level line', () => {
  const [low, high] = extent(chart);
  expect(low).toBeLessThan(4);
  expect(high).toBeGreaterThan(6.238); // ln 512
});

test('ticks are round numbers inside the axis', () => {
  expect(ticks(0, 100, 6)).toEqual([0, 20, 40, 60, 80, 100]);
  expect(ticks(3.9, 6.4, 6)).toEqual([4, 4.5, 5, 5.5, 6]);
  expect(decades(0.3, 20)).toEqual([0.5, 1, 2, 5, 10, 20]);
  expect(decades(0.001, 1000)).toEqual([0.001, 0.01, 0.1, 1, 10, 100, 1000]);
});

test('numbers are short', () => {
  expect([0, 0.0012, 3e-5, 1500, 2500000, 4.156e9].map(label)).toEqual(['0', '0.0012', '3e−5', '1,500', '2.5M', '4.156G']);
});

test('the row of an x is that of the last point before it', () => {
  expect([0.5, 1, 2.7, 9].map((x) => rowAt([1, 2, 3], x))).toEqual([-1, 0, 1, 2]);
});

test('a sentence stands for the chart', () => {
  expect(summary(chart)).toBe(
    'Loss by step, to 100. training: from 6 at 1 to 4 at 3; a, "b": 5.5 at 2; ln 512: 6.238.',
  );
  expect(summary({ ...chart, curves: [], marks: [] })).toBe('Loss by step, to 100. Nothing yet.');
});

test('a table has the values at even places', () => {
  expect(rows(chart, 3)).toEqual([
    { x: 1, values: [6, undefined] },
    { x: 2, values: [5, 5.5] },
    { x: 3, values: [4, 5.5] },
  ]);
});

test('a CSV has a row for each point', () => {
  expect(allRows({ ...chart, curves: chart.curves.slice(0, 1) })).toEqual([
    ['curve', 'step', 'value'], ['training (each step)', 1, 6], ['training (each step)', 2, 5], ['training (each step)', 3, 4],
    ['ln 512', '', Math.log(512)],
  ]);
});

test('thinning keeps the extremes of a pixel', () => {
  const curve = { ...chart.curves[0]!, x: [0, 0.1, 0.2, 0.3, 0.4, 5], y: [3, 9, 1, 4, 5, 6] };
  const seen: number[][] = [];
  trace(curve, (x) => x, (x, y) => seen.push([x, y]));
  expect(seen).toEqual([[0, 3], [0.1, 9], [0.2, 1], [0.4, 5], [5, 6]]);
});

test('the picture is valid XML with every curve, and escapes names', () => {
  const picture = svg(chart, (name) => (name === '--accent' ? '#00f' : '#888'));
  expect(picture.match(/<polyline/g)).toHaveLength(3);
  expect(picture).toContain('a, &quot;b&quot;');
  expect(picture).toContain('ln 512');
  expect(picture).not.toContain('NaN');
});

test('an empty logarithmic chart can be drawn', () => {
  expect(svg({ ...chart, logarithmic: true, curves: [], marks: [] }, () => '#000')).not.toContain('NaN');
});
