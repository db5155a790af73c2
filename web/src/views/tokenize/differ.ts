// Where two tokenizations of one text differ: both are cut at the places where both begin a token, and a stretch
// between two such places counts where it is not one token in each.

export type Range = { begin: number; end: number };
export type Stretch = Range & { left: Span; right: Span };
type Span = { from: number; to: number }; // indices of pieces: [from, to)

export function stretches(left: Range[], right: Range[]): Stretch[] {
  const found: Stretch[] = [];
  let i = 0;
  let j = 0;
  while (i < left.length && j < right.length) {
    const from = { i, j };
    let a = left[i++]!.end;
    let b = right[j++]!.end;
    while (a !== b) {
      if (a < b) {
        if (i >= left.length) break;
        a = left[i++]!.end;
      } else {
        if (j >= right.length) break;
        b = right[j++]!.end;
      }
    }
    if (i - from.i > 1 || j - from.j > 1) {
      const begin = Math.min(left[from.i]!.begin, right[from.j]!.begin);
      found.push({ begin, end: Math.max(a, b), left: { from: from.i, to: i }, right: { from: from.j, to: j } });
    }
  }
  return found;
}

// Stretches in which one needs more tokens than the other, the largest difference first; of equal ones the earlier.
export const largest = (all: Stretch[], count: number): Stretch[] =>
  [...all].sort((one, other) => gap(other) - gap(one) || one.begin - other.begin).slice(0, count);

const gap = ({ left, right }: Stretch): number => Math.abs(left.to - left.from - (right.to - right.from));

// Stretches that hold the same text are told once, with how often they occur.
export function gathered(all: Stretch[], text: (stretch: Stretch) => string): { stretch: Stretch; text: string; times: number }[] {
  const rows = new Map<string, { stretch: Stretch; text: string; times: number }>();
  for (const stretch of all) {
    const key = text(stretch);
    const row = rows.get(key);
    if (row) row.times += 1;
    else rows.set(key, { stretch, text: key, times: 1 });
  }
  return [...rows.values()];
}
