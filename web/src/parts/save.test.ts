import { expect, test } from 'vitest';
import { csvText } from './save';

test('CSV quotes what needs it and keeps every digit', () => {
  expect(csvText([['part', 'formula', 'value'], ['query, key', '6·L·T·d²', 2n ** 70n], ['a "b"', '', 1]])).toBe(
    'part,formula,value\n"query, key",6·L·T·d²,1180591620717411303424\n"a ""b""",,1\n',
  );
});
