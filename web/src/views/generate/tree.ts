// Where the nodes of a beam search's tree lie: a column for each token, a row for each leaf, a parent beside the middle
// of its children.

export type Beam = { parent: number; depth: number }; // parent: index of a node before this one; −1: of the prompt
export type Placed = { column: number; row: number };

export function placed(nodes: Beam[]): { nodes: Placed[]; columns: number; rows: number } {
  const children: number[][] = nodes.map(() => []);
  const roots: number[] = [];
  nodes.forEach(({ parent }, i) => (parent < 0 ? roots : children[parent]!).push(i));
  const places: Placed[] = nodes.map(({ depth }) => ({ column: depth, row: 0 }));
  let rows = 0;
  const place = (node: number): number => {
    const below = children[node]!.map(place);
    places[node]!.row = below.length ? (below[0]! + below.at(-1)!) / 2 : rows++;
    return places[node]!.row;
  };
  roots.forEach(place);
  const columns = nodes.reduce((most, { depth }) => Math.max(most, depth + 1), 0);
  return { nodes: places, columns, rows };
}

// The nodes from the prompt to this one.
export function ancestry(nodes: Beam[], node: number): number[] {
  const found: number[] = [];
  for (let i = node; i >= 0 && i < nodes.length; i = nodes[i]!.parent) found.unshift(i);
  return found;
}

// Where an arrow key leads from a node; undefined: nowhere.
export function beside(nodes: Beam[], places: Placed[], from: number, key: string): number | undefined {
  if (from >= nodes.length) return undefined;
  if (key === 'ArrowLeft') return nodes[from]!.parent < 0 ? undefined : nodes[from]!.parent;
  if (key === 'ArrowRight') {
    const child = nodes.findIndex(({ parent }) => parent === from);
    return child < 0 ? undefined : child;
  }
  const way = key === 'ArrowDown' ? 1 : key === 'ArrowUp' ? -1 : 0;
  const here = places[from]!;
  const far = (i: number) => way * (places[i]!.row - here.row);
  const column = places.flatMap((place, i) => (way && place.column === here.column && far(i) > 0 ? [i] : []));
  return column.sort((one, other) => far(one) - far(other))[0];
}
