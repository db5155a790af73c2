// What the page and its two workers say to each other. Every request has an id, and every reply has that of its request.
import type { AdvanceReply } from './run';

// What the command line would have printed, and its exit status. `json`: `out`, parsed, where --format json was asked.
export interface Report {
  code: number;
  json?: unknown;
  out: string;
  err: string;
}

// A file for the module's file system. Where `size` is more than its bytes, the rest is not there: of a .safetensors only
// the header is read, but the size is checked.
export interface GivenFile {
  path: string;
  bytes: Uint8Array;
  size: number;
}

// `dead`: the module is in no state to go on (it ran out of memory, say), and the worker has to be started again.
export interface Failed {
  id: number;
  kind: 'failed';
  error: string;
  dead: boolean;
}

export type CountRequest =
  // Where the engine's files are, and what was put into its file system before it had to be started again. `life`: the
  // lock that it holds while it lives.
  | { id: number; kind: 'open'; life: string; base: string; version: string; files: GivenFile[] }
  | { id: number; kind: 'report'; args: string[] }
  | { id: number; kind: 'file'; file: GivenFile };

export type CountReply =
  | { id: number; kind: 'report'; report: Report }
  | { id: number; kind: 'done' }
  | Failed;

export type RunRequest =
  | { id: number; kind: 'open'; life: string; base: string; version: string; threads: number } // 1: the plain build
  | { id: number; kind: 'ask'; request: object }
  | { id: number; kind: 'write'; path: string; bytes: Uint8Array }
  | { id: number; kind: 'read'; path: string }
  | { id: number; kind: 'list'; path: string }
  | { id: number; kind: 'remove'; path: string } // a file, or a folder with all that is in it
  | { id: number; kind: 'folder'; path: string } // every file in it, with its bytes
  // Trains without being asked again, until the last step or `halt`: `news` at most 20 times a second, then `done`.
  | { id: number; kind: 'follow'; run: number }
  | { id: number; kind: 'halt' };

// `arrays`: float32, transferred.
export type RunReply =
  | { id: number; kind: 'answer'; json: unknown; arrays: Float32Array[] }
  | { id: number; kind: 'file'; bytes: Uint8Array }
  | { id: number; kind: 'names'; names: string[] }
  | { id: number; kind: 'files'; files: { path: string; bytes: Uint8Array }[] } // paths from the folder on
  | { id: number; kind: 'news'; news: AdvanceReply }
  | { id: number; kind: 'done'; threads?: number }
  | Failed;
