import { defineConfig } from 'vitest/config'

// Vectors of others, from a folder that the environment names (.ci/run does); without it there is nothing to run.
const conformance =
  process.env['GATEHOUSE_WYCHEPROOF'] === undefined
    ? []
    : [{ test: { name: 'conformance', include: ['test/conformance/**/*.test.ts'] } }]

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/integration/**', 'test/conformance/**', 'test/parties/**'],
          pool: 'forks',
          testTimeout: 20_000,
        },
      },
      ...conformance,
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          pool: 'forks',
          maxWorkers: 3,
          testTimeout: 60_000,
          hookTimeout: 120_000,
          globalSetup: ['test/support/global-setup.ts'],
        },
      },
    ],
  },
})
