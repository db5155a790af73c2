// A command line as a shell reads it.
export const quoted = (word: string) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`);

// Files lie in the engine's own file system on the page; in the terminal they are wherever the reader has them.
export const commandLine = (args: string[]) =>
  ['reckon', ...args].map((word) => quoted(word.replace(/^\/given\/\d+\//, './'))).join(' ');
