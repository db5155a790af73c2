// The page without a network: files with a hash in their name from the cache first, the HTML from the network first.
// A new version waits until no tab has the old one open.
const files = __FILES__; // offline.ts fills these two in
const kept = `reckon-${__VERSION__}`;
const vocabularies = 'reckon-vocabularies'; // large, and the same in every version: never fetched twice

addEventListener('install', (event) => event.waitUntil(caches.open(kept).then((cache) => cache.addAll(files))));

// The page of the first visit is claimed, so that what it fetches from now on is kept.
addEventListener('activate', (event) => event.waitUntil(Promise.all([clearOlder(), clients.claim()])));

async function clearOlder() {
  const older = (await caches.keys()).filter((name) => name.startsWith('reckon-') && ![kept, vocabularies].includes(name));
  await Promise.all(older.map((name) => caches.delete(name)));
}

async function put(request, response) {
  const url = new URL(request.url);
  if (!/\/tokenizers\//.test(url.pathname)) return (await caches.open(kept)).put(request, response);
  const cache = await caches.open(vocabularies);
  await cache.delete(request, { ignoreSearch: true }); // another version of the same file
  await cache.put(request, response);
}

// The response, and the promise of having kept it. (A host that has no such file may answer with the page itself.)
async function fetchAndKeep(request) {
  const response = await fetch(request);
  const whole = response.status === 200 && !response.headers.get('content-type')?.startsWith('text/html');
  return { response, done: whole ? put(request, response.clone()).catch(() => {}) : Promise.resolve() };
}

addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || url.origin !== location.origin) return;
  if (request.mode === 'navigate') {
    event.respondWith(fetch(request).catch(async () => (await caches.match('./')) ?? Response.error()));
  } else if (/\/assets\//.test(url.pathname) || url.searchParams.has('v') || url.pathname.endsWith('/icon.svg')) {
    const answered = caches.match(request).then((found) => (found ? { response: found } : fetchAndKeep(request)));
    event.respondWith(answered.then(({ response }) => response));
    event.waitUntil(answered.then(({ done }) => done, () => {}));
  }
});

// src/engine/keep.ts: addresses that are to be there without a network.
async function keep(address) {
  if (await caches.match(address)) return;
  await (await fetchAndKeep(new Request(address, { priority: 'low' }))).done;
}
async function keepAll(addresses) {
  for (const address of addresses) await keep(address).catch(() => {}); // one after the other: the first is needed most
}
addEventListener('message', (event) => event.waitUntil(keepAll(event.data.keep)));
