// Two releases that read a namespace with different settings: one of them writes status, and the other follows.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AnyObject } from '../../testing/api-call.js'
import type { ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { gateway, httpRoute } from '../support/resources.js'
import { gatewayClass, service } from './support/objects.js'
import { forgetReleases } from './support/releases.js'
import { apiServerFor } from './support/shared-api-server.js'

const GATEWAY_API = 'gateway.networking.k8s.io/v1'

let api: ApiServer
let releases: Record<'blue' | 'green', Replica>

type Name = keyof typeof releases

/** What each says of the route: only "green" requires a policy. */
const REASONS: Record<Name, string> = { blue: 'Accepted', green: 'AcceptedWithoutPolicy' }

const route = (path: string): object =>
  httpRoute('app', {
    rules: [{ matches: [{ path: { value: path } }], backendRefs: [{ name: 'app', port: 80 }] }],
  })

const start = async (name: Name, flags: readonly string[]): Promise<Replica> =>
  startReplica({
    kubeconfig: await api.kubeconfig(),
    name: 'pod',
    environment: { POD_NAMESPACE: name },
    flags: [...flags, ...(name === 'green' ? ['--require-policy'] : [])],
  })

interface Written {
  readonly reason: string | undefined
  readonly generation: number | undefined
}

const written = async (): Promise<Written> =>
  writtenIn(await api.get(GATEWAY_API, 'HTTPRoute', 'app'))

function writtenIn({ status }: AnyObject): Written {
  const { parents = [] } = (status ?? {}) as {
    parents?: { conditions: { type: string; reason: string; observedGeneration: number }[] }[]
  }
  const accepted = parents[0]?.conditions.find(({ type }) => type === 'Accepted')
  return { reason: accepted?.reason, generation: accepted?.observedGeneration }
}

/** Returns all reasons that the route has had since a version. */
async function reasonsSince(version = ''): Promise<readonly (string | undefined)[]> {
  const routes = `/apis/${GATEWAY_API}/namespaces/default/httproutes`
  const path = `${routes}?watch=1&timeoutSeconds=1&resourceVersion=${version}`
  const { items } = (await api.call('GET', path)) as object as { items: { object: AnyObject }[] }
  return items.map(({ object }) => writtenIn(object).reason)
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

const other = (name: Name): Name => (name === 'blue' ? 'green' : 'blue')

const writes = async (name: Name): Promise<void> =>
  expect((await written()).reason).toBe(REASONS[name])

/** Changes the route a few times: the writer alone writes what it judges. */
async function expectWrites(writer: Name): Promise<void> {
  // One that takes the place of another waits until that one has stopped.
  await eventually(() => writes(writer), 40_000)
  const { resourceVersion } = (await api.get(GATEWAY_API, 'HTTPRoute', 'app')).metadata
  for (const path of ['/2', '/3', '/4']) {
    await api.apply(route(path))
    const { metadata } = await api.get(GATEWAY_API, 'HTTPRoute', 'app')
    const { generation } = metadata as { readonly generation?: number }
    await eventually(async () => {
      const follower = other(writer)
      expect(await judged(releases[follower])).toEqual({ reason: REASONS[follower], generation })
      expect(await written()).toEqual({ reason: REASONS[writer], generation })
    })
  }
  expect(new Set(await reasonsSince(resourceVersion))).toEqual(new Set([REASONS[writer]]))
}

beforeAll(async () => {
  api = await apiServerFor()
  for (const name of ['blue', 'green'])
    await api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
})
afterAll(() => api.close())

const WRITES = '"this replica writes status"'

/** The first release is "blue". The last of each row is in the log of "green", and WRITES only where it is that. */
describe.each<readonly [string, readonly string[], readonly string[], Name, string]>([
  [
    ...(['without a setting', [], [], 'blue'] as const),
    '"this replica does not write status: another release does"',
  ],
  [
    'with namespaces that overlap',
    ['--namespace', 'default', '--namespace', 'blue'],
    ['--namespace', 'default', '--namespace', 'green'],
    'blue',
    WRITES,
  ],
  ['of which the second reads more', ['--namespace', 'default'], [], 'green', WRITES],
  [
    'with a shared Lease',
    ['--status-lease', 'default/shared'],
    ['--status-lease', 'default/shared'],
    'blue',
    '"configuration published"',
  ],
])('two releases %s', (_, ofBlue, ofGreen, writer, said) => {
  beforeAll(async () => {
    await api.apply(gatewayClass(), gateway([8080]), service('app'), route('/1'))
    const blue = await start('blue', ofBlue)
    await eventually(() => expect(blue.log()).toContain(WRITES), 40_000)
    await eventually(() => writes('blue'))
    releases = { blue, green: await start('green', ofGreen) }
  })
  afterAll(async () => {
    await Promise.all([releases.blue.stop(), releases.green.stop()])
    await forgetReleases(api)
  })

  test('have one writer', async () => {
    await expectWrites(writer)
    const { green } = releases
    // Of two that read the same, the other writes nothing at all.
    await eventually(() => expect(green.log()).toContain(said), 40_000)
    expect(green.log().includes(WRITES)).toBe(said === WRITES)
  })

  test('have the other one as writer when that one has ended', async () => {
    await releases[writer].stop()
    await eventually(() => writes(other(writer)), 40_000)
  })
})

test('a release that was killed is followed by the other one', async () => {
  const blue = await start('blue', [])
  await eventually(() => expect(blue.log()).toContain(WRITES), 40_000)
  await api.apply(route('/1'))
  releases = { blue, green: await start('green', []) }
  await expectWrites('blue')
  await blue.stop('SIGKILL')
  await eventually(() => writes('green'), 40_000)
  await releases.green.stop()
})
