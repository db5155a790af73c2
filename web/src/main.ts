import { mount } from 'svelte';
import App from './App.svelte';
import './style.css';

mount(App, { target: document.getElementById('app')! });

// Only of a page that was built: while it is worked on, files have no hashes. What it keeps for a time without a network
// is more than the first view needs, so it is fetched for those who stay.
if (import.meta.env.PROD && 'serviceWorker' in navigator) {
  const touches = ['pointerdown', 'keydown'];
  const keep = () => {
    for (const touch of touches) removeEventListener(touch, keep);
    void navigator.serviceWorker.register('./sw.js').catch(() => {});
  };
  for (const touch of touches) addEventListener(touch, keep);
}
