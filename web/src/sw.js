// The page without a network: files with a hash in their name from the cache first, the HTML from the network first.
// A new version waits until no tab has the old one open.
const files = __FILES__; // offline.ts fills these two in
const kept = `reckon-${__VERSION__}`;

addEventListener('install', (event) => event.waitUntil(caches.open(kept).then((cache) => cache.addAll(files))));

addEventListener('activate', (event) =>
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter((name) => name.startsWith('reckon-') && name !== kept).map((name) => caches.delete(name)))),
  ),
);

// Kept as it comes.
async function fetchAndKeep(request) {
  const response = await fetch(request);
  if (response.ok && response.status === 200) (await caches.open(kept)).put(request, response.clone());
  return response;
}

addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || url.origin !== location.origin) return;
  if (request.mode === 'navigate') {
    event.respondWith(fetch(request).catch(async () => (await caches.match('./')) ?? Response.error()));
  } else if (/\/assets\//.test(url.pathname) || url.searchParams.has('v') || url.pathname.endsWith('/icon.svg')) {
    event.respondWith(caches.match(request).then((found) => found ?? fetchAndKeep(request)));
  }
});
