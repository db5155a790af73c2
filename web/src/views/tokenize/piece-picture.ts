// Coloured pieces with their ids below, as a picture that stands alone.
import { escaped, framed, top, type Named } from '../../parts/svg';

export const tints = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9']; // in turn, on the page too

export interface NamedPiece {
  name: string; // in one line
  id: number;
  breaks: boolean; // the text has a line break in it
}

const [left, line, most] = [16, 42, 1000]; // pixels, and pieces that are drawn

// `measure`: pixels of a piece's name and of its id.
export function piecePicture(pieces: NamedPiece[], title: string, note: string, named: Named, measure: (text: string, id: boolean) => number, width = 820): string {
  const body: string[] = [];
  let x = left;
  let row = 0;
  pieces.slice(0, most).forEach(({ name, id, breaks }, i) => {
    const wide = Math.ceil(Math.max(measure(name, false), measure(String(id), true)) + 4);
    if (x > left && x + wide > width - left) {
      x = left;
      row += 1;
    }
    const y = top + row * line;
    body.push(
      `<rect x="${x}" y="${y}" width="${wide}" height="20" rx="4" fill="${tints[i % tints.length]}" fill-opacity="0.22"/>` +
        `<text x="${x + 2}" y="${y + 15}" font-size="14" font-family="${mono}" fill="${named('--text')}" xml:space="preserve">${escaped(name)}</text>` +
        `<text x="${x + 2}" y="${y + 33}" font-size="10" fill="${named('--soft')}">${id}</text>`,
    );
    x += wide + 2;
    if (breaks) {
      x = left;
      row += 1;
    }
  });
  const cut = pieces.length > most ? `, the first ${most}` : '';
  return framed({ width, height: top + (row + 1) * line + 8, title, note: note + cut }, named, body);
}

const mono = "ui-monospace, 'DejaVu Sans Mono', monospace";

// By the browser's own fonts.
export function measured(): (text: string, id: boolean) => number {
  const context = document.createElement('canvas').getContext('2d')!;
  return (text, id) => {
    context.font = id ? '10px system-ui, sans-serif' : `14px ${mono}`;
    return context.measureText(text).width;
  };
}
