// The files of a drop, those in folders too. As with a folder that is chosen, webkitRelativePath says where they lay.

async function filesOf(entry: FileSystemEntry): Promise<File[]> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    const path = entry.fullPath.replace(/^\//, '');
    if (path.includes('/')) Object.defineProperty(file, 'webkitRelativePath', { value: path });
    return [file];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const all: File[] = [];
  for (;;) {
    // At most a hundred at a time.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return all;
    for (const one of some) all.push(...(await filesOf(one)));
  }
}

// To be called while the drop is handled: what it holds is gone afterwards.
export function dropped(data: DataTransfer): Promise<File[]> {
  const entries = [...data.items].map((item) => item.webkitGetAsEntry?.() ?? null);
  const folders = entries.filter((entry) => entry?.isDirectory);
  if (folders.length === 0) return Promise.resolve([...data.files]);
  return Promise.all(entries.filter((entry) => entry !== null).map(filesOf)).then((all) => all.flat());
}
