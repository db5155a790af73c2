import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { firstQuestions } from './first-questions';
import { parseJson } from './json';
import { storedAnswer } from './stored';

// RECKON: the program itself, which the answers of the page's engine are held against.
const program = process.env.RECKON ?? '';

test.skipIf(program === '').each(firstQuestions.map((args) => [args.join(' '), args] as const))(
  'the stored answer to %s is what the program prints',
  (_name, args) => {
    const printed = spawnSync(program, [...args, '--format', 'json'], { encoding: 'utf8', maxBuffer: 1 << 26 }).stdout;
    const stored = storedAnswer<object>(args);
    expect(stored).toBeDefined();
    expect(parseJson(printed)).toMatchObject(stored!);
  },
);
