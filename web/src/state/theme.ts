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
  return next;
}
