// Saving what is on the page: pictures as SVG or PNG, tables as CSV.
import { legendText } from './svg';

export function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export type Cell = string | number | bigint;

export const csvText = (rows: Cell[][]) =>
  rows.map((row) => row.map((cell) => (/[",\n\r]/.test(String(cell)) ? `"${String(cell).replace(/"/g, '""')}"` : cell)).join(',')).join('\n') + '\n';

export const saveCsv = (rows: Cell[][], name: string) =>
  saveBlob(new Blob([csvText(rows)], { type: 'text/csv' }), `${name}.csv`);

// What a picture takes from the page's style, written into its elements so that it looks the same alone.
const looks = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-opacity', 'stroke-linecap', 'stroke-linejoin',
  'opacity', 'font-family', 'font-size', 'font-weight', 'text-anchor', 'dominant-baseline', 'paint-order', 'visibility', 'display'];

// The value of one of the page's colours now: --accent.
export const pageColour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// On the page, or as text with a width and a height of its own.
export type Picture = SVGSVGElement | string;

// What the lines of a picture on the page stand for, where that is beside it: drawn below. (Its units are pixels.)
export type Legend = { name: string; color: string }[];

export function svgText(svg: Picture, legend: Legend = []): string {
  if (typeof svg === 'string') return svg;
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const from = [svg, ...svg.querySelectorAll('*')], to = [copy, ...copy.querySelectorAll('*')];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    to[i]!.removeAttribute('class');
    to[i]!.setAttribute('style', looks.map((name) => `${name}:${style.getPropertyValue(name)}`).join(';'));
  });
  const area = svg.getBoundingClientRect();
  const width = Math.round(area.width), height = Math.round(area.height) + (legend.length ? 24 : 0);
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', String(width));
  copy.setAttribute('height', String(height));
  if (!copy.hasAttribute('viewBox')) copy.setAttribute('viewBox', `0 0 ${width} ${height}`);
  copy.insertAdjacentHTML('beforeend', legendText(legend, height, pageColour));
  const back = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  back.setAttribute('width', '100%');
  back.setAttribute('height', '100%');
  back.setAttribute('fill', pageColour('--card'));
  copy.prepend(back);
  return new XMLSerializer().serializeToString(copy);
}

export const saveSvg = (svg: Picture, name: string, legend?: Legend) =>
  saveBlob(new Blob([svgText(svg, legend)], { type: 'image/svg+xml' }), `${name}.svg`);

// At twice its size on the page.
export async function savePng(svg: Picture, name: string, legend?: Legend): Promise<void> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(svg, legend))}`;
  await image.decode();
  const { width, height } = image;
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(2 * width);
  canvas.height = Math.round(2 * height);
  canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'));
  if (blob) saveBlob(blob, `${name}.png`);
}
