// The endpoints of a Service: right after each change of an EndpointSlice, and read in slices, as there may be tens of
// thousands.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import type { EndpointSliceData } from '../../../src/control/schema/kinds/endpoint-slice.js'
import type { Resource, Resources } from '../../../src/control/schema/kinds/resources.js'
import { createTranslator } from '../../../src/control/translate/translator.js'
import type { TranslatorOptions } from '../../../src/control/translate/world/context.js'
import type { Address } from '../../../src/model/destination.js'
import { decoded } from '../../support/decoded.js'
import { gateway, httpRoute } from '../../support/resources.js'
import { runs } from '../../support/runs.js'
import { OPTIONS } from '../../support/translate-case.js'

interface Slice {
  readonly ips: readonly string[]
  /** Number of the port named "web"; absent: the slice does not have it. */
  readonly port?: number
}

const sliceDocument = (name: string, { ips, port }: Slice): object => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name, labels: { 'kubernetes.io/service-name': 'web' } },
  addressType: 'IPv4',
  ports: [{ name: port === undefined ? 'other' : 'web', port: port ?? 1 }],
  endpoints: ips.map((ip) => ({ addresses: [ip] })),
})

const AROUND = [
  gateway([8080]),
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { ports: [{ name: 'web', port: 80 }] },
  },
  httpRoute('r', {
    parentRefs: [{ name: 'gw' }],
    rules: [{ backendRefs: [{ name: 'web', port: 80 }] }],
  }),
].flatMap(decoded)

/** In a cluster, where no tenant may lead to the pod of Gatehouse or to a loopback address. */
const IN_CLUSTER: TranslatorOptions = {
  ...OPTIONS,
  tenancy: {
    ownAddresses: ['10.0.0.9'],
    ownService: { namespace: 'gatehouse', name: 'gatehouse' },
    allowed: [{ network: '127.0.0.2', prefix: 32, port: 8081 }],
  },
}

/** Keeps the objects of slices that stay as they are, as a watch does. */
function createDecoder(): (slices: readonly Slice[]) => Resources {
  const known = new Map<string, ReturnType<typeof decoded>>()
  return (slices) => {
    const all = slices.flatMap((slice, at) => {
      const document = sliceDocument(`s-${at}`, slice)
      const text = JSON.stringify(document)
      const resources = known.get(text) ?? decoded(document)
      known.set(text, resources)
      return resources
    })
    return collectResources([...AROUND, ...all]).resources
  }
}

const isAllowed = ({ ip, port }: Address): boolean =>
  ip !== '10.0.0.9' && (!ip.startsWith('127.') || (ip === '127.0.0.2' && port === 8081))

function expected(slices: readonly Slice[]): readonly Address[] {
  const all = slices.flatMap(({ ips, port }) =>
    port === undefined ? [] : ips.map((ip) => ({ ip, port })),
  )
  const unique = new Map(all.map((one) => [`${one.ip} ${one.port}`, one]))
  // An address that is refused with one port is not used with another.
  const refused = new Set(all.filter((one) => !isAllowed(one)).map(({ ip }) => ip))
  return [...unique.values()]
    .filter(({ ip }) => !refused.has(ip))
    .sort((a, b) => (a.ip === b.ip ? a.port - b.port : a.ip < b.ip ? -1 : 1))
}

test('are those of the EndpointSlices of now, sorted, without duplicates and forbidden ones', () => {
  const many = (from: number, count: number): readonly string[] =>
    [...Array(count).keys()].map((at) => `10.1.${from + (at >> 6)}.${at & 63}`)
  const ips = fc.oneof(
    fc.array(fc.constantFrom('10.0.0.1', '10.0.0.10', '10.0.0.9', '127.0.0.1', '127.0.0.2'), {
      maxLength: 4,
    }),
    fc.tuple(fc.nat(6), fc.nat(300)).map(([from, count]) => many(from, count)),
  )
  const slice = fc.record({ ips, port: fc.constantFrom(8080, 8081, 9) }, { requiredKeys: ['ips'] })
  const revisions = fc.array(fc.array(slice, { minLength: 1, maxLength: 5 }), {
    minLength: 1,
    maxLength: 4,
  })
  fc.assert(
    fc.property(revisions, (rounds) => {
      const translator = createTranslator(IN_CLUSTER)
      const resourcesOf = createDecoder()
      for (const slices of rounds) {
        const { ir } = translator.translate(resourcesOf(slices), new Map())
        const addresses = ir.destinations.flatMap(({ endpoints }) =>
          endpoints.type === 'addresses' ? endpoints.addresses : [],
        )
        expect(addresses).toEqual(expected(slices))
      }
    }),
    { numRuns: runs(300) },
  )
})

describe('20,000 of them', () => {
  const slices = [...Array(200).keys()].map((at): Slice => ({
    ips: [...Array(100).keys()].map((index) => `10.${at}.0.${index}`),
    port: 8080,
  }))
  const read = new Set<object>()

  /** Notes each endpoint that is read. */
  function watch(resources: readonly Resource<EndpointSliceData>[]): void {
    for (const { spec } of resources)
      for (const endpoint of spec.endpoints) {
        const { conditions } = endpoint
        const get = (): unknown => {
          read.add(endpoint)
          return conditions
        }
        Object.defineProperty(endpoint, 'conditions', { enumerable: true, get })
      }
  }

  test('are read a few in each step, and after a change only those of the changed EndpointSlice', () => {
    const translator = createTranslator(IN_CLUSTER)
    const resourcesOf = createDecoder()
    const readIn = (resources: Resources): readonly [sum: number, most: number] => {
      const work = translator.translationWork(resources, new Map())
      let [sum, most] = [0, 0]
      for (let isDone = false; !isDone;) {
        read.clear()
        isDone = work.next().done === true
        sum += read.size
        most = Math.max(most, read.size)
      }
      return [sum, most]
    }
    const first = resourcesOf(slices)
    watch(first.endpointSlices)
    expect(readIn(first)).toEqual([20_000, 100])
    const changed = resourcesOf(slices.with(3, { ips: ['10.3.0.1'], port: 8080 }))
    watch(changed.endpointSlices.filter((one) => !first.endpointSlices.includes(one)))
    expect(readIn(changed)).toEqual([1, 1])
  })
})
