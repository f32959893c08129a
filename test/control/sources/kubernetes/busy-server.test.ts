// An API server that ends its watches, or that is busy (429) and says when to call again.

import type { Watch } from '@kubernetes/client-node'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type KubernetesClient,
  KubernetesError,
} from '../../../../src/control/sources/kubernetes/client.js'
import {
  type ObjectMirror,
  startMirror,
} from '../../../../src/control/sources/kubernetes/mirror.js'
import { ApplyRetries } from '../../../../src/control/sources/kubernetes/object-keeper.js'
import type { JsonObject } from '../../../../src/model/json.js'
import { clientOfStub } from '../../../support/stub-api-server.js'

const KIND = { group: 'networking.istio.io', kind: 'EnvoyFilter', versions: ['v1alpha3'] }
const busy = (seconds: number): Error =>
  new KubernetesError('HTTP 429: too many requests', 429, seconds * 1000)

const filter = (name: string, resourceVersion: string): JsonObject => ({
  metadata: { namespace: 'shop', name, resourceVersion },
})

interface OpenWatch {
  readonly from: unknown
  event(phase: string, object: JsonObject): void
  end(error: unknown): void
}

/** An API server with EnvoyFilters, whose watches the test ends. */
function createServerStub() {
  const server = { objects: [filter('one', '1')], version: '1', refusals: [] as Error[], lists: 0 }
  const watches: OpenWatch[] = []
  const watch: Watch['watch'] = (_path, query, onEvent, onDone) => {
    watches.push({
      from: query['resourceVersion'],
      event: (phase, object) => void onEvent(phase, object, {}),
      end: (error) => void onDone(error),
    })
    return Promise.resolve(new AbortController())
  }
  const call: KubernetesClient['call'] = (_method, path) => {
    if (!path.includes('/envoyfilters'))
      return Promise.resolve({ resources: [{ name: 'envoyfilters', kind: 'EnvoyFilter' }] })
    server.lists += 1
    const refusal = server.refusals.shift()
    return refusal === undefined
      ? Promise.resolve({ items: server.objects, metadata: { resourceVersion: server.version } })
      : Promise.reject(refusal)
  }
  const client = { call, watch: { watch } as unknown as Watch, server: '' }
  return { server, watches, client }
}

const namesIn = (mirror: ObjectMirror): readonly string[] =>
  [...mirror.ofKind('EnvoyFilter')].map(([key]) => key)

describe('the mirror of a mesh', () => {
  let mirror: ObjectMirror | undefined

  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    mirror?.close()
    vi.useRealTimers()
  })

  function start(stub: ReturnType<typeof createServerStub>): ObjectMirror {
    mirror = startMirror(stub.client, [KIND], [], () => undefined)
    return mirror
  }

  test('continues a watch that has ended where the last event was, and keeps what it has', async () => {
    const stub = createServerStub()
    const all = start(stub)
    await vi.advanceTimersByTimeAsync(0)
    stub.watches[0]?.event('ADDED', filter('two', '7'))
    stub.watches[0]?.end(null)
    await vi.advanceTimersByTimeAsync(2_000)
    expect(stub.watches.map(({ from }) => from)).toEqual(['1', '7'])
    expect(stub.server.lists).toBe(1)
    expect(all.obstacles()).toEqual([])
    expect(namesIn(all)).toEqual(['EnvoyFilter/shop/one', 'EnvoyFilter/shop/two'])
  })

  test('lists again after a watch whose version is too old (410), and forgets what is gone', async () => {
    const stub = createServerStub()
    const all = start(stub)
    await vi.advanceTimersByTimeAsync(0)
    Object.assign(stub.server, { objects: [filter('two', '9')], version: '9' })
    stub.watches[0]?.end(Object.assign(new Error('Gone'), { statusCode: 410 }))
    await vi.advanceTimersByTimeAsync(2_000)
    expect(stub.server.lists).toBe(2)
    expect(namesIn(all)).toEqual(['EnvoyFilter/shop/two'])
  })

  test('keeps what it has while a watch is refused (429), and watches again', async () => {
    const stub = createServerStub()
    const all = start(stub)
    await vi.advanceTimersByTimeAsync(0)
    stub.watches[0]?.end(Object.assign(new Error('busy'), { statusCode: 429 }))
    await vi.advanceTimersByTimeAsync(2_000)
    expect(namesIn(all)).toEqual(['EnvoyFilter/shop/one'])
    expect(stub.watches.length).toBe(2)
    expect(all.obstacles()).toEqual([])
  })

  test('lists again only when the API server asks to be called again, and says why it waits', async () => {
    const stub = createServerStub()
    stub.server.refusals = [busy(20)]
    const all = start(stub)
    await vi.advanceTimersByTimeAsync(19_000)
    expect(stub.server.lists).toBe(1)
    expect(all.obstacles()).toEqual(['EnvoyFilter cannot be read: HTTP 429: too many requests'])
    await vi.advanceTimersByTimeAsync(2_000)
    expect(stub.server.lists).toBe(2)
    expect(all.obstacles()).toEqual([])
    expect(namesIn(all)).toEqual(['EnvoyFilter/shop/one'])
  })
})

describe('an object that could not be applied', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test('waits as long as the API server asks, and no shorter than before', () => {
    const retries = new ApplyRetries()
    retries.failed('EnvoyFilter/shop/one', 'content', 'busy', 20_000)
    expect(retries.pause()).toBe(20_000)
    vi.advanceTimersByTime(20_000)
    expect(retries.waiting('EnvoyFilter/shop/one', 'content')).toBeUndefined()
    retries.failed('EnvoyFilter/shop/one', 'content', 'busy', 1_000)
    expect(retries.pause()).toBe(2_000)
  })
})

test.each([
  ['7', 7_000],
  ['86400', 60_000],
  ['soon', undefined],
  [undefined, undefined],
])('the client reads Retry-After %s', async (header, milliseconds) => {
  const client = await clientOfStub((_, response) => {
    response.writeHead(429, header === undefined ? {} : { 'retry-after': header })
    response.end('{"message":"too many requests"}')
  })
  await expect(client.call('GET', '/api/v1')).rejects.toMatchObject({
    message: 'HTTP 429: too many requests',
    status: 429,
    retryAfterMs: milliseconds,
  })
})
