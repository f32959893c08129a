// A cluster in which nothing happens, until something does.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { type OtherEnvoy, startOtherEnvoy } from '../support/other-envoy.js'
import { type AppCluster, startAppCluster } from './support/app-cluster.js'
import { endedWatches } from './support/ended-watches.js'

let cluster: AppCluster
let replica: Replica
let envoy: OtherEnvoy

beforeAll(async () => {
  cluster = await startAppCluster()
  replica = await startReplica({ kubeconfig: await cluster.api.kubeconfig() })
  envoy = await startOtherEnvoy(replica.grpc)
})

afterAll(async () => {
  await envoy.stop()
  await replica.stop()
  await cluster.close()
})

test('a change is seen at once, also when six watches have ended without one', async () => {
  await eventually(async () => expect(await cluster.statusOf('POST')).toBe(403))
  const ended = (): Promise<number> => endedWatches(cluster.api, 'proxypolicies')
  const before = await ended()
  await eventually(async () => expect(await ended()).toBeGreaterThanOrEqual(before + 6), 110_000)
  await cluster.allow('request.method == "POST"')
  // A pause that doubles with each would last 16 s by now.
  await eventually(async () => {
    expect(await cluster.statusOf('POST')).toBe(200)
    expect(await cluster.statusOf('GET')).toBe(403)
  }, 8_000)
})
