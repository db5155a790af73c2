// The address of the page as its state: ?v=1&model=gpt2&layers=24#train. Only what differs from its default is in it.

export const views = ['count', 'tokenize', 'train', 'generate', 'tour'] as const;
export type View = (typeof views)[number];

const version = '1';

export interface Address {
  view: View;
  values: Map<string, string>;
}

export function readAddress(search: string, hash: string): Address {
  const values = new Map(new URLSearchParams(search));
  // A link of a later form may mean other things by the same names: better the defaults than a guess.
  if ((values.get('v') ?? version) !== version) values.clear();
  values.delete('v');
  const name = hash.replace(/^#/, '');
  return { view: views.find((view) => view === name) ?? 'count', values };
}

export function writeAddress({ view, values }: Address): string {
  const search = new URLSearchParams();
  if (values.size > 0) search.set('v', version);
  for (const [key, value] of values) search.set(key, value);
  const query = search.toString();
  return (query ? `?${query}` : '') + (view === 'count' ? '' : `#${view}`);
}

// Calls `write` with the newest address, at most every half second: Safari throws past 100 changes in 30 s.
export function throttled(write: (address: string) => void, milliseconds = 500): (address: string) => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let newest = '';
  return (address) => {
    newest = address;
    timer ??= setTimeout(() => {
      timer = undefined;
      write(newest);
    }, milliseconds);
  };
}
