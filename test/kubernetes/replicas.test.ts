// Two replicas behind one address, like a Service: either may be killed, and all replaced, without lost requests.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { type OtherEnvoy, startOtherEnvoy } from '../support/other-envoy.js'
import { startTraffic, statusesOf } from '../support/traffic.js'
import { type AppCluster, startAppCluster } from './support/app-cluster.js'
import { startTcpProxy, type Target, type TcpProxy } from './support/tcp-proxy.js'

let cluster: AppCluster
let replicas: Replica[]
let address: TcpProxy
let envoy: OtherEnvoy

function targetOf({ grpc }: Replica): Target {
  const [host = '', number] = grpc.split(':')
  return { host, port: Number(number) }
}
const start = async (name: string): Promise<Replica> =>
  startReplica({ kubeconfig: await cluster.api.kubeconfig(), name })

beforeAll(async () => {
  cluster = await startAppCluster()
  replicas = await Promise.all(['one', 'two'].map(start))
  address = await startTcpProxy('127.0.0.1', ...replicas.map(targetOf))
  envoy = await startOtherEnvoy(`127.0.0.1:${String(address.port)}`)
})

afterAll(async () => {
  await envoy.stop()
  await Promise.all(replicas.map((replica) => replica.stop('SIGKILL')))
  await address.close()
  await cluster.close()
})

/** Traffic during an event: every request is answered 200. */
async function nothingIsLost(meanwhile: () => Promise<void>): Promise<void> {
  const traffic = startTraffic({ url: cluster.url })
  const answered = async (more: number): Promise<void> => {
    const until = traffic.outcomes.length + more
    await eventually(() => expect(traffic.outcomes.length).toBeGreaterThan(until))
  }
  await answered(100)
  await meanwhile()
  await answered(200)
  expect(statusesOf(await traffic.stop())).toEqual({ '200': expect.any(Number) as number })
}

describe('two replicas', () => {
  test('publish the same: an Envoy that moves from one to the other is sent nothing new', async () => {
    const revisions = await Promise.all(
      replicas.map(async (replica) => {
        const { revision } = JSON.parse(await replica.status()) as { revision: string }
        return revision
      }),
    )
    expect(revisions[0]).toBe(revisions[1])
  })

  test('either is killed, and no request is lost', async () => {
    for (const index of [0, 1]) {
      await nothingIsLost(async () => {
        const [killed, left] = [replicas[index], replicas[1 - index]]
        if (killed === undefined || left === undefined) throw new Error('there are two')
        // What a Service does when a pod is gone.
        address.lead(targetOf(left))
        await killed.stop('SIGKILL')
      })
      replicas[index] = await start(`again-${String(index)}`)
      address.lead(...replicas.map(targetOf))
    }
  })

  test('all are replaced, one after the other, and no request is lost', async () => {
    await nothingIsLost(async () => {
      for (const index of [0, 1]) {
        const fresh = await start(`fresh-${String(index)}`)
        const old = replicas[index]
        replicas[index] = fresh
        address.lead(...replicas.map(targetOf))
        await old?.stop('SIGTERM')
      }
    })
    await cluster.allow('request.method == "POST"')
    await eventually(async () => expect(await cluster.statusOf('GET')).toBe(403))
  })
})
