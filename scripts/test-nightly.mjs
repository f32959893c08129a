// npm run test:nightly: what takes too long for every change, in parts of at most an hour and a half. `npm run
// test:nightly -- PART…` runs only those, `--help` lists them.

import { runScript } from './runtime.mjs'
import { runSteps } from './steps.mjs'

const NIGHTLY = { GATEHOUSE_TEST_FILES: 'nightly' }

/** Minors of Envoy that docs/support.md promises, besides the one that every change is tested with. */
const ENVOYS = ['1.37', '1.38', '1.39']

const suite = (name, what) => ({
  name,
  what,
  run: `npm test -- --project ${name}`,
  env: NIGHTLY,
})

const PARTS = [
  suite('integration', 'files of test/integration that are not core'),
  suite('parties', 'LiteLLM, Presidio, pages in a browser, an OpenTelemetry Collector'),
  suite('kubernetes', 'files of test/kubernetes that are not core'),
  suite('mesh', 'files of test/mesh that are not core'),
  suite('containers', 'files of test/containers that are not core'),
  { name: 'soak', what: 'floods, soaks and long streams', run: 'npm test -- --project soak' },
  { name: 'cluster', what: 'a cluster with real pods', run: 'npm test -- --project cluster' },
  {
    name: 'properties',
    what: 'properties, twice their full number of times',
    run: 'npm test -- --project unit --project isolated --project long --test-timeout=600000',
    env: { GATEHOUSE_TEST_RUNS: '2' },
  },
  {
    name: 'oldest',
    what: 'all unit tests on the oldest Node',
    before: 'GATEHOUSE_NODE=oldest npm run setup',
    run: 'npm test -- --project unit --project isolated --project long',
    env: { GATEHOUSE_NODE: 'oldest' },
  },
  {
    name: 'busy',
    what: 'npm test three times beside a load',
    run: 'node scripts/test-busy.mjs 3',
  },
  {
    name: 'coverage',
    what: 'the branches that unit tests take, against their floors',
    run: 'node scripts/coverage.mjs',
  },
  {
    name: 'mutation',
    what: 'small changes of what authenticates, which tests must notice',
    run: 'node scripts/mutation.mjs',
  },
  ...ENVOYS.map((version) => ({
    name: `envoy-${version}`,
    what: `all integration tests with Envoy ${version}`,
    run: `GATEHOUSE_TEST_ENVOY="$(node scripts/older-envoy.mjs ${version})" npm test -- --project integration`,
    env: { GATEHOUSE_TEST_FILES: 'all' },
  })),
]

await runScript(() =>
  runSteps({ command: 'npm run test:nightly --', steps: PARTS, names: process.argv.slice(2) }),
)
