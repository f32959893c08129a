// The minimal end-to-end path: an object in the API server → Gatehouse → ADS → Envoy → Check → an answer.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { type OtherEnvoy, startOtherEnvoy } from '../support/other-envoy.js'
import { type AppCluster, startAppCluster } from './support/app-cluster.js'
import { endedWatches } from './support/ended-watches.js'
import { type HastyServer, startHastyServer } from './support/hasty-server.js'

let cluster: AppCluster
let server: HastyServer
let replica: Replica
let envoy: OtherEnvoy

beforeAll(async () => {
  cluster = await startAppCluster()
  server = await startHastyServer(cluster.api)
  replica = await startReplica({ kubeconfig: await cluster.api.kubeconfig('admin', server.port) })
  envoy = await startOtherEnvoy(replica.grpc, 'default/gw')
})

afterAll(async () => {
  await envoy.stop()
  await replica.stop()
  server.close()
  await cluster.close()
})

describe('a route and a policy of a cluster', () => {
  test('are in force in Envoy', async () => {
    expect(await cluster.statusOf('GET')).toBe(200)
    expect(await cluster.statusOf('POST')).toBe(403)
  })

  test('say in their status that they are', async () => {
    await eventually(async () => {
      const { status } = await cluster.api.get(
        'policy.gatehouse.dev/v1alpha1',
        'ProxyPolicy',
        'rule',
      )
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

test('a change of the policy is seen at once, also when six watches have ended without one', async () => {
  await eventually(async () => expect(await cluster.statusOf('POST')).toBe(403))
  const ended = (): Promise<number> => endedWatches(cluster.api, 'proxypolicies')
  const before = await ended()
  await eventually(async () => expect(await ended()).toBeGreaterThanOrEqual(before + 6))
  await cluster.allow('request.method == "POST"')
  // A pause that doubles with each would last 16 s by now.
  await eventually(async () => {
    expect(await cluster.statusOf('POST')).toBe(200)
    expect(await cluster.statusOf('GET')).toBe(403)
  }, 8_000)
})
