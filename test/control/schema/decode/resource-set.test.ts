// Resources collected incrementally by place: the result equals one built from scratch.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { DecodedResource } from '../../../../src/control/schema/decode/decode.js'
import {
  collectResources,
  createResourceCollector,
} from '../../../../src/control/schema/decode/resource-set.js'

interface Written {
  readonly kind: 'Gateway' | 'HTTPRoute'
  readonly name: string
}

const PLACES = ['a.yaml', 'b.yaml', 'c.yaml', 'd.yaml']

const written = fc.record({
  kind: fc.constantFrom<Written['kind'][]>('Gateway', 'HTTPRoute'),
  name: fc.constantFrom('x', 'y', 'z'),
})
const step = fc.record({
  place: fc.constantFrom(...PLACES),
  documents: fc.array(written, { maxLength: 5 }),
  looks: fc.boolean(),
})

const decoded = (place: string, index: number, { kind, name }: Written): DecodedResource => ({
  collection: kind === 'Gateway' ? 'gateways' : 'httpRoutes',
  position: `${place}:${String(index)}:1`,
  resource: {
    apiVersion: 'v1',
    kind,
    metadata: { namespace: 'default', name, labels: {} },
    spec: {},
    source: `${place}:${String(index)}`,
    unsupported: [],
  },
})

test('is what it would be from scratch, whatever the places held before', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const collector = createResourceCollector()
      const places = new Map<string, readonly DecodedResource[]>()
      for (const { place, documents, looks } of steps) {
        const own = documents.map((each, index) => decoded(place, index, each))
        places.set(place, own)
        collector.put(place, own)
        if (!looks) continue
        const all = PLACES.flatMap((each) => places.get(each) ?? [])
        expect(collector.collected()).toEqual(collectResources(all))
      }
      const all = PLACES.flatMap((each) => places.get(each) ?? [])
      expect(collector.collected()).toEqual(collectResources(all))
    }),
  )
})

test('leaves what did not change the same objects', () => {
  const collector = createResourceCollector()
  const [route, gateway, other] = [
    decoded('a.yaml', 0, { kind: 'HTTPRoute', name: 'x' }),
    decoded('a.yaml', 1, { kind: 'Gateway', name: 'y' }),
    decoded('b.yaml', 0, { kind: 'HTTPRoute', name: 'z' }),
  ]
  collector.put('a.yaml', [route, gateway])
  const before = collector.collected()
  expect(collector.collected()).toBe(before)
  collector.put('b.yaml', [other])
  const { resources } = collector.collected()
  expect(resources.gateways).toBe(before.resources.gateways)
  expect(resources.httpRoutes).toEqual([route.resource, other.resource])
  expect(resources.httpRoutes[0]).toBe(route.resource)
})
