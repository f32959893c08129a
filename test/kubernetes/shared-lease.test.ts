// Two releases that read the same namespaces with different settings: with a shared Lease, one of them writes status.

import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AnyObject } from '../../testing/api-call.js'
import { type ApiServer, startApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { gateway, httpRoute } from '../support/resources.js'
import { gatewayClass, service } from './support/objects.js'

const GATEWAY_API = 'gateway.networking.k8s.io/v1'
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/default/leases/shared'

let api: ApiServer
let releases: Record<'blue' | 'green', Replica>

const route = (path: string): object =>
  httpRoute('app', {
    rules: [{ matches: [{ path: { value: path } }], backendRefs: [{ name: 'app', port: 80 }] }],
  })

/** The releases judge the route differently: only "green" requires a policy. */
const start = async (name: 'blue' | 'green'): Promise<Replica> =>
  startReplica({
    kubeconfig: await api.kubeconfig(),
    name: 'pod',
    environment: { POD_NAMESPACE: name },
    flags: ['--status-lease', 'default/shared', ...(name === 'green' ? ['--require-policy'] : [])],
  })

beforeAll(async () => {
  api = await startApiServer()
  await api.apply(gatewayClass(), gateway([8080]), service('app'), route('/1'))
  const blue = await start('blue')
  await eventually(async () => expect(await holder()).toBe('blue/pod'))
  releases = { blue, green: await start('green') }
})
afterAll(async () => {
  await releases.green.stop()
  await api.close()
})

const holder = async (): Promise<string> =>
  ((await api.call('GET', LEASE)) as AnyObject & { spec: { holderIdentity: string } }).spec
    .holderIdentity

interface Written {
  readonly reason: string | undefined
  readonly generation: number | undefined
}

async function written(): Promise<Written> {
  const { status } = await api.get(GATEWAY_API, 'HTTPRoute', 'app')
  const { parents = [] } = (status ?? {}) as {
    parents?: { conditions: { type: string; reason: string; observedGeneration: number }[] }[]
  }
  const accepted = parents[0]?.conditions.find(({ type }) => type === 'Accepted')
  return {
    reason: accepted?.reason,
    generation: accepted?.observedGeneration,
  }
}

/** Reason and generation of the route's Accepted, as the release itself judges it. */
async function judged(release: Replica): Promise<Written> {
  const { resources } = JSON.parse(await release.status()) as {
    resources: {
      kind: string
      conditions: { type: string; reason: string; observedGeneration: number }[]
    }[]
  }
  const own = resources.find(({ kind }) => kind === 'HTTPRoute')
  const accepted = own?.conditions.find(({ type }) => type === 'Accepted')
  return { reason: accepted?.reason, generation: accepted?.observedGeneration }
}

test('one of them writes, and the other never does', async () => {
  await eventually(async () => expect((await written()).reason).toBe('Accepted'))
  for (const generation of [2, 3, 4]) {
    await api.apply(route(`/${String(generation)}`))
    await eventually(async () => {
      expect(await judged(releases.green)).toEqual({ reason: 'AcceptedWithoutPolicy', generation })
      expect(await written()).toEqual({ reason: 'Accepted', generation })
    })
  }
  expect(releases.green.log()).not.toContain('this replica writes status')
  expect(await holder()).toBe('blue/pod')
})

test('the other one takes over when it has ended', async () => {
  await releases.blue.stop()
  await eventually(
    async () => expect((await written()).reason).toBe('AcceptedWithoutPolicy'),
    40_000,
  )
  expect(await holder()).toBe('green/pod')
})
