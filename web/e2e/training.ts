// What the tests of the view Train share.
import type { Page } from 'playwright-core';
import type { browse } from './browse';

export const minutes = 4 * 60_000;

// The large figure of a card: step, loss, validation …
export const card = (page: Page, name: string) => page.locator('.cards .card', { hasText: name }).locator('b').first().innerText();

// Settled when the run is at its last step.
export const done = (page: Page) => page.getByRole('button', { name: /^Train [\d,]+ steps more$/ }).waitFor({ timeout: minutes });

// The view, with what is to be trained from a link.
export const atTrain = (open: ReturnType<typeof browse>, steps: number, more = '') => open(`?v=1&model=mini-gpt&train.steps=${steps}${more}#train`);

export const start = (page: Page) => page.getByRole('button', { name: 'Start', exact: true }).click({ timeout: minutes });
