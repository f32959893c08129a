// Gateway policies that are added and removed while routes move: remembered results equal those from scratch, no route
// of a Gateway whose policy requires tokens is open, and one change recomputes one route.

import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { DecodedResource } from '../../../src/control/schema/decode/decode.js'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import { kindsOf } from '../../../src/control/schema/kinds/kinds.js'
import { decodeFile } from '../../../src/control/sources/files/file-record.js'
import { createTranslator } from '../../../src/control/translate/translator.js'
import { differences } from '../../../src/kit/incremental/diff.js'
import type { Ir } from '../../../src/model/ir.js'
import type { Route } from '../../../src/model/route.js'
import { goldenCases } from '../../support/golden.js'
import { createRandom } from '../../support/random.js'
import {
  API_GROUP,
  gateway,
  httpRoute,
  proxyBackend,
  proxyPolicy,
  rule,
  toYaml,
} from '../../support/resources.js'
import { seeds } from '../../support/runs.js'
import { caseDocuments, OPTIONS } from '../../support/translate-case.js'

const GOLDENS = join(import.meta.dirname, '../../golden/translate')
const OF_GATEWAYS = /kind: Gateway, name: \w+/

const pool = [
  ...new Set(
    goldenCases(GOLDENS)
      .filter(({ input }) => OF_GATEWAYS.test(input))
      .flatMap(({ input }) => caseDocuments(input)),
  ),
]

const translatorOf = (requirePolicy: boolean) => createTranslator({ ...OPTIONS, requirePolicy })

const routesOf = ({ gateways }: Ir, name: string): readonly Route[] =>
  gateways
    .filter((one) => one.name === name)
    .flatMap(({ listeners }) => listeners)
    .flatMap(({ chains }) => chains.flatMap(({ virtualHosts }) => virtualHosts))
    .flatMap(({ routes }) => routes)

describe('a translation after changes of policies of Gateways', () => {
  test.each(seeds(10))('is what it is from scratch, sequence %i', (seed) => {
    const random = createRandom(seed)
    const isRequired = seed % 2 === 0
    const translator = translatorOf(isRequired)
    const present = new Set(pool.filter(() => random(2) === 0))
    for (let step = 0; step < 60; step += 1) {
      for (let change = random(3); change >= 0; change -= 1) {
        const document = pool[random(pool.length)]
        if (document !== undefined && !present.delete(document)) present.add(document)
      }
      const { resources } = collectResources([...present])
      const translation = translator.translate(resources, new Map())
      expect(translation).toEqual(translatorOf(isRequired).translate(resources, new Map()))
      const keys = new Set(translation.ir.authz.map(({ key }) => key))
      const all = translation.ir.gateways.flatMap(({ name }) => routesOf(translation.ir, name))
      expect(all.flatMap(({ authz }) => authz ?? []).filter((key) => !keys.has(key))).toEqual([])
      if (isRequired) expect(all.filter(isOpen)).toEqual([])
    }
  })
})

const isOpen = ({ action, authz }: Route): boolean =>
  authz === undefined && (action.type === 'forward' || action.type === 'redirect')

const kinds = kindsOf(API_GROUP)
const decoded = (...documents: readonly object[]): readonly DecodedResource[] =>
  decodeFile(Buffer.from(toYaml(...documents)), 'resources.yaml', kinds).resources

const JWT = {
  jwtAuthentication: {
    providers: [{ issuer: 'https://idp.example', jwks: { inline: '{"keys":[]}' } }],
  },
}

function onGateway(name: string, kind = 'Gateway'): object {
  const { spec, ...rest } = proxyPolicy(name, name, JWT)
  const targetRefs = [{ group: 'gateway.networking.k8s.io', kind, name }]
  return { ...rest, spec: { ...spec, targetRefs } }
}

const routeOn = (...gateways: readonly string[]): object =>
  httpRoute('shop', {
    parentRefs: gateways.map((name) => ({ name })),
    rules: [rule('/shop', 'backend')],
  })

const always = decoded(
  ...['one', 'two'].map((name, index) => gateway([8080 + index], name)),
  proxyBackend('backend', { host: '127.0.0.1', port: 80 }),
)

/** How the route stands on each Gateway: the key that it is asked about, or open, or closed; absent: not there. */
function standing(ir: Ir): Readonly<Record<string, string>> {
  const stands = ['one', 'two'].flatMap((name) =>
    routesOf(ir, name).map(({ action, authz = 'open' }) => [
      name,
      action.type === 'refuse' ? 'closed' : authz,
    ]),
  )
  return Object.fromEntries(stands) as Record<string, string>
}

test('keys of one Gateway are never those of another, whatever moves', () => {
  const translator = translatorOf(false)
  const after = (...documents: readonly object[]) =>
    standing(
      translator.translate(
        collectResources([...always, ...decoded(...documents)]).resources,
        new Map(),
      ).ir,
    )
  const [one, two] = [onGateway('one'), onGateway('two')]
  expect([
    after(routeOn('one'), one, two),
    after(routeOn('two'), one, two),
    after(routeOn('one', 'two'), one, two),
    after(routeOn('one', 'two'), two),
    after(routeOn('one', 'two'), two, onGateway('shop', 'HTTPRoute')),
    after(routeOn('one', 'two'), onGateway('two', 'Gatewey')),
    after(routeOn('one', 'two')),
  ]).toEqual([
    { one: 'default/shop/0@default/one' },
    { two: 'default/shop/0@default/two' },
    { one: 'default/shop/0@default/one', two: 'default/shop/0@default/two' },
    { one: 'open', two: 'default/shop/0@default/two' },
    { one: 'default/shop/0@default/one', two: 'default/shop/0@default/two' },
    { one: 'open', two: 'closed' },
    { one: 'open', two: 'open' },
  ])
})

test.each([50, 400])('a change of one of %i routes of a Gateway is a change of one', (count) => {
  const routes = (changed: string) =>
    [...Array(count).keys()].map((index) =>
      httpRoute(`route-${index}`, {
        parentRefs: [{ name: index % 2 === 0 ? 'one' : 'two' }],
        hostnames: [`h${index}.example`],
        rules: [rule(index === 8 ? changed : '/', 'backend')],
      }),
    )
  const before = decoded(...routes('/a'))
  const after = before.with(8, decoded(routes('/b')[8] ?? {})[0] as DecodedResource)
  const translator = translatorOf(false)
  const translated = [
    [...before, ...decoded(onGateway('one'))],
    [...after, ...decoded(onGateway('one'))],
    [...after, ...decoded(onGateway('one'), onGateway('two'))],
  ].map((documents) =>
    translator.translate(collectResources([...always, ...documents]).resources, new Map()),
  )
  const [first, second, third] = translated.map(({ ir }) => ir.authz)
  expect(first).toHaveLength(count / 2)
  expect(differences(first ?? [], second ?? []).added).toHaveLength(1)
  expect(differences(second ?? [], third ?? []).removed).toEqual([])
  expect(third).toHaveLength(count)
  const [, changed, arrived] = translated.map(({ statuses }) => statuses)
  const unchanged = (changed ?? []).filter(({ kind }) => kind === 'HTTPRoute')
  expect(differences(unchanged, arrived ?? []).removed.length).toBeLessThanOrEqual(count / 2)
})
