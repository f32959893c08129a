// The official Gateway API conformance suite, profile GATEWAY-HTTP, in a cluster with real controllers, real echo servers
// and a real Envoy per Gateway.

import { spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import type { AnyObject } from '../kubernetes/support/api-call.js'
import { ADDRESS, definitions, startApiServer } from '../kubernetes/support/api-server.js'
import { gatewayClass } from '../kubernetes/support/objects.js'
import { startReplica } from '../kubernetes/support/replica.js'
import { eventually } from '../support/eventually.js'
import { deployEnvoys } from './support/envoys.js'
import { type Program, startKubelet } from './support/kubelet.js'
import { REPORT, runSuite } from './support/suite.js'

const CLASS = 'gatehouse'
/** Addresses of the network that a Gateway can have, and cannot have, when it asks for them. */
const USABLE = '10.250.200.1'
const UNUSABLE = '192.0.2.1'
const CONTROLLERS = ['deployment', 'replicaset', 'endpointslice', 'namespace', 'garbage-collector']

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-gateway-api-'))
/** Ends what beforeAll has started, the last first. */
const endings: (() => unknown)[] = []
let kubeconfig: string
/** Whether nobody needs the logs. */
let hasPassed = false

beforeAll(async () => {
  const api = await startApiServer({ bare: true })
  endings.push(() => api.close())
  await api.apply(...gatewayApiDefinitions(), ...definitions())
  await eventually(() => api.apply(gatewayClass(CLASS)))
  kubeconfig = await api.kubeconfig()
  endings.push(startControllers(kubeconfig))
  // Private keys of listeners are sent over a Unix socket.
  const grpc = `unix:${join(folder, 'gatehouse.sock')}`
  const gatehouse = await startReplica({ kubeconfig, grpc, listenAddress: '0.0.0.0' })
  endings.push(() => gatehouse.stop())
  const kubelet = await startKubelet({ api, address: ADDRESS, folder, programOf })
  endings.push(() => kubelet.close())
  const envoys = deployEnvoys({ api, grpc, folder, gatewayClass: CLASS, staticAddresses: [USABLE] })
  endings.push(() => envoys.close())
})

afterAll(async () => {
  for (const end of endings.reverse()) await end()
  if (hasPassed) rmSync(folder, { recursive: true })
})

it('passes the tests of core and of each feature that the GatewayClass claims', async () => {
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

/** Every CRD of the Gateway API: the suite applies objects of more kinds than Gatehouse reads. */
function gatewayApiDefinitions(): readonly AnyObject[] {
  const crds = process.env['GATEHOUSE_TEST_GATEWAY_API'] ?? ''
  return readdirSync(crds)
    .filter((file) => file.includes('networking'))
    .flatMap((file) => parseAllDocuments(readFileSync(join(crds, file), 'utf8')))
    .map((document) => document.toJS() as AnyObject)
    .filter(({ kind }) => kind === 'CustomResourceDefinition')
}

function startControllers(kubeconfig: string): () => void {
  const flags = [
    ...[`--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--secure-port=0'],
    `--controllers=${CONTROLLERS.map((name) => `${name}-controller`).join(',')}`,
  ]
  const program = process.env['GATEHOUSE_TEST_CONTROLLER_MANAGER'] ?? ''
  const tied = '"$@" & cat; kill -9 $!; wait'
  const child = spawn('sh', ['-c', tied, 'sh', program, ...flags], {
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  return () => child.stdin.end()
}

function programOf(
  image: string,
  { command = [] }: { readonly command?: readonly string[] },
): Program | undefined {
  if (image.includes('/echo-basic:'))
    return { command: [process.env['GATEHOUSE_TEST_ECHO'] ?? ''], port: 3000 }
  if (image !== 'envoy') return undefined
  return { command: [inject('envoyPath'), ...command.slice(1), '--concurrency', '1'] }
}
