// The run that trains by itself, in slices: between two of them other requests are answered. A message to oneself, not a
// timer, begins the next one: timers of a tab in the background are held back.
import type { RunReply } from './messages';
import { failed } from './module';
import type { AdvanceReply, Failure } from './run';

const slice = 50; // milliseconds

export class Following {
  #run: { id: number; run: number; told: number; news: AdvanceReply | null } | null = null;
  #again = new MessageChannel();

  constructor(
    private readonly ask: (request: object) => unknown,
    private readonly post: (reply: RunReply) => void,
  ) {
    this.#again.port1.onmessage = () => this.#advance();
  }

  start(id: number, run: number): void {
    this.halt();
    this.#run = { id, run, told: 0, news: null };
    this.#again.port2.postMessage(null);
  }

  halt(): void {
    this.#tell();
    if (this.#run) this.post({ id: this.#run.id, kind: 'done' });
    this.#run = null;
  }

  #advance(): void {
    const following = this.#run;
    if (!following) return;
    try {
      const { error, ...news } = this.ask({ ask: 'advance', run: following.run, milliseconds: slice }) as AdvanceReply & Partial<Failure>;
      // A step that fails comes with those before it.
      if (news.lines) following.news = { ...news, lines: [...(following.news?.lines ?? []), ...news.lines] };
      if (error !== undefined) throw new Error(error);
      if (performance.now() - following.told >= slice) this.#tell();
      if (news.done) this.halt();
      else this.#again.port2.postMessage(null);
    } catch (error) {
      this.#tell();
      this.#run = null;
      this.post(failed(following.id, error));
    }
  }

  #tell(): void {
    const following = this.#run;
    if (!following?.news) return;
    this.post({ id: following.id, kind: 'news', news: following.news });
    following.told = performance.now();
    following.news = null;
  }
}
