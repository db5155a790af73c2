// The commands that the page names, as a shell reads and runs them.
import { execFileSync } from 'node:child_process';
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { reckon } from './browse';

export const commandsIn = (where: Page | Locator) => where.locator('code[aria-label="Command for the terminal"]:visible');

// The words behind `reckon`.
export function wordsOf(line: string): string[] {
  const words = execFileSync('bash', ['-c', `printf '%s\\0' ${line}`], { encoding: 'utf8' }).split('\0').slice(0, -1);
  expect(words[0]).toBe('reckon');
  return words.slice(1);
}
// What a command reports, in a folder. Of `train` and `tokenizer train`, whose result is files, ''.
export function inTerminal(line: string, folder?: string): string {
  const words = wordsOf(line);
  const files = words[0] === 'train' || words[1] === 'train';
  const printed = reckon([...words, ...(files ? [] : ['--format', 'json'])], folder);
  return files ? '' : printed;
}
