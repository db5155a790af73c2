// JSON whose integers keep all their digits: what a double cannot hold becomes a bigint. Counts go to 2^127.
export type Count = number | bigint;

// A string of JSON (skipped), or a whole number of 16 digits or more outside of one.
const long = /"(?:[^"\\]|\\.)*"|(?<![\d.eE+])-?\d{16,}(?![\d.eE])/g;
const mark = '\u0001bigint ';

export function parseJson<T>(text: string): T {
  if (!/\d{16}/.test(text)) return JSON.parse(text) as T;
  const marked = text.replace(long, (token) =>
    token[0] === '"' || Number.isSafeInteger(Number(token)) ? token : `"${'\\u0001bigint '}${token}"`,
  );
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  ) as T;
}
