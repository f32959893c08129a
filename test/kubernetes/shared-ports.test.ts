// Two Gateways of two namespaces on one port: within one Envoy the older one owns it, whatever the order of names and
// connections.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADDRESS, type ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { type Backend, startBackend } from '../support/backend.js'
import { type OtherEnvoy, startOtherEnvoy } from '../support/other-envoy.js'
import { backendRef, gateway, httpRoute, proxyBackend } from '../support/resources.js'
import { gatewayClass, inNamespace } from './support/objects.js'
import { apiServerFor } from './support/shared-api-server.js'

const OLDER = 'z-older'
const YOUNGER = 'a-younger'

let api: ApiServer
let replica: Replica
let envoy: OtherEnvoy
let backends: readonly Backend[]
let port: number

const ask = async (): Promise<string> => (await fetch(`http://127.0.0.1:${String(port)}/`)).text()

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

/** Conditions of the Gateway's listener, by type. */
async function listenerOf(namespace: string): Promise<Readonly<Record<string, Condition>>> {
  const { status } = await api.get('gateway.networking.k8s.io/v1', 'Gateway', 'gw', namespace)
  const { listeners = [] } = (status ?? {}) as { listeners?: { conditions: Condition[] }[] }
  return Object.fromEntries((listeners[0]?.conditions ?? []).map((each) => [each.type, each]))
}

async function create(namespace: string, backend: Backend): Promise<void> {
  await api.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    ...[
      gateway([port]),
      proxyBackend('app', { host: ADDRESS, port: backend.port }),
      httpRoute('app', { rules: [{ backendRefs: [backendRef('app')] }] }),
    ].map((object) => inNamespace(namespace, object)),
  )
}

async function start(...flags: readonly string[]): Promise<void> {
  replica = await startReplica({ kubeconfig: await api.kubeconfig(), flags })
}

beforeAll(async () => {
  port = await freePort()
  api = await apiServerFor()
  backends = await Promise.all(
    [OLDER, YOUNGER].map((name) => startBackend(name, { host: ADDRESS })),
  )
  await api.apply(gatewayClass())
  const [older, younger] = backends
  await create(OLDER, older!)
  const { metadata } = await api.get('gateway.networking.k8s.io/v1', 'Gateway', 'gw', OLDER)
  const created = Date.parse((metadata as { creationTimestamp: string }).creationTimestamp)
  // The API server counts in seconds.
  await eventually(() => expect(Date.now()).toBeGreaterThanOrEqual(created + 1_000))
  await create(YOUNGER, younger!)
})

afterAll(async () => {
  await Promise.all(backends.map((backend) => backend.close()))
  await api.close()
})

describe('one Envoy of both', () => {
  beforeAll(async () => {
    await start('--shared-envoys')
    envoy = await startOtherEnvoy(replica.grpc)
  })
  afterAll(async () => {
    await envoy.stop()
    await replica.stop()
  })

  test('serves the older one', async () => {
    await eventually(async () => expect(await ask()).toBe(OLDER))
    expect(await envoy.listeners()).toEqual([`${OLDER}/gw/${String(port)}`])
  })

  test('the younger one is in conflict, and says with what', async () => {
    const message = `port ${String(port)} is that of a Gateway of another namespace, which is older`
    await eventually(async () =>
      expect(await listenerOf(YOUNGER)).toMatchObject({
        Accepted: { status: 'False', reason: 'PortUnavailable', message },
        Conflicted: { status: 'True', message },
        Programmed: { status: 'False' },
      }),
    )
    expect(await listenerOf(OLDER)).toMatchObject({
      Accepted: { status: 'True' },
      Programmed: { status: 'True' },
    })
    expect(await listenerOf(OLDER)).not.toHaveProperty('Conflicted')
  })

  test('gives the port to the younger one when the older has left it', async () => {
    await api.apply(inNamespace(OLDER, gateway([await freePort()])))
    await eventually(async () => {
      expect(await listenerOf(YOUNGER)).toMatchObject({ Programmed: { status: 'True' } })
      expect(await ask()).toBe(YOUNGER)
    }, 30_000)
    await api.apply(inNamespace(OLDER, gateway([port])))
  })
})

describe('Envoys of their own', () => {
  beforeAll(() => start())
  afterAll(() => replica.stop())

  test('share a port number: both are accepted and programmed, whoever is connected', async () => {
    const areFine = () =>
      eventually(async () => {
        for (const namespace of [OLDER, YOUNGER]) {
          const conditions = await listenerOf(namespace)
          expect(conditions).toMatchObject({
            Accepted: { status: 'True' },
            Programmed: { status: 'True' },
          })
          expect(conditions).not.toHaveProperty('Conflicted')
        }
      })
    await areFine()
    envoy = await startOtherEnvoy(replica.grpc, `${YOUNGER}/gw`)
    await eventually(async () => expect(await ask()).toBe(YOUNGER))
    await areFine()
    await envoy.stop()
  })
})
