// npm run test:gateway-api: runs the official Gateway API conformance suite, profile GATEWAY-HTTP, in a cluster of real
// controllers, echo servers and Envoys. Everything is built from Go modules if missing. Arguments are flags of the suite,
// e.g. `npm run test:gateway-api -- -run-test HTTPRouteWeight`. With --all it also tries features that the GatewayClass
// does not claim. With --report it replaces the report in docs/gateway-api if everything passes.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { goProgram } from './go-program.mjs'
import { controllerManager, runInCluster } from './kubernetes.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { root } from './stale.mjs'

const say = (text) => process.stderr.write(`gateway-api: ${text}\n`)
const suite = join(root, 'test/gateway-api/suite')

/** Shorter waits for what is not there. */
const LESS = [
  ...['GatewayMustHaveAddress', 'GatewayMustHaveCondition', 'GatewayListenersMustHaveConditions'],
  ...['GatewayStatusMustHaveListeners', 'ListenerSetMustHaveCondition', 'RouteMustHaveParents'],
  ...['ListenerSetListenersMustHaveConditions', 'HTTPRouteMustHaveCondition'],
]
  .map((name) => `${name}:45`)
  .join(';')

const OWN_FLAGS = ['--all', '--report']

await runScript(async () => {
  await setup()
  const flags = process.argv.slice(2).filter((flag) => !OWN_FLAGS.includes(flag))
  const all = ['-profile-features', '-timeout-config-overrides', LESS]
  const isAll = process.argv.includes('--all')
  const isReport = process.argv.includes('--report')
  return runInCluster(
    [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--project', 'gateway-api'],
    {
      GATEHOUSE_TEST_CONTROLLER_MANAGER: controllerManager(),
      GATEHOUSE_TEST_GATEWAY_API_SUITE: goProgram({
        name: 'gateway-api-suite',
        module: suite,
        command: ['test', '-c'],
        takes: 'two minutes',
        say,
      }),
      GATEHOUSE_TEST_ECHO: goProgram({
        name: 'echo-basic',
        module: suite,
        part: 'sigs.k8s.io/gateway-api/conformance/echo-basic',
        say,
      }),
      ...(isReport ? { GATEHOUSE_TEST_GATEWAY_API_REPORTS: join(root, 'docs/gateway-api') } : {}),
      GATEHOUSE_TEST_GATEWAY_API: definitions(),
      GATEHOUSE_TEST_GATEWAY_API_FLAGS: [...flags, ...(isAll ? all : [])].join(' '),
    },
  )
})

/** Returns the folder with the CRDs of the suite's version. */
function definitions() {
  const list = ['list', '-m', '-f', '{{.Dir}}', 'sigs.k8s.io/gateway-api']
  const folder = execFileSync('go', list, { cwd: suite, encoding: 'utf8' }).trim()
  return join(folder, 'config/crd/experimental')
}
