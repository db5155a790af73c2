// What an attention map says in words.

// Where a head looks most, on average over the queries after the first.
export function habit(map: ArrayLike<number>, tokens: number): { where: string; weight: number } {
  const mean = (key: (query: number) => number) => {
    let sum = 0;
    for (let query = 1; query < tokens; ++query) sum += map[query * tokens + key(query)]!;
    return tokens > 1 ? sum / (tokens - 1) : 0;
  };
  const places = [
    { where: 'itself', weight: mean((query) => query) },
    { where: 'the token before', weight: mean((query) => query - 1) },
    { where: 'the first token', weight: mean(() => 0) },
  ];
  return places.reduce((best, place) => (place.weight > best.weight ? place : best));
}
