// An API server that accepts calls and never answers: only direct callers wait for it.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADDRESS } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { type AppCluster, startAppCluster } from './support/app-cluster.js'
import { startTcpProxy, type TcpProxy } from './support/tcp-proxy.js'

let cluster: AppCluster
let network: TcpProxy
let replica: Replica

beforeAll(async () => {
  cluster = await startAppCluster()
  const { api } = cluster
  network = await startTcpProxy(ADDRESS, { host: ADDRESS, port: api.port })
  replica = await startReplica({
    kubeconfig: await api.kubeconfig('admin', network.port),
    flags: ['--drain-timeout', '2s'],
  })
})

afterAll(async () => {
  await replica.stop()
  await network.close()
  await cluster.close()
})

test('the Lease is given up when it could not be renewed, before another one may take it', async () => {
  await eventually(() => expect(replica.log()).toContain('this replica writes status'))
  network.hang()
  await eventually(
    () => expect(replica.log()).toContain('this replica does not write status'),
    12_000,
  )
  expect((await replica.readiness()).status).toBe(200)
})

test('SIGTERM does not wait for its answers', async () => {
  const began = performance.now()
  await replica.stop('SIGTERM')
  expect(performance.now() - began).toBeLessThan(10_000)
})
