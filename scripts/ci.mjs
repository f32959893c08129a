// .ci/run: everything that must hold before a change lands, step by step. `.ci/run STEP…` runs only those steps,
// `.ci/run --help` lists them.

import { runScript } from './runtime.mjs'
import { runSteps } from './steps.mjs'
import { wholeForChange } from './test-files.mjs'

/** The two lanes are each other's load: what waits for a clock or a disk in one leaves its core to the other. */
const STEPS = [
  { lane: 'a', name: 'check', what: 'types, lint, format', run: 'npm run check' },
  { lane: 'a', name: 'test', what: 'the tests of the README', run: 'npm test' },
  {
    lane: 'a',
    name: 'oldest',
    what: 'the unit tests on the oldest Node',
    before: 'GATEHOUSE_NODE=oldest npm run setup',
    run: 'GATEHOUSE_NODE=oldest npm run test:unit',
  },
  {
    lane: 'b',
    name: 'containers',
    what: 'both images, both compose stacks',
    run: 'npm run test:containers',
  },
  {
    lane: 'b',
    name: 'wycheproof',
    what: "Wycheproof's vectors",
    run: 'npm run test:conformance',
  },
  {
    lane: 'b',
    name: 'parties',
    what: 'Keycloak, a browser, the MCP Inspector, MCP conformance, h2spec, grpc-go',
    before: 'node scripts/parties-packages.mjs',
    run: 'npm run test:parties',
  },
  {
    lane: 'b',
    name: 'kubernetes',
    what: 'a real API server, the Helm chart and the manifests',
    run: 'npm run test:kubernetes',
  },
  {
    lane: 'b',
    name: 'gateway-api',
    what: 'its conformance suite, core and claimed features',
    run: 'npm run test:gateway-api',
  },
  {
    lane: 'b',
    name: 'mesh',
    what: 'a real Envoy Gateway, a real istiod',
    run: 'npm run test:mesh',
  },
  {
    name: 'fresh',
    what: 'generated files and goldens are as committed',
    run: 'git diff --exit-code && git status --short && test -z "$(git status --porcelain)"',
  },
]

await runScript(() => {
  const whole = wholeForChange()
  if (whole.length > 0) process.stdout.write(`this change runs all of ${whole.join(', ')}\n`)
  process.env['GATEHOUSE_TEST_WHOLE'] = whole.join(',')
  return runSteps({ command: '.ci/run', steps: STEPS, names: process.argv.slice(2) })
})
