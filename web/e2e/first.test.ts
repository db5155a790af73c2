// What the first view costs before anyone has touched it.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { browse, devices, settled } from './browse';
import { dist, servePlainly } from './servers';

const open = browse();

for (const [name, device] of Object.entries({ ...devices, large: { viewport: { width: 2560, height: 1300 } } })) {
  test(`${name}: the first view explains the chosen part, and fetches less than 400 kB, gzipped`, async () => {
    const fetched = new Set<string>();
    const { address, close } = await servePlainly((path) => fetched.add(path));
    try {
      const page = await open('', { at: address, ...device });
      await settled(page, 'count');
      const part = page.getByRole('region', { name: 'The chosen part' });
      await part.getByText('what it computes').waitFor({ state: 'attached' });
      await part.getByText('1 tensor').first().waitFor({ state: 'attached' }); // of `count --by tensor`: the engine is there
      await page.waitForTimeout(1500); // for what would still be asked for
      const files = [...fetched].map((path) => relative(dist, path));
      const bytes = [...fetched].reduce((sum, path) => sum + gzipSync(readFileSync(path), { level: 9 }).length, 0);
      expect(files.filter((file) => file.startsWith('engine/')).sort()).toEqual(['engine/count.js', 'engine/count.wasm']);
      expect(bytes, files.join(' ')).toBeLessThan(400_000);
      expect(bytes).toBeGreaterThan(100_000); // the engine was counted
    } finally {
      close();
    }
  });
}
