// The thinnest whole path: an object in the API server → Gatehouse → ADS → Envoy → Check → an answer.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBackend, type Backend } from '../support/backend.js'
import { eventually } from '../support/eventually.js'
import { startOtherEnvoy, type OtherEnvoy } from '../support/other-envoy.js'
import { freePort } from '../support/ports.js'
import { gateway, httpRoute } from '../support/resources.js'
import { ADDRESS, startApiServer, type ApiServer } from './support/api-server.js'
import { endpointSlice, gatewayClass, policy, service } from './support/objects.js'
import { startReplica, type Replica } from './support/replica.js'

let api: ApiServer
let replica: Replica
let envoy: OtherEnvoy
let backend: Backend
let port: number

beforeAll(async () => {
  port = await freePort()
  backend = await startBackend('v1', { host: ADDRESS })
  api = await startApiServer()
  await api.apply(
    gatewayClass(),
    gateway([port]),
    service('app'),
    endpointSlice('app', [{ address: ADDRESS, port: backend.port }]),
    httpRoute('app', { rules: [{ backendRefs: [{ name: 'app', port: 80 }] }] }),
    policy('no-post', {
      authorization: { policy: { matchExpressions: ['request.method == "GET"'] } },
    }),
  )
  replica = await startReplica({ kubeconfig: await api.kubeconfig() })
  envoy = await startOtherEnvoy(replica.grpc, 'default/gw')
})

afterAll(async () => {
  await envoy.stop()
  await replica.stop()
  await backend.close()
  await api.close()
})

describe('a route and a policy of a cluster', () => {
  const call = (method: string) => fetch(`http://127.0.0.1:${String(port)}/`, { method })

  test('are in force in Envoy', async () => {
    expect((await call('GET')).status).toBe(200)
    expect((await call('POST')).status).toBe(403)
  })

  test('say in their status that they are', async () => {
    await eventually(async () => {
      const { status } = await api.get('policy.gatehouse.dev/v1alpha1', 'ProxyPolicy', 'no-post')
      expect(status).toMatchObject({
        ancestors: [
          {
            ancestorRef: { kind: 'Gateway', namespace: 'default', name: 'gw' },
            controllerName: 'policy.gatehouse.dev/gatehouse',
            conditions: [
              { type: 'Accepted', status: 'True', observedGeneration: 1 },
              { type: 'Attached', status: 'True', observedGeneration: 1 },
            ],
          },
        ],
      })
    })
  })
})
