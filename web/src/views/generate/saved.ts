// The next token's distribution as it is saved: every token that came with it, and the rest.
import type { DistributionReply } from '../../engine/run';
import { grouped, share } from '../../numbers';
import type { BarPicture } from '../../parts/bar-picture';
import { nameOf } from '../../parts/pieces';
import type { Cell } from '../../parts/save';

const restName = ({ rest }: DistributionReply) => `rest: ${grouped(rest.count)} tokens`;

export const distributionRows = (next: DistributionReply): Cell[][] => [
  ['token', 'id', 'logit', 'scaled', 'removed by', 'probability', "the model's own", 'u from', 'u to'],
  ...next.tokens.map((token) => [
    nameOf(token), token.id, token.logit, token.scaled, token.removed ?? '', token.probability, token.model_probability, token.from, token.to,
  ]),
  [restName(next), '', '', '', '', next.rest.probability, next.rest.model_probability, '', ''],
]; // prettier-ignore

// As many bars as the page shows; the line in each is the model's own.
export function distributionBars(next: DistributionReply, shown: number): BarPicture {
  const folded = next.tokens.slice(shown);
  const sum = (of: 'probability' | 'model_probability') => folded.reduce((total, token) => total + token[of], next.rest[of]);
  const bar = (name: string, probability: number, own: number, color: string, detail = '') => ({ name, detail, parts: [{ value: probability, color }], mark: own, text: share(probability) });
  return {
    title: 'Next token',
    note: 'chance of being drawn; the line is the model’s own',
    bars: [
      ...next.tokens.slice(0, shown).map((token) =>
        bar(nameOf(token), token.probability, token.model_probability, token.id === next.draw.id ? 'var(--accent)' : 'var(--sky)', token.removed?.replace('_', '-'))),
      bar(`rest: ${grouped(next.rest.count + folded.length)} tokens`, sum('probability'), sum('model_probability'), 'var(--grey)'),
    ],
  }; // prettier-ignore
}
