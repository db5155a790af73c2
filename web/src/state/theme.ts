// Light or dark: what the system says, until a person chooses the other one.
export type Theme = 'light' | 'dark';

export function shownTheme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === 'light' || chosen === 'dark') return chosen;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

// Choosing what the system says anyway is no choice: the page follows the system again.
export function toggleTheme(): Theme {
  const next: Theme = shownTheme() === 'dark' ? 'light' : 'dark';
  const system: Theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  try {
    if (next === system) localStorage.removeItem('theme');
    else localStorage.setItem('theme', next);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  document.documentElement.dataset.theme = next;
  colourFrame();
  return next;
}

// What the browser shows around the page is of its colour, also where that is not the system's theme.
export function colourFrame(): void {
  const page = getComputedStyle(document.documentElement).getPropertyValue('--page').trim();
  for (const meta of document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]')) meta.content = page;
}
