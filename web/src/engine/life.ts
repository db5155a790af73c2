// How the page learns of a worker that ended without an error (it closed itself, or the browser took its memory): a
// worker holds a lock for as long as it lives. Where there are no locks (http from another machine), nobody is told.

// In the worker. Settled when it has the lock.
export const live = (name: string) =>
  new Promise<void>((held) => {
    if (!navigator.locks) return held();
    void navigator.locks.request(name, () => (held(), new Promise(() => {})));
  });

// On the page, after the worker has it.
export const ended = (name: string): Promise<unknown> => navigator.locks?.request(name, () => {}) ?? new Promise(() => {});
