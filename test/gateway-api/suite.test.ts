// The official Gateway API conformance suite, profile GATEWAY-HTTP, in a cluster with real controllers, real echo servers
// and a real Envoy per Gateway.

import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { gatewayClass } from '../kubernetes/support/objects.js'
import { deployEnvoys } from './support/envoys.js'
import {
  commitReport,
  committedReport,
  expectNoFailure,
  runSuite,
  type SuiteRun,
} from './support/suite.js'
import { startSuiteCluster, type SuiteCluster } from './support/suite-cluster.js'

const CLASS = 'gatehouse'
/** Addresses of the network that a Gateway can have, and cannot have, when it asks for them. */
const USABLE = '10.250.200.1'
const UNUSABLE = '192.0.2.1'

let cluster: SuiteCluster
let envoys: ReturnType<typeof deployEnvoys>
/** Whether nobody needs the logs. */
let hasPassed = false

/** Address over which private keys of listeners are sent. */
const socketIn = (folder: string): string => `unix:${join(folder, 'gatehouse.sock')}`

beforeAll(async () => {
  cluster = await startSuiteCluster({
    objects: [gatewayClass(CLASS)],
    replicaOptions: (folder) => ({ grpc: socketIn(folder), listenAddress: '0.0.0.0' }),
  })
  const { api, folder } = cluster
  const grpc = socketIn(folder)
  envoys = deployEnvoys({ api, grpc, folder, gatewayClass: CLASS, staticAddresses: [USABLE] })
})

afterAll(async () => {
  await envoys.close()
  await cluster.close(hasPassed)
})

it('passes the tests of core and of each feature that the GatewayClass claims, as many as the committed report has', async () => {
  const { kubeconfig, folder } = cluster
  const addresses = ['-usable-address', USABLE, '-unusable-address', UNUSABLE]
  const more = (process.env['GATEHOUSE_TEST_GATEWAY_API_FLAGS'] ?? '').split(' ').filter(Boolean)
  const flags = [...addresses, ...more]
  const run = await runSuite({ kubeconfig, gatewayClass: CLASS, folder, flags })
  // With flags it runs a part, or more.
  const isWhole = more.length === 0
  expectNoFailure(run, folder, isWhole ? [] : undefined)
  const reports = process.env['GATEHOUSE_TEST_GATEWAY_API_REPORTS']
  if (reports !== undefined) commitReport(folder, reports)
  if (isWhole) {
    expect(run.profiles).toEqual(committedReport())
    const [{ core, extended }] = run.profiles as [SuiteRun['profiles'][number]]
    // Each of them has its line in the log too.
    const passed = core.statistics.Passed + (extended?.statistics.Passed ?? 0)
    expect(new Set(run.ended.PASS).size).toBe(passed)
  }
  hasPassed = true
})
