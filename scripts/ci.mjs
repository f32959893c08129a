// .ci/run: everything that must hold before a change lands, step by step. `.ci/run STEP…` runs only those steps
// or lanes, `.ci/run --help` lists them.

import { runScript } from './runtime.mjs'
import { runSteps } from './steps.mjs'
import { onOldest, wholeForChange } from './test-files.mjs'

/**
 * Two lanes beside each other: "own" needs nothing but Node, Python and an Envoy, "others" needs programs of others. Each is
 * the other's load: what waits for a clock or a disk in one leaves its core to the other.
 */
const STEPS = [
  { lane: 'own', name: 'check', what: 'types, lint, format', run: 'npm run check' },
  { lane: 'own', name: 'test', what: 'the tests of the README', run: 'npm test' },
  {
    lane: 'own',
    name: 'oldest',
    what: 'what touches the runtime, on the oldest Node',
    before: 'GATEHOUSE_NODE=oldest npm run setup',
    run: `GATEHOUSE_NODE=oldest npm test -- ${onOldest.join(' ')}`,
  },
  {
    lane: 'others',
    name: 'containers',
    what: 'both images, a compose stack',
    run: 'npm test -- --project containers',
  },
  {
    lane: 'others',
    name: 'wycheproof',
    what: "Wycheproof's vectors",
    run: 'npm test -- --project conformance',
  },
  {
    lane: 'others',
    name: 'parties',
    what: 'Keycloak, a browser, the MCP Inspector, MCP conformance, h2spec, grpc-go',
    before: 'node scripts/parties-packages.mjs',
    run: 'npm test -- --project parties',
  },
  {
    lane: 'others',
    name: 'kubernetes',
    what: 'a real API server, the Helm chart and the manifests',
    run: 'npm test -- --project kubernetes',
  },
  {
    lane: 'others',
    name: 'gateway-api',
    what: 'its conformance suite, core and claimed features',
    run: 'npm test -- --project gateway-api',
  },
  {
    lane: 'others',
    name: 'mesh',
    what: 'a real Envoy Gateway, a real istiod',
    run: 'npm test -- --project mesh',
  },
  {
    name: 'fresh',
    what: 'generated files and goldens are as committed',
    run: 'git diff --exit-code && git status --short && test -z "$(git status --porcelain)"',
  },
]

await runScript(() => {
  const names = process.argv.slice(2)
  const whole = wholeForChange()
  process.env['GATEHOUSE_TEST_WHOLE'] = whole.join(',')
  if (whole.length > 0 && !names.includes('--help'))
    process.stdout.write(`this change runs all of ${whole.join(', ')}\n`)
  return runSteps({ command: '.ci/run', steps: STEPS, names })
})
