import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['__test__/**/*.test.ts'],
    // Node itself loads the built package, as it does for a user; only the tests are transformed.
    server: { deps: { external: [/\/(index|binding)\.m?js$/, /\/dist\//] } },
  },
})
