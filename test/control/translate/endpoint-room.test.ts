// Endpoints are counted for each port that a route names: a Service and a namespace have a bounded number of them. The
// oldest Services have precedence, and the others keep a few addresses, so that they are served.

import { expect, test } from 'vitest'
import type { DecodedResource } from '../../../src/control/schema/decode/decode.js'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import { createTranslator, type Translation } from '../../../src/control/translate/translator.js'
import { decoded } from '../../support/decoded.js'
import { gatewayForAll } from '../../support/resources.js'
import { OPTIONS } from '../../support/translate-case.js'

const GATEWAY = decoded(gatewayForAll())

const range = (count: number): readonly number[] => [...Array(count).keys()]

interface Named {
  readonly name: string
  readonly namespace: string
  /** Also the time of its creation. */
  readonly age?: number
}

/** A Service with an EndpointSlice, and an HTTPRoute that leads to each of its ports. */
function served(
  { name, namespace, age = 0 }: Named,
  ports: number,
  addresses: number,
): readonly DecodedResource[] {
  const metadata = { name, namespace, creationTimestamp: new Date(age).toISOString() }
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { ports: range(ports).map((at) => ({ name: `p${String(at)}`, port: 80 + at })) },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: range(ports).map((at) => ({ name: `p${String(at)}`, port: 8080 + at })),
      endpoints: range(addresses).map((at) => ({
        addresses: [`10.0.${String(at >> 8)}.${String(at & 255)}`],
      })),
    },
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata,
      spec: {
        parentRefs: [{ name: 'gw', namespace: 'default' }],
        rules: range(Math.ceil(ports / 16)).map((rule) => ({
          matches: [{ path: { type: 'PathPrefix', value: `/${name}/${String(rule)}` } }],
          backendRefs: range(Math.min(16, ports - 16 * rule)).map((at) => ({
            name,
            port: 80 + 16 * rule + at,
          })),
        })),
      },
    },
  ].flatMap(decoded)
}

const resourcesOf = (parts: readonly (readonly DecodedResource[])[]) =>
  collectResources([...GATEWAY, ...parts.flat()]).resources

/** Returns the endpoints of each Service with all of its ports. */
function endpoints({ ir }: Translation): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const { name, endpoints: of } of ir.destinations) {
    const service = name.split('/').slice(1, 3).join('/')
    const count = of.type === 'addresses' ? of.addresses.length : 0
    sums.set(service, (sums.get(service) ?? 0) + count)
  }
  return sums
}

const translated = (...parts: readonly (readonly DecodedResource[])[]): Translation =>
  createTranslator(OPTIONS).translate(resourcesOf(parts), new Map())

test('the ports of a Service share its endpoints, and the status says so', () => {
  const translation = translated(served({ name: 'web', namespace: 'a' }, 100, 2_000))
  expect(endpoints(translation)).toEqual(new Map([['a/web', 32_700]]))
  const status = translation.statuses.find(({ kind }) => kind === 'HTTPRoute')
  expect(status?.conditions).toContainEqual(
    expect.objectContaining({
      type: 'ResolvedRefs',
      status: 'True',
      message: expect.stringContaining(
        'Service a/web: 327 of 2000 addresses are in use; a Service may have 32768 endpoints',
      ) as string,
    }),
  )
})

test('Services of ordinary sizes have all of their endpoints', () => {
  const translation = translated(
    served({ name: 'large', namespace: 'a' }, 1, 20_000),
    served({ name: 'ports', namespace: 'a' }, 16, 500),
  )
  expect(endpoints(translation)).toEqual(
    new Map([
      ['a/large', 20_000],
      ['a/ports', 8_000],
    ]),
  )
})

test('younger Services of a namespace keep a few when older ones take its room; other namespaces have theirs', () => {
  const all = [5, 4, 3, 2, 1].map((age) =>
    served({ name: `s${String(age)}`, namespace: 'a', age }, 32, 1_000),
  )
  const small = served({ name: 'small', namespace: 'a', age: 9 }, 2, 100)
  const other = served({ name: 'other', namespace: 'b', age: 9 }, 32, 1_000)
  const found = endpoints(translated(...all, small, other))
  expect(Object.fromEntries(found)).toEqual({
    'a/s1': 32_000,
    'a/s2': 32_000,
    'a/s3': 32_000,
    'a/s4': 512,
    'a/s5': 512,
    'a/small': 200,
    'b/other': 32_000,
  })
})

test('a Service gets all of its endpoints when an older one goes, as in a new process', () => {
  const all = [1, 2, 3, 4].map((age) =>
    served({ name: `s${String(age)}`, namespace: 'a', age }, 32, 1_000),
  )
  const translator = createTranslator(OPTIONS)
  const now = (parts: typeof all) => translator.translate(resourcesOf(parts), new Map())
  expect(endpoints(now(all)).get('a/s4')).toBe(512)
  expect(endpoints(now(all.slice(1))).get('a/s4')).toBe(32_000)
  const again = now(all)
  const fresh = translated(...all)
  expect(again.ir).toEqual(fresh.ir)
  expect(again.statuses).toEqual(fresh.statuses)
})
