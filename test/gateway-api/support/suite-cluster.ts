// A cluster for the conformance suite: a real API server, real controllers, and a stand-in for kubelet and scheduler that
// runs real echo servers and a real Envoy per Gateway.

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import {
  ADDRESS,
  type ApiServer,
  definitions,
  startApiServer,
} from '../../../testing/api-server.js'
import { eventually } from '../../../testing/eventually.js'
import { type ReplicaOptions, startReplica } from '../../../testing/replica.js'
import { gatewayApiDefinitions } from './definitions.js'
import { type Program, startKubelet } from './kubelet.js'

const CONTROLLERS = ['deployment', 'replicaset', 'endpointslice', 'namespace', 'garbage-collector']

/** The cluster of one test file, and a Gatehouse in it. */
export interface SuiteCluster {
  readonly api: ApiServer
  readonly kubeconfig: string
  /** Folder for logs and sockets. */
  readonly folder: string
  /** Ends everything. Keeps the logs unless the tests have passed. */
  close(hasPassed: boolean): Promise<void>
}

export interface SuiteClusterOptions {
  /** The GatewayClass, and what it refers to. */
  readonly objects: readonly object[]
  /** Settings of Gatehouse. */
  replicaOptions(folder: string): Omit<ReplicaOptions, 'kubeconfig'>
}

/** Starts the programs. The API server has every CRD of the Gateway API, and Gatehouse's own. */
export async function startSuiteCluster(options: SuiteClusterOptions): Promise<SuiteCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-gateway-api-'))
  const endings: (() => unknown)[] = []
  const close = async (hasPassed: boolean): Promise<void> => {
    for (const end of endings.splice(0).reverse()) await end()
    if (hasPassed) rmSync(folder, { recursive: true })
  }
  try {
    const api = await startApiServer({ bare: true })
    endings.push(() => api.close())
    await api.apply(...gatewayApiDefinitions(), ...definitions())
    await eventually(() => api.apply(...options.objects))
    const kubeconfig = await api.kubeconfig()
    endings.push(startControllers(kubeconfig))
    const gatehouse = await startReplica({ kubeconfig, ...options.replicaOptions(folder) })
    endings.push(() => gatehouse.stop())
    const kubelet = await startKubelet({ api, address: ADDRESS, folder, programOf })
    endings.push(() => kubelet.close())
    return { api, kubeconfig, folder, close }
  } catch (error) {
    await close(false)
    throw error
  }
}

function startControllers(kubeconfig: string): () => void {
  const flags = [
    `--kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--secure-port=0',
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
