// What a cluster does with the Deployments of a walk: it runs their pods, here as processes of this machine, and reports
// where they are.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startMcpServer } from '../../../../src/cli/demo/mcp-server.js'
import type { AnyObject } from '../../../../testing/api-call.js'
import { ADDRESS, type ApiServer } from '../../../../testing/api-server.js'
import { eventually } from '../../../../testing/eventually.js'
import { MAIN } from '../../../../testing/program.js'
import { endpointSlice, inNamespace } from '../../../kubernetes/support/objects.js'
import { containerNamed } from '../../../kubernetes/support/pod.js'
import { startTcpProxy } from '../../../kubernetes/support/tcp-proxy.js'

/** Longest time between the steps of a walk, on a busy machine. */
const PATIENCE = 120_000

export interface Pod {
  /** Where it listens at ADDRESS, by the names of its Service's ports. */
  readonly ports: Readonly<Record<string, number>>
  close(): Promise<unknown>
}

/** Runs the pods of a Deployment once it is there, and reports where they are and that they run. */
export async function runDeployment(
  api: ApiServer,
  namespace: string,
  name: string,
  start: (deployment: AnyObject) => Promise<Pod>,
): Promise<void> {
  const deployment = await eventually(
    () => api.get('apps/v1', 'Deployment', name, namespace),
    PATIENCE,
  )
  const { ports } = await start(deployment)
  for (const [port, number] of Object.entries(ports))
    await api.apply(
      inNamespace(namespace, {
        ...endpointSlice(name, [{ address: ADDRESS, port: number }], `${name}-${port}`),
        ports: [{ name: port, port: number, protocol: 'TCP' }],
      }),
    )
  await showAvailable(api, namespace, name)
}

/** Reports that a Deployment's pods run. */
export const showAvailable = (api: ApiServer, namespace: string, name: string): Promise<unknown> =>
  api.call('PATCH', `/apis/apps/v1/namespaces/${namespace}/deployments/${name}/status`, {
    status: {
      replicas: 1,
      readyReplicas: 1,
      availableReplicas: 1,
      conditions: [{ type: 'Available', status: 'True' }],
    },
  })

export async function mcpServerPod(): Promise<Pod> {
  const server = await startMcpServer()
  const proxy = await startTcpProxy(ADDRESS, { host: server.host, port: server.port })
  const close = () => Promise.all([proxy.close(), server.close()])
  return { ports: { http: proxy.port }, close }
}

/** Envoy Gateway itself has port 18000 of this machine. */
const PORTS = { grpc: 18_005, closed: 18_009 }

/** Runs Gatehouse with the arguments of its container, as its ServiceAccount. */
export async function gatehousePod(api: ApiServer, deployment: AnyObject): Promise<Pod> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-walk-pod-'))
  const kubeconfig = join(folder, 'kubeconfig')
  await writeFile(kubeconfig, await kubeconfigOfAccount(api))
  const { args = [] } = containerNamed([deployment], 'gatehouse')
  const given = args.map((arg) =>
    arg
      .replace('--grpc=0.0.0.0:18000', `--grpc=${ADDRESS}:${String(PORTS.grpc)}`)
      .replace('/run/gatehouse-admin', folder),
  )
  const child = spawn(process.execPath, [MAIN, ...given], {
    stdio: 'ignore',
    env: {
      ...process.env,
      KUBECONFIG: kubeconfig,
      POD_NAME: 'gatehouse-1',
      POD_NAMESPACE: 'gatehouse',
      LEASE_NAME: 'gatehouse',
    },
  })
  const close = async (): Promise<void> => {
    await ended(child)
    await rm(folder, { recursive: true })
  }
  try {
    await eventually(async () => {
      const { status } = await fetch('http://127.0.0.1:18001/readyz')
      if (status !== 200) throw new Error(`Gatehouse is not ready: ${String(status)}`)
    }, PATIENCE)
  } catch (failure) {
    await close()
    throw failure
  }
  return { ports: PORTS, close }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const end = once(child, 'close')
  child.kill('SIGTERM')
  await end
}

/** A kubeconfig with a token of Gatehouse's ServiceAccount, which a kubelet would mount. */
async function kubeconfigOfAccount(api: ApiServer): Promise<string> {
  const path = '/api/v1/namespaces/gatehouse/serviceaccounts/gatehouse/token'
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  const { status } = await api.call('POST', path, request)
  const cluster = {
    server: `https://${ADDRESS}:${String(api.port)}`,
    'insecure-skip-tls-verify': true,
  }
  const name = 'walk'
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster }],
    users: [{ name, user: status }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  })
}
