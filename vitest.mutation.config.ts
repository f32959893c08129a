import { defineConfig } from 'vitest/config'

// The tests that mutants are shown to (scripts/mutation.mjs): quick ones, of the rooms that are mutated. Floods and random
// sequences would take longer for each mutant than they find.
export default defineConfig({
  test: {
    include: ['test/extauthz/{,token/}*.test.ts', 'test/extauthz/oauth/key-set.test.ts'],
    // Modules are loaded once for a mutant, not once for each file.
    isolate: false,
    testTimeout: 20_000,
  },
})
