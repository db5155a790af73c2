// State that a link carries: each value has a key in the address and a default that is left out of it.
import { untrack } from 'svelte';
import { readAddress, throttled, writeAddress, type View } from './url';

const here = readAddress(location.search, location.hash);
const all = new Map<string, Shared>();
let known = $state(0); // how many there are: views bring theirs when they are first opened

export class Shared {
  value: string = $state('');
  constructor(
    readonly key: string,
    readonly fallback: string,
  ) {
    this.value = here.values.get(key) ?? fallback;
    all.set(key, this);
    untrack(() => ++known);
  }
  get number(): number {
    return Number(this.value);
  }
}

// A value with this key; keys of a view begin with its name: shared('tokenize.text', 'Once upon a time').
export function shared(key: string, fallback: string): Shared {
  return all.get(key) ?? new Shared(key, fallback);
}

class Place {
  view: View = $state(here.view);
}
export const place = new Place();

function address(): string {
  void known;
  const values = new Map<string, string>();
  // Values of views that were not opened yet are kept as they came.
  for (const [key, value] of here.values) if (!all.has(key)) values.set(key, value);
  for (const one of all.values()) if (one.value !== one.fallback) values.set(one.key, one.value);
  return writeAddress({ view: place.view, values });
}

// The whole link to what is on the page now.
export const link = () => new URL(address() || '.', location.href.replace(/[?#].*/, '')).href;

const replace = throttled(() => history.replaceState(null, '', link()));

// Going to another view is a step that Back undoes; everything else replaces the address.
export function go(view: View): void {
  if (view === place.view) return;
  history.replaceState(null, '', link());
  place.view = view;
  history.pushState(null, '', link());
  scrollTo(0, 0);
}

// To be called once by the page: writes every change to the address, and follows Back and Forward.
export function followAddress(): void {
  let opened = true;
  $effect(() => {
    const now = address();
    if (!opened) replace(now);
    opened = false;
  });
  $effect(() => {
    const back = () => {
      const then = readAddress(location.search, location.hash);
      here.values = then.values;
      place.view = then.view;
      for (const one of all.values()) one.value = then.values.get(one.key) ?? one.fallback;
    };
    addEventListener('popstate', back);
    return () => removeEventListener('popstate', back);
  });
}
