// Where the parts of the network's picture lie. Heights are linear in the share of the whole, which always fills the
// picture; what would be too thin to see is drawn as thick as `least`, and marked as not to scale.
import type { Part, Piece, Slab } from './parts';

export const least = 6; // pixels
const outline = 18; // height of what is there but counts nothing: a tied head, a look-up
const gap = 3;

export interface Span {
  start: number;
  size: number;
  scaled: boolean; // its size tells its share
}

// Splits `length` by the values' shares. What is zero gets nothing.
export function spread(values: number[], length: number): Span[] {
  const small = values.map(() => false);
  for (;;) {
    const room = length - least * small.filter(Boolean).length;
    const total = values.reduce((all, value, i) => all + (small[i] ? 0 : value), 0);
    const unit = total > 0 ? room / total : 0;
    const thin = values.findIndex((value, i) => !small[i] && value > 0 && value * unit < least);
    if (thin < 0) {
      let start = 0;
      return values.map((value, i) => {
        const size = small[i] ? least : value * unit;
        const span = { start, size, scaled: !small[i] };
        start += size;
        return span;
      });
    }
    small[thin] = true;
  }
}

export interface Box {
  part: Part;
  piece: Piece | null; // null: an outline
  x: number;
  y: number;
  width: number;
  height: number;
  scaled: boolean;
  first: boolean; // of its part: it has the label
}
export interface SlabBox {
  slab: Slab;
  y: number;
  height: number;
  share: number; // of the whole
  scaled: boolean;
  parts: Part[];
}
export interface Picture {
  boxes: Box[];
  slabs: SlabBox[];
}

const slabOrder: Slab[] = ['embedding', 'stack', 'head', 'other'];

export function pictureOf(parts: Part[], width: number, height: number): Picture {
  const number = (part: Part) => Number(part.value);
  const whole = parts.reduce((all, part) => all + number(part), 0);
  // Rows from top to bottom: what counts of a slab, or one outline for a part that counts nothing.
  const rows = slabOrder.flatMap((slab) => {
    const of = parts.filter((part) => part.slab === slab);
    const counted = of.filter((part) => number(part) > 0);
    const empty = of.filter((part) => number(part) === 0).map((part) => ({ slab, parts: [part], value: 0 }));
    const value = counted.reduce((all, part) => all + number(part), 0);
    return counted.length > 0 ? [{ slab, parts: counted, value }, ...empty] : empty;
  });
  const outlines = rows.filter((row) => row.value === 0).length;
  const room = height - gap * Math.max(0, rows.length - 1) - outline * outlines;
  const spans = spread(rows.map((row) => row.value), room);

  const boxes: Box[] = [], slabs: SlabBox[] = [];
  let y = 0;
  rows.forEach((row, i) => {
    const { size, scaled } = row.value > 0 ? spans[i]! : { size: outline, scaled: false };
    slabs.push({ slab: row.slab, y, height: size, share: whole > 0 ? row.value / whole : 0, scaled, parts: row.parts });
    if (row.value === 0) {
      boxes.push({ part: row.parts[0]!, piece: null, x: 0, y, width, height: size, scaled: false, first: true });
    } else {
      const pieces = row.parts.flatMap((part) => part.pieces.filter((piece) => Number(piece.value) > 0).map((piece) => ({ part, piece })));
      const across = spread(pieces.map(({ piece }) => Number(piece.value)), width);
      pieces.forEach(({ part, piece }, k) => {
        const span = across[k]!;
        boxes.push({
          part, piece, x: span.start, y, width: span.size, height: size, scaled: scaled && span.scaled,
          first: k === 0 || pieces[k - 1]!.part !== part,
        }); // prettier-ignore
      });
    }
    y += size + gap;
  });
  return { boxes, slabs };
}

// Moves labels down where they would lie on each other, and up again where they would leave the picture.
export function apart(wanted: number[], distance: number, top: number, bottom: number): number[] {
  const places = wanted.map((y) => Math.max(y, top));
  for (let i = 1; i < places.length; ++i) places[i] = Math.max(places[i]!, places[i - 1]! + distance);
  for (let i = places.length - 1, end = bottom; i >= 0; --i, end = places[i + 1]! - distance) places[i] = Math.min(places[i]!, end);
  return places;
}
