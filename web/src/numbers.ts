// Numbers as people read them, as the command line writes them (src/files/numbers.h).
import type { Count } from './engine/json';

// 1,234,567 · 1,536 · 0.25 · 3.14e23; bigint keeps every digit.
export function grouped(value: Count): string {
  if (typeof value === 'bigint') return minus(groupDigits(value.toString()));
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 1e15 && !Number.isSafeInteger(value)) return exponent(value);
  if (size < 1e-3 && size > 0) return exponent(value);
  const digits = size >= 100 || Number.isInteger(value) ? 0 : size >= 1 ? 2 : 4;
  return minus(groupDigits(trimmed(value.toFixed(digits))));
}

// 124.4M, 6.74B, 1.5T
export function compact(count: Count): string {
  const value = Number(count);
  if (Math.abs(value) >= 1e15) return exponent(value);
  const { scaled, unit } = scale(value, 1000, 5);
  return minus(trimmed(scaled.toFixed(Math.abs(scaled) < 10 ? 2 : 1))) + ['', 'k', 'M', 'B', 'T'][unit];
}

export const percent = (share: number, digits = 1) => minus((100 * share).toFixed(digits)) + '%';

// A share with as many digits as tell it from zero: 31.6%, 0.37%.
export const share = (value: number) =>
  value > 0 && value < 0.00005 ? '< 0.01%' : percent(value, value > 0 && value < 0.0995 ? 2 : 1);

export function bytes(count: Count): string {
  const { scaled, unit } = scale(Number(count), 1024, 9);
  const digits = unit === 0 ? 0 : 2;
  return `${fixed(scaled, digits)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB', 'ZiB', 'YiB'][unit]}`;
}

export function flops(count: Count): string {
  const { scaled, unit } = scale(Number(count), 1000, 9);
  const digits = unit === 0 ? 0 : scaled < 10 ? 3 : 2;
  return `${fixed(scaled, digits)} ${['', 'k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y'][unit]}FLOP`;
}

// ×3.37
export const factor = (value: number) => `×${value >= 100 ? grouped(Math.round(value)) : trimmed(value.toFixed(2))}`;

// What a person types into a number field: 512, 16k, 50,257, 1e6, 3e-4. NaN where it is none. k is 1,024, as in the terminal.
export function parseSize(text: string): number {
  const found = /^\s*([\d.,_\s]*\d(?:e[-+]?\d+)?)\s*([kKmM]?)\s*$/.exec(text);
  if (!found) return NaN;
  const value = Number(found[1]!.replace(/[,_\s]/g, ''));
  const unit = { k: 1024, m: 1024 * 1024 }[found[2]!.toLowerCase()] ?? 1;
  return value * unit;
}

const fixed = (value: number, digits: number) => (Math.abs(value) >= 1e4 ? grouped(value) : value.toFixed(digits));
const minus = (text: string) => text.replace(/^-/, '−');
const groupDigits = (text: string) => text.replace(/^(-?\d+)/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ','));
const trimmed = (text: string) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);

function exponent(value: number): string {
  const [mantissa, power] = value.toExponential(2).split('e') as [string, string];
  return minus(`${trimmed(mantissa)}e${Number(power)}`);
}

function scale(value: number, base: number, units: number) {
  let unit = 0;
  while (Math.abs(value) >= base - 0.005 && unit + 1 < units) {
    value /= base;
    ++unit;
  }
  return { scaled: value, unit };
}

// The sum, with every digit.
export function sum(values: Count[]): Count {
  const total = values.reduce<bigint>((all, value) => all + BigInt(value), 0n);
  return total <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(total) : total;
}
