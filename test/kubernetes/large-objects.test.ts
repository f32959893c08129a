// A namespace with objects of more than a megabyte each: they keep nobody else from being served.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADDRESS, type ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { type Backend, startBackend } from '../support/backend.js'
import { send } from '../support/http.js'
import { type OtherEnvoy, startOtherEnvoy } from '../support/other-envoy.js'
import { gateway, httpRoute, prefix } from '../support/resources.js'
import { endpointSlice, gatewayClass, inNamespace, service } from './support/objects.js'
import { apiServerFor } from './support/shared-api-server.js'

/** An annotation may have 256 KiB. The API server writes each of these characters as six (\\u003c). */
const NOTE = '<'.repeat(250 * 1024)
/** Together 150 MB in a list. */
const COUNT = 100

let api: ApiServer
let app: Backend
let replica: Replica | undefined
let envoy: OtherEnvoy | undefined
let port: number

const large = (index: number): object =>
  inNamespace('tenant', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: `large-${String(index)}`, annotations: { note: NOTE } },
    spec: { ports: [{ port: 80 }] },
  })

beforeAll(async () => {
  port = await freePort()
  app = await startBackend('app', { host: ADDRESS })
  api = await apiServerFor()
  await api.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'tenant' } },
    gatewayClass(),
    gateway([port]),
    service('app', app.port),
    endpointSlice('app', [{ address: ADDRESS, port: app.port }]),
    httpRoute('app', { rules: [{ backendRefs: [{ name: 'app', port: app.port }] }] }),
    ...Array.from({ length: COUNT }, (_, index) => large(index)),
  )
})

afterAll(async () => {
  await envoy?.stop()
  await replica?.stop()
  await app.close()
  await api.close()
})

test('the routes of other namespaces are served, and changes are seen', async () => {
  replica = await startReplica({ kubeconfig: await api.kubeconfig() })
  envoy = await startOtherEnvoy(replica.grpc, 'default/gw')
  const status = async (path: string): Promise<number> =>
    (await send(`http://127.0.0.1:${String(port)}`, path)).status
  await eventually(async () => expect(await status('/')).toBe(200), 30_000)
  await api.apply(
    httpRoute('app', {
      rules: [
        {
          matches: [prefix('/new')],
          backendRefs: [{ name: 'app', port: app.port }],
        },
      ],
    }),
  )
  await eventually(async () => expect(await status('/')).toBe(404), 30_000)
  expect(await status('/new')).toBe(200)
})
