// The one model that runs through all views: what it is read from, what is changed about it, and its workload. Its
// state is the arguments of the command line, so that what the page shows is what `reckon …` prints.
import { untrack } from 'svelte';
import { engine } from '../engine/client';
import { defaultPreset } from '../engine/first-questions';
import { shared, type Shared } from './shared.svelte';

// Options that change the model, and those that say what is computed with it, as `reckon count --help` lists them.
export const modelOptions = [
  'layers', 'd-model', 'heads', 'kv-heads', 'd-head', 'd-ff', 'd-expert', 'd-shared', 'vocab', 'context', 'window',
  'experts', 'active-experts', 'ffn', 'norm', 'norm-position', 'positions', 'tied', 'bias', 'qkv-bias',
] as const; // prettier-ignore
export const workloadOptions = ['phase', 'batch', 'precision'] as const;
export type ModelOption = (typeof modelOptions)[number];
export type WorkloadOption = (typeof workloadOptions)[number];
export type Option = ModelOption | WorkloadOption;

export interface NamedBytes {
  name: string;
  bytes: Uint8Array;
  size: number; // of the whole file: of weights, `bytes` are the header alone
  text?: string; // of a config.json
}

// What was dropped or pasted, as it lies in the counting engine's file system.
export interface ModelFile {
  name: string;
  path: string;
  config?: NamedBytes; // which the run engine can be given too
  link: string; // of its config.json, in the address; '' where there is none that a link carries
}

export const longestLink = 4000; // characters of a config.json

// Which model was chosen, and what was changed about it.
export interface ChosenModel {
  preset: string;
  file: ModelFile | null;
  changes: string[];
}

const options = Object.fromEntries(
  [...modelOptions, ...workloadOptions].map((name) => [name, shared(name, '')]),
) as Record<Option, Shared>;

class TheModel {
  #preset = shared('model', defaultPreset);
  #config = shared('config', ''); // a config.json that is short enough for a link
  file = $state.raw<ModelFile | null>(null);
  refused = $state(''); // the engine's sentence on the config.json that the address carries

  get preset(): string {
    return this.#preset.value;
  }
  // What a person calls it.
  get name(): string {
    return this.file?.name ?? this.preset;
  }
  // What the command line is given in its place.
  get source(): string {
    return this.file?.path ?? this.preset;
  }
  get(option: Option): string {
    return options[option].value;
  }
  // '' is the model's own.
  set(option: Option, value: string | number): void {
    options[option].value = String(value);
  }
  get changed(): boolean {
    return modelOptions.some((name) => options[name].value !== '');
  }
  // The model's own sizes again; the workload stays.
  reset(): void {
    for (const name of modelOptions) options[name].value = '';
  }
  choose(preset: string): void {
    this.restore({ preset, file: null, changes: [] });
  }
  get chosen(): ChosenModel {
    return { preset: this.preset, file: this.file, changes: this.changes };
  }
  restore({ preset, file, changes }: ChosenModel): void {
    this.#hold(file);
    this.#preset.value = preset;
    this.reset();
    for (let i = 0; i + 1 < changes.length; i += 2) this.set(changes[i]!.slice(2) as ModelOption, changes[i + 1]!);
  }
  // Files become the model (a config.json, and weights beside it) if the engine can count it; else its sentence is
  // thrown, and nothing changes. Weights alone go beside the config.json that is open.
  async open(files: NamedBytes[]): Promise<void> {
    const file = await this.#given(files);
    this.reset();
    this.#hold(file);
  }
  // A link may carry a config.json, whose sizes are changed as it says. To be called once by the page.
  followLink(): void {
    $effect(() => {
      const text = this.#config.value;
      const held = untrack(() => this.file);
      this.refused = '';
      if (text === '' && held?.link) this.#hold(null); // Back
      if (text === '' || text === held?.link) return;
      const bytes = new TextEncoder().encode(text);
      const isNewest = () => this.#config.value === text;
      this.#given([{ name: 'config.json', bytes, size: bytes.length, text }]).then(
        (file) => isNewest() && this.#hold(file),
        (error: Error) => isNewest() && (this.refused = error.message),
      );
    });
  }
  // Throws the engine's sentence on what it cannot count.
  async #given(files: NamedBytes[]): Promise<ModelFile> {
    const config = files.find((file) => file.text !== undefined) ?? this.file?.config;
    const all = config && !files.includes(config) ? [config, ...files] : files;
    const path = await engine.give(all);
    await engine.json(['count', path]);
    return { name: files.at(-1)!.name, path, config, link: linkOf(config?.text ?? '') };
  }
  #hold(file: ModelFile | null): void {
    this.file = file;
    this.#config.value = file?.link ?? '';
    this.refused = '';
  }
  // --layers 24 …
  get changes(): string[] {
    return flags(modelOptions);
  }
  get workload(): string[] {
    return flags(workloadOptions);
  }
  // Everything after the command: gpt2 --layers 24 --batch 8. `other`: with these options instead.
  args(other: Partial<Record<Option, string>> = {}): string[] {
    return [this.source, ...flags([...modelOptions, ...workloadOptions], other)];
  }
  // The same for count, sweep and explain, which know no quantised weights.
  countArgs(other: Partial<Record<Option, string>> = {}): string[] {
    const quantised = !['', 'float32', 'bfloat16'].includes(this.get('precision'));
    return this.args(quantised ? { ...other, precision: '' } : other);
  }
}

// The config.json in one line (no string of it has a line's end), which is not parsed: the engine takes what JSON does
// not have, like Infinity. '' where it is too long for an address.
export function linkOf(config: string): string {
  const line = config.trim().replace(/[\r\n]\s*/g, '');
  return line.length <= longestLink ? line : '';
}

function flags(names: readonly Option[], other: Partial<Record<Option, string>> = {}): string[] {
  return names.flatMap((name) => {
    const value = other[name] ?? options[name].value;
    return value === '' ? [] : [`--${name}`, value];
  });
}

export const model = new TheModel();
