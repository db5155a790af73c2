// Seconds as people say them: 0.4 s, 12 s, 3 min 20 s, 2 h 5 min, 3.2 days.
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '';
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 99.5) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (seconds < 600) return `${Math.floor(Math.round(seconds) / 60)} min ${Math.round(seconds) % 60} s`;
  if (minutes < 120) return `${minutes} min`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const days = minutes / 1440;
  if (days < 1000) return `${days < 10 ? days.toFixed(1) : Math.round(days)} days`;
  return `${Math.round(days / 365.25).toLocaleString('en')} years`;
}
