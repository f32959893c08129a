// The official Gateway API conformance suite, profile GATEWAY-HTTP, in a cluster with real controllers, real echo servers
// and a real Envoy per Gateway.

import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { gatewayClass } from '../kubernetes/support/objects.js'
import { deployEnvoys } from './support/envoys.js'
import { REPORT, runSuite } from './support/suite.js'
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

it('passes the tests of core and of each feature that the GatewayClass claims', async () => {
  const { kubeconfig, folder } = cluster
  const addresses = ['-usable-address', USABLE, '-unusable-address', UNUSABLE]
  const more = (process.env['GATEHOUSE_TEST_GATEWAY_API_FLAGS'] ?? '').split(' ').filter(Boolean)
  const flags = [...addresses, ...more]
  const { core, extended } = await runSuite({ kubeconfig, gatewayClass: CLASS, folder, flags })
  expect({ failed: core.failedTests ?? [], logs: folder }).toEqual({ failed: [], logs: folder })
  expect({ failed: extended?.failedTests ?? [], logs: folder }).toEqual({
    failed: [],
    logs: folder,
  })
  const reports = process.env['GATEHOUSE_TEST_GATEWAY_API_REPORTS']
  if (reports !== undefined) copyFileSync(join(folder, 'report.yaml'), join(reports, REPORT))
  hasPassed = true
})
