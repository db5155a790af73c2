// Runs in the browser's own storage: a .tar of the run folder and what is said of it in the list. In the origin's
// private file system, or in IndexedDB where the browser cannot write there.

export interface Saved {
  name: string;
  model: string;
  step: number;
  steps: number;
  validation: number | null; // nats
  saved: number; // milliseconds since 1970
  bytes: number;
}

export interface Store {
  list(): Promise<Saved[]>;
  put(about: Saved, tar: Uint8Array): Promise<void>;
  get(name: string): Promise<Uint8Array>;
  remove(name: string): Promise<void>;
}

const newestFirst = (all: Saved[]) => all.sort((a, b) => b.saved - a.saved);

// Two files a run: the list reads the small one alone. The .json is written last and removed first, so that a run is
// in the list only while its .tar is whole.
class PrivateFiles implements Store {
  constructor(private readonly folder: FileSystemDirectoryHandle) {}

  async list(): Promise<Saved[]> {
    const all: Saved[] = [];
    for await (const [name, handle] of this.folder as unknown as AsyncIterable<[string, FileSystemHandle]>) {
      if (!name.endsWith('.json') || handle.kind !== 'file') continue;
      try {
        all.push(JSON.parse(await (await (handle as FileSystemFileHandle).getFile()).text()) as Saved);
      } catch {
        continue; // a page that was closed while it wrote
      }
    }
    return newestFirst(all);
  }
  async put(about: Saved, tar: Uint8Array): Promise<void> {
    const file = this.#file(about.name);
    await this.#write(`${file}.tar`, tar);
    await this.#write(`${file}.json`, new TextEncoder().encode(JSON.stringify(about)));
  }
  async get(name: string): Promise<Uint8Array> {
    const handle = await this.folder.getFileHandle(`${this.#file(name)}.tar`);
    return new Uint8Array(await (await handle.getFile()).arrayBuffer());
  }
  async remove(name: string): Promise<void> {
    for (const ending of ['json', 'tar']) await this.folder.removeEntry(`${this.#file(name)}.${ending}`).catch(() => {});
  }
  #file = (name: string) => encodeURIComponent(name);
  async #write(name: string, bytes: Uint8Array): Promise<void> {
    const handle = await this.folder.getFileHandle(name, { create: true });
    const file = await handle.createWritable(); // replaces the file when it is closed
    await file.write(bytes as Uint8Array<ArrayBuffer>);
    await file.close();
  }
}

class Database implements Store {
  constructor(private readonly database: IDBDatabase) {}

  async list(): Promise<Saved[]> {
    return newestFirst(await this.#do<Saved[]>('readonly', (abouts) => abouts.getAll()));
  }
  async put(about: Saved, tar: Uint8Array): Promise<void> {
    await this.#do('readwrite', (abouts, tars) => (tars.put(tar, about.name), abouts.put(about, about.name)));
  }
  async get(name: string): Promise<Uint8Array> {
    const found = await this.#do<Uint8Array | undefined>('readonly', (_, tars) => tars.get(name));
    if (!found) throw new Error(`${name}: is not in the browser's storage`);
    return found;
  }
  async remove(name: string): Promise<void> {
    await this.#do('readwrite', (abouts, tars) => (tars.delete(name), abouts.delete(name)));
  }
  #do<T>(mode: IDBTransactionMode, ask: (abouts: IDBObjectStore, tars: IDBObjectStore) => IDBRequest): Promise<T> {
    return new Promise((resolve, reject) => {
      const transaction = this.database.transaction(['abouts', 'tars'], mode);
      const request = ask(transaction.objectStore('abouts'), transaction.objectStore('tars'));
      transaction.oncomplete = () => resolve(request.result as T);
      transaction.onerror = transaction.onabort = () => reject(transaction.error ?? new Error('the storage failed'));
    });
  }
}

function openDatabase(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open('reckon', 1);
    request.onupgradeneeded = () => ['abouts', 'tars'].forEach((name) => request.result.createObjectStore(name));
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('IndexedDB cannot be opened'));
  });
}

let opened: Promise<Store> | undefined;

// Throws where the browser keeps nothing (a private window, say).
export function openStore(): Promise<Store> {
  opened ??= (async () => {
    if ('createWritable' in (globalThis.FileSystemFileHandle?.prototype ?? {})) {
      try {
        const root = await navigator.storage.getDirectory();
        return new PrivateFiles(await root.getDirectoryHandle('runs', { create: true }));
      } catch {
        // Not allowed here: the other one may be.
      }
    }
    return new Database(await openDatabase());
  })();
  opened.catch(() => (opened = undefined));
  return opened;
}
