// A reflector that has ended does not report a list that arrives late, one whose kind vanishes reports its objects as removed,
// and one whose watch is silent says so.

import type { Watch } from '@kubernetes/client-node'
import { expect, test, vi } from 'vitest'
import { type Kind, kindsOf } from '../../../../src/control/schema/kinds/kinds.js'
import {
  type KubernetesClient,
  KubernetesError,
} from '../../../../src/control/sources/kubernetes/client.js'
import { startReflector } from '../../../../src/control/sources/kubernetes/reflector.js'
import { isJsonObject, type JsonObject } from '../../../../src/model/json.js'
import { eventually } from '../../../../testing/eventually.js'
import { fakeClock } from '../../../support/fake-clock.js'

test('a list that arrives after the end is ignored: nothing would remove the Secret again', async () => {
  const kind = kindOf('Secret')
  let answer: (list: JsonObject) => void = () => undefined
  const asked = vi.fn<KubernetesClient['call']>((_, path) =>
    path.includes('/secrets')
      ? new Promise((resolve) => (answer = resolve))
      : Promise.resolve({ resources: [{ name: 'secrets', kind: 'Secret' }] }),
  )
  const watch = vi.fn<Watch['watch']>(() => Promise.resolve(new AbortController()))
  const client = { call: asked, watch: { watch } as unknown as Watch, server: '' }
  const put = vi.fn()
  const scope = { kind, namespace: 'shop', name: 'certificate', isOptional: true } as const
  const reflector = startReflector(client, scope, {
    put,
    remove: () => undefined,
    changed: () => undefined,
  })
  await eventually(() => expect(asked).toHaveBeenCalledTimes(2))
  reflector.close()
  answer({
    items: [{ metadata: { namespace: 'shop', name: 'certificate' } }],
    metadata: { resourceVersion: '1' },
  })
  await eventually(() => expect(watch).toHaveBeenCalled())
  expect(put).not.toHaveBeenCalled()
})

test('the objects of an optional kind that vanishes while the watch is away are removed, and put again when it is back', async () => {
  const restoreClock = fakeClock()
  const kind = kindOf('ListenerSet')
  let isInstalled = true
  const items = ['one', 'two'].map((name) => ({
    metadata: { namespace: 'shop', name, resourceVersion: '1' },
  }))
  const call = vi.fn<KubernetesClient['call']>((_, path) => {
    if (!isInstalled) return Promise.reject(new KubernetesError('not found', 404))
    const list: JsonObject = { items, metadata: { resourceVersion: '1' } }
    const kinds: JsonObject = { resources: [{ name: 'listenersets', kind: 'ListenerSet' }] }
    return Promise.resolve(path.includes('/listenersets') ? list : kinds)
  })
  const { client, end } = clientOf(call)
  const inForce = new Set<string>()
  const reflector = startReflector(
    client,
    { kind },
    {
      put: (object) => inForce.add(nameOf(object)),
      remove: (object) => inForce.delete(nameOf(object)),
      changed: () => undefined,
    },
  )
  try {
    await vi.advanceTimersByTimeAsync(1)
    expect(reflector.synced()).toBe(true)
    expect([...inForce]).toEqual(['one', 'two'])
    isInstalled = false
    end(Object.assign(new Error('not found'), { statusCode: 404 }))
    expect([...inForce]).toEqual(['one', 'two'])
    await vi.advanceTimersByTimeAsync(1000)
    expect([...inForce]).toEqual([])
    expect([reflector.synced(), reflector.problem()]).toEqual([true, undefined])
    isInstalled = true
    await vi.advanceTimersByTimeAsync(15_000)
    expect([...inForce]).toEqual(['one', 'two'])
  } finally {
    reflector.close()
    restoreClock()
  }
})

test('a kind of which nothing changes is watched again at once, each time', async () => {
  const restoreClock = fakeClock()
  const { client, end, watch } = clientOf(noPolicies)
  const nothing = { put: () => undefined, remove: () => undefined, changed: () => undefined }
  const reflector = startReflector(client, { kind: kindOf('ProxyPolicy') }, nothing)
  try {
    for (let watches = 1; watches < 8; watches += 1) {
      await vi.advanceTimersByTimeAsync(5_000)
      expect(watch).toHaveBeenCalledTimes(watches)
      end(null)
    }
    expect(reflector.problem()).toBeUndefined()
  } finally {
    reflector.close()
    restoreClock()
  }
})

test('a kind whose watch is silent has a problem until the next one runs: changes may have been missed', async () => {
  const restoreClock = fakeClock()
  const kind = kindOf('ProxyPolicy')
  const { client, end } = clientOf(noPolicies)
  const nothing = { put: () => undefined, remove: () => undefined, changed: () => undefined }
  const reflector = startReflector(client, { kind }, nothing)
  try {
    await vi.advanceTimersByTimeAsync(1)
    expect([reflector.synced(), reflector.problem()]).toEqual([true, undefined])
    await vi.advanceTimersByTimeAsync(10_000)
    expect([reflector.synced(), reflector.problem()]).toEqual([
      true,
      'its watch has been silent for too long',
    ])
    end(null)
    await vi.advanceTimersByTimeAsync(1)
    expect([reflector.synced(), reflector.problem()]).toEqual([true, undefined])
  } finally {
    reflector.close()
    restoreClock()
  }
})

function kindOf(name: string): Kind {
  const kind = kindsOf('policy.gatehouse.dev').find((each) => each.kind === name)
  if (kind === undefined) throw new Error(`there is no kind ${name}`)
  return kind
}

/** An API server without a ProxyPolicy. */
const noPolicies: KubernetesClient['call'] = (_, path) =>
  Promise.resolve<JsonObject>(
    path.includes('/proxypolicies')
      ? { items: [], metadata: { resourceVersion: '1' } }
      : { resources: [{ name: 'proxypolicies', kind: 'ProxyPolicy' }] },
  )

/** A client whose watches run until end() ends the last one. */
function clientOf(call: KubernetesClient['call']) {
  let last: (error: unknown) => void = () => undefined
  const watch = vi.fn<Watch['watch']>((_path, _query, _onEvent, onDone) => {
    last = onDone
    return Promise.resolve(new AbortController())
  })
  const client: KubernetesClient = { call, watch: { watch } as unknown as Watch, server: '' }
  return { client, watch, end: (error: unknown) => last(error) }
}

const nameOf = ({ metadata }: JsonObject): string =>
  isJsonObject(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : ''
