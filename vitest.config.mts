import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['__test__/**/*.test.ts'],
    // The addon may be a debug build, the machine a busy one: a hang is told from slowness late.
    testTimeout: 60_000,
    // Node itself loads the built package, as it does for a user; only the tests are transformed.
    server: { deps: { external: [/\/(index|binding)\.m?js$/, /\/dist\//] } },
  },
})
