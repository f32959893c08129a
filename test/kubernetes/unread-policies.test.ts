// Routes created while policies cannot be read: none is served without a policy that could not be seen.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADDRESS } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { type OtherEnvoy, startOtherEnvoy } from '../support/other-envoy.js'
import { httpRoute, prefix } from '../support/resources.js'
import { type AppCluster, startAppCluster } from './support/app-cluster.js'
import { policy } from './support/objects.js'
import { startTcpProxy, type TcpProxy } from './support/tcp-proxy.js'

const RBAC = 'rbac.authorization.k8s.io'

let cluster: AppCluster
let network: TcpProxy
let replica: Replica
let envoy: OtherEnvoy

const may = async (...apiGroups: readonly string[]): Promise<void> =>
  cluster.api.apply(
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'ClusterRole',
      metadata: { name: 'guest', namespace: undefined },
      rules: [{ apiGroups, resources: ['*'], verbs: ['*'] }],
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'guest', namespace: undefined },
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'guest' },
      subjects: [{ apiGroup: RBAC, kind: 'User', name: 'guest' }],
    },
  )

const OTHERS = ['', 'gateway.networking.k8s.io', 'discovery.k8s.io', 'coordination.k8s.io']

beforeAll(async () => {
  cluster = await startAppCluster()
  const { api } = cluster
  await may(...OTHERS, 'policy.gatehouse.dev')
  network = await startTcpProxy(ADDRESS, { host: ADDRESS, port: api.port })
  replica = await startReplica({ kubeconfig: await api.kubeconfig('guest', network.port) })
  envoy = await startOtherEnvoy(replica.grpc)
})

afterAll(async () => {
  await envoy.stop()
  await replica.stop()
  await network.close()
  await cluster.close()
})

test('a new route waits until its policy can be read, and those in force go on', async () => {
  await eventually(async () => expect(await cluster.statusOf('GET')).toBe(200))
  await may(...OTHERS)
  network.cut()
  await eventually(() => expect(replica.log()).toContain('ProxyPolicy cannot be read'), 30_000)
  const rule = { matches: [prefix('/new')], backendRefs: [{ name: 'app', port: 80 }] }
  const closed = { authorization: { policy: { matchExpressions: ['false'] } } }
  await cluster.api.apply(policy('new', closed, 'new'), httpRoute('new', { rules: [rule] }))
  await eventually(() => {
    expect(replica.log()).toContain('waits until ProxyPolicies can be read again')
  }, 30_000)
  expect(await cluster.statusOf('GET')).toBe(200)
  // Requests for it are still those of the route in force, whose policy lets GET through alone.
  expect((await fetch(`${cluster.url}new`, { method: 'POST' })).status).toBe(403)
  await may(...OTHERS, 'policy.gatehouse.dev')
  await eventually(async () => {
    expect((await fetch(`${cluster.url}new`)).status).toBe(403)
  }, 30_000)
})
