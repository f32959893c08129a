// A Gatehouse that serves some resources on a socket, and an Envoy with a configuration of the benchmark's own.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findEnvoy } from '../src/envoy/find-envoy.js'
import type { JsonObject } from '../src/ir/json.js'
import { freePort, root, run, until, type Party } from './processes.js'

export const GATEWAY_API = 'gateway.networking.k8s.io'
export const OURS = 'policy.gatehouse.dev'

export interface Gatehouse extends Party {
  /** Milliseconds from the start of the process to /readyz saying 200. */
  readonly startupMs: number
}

export async function startGatehouse(
  folder: string,
  socket: string,
  items: readonly object[],
): Promise<Gatehouse> {
  const resources = join(folder, 'resources.json')
  await writeFile(resources, JSON.stringify({ kind: 'List', apiVersion: 'v1', items }))
  const admin = `127.0.0.1:${String(await freePort())}`
  const start = performance.now()
  const party = run(
    process.execPath,
    [
      ...[join(root, 'dist/main.js'), 'serve', '--resources', resources],
      ...['--grpc', `unix:${socket}`, '--admin', admin],
    ],
    true,
  )
  await until(`http://${admin}/readyz`)
  return { ...party, startupMs: performance.now() - start }
}

/** config: with its admin address at this port. */
export async function startEnvoy(
  folder: string,
  admin: number,
  config: JsonObject,
): Promise<Party> {
  const file = join(folder, 'envoy.json')
  await writeFile(file, JSON.stringify(config))
  const path = await findEnvoy({ environment: process.env })
  const party = run(path, [
    ...['-c', file, '--concurrency', '1', '--disable-hot-restart', '-l', 'error'],
  ])
  await until(`http://127.0.0.1:${String(admin)}/ready`)
  return party
}

export const gateway = {
  apiVersion: `${GATEWAY_API}/v1`,
  kind: 'Gateway',
  metadata: { name: 'gateway' },
  spec: {
    gatewayClassName: 'gatehouse',
    listeners: [{ name: 'http', port: 8080, protocol: 'HTTP' }],
  },
}

/** A route of that name below /NAME, to a backend that nobody asks. */
export const route = (name: string): readonly object[] => [
  {
    apiVersion: `${GATEWAY_API}/v1`,
    kind: 'HTTPRoute',
    metadata: { name },
    spec: {
      parentRefs: [{ name: 'gateway' }],
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: `/${name}` } }],
          backendRefs: [{ group: OURS, kind: 'ProxyBackend', name }],
        },
      ],
    },
  },
  backend(name, 9),
]

/** On loopback. */
export const backend = (name: string, port: number): object => ({
  apiVersion: `${OURS}/v1alpha1`,
  kind: 'ProxyBackend',
  metadata: { name },
  spec: { static: { host: '127.0.0.1', port } },
})

/** A policy for the route of that name. */
export const policy = (name: string, spec: object): object => ({
  apiVersion: `${OURS}/v1alpha1`,
  kind: 'ProxyPolicy',
  metadata: { name },
  spec: { targetRefs: [{ group: GATEWAY_API, kind: 'HTTPRoute', name }], ...spec },
})
