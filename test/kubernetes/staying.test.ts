// An API server that goes away, comes back, and has dropped the history that a watch would need.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADDRESS } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { type OtherEnvoy, startOtherEnvoy } from '../support/other-envoy.js'
import { httpRoute, prefix } from '../support/resources.js'
import { type AppCluster, startAppCluster } from './support/app-cluster.js'
import { startTcpProxy, type TcpProxy } from './support/tcp-proxy.js'

let cluster: AppCluster
let network: TcpProxy
let replica: Replica
let envoy: OtherEnvoy

beforeAll(async () => {
  cluster = await startAppCluster({ own: true })
  const { api } = cluster
  network = await startTcpProxy(ADDRESS, { host: ADDRESS, port: api.port })
  replica = await startReplica({ kubeconfig: await api.kubeconfig('admin', network.port) })
  envoy = await startOtherEnvoy(replica.grpc)
})

afterAll(async () => {
  await envoy.stop()
  await replica.stop()
  await network.close()
  await cluster.close()
})

describe('connections to the API server that are dead without an end', () => {
  test('are found within 10 s: what has changed meanwhile is in force', async () => {
    network.freeze()
    await cluster.allow('request.method in ["GET", "PUT"]')
    await eventually(async () => expect(await cluster.statusOf('PUT')).toBe(200), 20_000)
    expect(await cluster.statusOf('POST')).toBe(403)
  })
})

describe('an API server', () => {
  test('that is away changes nothing', async () => {
    await cluster.api.stop()
    await eventually(async () => {
      expect(await cluster.statusOf('GET')).toBe(200)
      expect(await cluster.statusOf('POST')).toBe(403)
      expect((await replica.readiness()).status).toBe(200)
      expect(replica.log()).toContain('HTTPRoute cannot be read: ECONNRESET')
    })
  })

  test('that is back is followed again', async () => {
    await cluster.api.start()
    await cluster.allow('request.method == "POST"')
    await eventually(async () => {
      expect(await cluster.statusOf('POST')).toBe(200)
      expect(await cluster.statusOf('GET')).toBe(403)
    }, 30_000)
  })

  test('that has forgotten what was missed (410 Gone) is listed again', async () => {
    const rule = { matches: [prefix('/gone')], backendRefs: [{ name: 'app', port: 80 }] }
    const gone = httpRoute('gone', { rules: [rule] })
    const ofGone = async () => (await fetch(`${cluster.url}gone`)).status
    await cluster.api.apply(gone)
    await eventually(async () => expect(await ofGone()).toBe(200))
    network.lead()
    network.cut()
    await cluster.allow('request.method == "PUT"')
    await cluster.api.delete(gone)
    await cluster.api.compact()
    network.lead({ host: ADDRESS, port: cluster.api.port })
    await eventually(async () => {
      expect(await cluster.statusOf('PUT')).toBe(200)
      expect(await cluster.statusOf('POST')).toBe(403)
      // Its requests are those of the other route now, and of its policy.
      expect(await ofGone()).toBe(403)
    }, 60_000)
  })
})
