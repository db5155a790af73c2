import { defineConfig } from 'vitest/config';

// A browser that uses the built page, beside the program that it is compared with (RECKON).
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['e2e/*.test.ts'],
    globalSetup: 'e2e/servers.ts',
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
});
