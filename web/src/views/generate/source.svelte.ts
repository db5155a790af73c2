// Where the session's model comes from.
import { runner } from '../../engine/client';
import { trained } from '../../state/trained.svelte';
import { put } from './given';
import type { Session } from './session.svelte';
import { Tiny } from './tiny.svelte';

export type Kind = 'tiny' | 'trained' | 'folder';

export class Source {
  tiny = $state.raw(new Tiny());
  kind = $state<Kind>('tiny');
  name = $state('');
  opened = $state<Kind>(); // of the session's model
  folder = $state(''); // in the terminal
  copied = $state.raw<{ done: number; all: number }>();
  failed = $state('');

  constructor(readonly session: Session) {
    runner.onstop.add(() => {
      this.tiny = new Tiny();
      this.failed = 'The engine has stopped, and its models are gone. Choose one again.';
    });
  }

  async choose(kind: Kind): Promise<void> {
    this.kind = kind;
    await this.#tell(async () => {
      if (kind === 'tiny') await this.#openTiny();
      if (kind === 'trained' && trained.now) await this.#open({ run: trained.now.run }, trained.now.name, trained.now.folder);
    });
  }

  // Trains the tiny one, then looks again.
  async learn(): Promise<void> {
    await this.#tell(async () => {
      await this.tiny.learn();
      if (this.kind === 'tiny') await this.#openTiny();
    });
  }

  async give(files: File[]): Promise<void> {
    await this.#tell(async () => {
      const { path, name } = await put(files, (done, all) => (this.copied = { done, all }));
      try {
        await this.#open({ path }, name, name);
      } finally {
        await runner.remove(path).catch(() => {}); // the engine has what it needs
      }
    });
    this.copied = undefined;
  }

  async #openTiny(): Promise<void> {
    const run = this.tiny.run ?? (await this.tiny.make());
    await this.#open({ run }, this.tiny.step ? 'mini-gpt' : 'mini-gpt, untrained', 'tiny');
  }

  async #open(request: Parameters<Session['open']>[0], name: string, folder: string): Promise<void> {
    await this.session.open(request);
    this.name = name;
    this.folder = folder;
    this.opened = this.kind;
  }

  async #tell(work: () => Promise<void>): Promise<void> {
    this.failed = '';
    // Where the engine has the files is nobody's concern.
    await work().catch((error: Error) => (this.failed = error.message.replace(/\/given\/\d+\//g, '')));
  }
}
