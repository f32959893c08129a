// Routes are attached to and detached from a listener by the labels of their namespace, at run time.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADDRESS, type ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { type Backend, startBackend } from '../support/backend.js'
import { type OtherEnvoy, startOtherEnvoy } from '../support/other-envoy.js'
import { gateway, httpRoute } from '../support/resources.js'
import { endpointSlice, gatewayClass, inNamespace, service } from './support/objects.js'
import { apiServerFor } from './support/shared-api-server.js'

const SELECTOR = {
  matchLabels: { team: 'shop' },
  matchExpressions: [{ key: 'closed', operator: 'DoesNotExist' }],
}
const APPS = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } }

let api: ApiServer
let replica: Replica
let envoy: OtherEnvoy
let backend: Backend
let port: number

const label = (labels: object) =>
  api.call('PATCH', '/api/v1/namespaces/apps', { metadata: { labels } })
function accepted(reason: string): object {
  const condition = expect.objectContaining({ type: 'Accepted', reason }) as object
  return { parents: [{ conditions: expect.arrayContaining([condition]) as unknown }] }
}

/** Envoy's answer, and the message for the route's author. */
async function serves(status: number, reason: string): Promise<void> {
  await eventually(async () => {
    expect((await fetch(`http://127.0.0.1:${String(port)}/`)).status).toBe(status)
    const route = await api.get('gateway.networking.k8s.io/v1', 'HTTPRoute', 'app', 'apps')
    expect(route.status).toMatchObject(accepted(reason))
  }, 30_000)
}

beforeAll(async () => {
  port = await freePort()
  backend = await startBackend('app', { host: ADDRESS })
  api = await apiServerFor()
  const selecting = { namespaces: { from: 'Selector', selector: SELECTOR } }
  const spec = {
    parentRefs: [{ name: 'gw', namespace: 'default' }],
    rules: [{ backendRefs: [{ name: 'app', port: 80 }] }],
  }
  await api.apply(
    APPS,
    gatewayClass(),
    gateway([{ name: 'http', port, protocol: 'HTTP', allowedRoutes: selecting }]),
    ...[
      service('app'),
      endpointSlice('app', [{ address: ADDRESS, port: backend.port }]),
      httpRoute('app', spec),
    ].map((object) => inNamespace('apps', object)),
  )
  replica = await startReplica({ kubeconfig: await api.kubeconfig() })
  envoy = await startOtherEnvoy(replica.grpc)
})

afterAll(async () => {
  await envoy.stop()
  await replica.stop()
  await backend.close()
  await api.close()
})

describe('a route of a namespace', () => {
  test('gets in when the namespace has the label, and out when it has it no more', async () => {
    await serves(404, 'NotAllowedByListeners')
    await label({ team: 'shop' })
    await serves(200, 'Accepted')
    await label({ team: null })
    await serves(404, 'NotAllowedByListeners')
  })

  test('gets out when a label comes that its namespace must not have', async () => {
    await label({ team: 'shop' })
    await serves(200, 'Accepted')
    await label({ closed: 'yes' })
    await serves(404, 'NotAllowedByListeners')
    await label({ closed: null })
  })

  test('gets in where the namespaces are read by their names', async () => {
    const flags = ['--namespace', 'default', '--namespace', 'apps']
    const filtered = await startReplica({
      kubeconfig: await api.kubeconfig(),
      name: 'filtered',
      flags,
    })
    const said = () => filtered.status()
    expect(await said()).not.toContain('NotAllowedByListeners')
    await label({ team: 'other' })
    await eventually(async () => expect(await said()).toContain('NotAllowedByListeners'))
    await filtered.stop()
  })
})
