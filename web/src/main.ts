import { mount } from 'svelte';
import App from './App.svelte';
import './style.css';

mount(App, { target: document.getElementById('app')! });

// Only of a page that was built: while it is worked on, files have no hashes.
if (import.meta.env.PROD && 'serviceWorker' in navigator) void import('./engine/keep').then(({ keepForThoseWhoStay }) => keepForThoseWhoStay());
