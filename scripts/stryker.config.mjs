// Mutation tests (scripts/mutation.mjs): what authenticates and authorizes, by the unit tests of these rooms.

/** Tokens, their signatures, keys and claims, and what is decided about a request. */
const FILES = [
  'token/authenticate',
  'token/authorization-header',
  'authorize-request',
  'authz-table',
  'check',
  'check-request',
  'token/claims',
  'decide',
  'token/fresh-keys',
  'token/jws',
  'token/jws-signature',
  'kept-verdicts',
  'origin-check',
  'path-check',
  'token/authenticate',
  'token/provider',
  'token/token-memory',
  'token/verify',
].map((name) => `src/extauthz/${name}.ts`)
const KEYS = ['edwards-key', 'key-set'].map((name) => `src/extauthz/oauth/${name}.ts`)

export default {
  mutate: [...FILES, ...KEYS],
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'vitest.mutation.config.ts', pool: 'forks' },
  coverageAnalysis: 'perTest',
  concurrency: 2,
  // For a busy machine: a change that is slow to fail is not one that hangs.
  timeoutMS: 20_000,
  // Each sandbox is a copy of what is here.
  tempDirName: '.cache/stryker',
  ignorePatterns: [
    '/.cache',
    '/dist',
    '/bench',
    '/deploy',
    '/docs',
    '/coverage',
    '/scripts/runtime',
    '/test/golden',
    '/test/parties',
    '/test/kubernetes',
    '/test/integration',
  ],
  incremental: true,
  incrementalFile: '.cache/mutation/incremental.json',
  reporters: [process.stdout.isTTY ? 'progress' : 'progress-append-only', 'html', 'json'],
  htmlReporter: { fileName: '.cache/mutation/report.html' },
  jsonReporter: { fileName: '.cache/mutation/report.json' },
  allowEmpty: false,
  disableTypeChecks: false,
}
