// Releases that read the same namespaces agree on one that writes status, by Leases alone.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ClaimScope } from '../../../../src/control/sources/kubernetes/claim-order.js'
import {
  type KubernetesClient,
  KubernetesError,
} from '../../../../src/control/sources/kubernetes/client.js'
import {
  startStatusClaim,
  type StatusClaim,
} from '../../../../src/control/sources/kubernetes/status-claim.js'
import type { JsonObject } from '../../../../src/model/json.js'

const SECOND = 1_000

const PLAIN: ClaimScope = {
  apiGroup: 'policy.gatehouse.dev',
  mode: 'plain',
  namespaces: [],
  provisions: false,
}

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** An API server that has Leases alone. */
function server() {
  const leases = new Map<string, JsonObject>()
  const refused = new Set<string>()
  let version = 0
  let hangs = false
  const nameOf = (lease: JsonObject): string => (lease['metadata'] as { name: string }).name
  const call: KubernetesClient['call'] = (method, path, body) => {
    if (hangs) return new Promise(() => undefined)
    if (refused.has(method)) return Promise.reject(new KubernetesError(`HTTP 403: ${method}`, 403))
    if (method === 'GET') return Promise.resolve({ items: [...leases.values()] })
    if (method === 'POST' && leases.has(nameOf(body ?? {})))
      return Promise.reject(new KubernetesError('HTTP 409', 409))
    if (method === 'PUT' && !leases.has(path.split('/').at(-1) ?? ''))
      return Promise.reject(new KubernetesError('HTTP 404', 404))
    version += 1
    const metadata = { ...(body?.['metadata'] as JsonObject), resourceVersion: String(version) }
    const stored = { ...body, metadata }
    leases.set(nameOf(stored), stored)
    return Promise.resolve(stored)
  }
  return { client: { call } as KubernetesClient, leases, refused, hang: () => (hangs = true) }
}

type Server = ReturnType<typeof server>

interface Started extends StatusClaim {
  readonly warnings: readonly string[]
  /** Namespaces whose ProxyPolicies it writes, of a, b and c. */
  readonly writes: () => string
}

/** @param release what its replicas share; the identity of the first one is POD@RELEASE. */
function start(
  { client }: Pick<Server, 'client'>,
  release: string,
  scope: Partial<ClaimScope> = {},
  pod = 'pod',
): Started {
  const warnings: string[] = []
  const claim = startStatusClaim({
    client,
    release: { namespace: release, name: 'gatehouse' },
    identity: `${pod}@${release}`,
    scope: { ...PLAIN, ...scope },
    onChange: () => undefined,
    onWarning: (message) => warnings.push(message),
  })
  claim.hold(true)
  return {
    warnings,
    writes: () => ['a', 'b', 'c'].filter((each) => claim.covers('ProxyPolicy', each)).join(''),
    hold: (held) => claim.hold(held),
    covers: (kind, namespace) => claim.covers(kind, namespace),
    close: () => claim.close(),
  }
}

const seconds = (count: number) => vi.advanceTimersByTimeAsync(count * SECOND)
const moment = () => vi.advanceTimersByTimeAsync(1)

test('the earlier release writes, and the later one when it has ended', async () => {
  const api = server()
  const blue = start(api, 'blue')
  await moment()
  expect([blue.writes(), blue.covers('GatewayClass', '')]).toEqual(['abc', true])
  const green = start(api, 'green')
  await seconds(60)
  expect([blue.writes(), green.writes(), green.covers('GatewayClass', '')]).toEqual([
    'abc',
    '',
    false,
  ])
  await blue.close()
  await seconds(3)
  expect(green.writes()).toBe('')
  await seconds(6)
  expect(green.writes()).toBe('abc')
})

test('a release that is there again comes last', async () => {
  const api = server()
  const blue = start(api, 'blue')
  await moment()
  const green = start(api, 'green')
  await blue.close()
  await seconds(10)
  const again = start(api, 'blue')
  await seconds(30)
  expect([green.writes(), again.writes()]).toEqual(['abc', ''])
})

test('another replica of the release goes on in its place', async () => {
  const api = server()
  const one = start(api, 'blue')
  await moment()
  const green = start(api, 'green')
  await seconds(5)
  await one.close()
  await seconds(2)
  const two = start(api, 'blue', {}, 'two')
  await seconds(60)
  expect([two.writes(), green.writes()]).toEqual(['abc', ''])
})

test('one that was killed is followed when its Lease has run out', async () => {
  const api = server()
  const blue = start(api, 'blue')
  await moment()
  const green = start(api, 'green')
  await seconds(5)
  blue.hold(false)
  await seconds(8)
  expect(green.writes()).toBe('')
  await seconds(10)
  expect(green.writes()).toBe('abc')
})

test('of releases whose namespaces overlap, each namespace has its own writer', async () => {
  const api = server()
  const one = start(api, 'one', { namespaces: ['a', 'b'] })
  await moment()
  const two = start(api, 'two', { namespaces: ['b', 'c'] })
  await seconds(20)
  expect([one, two].map((each) => each.writes())).toEqual(['abc', 'c'])
  expect([one, two].map((each) => each.covers('ProxyPolicy', 'b'))).toEqual([true, false])
  await one.close()
  await seconds(10)
  expect(two.covers('ProxyPolicy', 'b')).toBe(true)
})

test('a release that reads more writes in place of those that read a part of it, whenever it came', async () => {
  const api = server()
  const one = start(api, 'one', { namespaces: ['a', 'b'] })
  await moment()
  const two = start(api, 'two', { namespaces: ['b', 'c'] })
  await seconds(20)
  const all = start(api, 'all')
  await seconds(20)
  for (const kind of ['HTTPRoute', 'ProxyPolicy', 'Gateway'])
    expect([one.covers(kind, 'a'), two.covers(kind, 'c'), all.covers(kind, 'a')]).toEqual([
      false,
      false,
      true,
    ])
  expect([one, two, all].map((each) => each.covers('GatewayClass', ''))).toEqual([
    false,
    false,
    true,
  ])
  await all.close()
  await seconds(10)
  expect([one.covers('HTTPRoute', 'b'), two.covers('HTTPRoute', 'c')]).toEqual([true, true])
})

test('a part of a larger release does not keep a third one, which is there longer than that, from writing', async () => {
  const api = server()
  const part = start(api, 'part', { namespaces: ['a', 'b'] })
  await moment()
  const third = start(api, 'third', { namespaces: ['a', 'c'] })
  await moment()
  const larger = start(api, 'larger', { namespaces: ['a', 'b', 'd'] })
  await seconds(20)
  const all = [part, third, larger]
  expect(all.map((each) => each.covers('HTTPRoute', 'a'))).toEqual([false, true, false])
  expect(all.map((each) => each.covers('HTTPRoute', 'b'))).toEqual([false, true, true])
})

test.each(['answers', 'hangs', 'fails'])(
  'a release that is displaced has stopped before the other one begins, though the API server %s',
  async (fate) => {
    const api = server()
    let isWell = true
    const call: KubernetesClient['call'] = (...request) => {
      if (isWell || fate === 'answers') return api.client.call(...request)
      return fate === 'hangs' ? new Promise(() => undefined) : Promise.reject(new Error('gone'))
    }
    const team = start({ client: { call } as KubernetesClient }, 'team', { namespaces: ['a'] })
    await seconds(19)
    expect(team.covers('HTTPRoute', 'a')).toBe(true)
    isWell = false
    const platform = start(api, 'platform')
    for (let tenths = 0; tenths < 200; tenths += 1) {
      await vi.advanceTimersByTimeAsync(SECOND / 10)
      expect(team.covers('HTTPRoute', 'a') && platform.covers('HTTPRoute', 'a')).toBe(false)
    }
    expect(platform.covers('HTTPRoute', 'a')).toBe(true)
  },
)

test('a release that creates Envoys writes the statuses of Gateways, whenever it came', async () => {
  const api = server()
  const all = start(api, 'all')
  await moment()
  const team = start(api, 'team', { namespaces: ['a'], provisions: true })
  await seconds(20)
  for (const kind of ['Gateway', 'ListenerSet'])
    expect([all.covers(kind, 'a'), team.covers(kind, 'a'), all.covers(kind, 'b')]).toEqual([
      false,
      true,
      true,
    ])
  // It does not see all parents of the routes.
  expect([all.covers('HTTPRoute', 'a'), team.covers('HTTPRoute', 'a')]).toEqual([true, false])
  const same = start(api, 'same', { provisions: true })
  await seconds(20)
  expect([all.writes(), same.writes(), same.covers('Gateway', 'a')]).toEqual(['', 'abc', true])
})

test('releases of another mode or API group have statuses of their own', async () => {
  const api = server()
  const istio = start(api, 'istio', { mode: 'istio' })
  await moment()
  const others = [
    start(api, 'plain'),
    start(api, 'envoy-gateway', { mode: 'envoy-gateway' }),
    start(api, 'group', { apiGroup: 'policy.example.com' }),
  ]
  await moment()
  const second = start(api, 'second', { mode: 'istio' })
  await seconds(20)
  expect([istio, ...others, second].map((each) => each.writes())).toEqual([
    ...Array<string>(4).fill('abc'),
    '',
  ])
})

test('a Lease that nobody renews is followed for a minute at most, whatever its duration', async () => {
  const api = server()
  const name = 'gatehouse-status.left.gatehouse'
  const scope = JSON.stringify({ release: 'left/gatehouse', scope: PLAIN })
  api.leases.set(name, {
    metadata: {
      name,
      resourceVersion: '1',
      annotations: { 'policy.gatehouse.dev/scope': scope },
    },
    spec: { acquireTime: '1970-01-01T00:00:00.000000Z', leaseDurationSeconds: 2_147_483_647 },
  })
  const blue = start(api, 'blue')
  await seconds(55)
  expect(blue.writes()).toBe('')
  await seconds(10)
  expect(blue.writes()).toBe('abc')
})

test('a Lease that says nothing of a scope counts as none', async () => {
  const api = server()
  for (const scope of ['', '{}', '{"release":"x","scope":{"apiGroup":1}}', 'no JSON'])
    api.leases.set(`other ${scope}`, {
      metadata: {
        name: `other ${scope}`,
        resourceVersion: '1',
        annotations: { 'policy.gatehouse.dev/scope': scope },
      },
      spec: { acquireTime: '2020-01-01T00:00:00.000000Z', leaseDurationSeconds: 600 },
    })
  const blue = start(api, 'blue')
  await moment()
  expect(blue.writes()).toBe('abc')
})

test.each(['GET', 'POST'])(
  'writes nothing while %s is forbidden, and says so once',
  async (method) => {
    const api = server()
    api.refused.add(method)
    const blue = start(api, 'blue')
    await seconds(30)
    expect([blue.writes(), blue.warnings]).toEqual([
      '',
      [
        expect.stringContaining(
          `no status is written, as other releases cannot be told apart: HTTP 403: ${method}`,
        ),
      ],
    ])
    api.refused.clear()
    await seconds(3)
    expect(blue.writes()).toBe('abc')
  },
)

test('writes nothing once its Lease could not be renewed for ten seconds, though the call still waits', async () => {
  const api = server()
  const blue = start(api, 'blue')
  await seconds(20)
  api.hang()
  await seconds(10)
  expect(blue.writes()).toBe('')
})

test('a Lease that somebody deletes is made again', async () => {
  const api = server()
  const blue = start(api, 'blue')
  await seconds(5)
  api.leases.clear()
  await seconds(5)
  expect([blue.writes(), api.leases.size]).toEqual(['abc', 1])
})
