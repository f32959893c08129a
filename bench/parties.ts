// Starts what is measured: the no-op server, Gatehouse with a policy of its own, and an Envoy in front of both.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findEnvoy } from '../src/envoy/find-envoy.js'
import { envoyConfig, VARIANTS, type Variant } from './envoy-config.js'
import { AUDIENCE, ISSUER, type Keys } from './tokens.js'

export interface Parties {
  readonly ports: Readonly<Record<Variant, number>>
  readonly envoyPid: number
  /** The server behind the filter of a variant; undefined: Envoy does it alone. */
  serverPid(variant: Variant): number | undefined
  /** Milliseconds from the start of Gatehouse's process to /readyz saying 200. */
  readonly startupMs: number
  close(): Promise<void>
}

/** Bundled into .cache/bench. */
const root = join(import.meta.dirname, '../..')
const ROUTE = 'default/mcp/0'

export async function startParties(keys: Keys): Promise<Parties> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  const noopSocket = join(folder, 'noop.sock')
  const gatehouseSocket = join(folder, 'gatehouse.sock')
  const noop = run(process.execPath, [
    join(root, '.cache/bench/noop-server.mjs'),
    `unix:${noopSocket}`,
  ])
  await once(noop.stdout ?? noop, 'data')
  const { child: gatehouse, startupMs } = await startGatehouse(folder, gatehouseSocket, keys)
  const ports = await freePorts()
  const admin = await freePort()
  const config = join(folder, 'envoy.json')
  await writeFile(
    config,
    JSON.stringify(
      envoyConfig({
        ...{ admin, ports, noop: noopSocket, gatehouse: gatehouseSocket },
        ...{ issuer: ISSUER, audience: AUDIENCE, jwks: keys.jwks, route: ROUTE },
      }),
    ),
  )
  const envoyPath = await findEnvoy({ environment: process.env })
  const envoy = run(envoyPath, [
    '-c',
    config,
    '--concurrency',
    '1',
    '--disable-hot-restart',
    '-l',
    'error',
  ])
  await until(`http://127.0.0.1:${String(admin)}/ready`)
  return {
    ports,
    startupMs,
    envoyPid: pidOf(envoy),
    serverPid: (variant) =>
      variant === 'Gatehouse'
        ? pidOf(gatehouse)
        : variant === 'no-op ext_authz'
          ? pidOf(noop)
          : undefined,
    close: async () => {
      for (const child of [envoy, gatehouse, noop]) {
        const ended = once(child, 'exit')
        child.kill('SIGKILL')
        await ended
      }
      await rm(folder, { recursive: true })
    },
  }
}

async function startGatehouse(
  folder: string,
  socket: string,
  keys: Keys,
): Promise<{ child: ChildProcess; startupMs: number }> {
  const resources = join(folder, 'resources.json')
  await writeFile(
    resources,
    JSON.stringify({ kind: 'List', apiVersion: 'v1', items: policy(keys) }),
  )
  const admin = `127.0.0.1:${String(await freePort())}`
  const start = performance.now()
  const child = run(process.execPath, [
    join(root, 'dist/main.js'),
    'serve',
    ...['--resources', resources, '--grpc', `unix:${socket}`, '--admin', admin],
    ...['--log-level', 'warn'],
  ])
  await until(`http://${admin}/readyz`)
  return { child, startupMs: performance.now() - start }
}

/** One route, one policy: what the demo's says, with the keys written into it. */
function policy(keys: Keys): readonly object[] {
  const gatewayApi = 'gateway.networking.k8s.io'
  const ours = 'policy.gatehouse.dev'
  const jwks = { inline: JSON.stringify(keys.jwks) }
  const provider = { issuer: ISSUER, audiences: [AUDIENCE], jwks }
  const rules = ['"mcp-users" in jwt.groups']
  return [
    {
      apiVersion: `${gatewayApi}/v1`,
      kind: 'Gateway',
      metadata: { name: 'gateway' },
      spec: {
        gatewayClassName: 'gatehouse',
        listeners: [{ name: 'http', port: 8080, protocol: 'HTTP' }],
      },
    },
    {
      apiVersion: `${gatewayApi}/v1`,
      kind: 'HTTPRoute',
      metadata: { name: 'mcp' },
      spec: {
        parentRefs: [{ name: 'gateway' }],
        rules: [
          {
            matches: [{ path: { type: 'PathPrefix', value: '/mcp' } }],
            backendRefs: [{ group: ours, kind: 'ProxyBackend', name: 'mcp' }],
          },
        ],
      },
    },
    {
      apiVersion: `${ours}/v1alpha1`,
      kind: 'ProxyBackend',
      metadata: { name: 'mcp' },
      spec: { static: { host: '127.0.0.1', port: 9 } },
    },
    {
      apiVersion: `${ours}/v1alpha1`,
      kind: 'ProxyPolicy',
      metadata: { name: 'mcp' },
      spec: {
        targetRefs: [{ group: gatewayApi, kind: 'HTTPRoute', name: 'mcp' }],
        traffic: {
          jwtAuthentication: { providers: [provider] },
          authorization: { policy: { matchExpressions: rules } },
        },
      },
    },
  ]
}

const run = (program: string, args: readonly string[]): ChildProcess =>
  spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })

function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('a process did not start')
  return pid
}

async function until(url: string): Promise<void> {
  const end = performance.now() + 20_000
  for (;;) {
    const ok = await fetch(url).then(
      (answer) => answer.ok,
      () => false,
    )
    if (ok) return
    if (performance.now() > end) throw new Error(`${url} did not become ready`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

async function freePorts(): Promise<Record<Variant, number>> {
  const entries = await Promise.all(VARIANTS.map(async (name) => [name, await freePort()] as const))
  return Object.fromEntries(entries) as Record<Variant, number>
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
