// What the first view asks before anyone has touched it, but for what the counting module is quick to answer. The build
// stores the answers, so that no other module is fetched for them.
export const defaultPreset = 'gpt2';
export const contexts = '128..1M'; // of the chart of FLOPs against the context
// The embedding's share collapses along the first five, and the last has the surprise.
export const shareModels = ['gpt2', 'gpt2-medium', 'gpt2-large', 'gpt2-xl', 'gpt3-175b', 'gemma-3-270m'];

export const firstQuestions: string[][] = [
  ['models'],
  ['count', defaultPreset],
  ['compare', ...shareModels],
  ['sweep', defaultPreset, '--context', contexts],
  ['memory', defaultPreset, '--phase', 'train'],
  ['explain', defaultPreset],
];
