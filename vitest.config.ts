import { defineConfig } from 'vitest/config'

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
      {
        // Vectors of others, from a folder that the environment names: .ci/run asks for it.
        test: { name: 'conformance', include: ['test/conformance/**/*.test.ts'], pool: 'forks' },
      },
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
