// The files of a drop, those in folders too. Each has its path as an input for folders gives it, in webkitRelativePath.

async function filesIn(entry: FileSystemEntry): Promise<File[]> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    const path = entry.fullPath.replace(/^\//, '');
    if (path.includes('/')) Object.defineProperty(file, 'webkitRelativePath', { value: path });
    return [file];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const all: File[] = [];
  for (;;) {
    // At most a hundred at a time; none: that was all.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return all;
    for (const one of some) all.push(...(await filesIn(one)));
  }
}

// The entries must be taken before anything is awaited.
export function droppedFiles(data: DataTransfer | null): Promise<File[]> {
  const entries = [...(data?.items ?? [])].map((item) => item.webkitGetAsEntry?.());
  if (!entries.some((entry) => entry?.isDirectory)) return Promise.resolve([...(data?.files ?? [])]);
  return Promise.all(entries.flatMap((entry) => (entry ? [filesIn(entry)] : []))).then((lists) => lists.flat());
}

// The folder of the model among these paths: that of the config.json which lies highest, and of the last checkpoint
// where there are several.
export function folderOf(paths: string[]): string | undefined {
  const folders = paths.filter((path) => /(^|\/)config\.json$/.test(path)).map((path) => path.slice(0, -'config.json'.length));
  const depth = (path: string) => path.split('/').length;
  return folders.sort((one, other) => depth(one) - depth(other) || (one < other ? 1 : -1))[0];
}
