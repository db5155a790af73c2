// A folder as one file: the ustar form of POSIX.1-1988, as `tar xf` reads it. What `tar cf` of GNU and BSD writes for
// a run folder is read too: long names of both kinds (types L and x).

export interface TarFile {
  path: string; // with forward slashes, relative
  bytes: Uint8Array;
}

const BLOCK = 512;
const text = new TextEncoder();

function octal(header: Uint8Array, at: number, width: number, value: number): void {
  header.set(text.encode(value.toString(8).padStart(width - 1, '0')), at); // the last byte stays 0
}

// The sum of all bytes, those of the checksum's own field taken as blanks.
function checksum(header: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < BLOCK; ++i) sum += i >= 148 && i < 156 ? 32 : header[i]!;
  return sum;
}

// A path of up to 255 bytes: the name's 100, and 155 before a slash.
function splitPath(path: string): [prefix: string, name: string] {
  if (text.encode(path).length <= 100) return ['', path];
  for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1)) {
    const prefix = path.slice(0, slash);
    const name = path.slice(slash + 1);
    if (text.encode(prefix).length <= 155 && text.encode(name).length <= 100) return [prefix, name];
  }
  throw new Error(`${path}: the name is too long for a .tar; expected up to 255 bytes`);
}

export function writeTar(files: TarFile[], seconds = Math.floor(Date.now() / 1000)): Uint8Array {
  const room = (size: number) => Math.ceil(size / BLOCK) * BLOCK;
  const total = files.reduce((sum, file) => sum + BLOCK + room(file.bytes.length), 2 * BLOCK); // ends with two of zeros
  const out = new Uint8Array(total);
  let at = 0;
  for (const { path, bytes } of files) {
    const header = out.subarray(at, at + BLOCK);
    const [prefix, name] = splitPath(path);
    header.set(text.encode(name), 0);
    octal(header, 100, 8, 0o644);
    octal(header, 108, 8, 0);
    octal(header, 116, 8, 0);
    octal(header, 124, 12, bytes.length);
    octal(header, 136, 12, seconds);
    header[156] = 48; // '0': a plain file
    header.set(text.encode('ustar\0' + '00'), 257);
    header.set(text.encode(prefix), 345);
    header.set(text.encode(checksum(header).toString(8).padStart(6, '0') + '\0 '), 148);
    out.set(bytes, at + BLOCK);
    at += BLOCK + room(bytes.length);
  }
  return out;
}

function field(header: Uint8Array, at: number, width: number): string {
  const bytes = header.slice(at, at + width);
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}

function number(header: Uint8Array, at: number, width: number): number {
  const digits = field(header, at, width).trim();
  return /^[0-7]+$/.test(digits) ? parseInt(digits, 8) : NaN;
}

// Records "LENGTH key=value\n" of a pax header; only the path matters here.
function paxPath(bytes: Uint8Array): string | undefined {
  let at = 0;
  while (at < bytes.length) {
    const blank = bytes.indexOf(32, at);
    const length = parseInt(new TextDecoder().decode(bytes.slice(at, blank)), 10);
    if (blank < 0 || !(length > blank - at)) return undefined;
    const record = new TextDecoder().decode(bytes.slice(blank + 1, at + length - 1));
    if (record.startsWith('path=')) return record.slice(5);
    at += length;
  }
  return undefined;
}

// Plain files alone: folders follow from their paths. Throws one sentence about what is no archive, or a hostile one.
export function readTar(bytes: Uint8Array, name = 'the file'): TarFile[] {
  const files: TarFile[] = [];
  let longer: string | undefined; // the next file's name, where it has more than 255 bytes
  for (let at = 0; at < bytes.length; ) {
    const header = bytes.subarray(at, at + BLOCK);
    if (header.every((byte) => byte === 0)) break;
    if (header.length < BLOCK || number(header, 148, 8) !== checksum(header)) {
      throw new Error(at === 0 ? `${name}: is no .tar` : `${name}: is broken at byte ${at}; expected a file's header`);
    }
    const size = number(header, 124, 12);
    const body = at + BLOCK;
    if (!(size <= bytes.length - body)) throw new Error(`${name}: ends in the middle of ${field(header, 0, 100)}`);
    const content = bytes.subarray(body, body + size);
    const type = String.fromCharCode(header[156] || 48);
    const prefix = field(header, 257, 5) === 'ustar' && header[262] === 0 ? field(header, 345, 155) : '';
    const path = longer ?? (prefix ? `${prefix}/` : '') + field(header, 0, 100);
    longer = undefined;
    if (type === 'L') longer = field(content, 0, content.length);
    else if (type === 'x') longer = paxPath(content);
    else if (type === '0') {
      const clean = path.replace(/^(\.\/)+/, '');
      if (clean.startsWith('/') || clean.split('/').includes('..')) {
        throw new Error(`${name}: names ${path}; expected paths inside the folder`);
      }
      files.push({ path: clean, bytes: content });
    }
    at = body + Math.ceil(size / BLOCK) * BLOCK;
  }
  return files;
}
