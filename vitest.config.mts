import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['__test__/**/*.test.ts'],
    // The addon may be a debug build, the machine a busy one: a hang is told from slowness late.
    testTimeout: 60_000,
    // What is waited for comes late on such a machine as well: after the 1 s that is the default, too.
    expect: { poll: { timeout: 50_000 } },
    // Vitest leaves one processor free; tests that wait for commands leave more than that.
    maxWorkers: 2,
    // Node itself loads the built package, as it does for a user; only the tests are transformed.
    server: { deps: { external: [/\/(index|binding)\.m?js$/, /\/dist\//] } },
  },
})
