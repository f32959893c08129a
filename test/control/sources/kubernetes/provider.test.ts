// A kind that is listed while the objects of the others are collected: their state is not complete without it.

import type { Watch } from '@kubernetes/client-node'
import { afterEach, expect, test, vi } from 'vitest'
import { kindsOf } from '../../../../src/control/schema/kinds/kinds.js'
import type { ProviderState } from '../../../../src/control/schema/kinds/resources.js'
import type { KubernetesClient } from '../../../../src/control/sources/kubernetes/client.js'
import { createKubernetesProvider } from '../../../../src/control/sources/kubernetes/provider.js'
import type { JsonObject } from '../../../../src/model/json.js'
import { eventually } from '../../../../testing/eventually.js'

afterEach(() => {
  vi.restoreAllMocks()
})

const apiGroup = 'policy.gatehouse.dev'
const kinds = kindsOf(apiGroup)
const listed = kinds.filter(({ kind }) => kind !== 'Secret' && kind !== 'ConfigMap')
const route = (name: string): JsonObject => ({
  metadata: { name, namespace: 'shop', uid: name },
  spec: {
    parentRefs: [{ name: 'gateway' }],
    rules: [{ backendRefs: [{ name: 'backend', port: 80 }] }],
  },
})
const POLICY: JsonObject = {
  metadata: { name: 'closed', namespace: 'shop', uid: 'closed' },
  spec: {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'a' }],
    traffic: { authorization: { action: 'Allow', policy: { matchExpressions: ['false'] } } },
  },
}

/** An API server that lists ProxyPolicies only on request of the test. */
function slowPolicies() {
  const events = new Map<string, Parameters<Watch['watch']>[2]>()
  const listOf = (items: readonly JsonObject[]): JsonObject => ({
    items: [...items],
    metadata: { resourceVersion: '1' },
  })
  let answer: () => void = () => undefined
  const policies = new Promise<JsonObject>((resolve) => {
    answer = () => resolve(listOf([POLICY]))
  })
  const client: KubernetesClient = {
    server: '',
    call: (_, path) => {
      if (path.includes('/proxypolicys?')) return policies
      if (path.includes('/httproutes?')) return Promise.resolve(listOf([route('a'), route('b')]))
      if (path.includes('?')) return Promise.resolve(listOf([]))
      return Promise.resolve({
        resources: kinds.map(({ kind }) => ({ name: `${kind.toLowerCase()}s`, kind })),
      })
    },
    watch: {
      watch: (path: string, _: unknown, onEvent: Parameters<Watch['watch']>[2]) => {
        events.set(path, onEvent)
        return Promise.resolve(new AbortController())
      },
    } as unknown as Watch,
  }
  return { client, events, answer: () => answer() }
}

test('a state is complete only with the policies that were listed before it was collected', async () => {
  const { client, events, answer } = slowPolicies()
  let now = performance.now()
  // Each look at the clock is the end of a slice.
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 5))
  const provider = createKubernetesProvider({
    client,
    apiGroup,
    namespaces: [],
    onStatus: () => undefined,
    onObject: () => undefined,
  })
  const states: ProviderState[] = []
  const turn = setImmediate
  void provider.start((state) => void states.push(state))
  await eventually(() => expect(events.size).toBe(listed.length - 1))
  vi.spyOn(globalThis, 'setImmediate').mockImplementation(((goOn: () => void) => {
    answer()
    const wait = (): unknown => (events.size < listed.length ? turn(wait) : turn(goOn))
    return wait()
  }) as typeof setImmediate)
  now += 60_000
  events.get('/apis/gateway.networking.k8s.io/v1/httproutes')?.('ADDED', route('c'))
  await eventually(() => expect(states.at(-1)?.complete).toBe(true))
  const [first] = states
  expect(first?.complete).toBe(false)
  expect(first?.problems).toMatchObject([
    { message: 'ProxyPolicy cannot be read: it has not been listed yet' },
  ])
  expect(first?.resources.httpRoutes.map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'c'])
  const policies = states.at(-1)?.resources.proxyPolicies
  expect(policies?.map(({ metadata }) => metadata.name)).toEqual(['closed'])
  await provider.close()
})
