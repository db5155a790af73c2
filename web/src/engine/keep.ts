// What the service worker (sw.js) is asked to keep for a time without network, beside what it keeps by itself: the page,
// the counting engine, and what is fetched through it.
import { possibleThreads } from './client';

declare const __RUN_FILES__: string[]; // run.js, run.wasm, run-threads.js, run-more.js …
declare const __ENGINE_VERSION__: string;

// Now or when there is a service worker. Where there is none (no https), nothing is kept.
export async function keep(addresses: string[]): Promise<void> {
  const registration = await globalThis.navigator?.serviceWorker?.ready;
  registration?.active?.postMessage({ keep: addresses });
}

// Of the files that are there, those of the modules that this page runs, with threads or without: first that of most
// models, then the larger one.
export const runFiles = (files: string[], threads: boolean) =>
  (threads ? ['run-threads', 'run-more-threads'] : ['run', 'run-more']).flatMap((module) => files.filter((name) => name.startsWith(`${module}.`)));

// The running engine, so that Tokenize, Train and Generate open without a network after any first visit.
function keepEngine(): void {
  const { connection } = navigator as { connection?: { saveData?: boolean } };
  if (connection?.saveData) return; // then it is kept when it is first used
  const address = (name: string) => new URL(`engine/${name}?v=${__ENGINE_VERSION__}`, document.baseURI).href;
  void keep(runFiles(__RUN_FILES__, possibleThreads() > 1).map(address));
}

const stay = 15_000; // milliseconds
const touches = ['pointerdown', 'keydown', 'hashchange'];

// What is kept is more than the first view needs: it is fetched for those who touch the page, or stay, and when the
// browser has nothing else to do.
export function keepForThoseWhoStay(): void {
  const start = () => void navigator.serviceWorker.register('./sw.js').then(keepEngine, () => {});
  const begin = () => {
    clearTimeout(timer);
    for (const touch of touches) removeEventListener(touch, begin);
    if ('requestIdleCallback' in globalThis) requestIdleCallback(start, { timeout: 3000 });
    else setTimeout(start, 500);
  };
  const timer = setTimeout(begin, stay);
  for (const touch of touches) addEventListener(touch, begin);
}
