// The HTTPRoutes of a namespace that make too much of Envoy's configuration together: the younger ones refuse until there
// is room again. Those of other namespaces, and small ones, are served.

import { expect, test } from 'vitest'
import type { DecodedResource } from '../../../src/control/schema/decode/decode.js'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import { createTranslator, type Translation } from '../../../src/control/translate/translator.js'
import type { Route } from '../../../src/model/route.js'
import { decoded } from '../../support/decoded.js'
import { API_GROUP, gatewayForAll, prefix } from '../../support/resources.js'
import { OPTIONS } from '../../support/translate-case.js'

/** A tenth of the room of a namespace, of an object of 13 KB. */
const LARGE = 12_500
const ROOM = 10

const AROUND = [
  gatewayForAll(),
  ...['a', 'b'].map((namespace) => ({
    apiVersion: `${API_GROUP}/v1alpha1`,
    kind: 'ProxyBackend',
    metadata: { name: 'app', namespace },
    spec: { static: { host: '192.0.2.1', port: 80 } },
  })),
].flatMap(decoded)

/** characters: of the filters that each of 64 matches has in each of 16 hosts. */
const route = (
  namespace: string,
  name: string,
  created: number,
  characters: number,
): readonly DecodedResource[] =>
  decoded({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name, namespace, creationTimestamp: new Date(created).toISOString() },
    spec: {
      parentRefs: [{ name: 'gw', namespace: 'default' }],
      hostnames: Array.from({ length: 16 }, (_, index) => `${namespace}-${String(index)}.example`),
      rules: [
        {
          matches: Array.from({ length: 64 }, (_, index) => prefix(`/${name}/${String(index)}`)),
          filters: [
            {
              type: 'RequestHeaderModifier',
              requestHeaderModifier: { set: [{ name: 'x', value: 'v'.repeat(characters / 4) }] },
            },
            {
              type: 'ResponseHeaderModifier',
              responseHeaderModifier: {
                set: [1, 2, 3].map((at) => ({
                  name: `x-${String(at)}`,
                  value: 'v'.repeat(characters / 4),
                })),
              },
            },
          ],
          backendRefs: [{ group: API_GROUP, kind: 'ProxyBackend', name: 'app' }],
        },
      ],
    },
  })

const resourcesOf = (routes: readonly (readonly DecodedResource[])[]) =>
  collectResources([...AROUND, ...routes.flat()]).resources

const routesIn = ({ ir }: Translation): readonly Route[] =>
  ir.gateways
    .flatMap(({ listeners }) => listeners)
    .flatMap(({ chains }) => chains)
    .flatMap(({ virtualHosts }) => virtualHosts)
    .flatMap((host) => host.routes)

/** Names of the HTTPRoutes that forward requests, sorted. */
const served = (translation: Translation): readonly string[] =>
  [
    ...new Set(
      routesIn(translation)
        .filter(({ action }) => action.type === 'forward')
        .map(({ match }) => match.path.value.split('/')[1] ?? ''),
    ),
  ].toSorted()

const size = (routes: readonly Route[]): number =>
  routes.reduce((sum, one) => sum + JSON.stringify(one).length, 0)

test('the oldest have room, and small ones; another namespace has its own', () => {
  const all = [
    ...Array.from({ length: 13 }, (_, index) =>
      route('a', `a${String(index)}`, 100 - index, LARGE),
    ),
    route('a', 'small', 200, 8),
    route('b', 'other', 300, LARGE),
  ]
  const translation = createTranslator(OPTIONS).translate(resourcesOf(all), new Map())
  const oldest = Array.from({ length: ROOM }, (_, index) => `a${String(12 - index)}`)
  expect(served(translation)).toEqual([...oldest, 'other', 'small'].toSorted())
  expect(size(routesIn(translation))).toBeLessThan(144 * 1024 * 1024)
  const status = translation.statuses.find(({ name }) => name === 'a2')
  expect(status?.conditions).toContainEqual(
    expect.objectContaining({
      type: 'Accepted',
      status: 'False',
      message: expect.stringMatching(
        /it is too large for Envoy: .* make 1\d MB, and the HTTPRoutes of namespace a may make 128 together, of which older ones take all; use fewer/,
      ) as string,
    }),
  )
})

test('a route is served when an older one goes, and refuses when one comes', () => {
  const [old, ...rest] = Array.from({ length: ROOM + 1 }, (_, at) =>
    route('a', `a${String(at)}`, at + 1, LARGE),
  )
  const all = [old ?? [], ...rest]
  const names = all.map((_, at) => `a${String(at)}`)
  const translator = createTranslator(OPTIONS)
  const translated = (routes: typeof all) => translator.translate(resourcesOf(routes), new Map())
  expect(served(translated(all))).toEqual(names.slice(0, ROOM).toSorted())
  expect(served(translated(rest))).toEqual(names.slice(1).toSorted())
  const again = translated(all)
  expect(served(again)).toEqual(names.slice(0, ROOM).toSorted())
  const fresh = createTranslator(OPTIONS).translate(resourcesOf(all), new Map())
  expect(again.ir).toEqual(fresh.ir)
  expect(again.statuses).toEqual(fresh.statuses)
})
