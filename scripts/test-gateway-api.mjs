// npm test -- --project gateway-api: runs the official Gateway API conformance suite, profile GATEWAY-HTTP, in a cluster of real
// controllers, echo servers and Envoys. Everything is built from Go modules if missing. Arguments are flags of the suite,
// e.g. `npm test -- --project gateway-api -run-test HTTPRouteWeight`. With --all it also tries features that the GatewayClass
// does not claim. With --report it replaces the report in docs/gateway-api if everything passes.

import { join } from 'node:path'
import { conformanceSuite, echoServer, suiteDefinitions } from './gateway-api-suite.mjs'
import { cluster, controllerManager } from './kubernetes.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { root } from './stale.mjs'
import { runVitest } from './vitest.mjs'

const say = (text) => process.stderr.write(`gateway-api: ${text}\n`)

/** Shorter waits for what is not there. */
const LESS = [
  'GatewayMustHaveAddress',
  'GatewayMustHaveCondition',
  'GatewayListenersMustHaveConditions',
  'GatewayStatusMustHaveListeners',
  'ListenerSetMustHaveCondition',
  'RouteMustHaveParents',
  'ListenerSetListenersMustHaveConditions',
  'HTTPRouteMustHaveCondition',
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
  return runVitest(
    ['run', '--project', 'gateway-api'],
    await cluster({
      GATEHOUSE_TEST_CONTROLLER_MANAGER: controllerManager(),
      GATEHOUSE_TEST_GATEWAY_API_SUITE: conformanceSuite(say),
      GATEHOUSE_TEST_ECHO: echoServer(say),
      ...(isReport ? { GATEHOUSE_TEST_GATEWAY_API_REPORTS: join(root, 'docs/gateway-api') } : {}),
      GATEHOUSE_TEST_GATEWAY_API: suiteDefinitions(),
      GATEHOUSE_TEST_GATEWAY_API_FLAGS: [...flags, ...(isAll ? all : [])].join(' '),
    }),
  )
})
