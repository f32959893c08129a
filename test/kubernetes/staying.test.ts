// An API server that goes away, comes back, and has forgotten what it would have to tell.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBackend, type Backend } from '../support/backend.js'
import { eventually } from '../support/eventually.js'
import { startOtherEnvoy, type OtherEnvoy } from '../support/other-envoy.js'
import { freePort } from '../support/ports.js'
import { gateway, httpRoute } from '../support/resources.js'
import { ADDRESS, startApiServer, type ApiServer } from './support/api-server.js'
import { endpointSlice, gatewayClass, policy, service } from './support/objects.js'
import { startReplica, type Replica } from './support/replica.js'
import { startTcpProxy, type TcpProxy } from './support/tcp-proxy.js'

let api: ApiServer
let network: TcpProxy
let replica: Replica
let envoy: OtherEnvoy
let backend: Backend
let port: number

const allow = (expression: string): object =>
  policy('rule', { authorization: { policy: { matchExpressions: [expression] } } })
const statusOf = async (method: string): Promise<number> =>
  (await fetch(`http://127.0.0.1:${String(port)}/`, { method })).status

beforeAll(async () => {
  port = await freePort()
  backend = await startBackend('v1', { host: ADDRESS })
  api = await startApiServer()
  network = await startTcpProxy(ADDRESS, { host: ADDRESS, port: api.port })
  await api.apply(
    gatewayClass(),
    gateway([port]),
    service('app'),
    endpointSlice('app', [{ address: ADDRESS, port: backend.port }]),
    httpRoute('app', { rules: [{ backendRefs: [{ name: 'app', port: 80 }] }] }),
    allow('request.method == "GET"'),
  )
  replica = await startReplica({ kubeconfig: await api.kubeconfig('admin', network.port) })
  envoy = await startOtherEnvoy(replica.grpc)
})

afterAll(async () => {
  await envoy.stop()
  await replica.stop()
  await backend.close()
  await network.close()
  await api.close()
})

describe('an API server', () => {
  test('that is away changes nothing', async () => {
    await api.stop()
    await eventually(async () => {
      expect(await statusOf('GET')).toBe(200)
      expect(await statusOf('POST')).toBe(403)
      expect((await replica.readiness()).status).toBe(200)
      expect(replica.log()).toContain('HTTPRoute cannot be read: ECONNRESET')
    })
  })

  test('that is back is followed again', async () => {
    await api.start()
    await api.apply(allow('request.method == "POST"'))
    await eventually(async () => {
      expect(await statusOf('POST')).toBe(200)
      expect(await statusOf('GET')).toBe(403)
    }, 30_000)
  })

  test('that has forgotten what was missed (410 Gone) is listed anew', async () => {
    network.lead()
    network.cut()
    await api.apply(allow('request.method == "PUT"'))
    await api.delete(httpRoute('gone', {})).catch(() => undefined)
    await api.compact()
    network.lead({ host: ADDRESS, port: api.port })
    await eventually(async () => {
      expect(await statusOf('PUT')).toBe(200)
      expect(await statusOf('POST')).toBe(403)
    }, 60_000)
  })
})
