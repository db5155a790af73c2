// What the reader expects before the run, and how near it was.

class Bets {
  first = $state<number | null>(null); // the loss at step 0, in nats
  last = $state<number | null>(null); // the loss at the end
}
export const bets = new Bets();

const off = (bet: number, value: number) => {
  const share = Math.abs(bet / value - 1);
  return share < 0.005 ? 'exactly' : `${(100 * share).toFixed(share < 0.095 ? 1 : 0)}% ${bet < value ? 'below' : 'above'} it`;
};

// `first`: the loss of the first step; `lnVocab`: of a model that takes all tokens for equally likely.
export function firstVerdict(bet: number | null, first: number, lnVocab: number, vocab: number): string {
  const reason = `ln ${vocab.toLocaleString('en')} = ${lnVocab.toFixed(2)}: it has learned nothing, so each of ${vocab.toLocaleString('en')} tokens has probability 1/${vocab.toLocaleString('en')}`;
  return `The loss began at ${first.toFixed(2)}${bet === null ? '' : `; you bet ${bet.toFixed(2)}, ${off(bet, first)}`}. ${reason}.`;
}

export function lastVerdict(bet: number | null, last: number, entropy: number): string {
  const below = last < entropy ? `, ${(entropy - last).toFixed(2)} below what counting tokens gives: it uses what came before` : '';
  return `It ended at ${last.toFixed(2)}${bet === null ? '' : `; you bet ${bet.toFixed(2)}, ${off(bet, last)}`}. That is a choice among ${Math.exp(last).toFixed(1)} equally likely tokens${below}.`;
}
