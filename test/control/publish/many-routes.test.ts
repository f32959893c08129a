// Hundreds of routes on several host names, some of which are added, removed, moved and changed: reused chunks give the
// same results as a translation from scratch, in the snapshot and in what is served during the takeover.

import { describe, expect, test } from 'vitest'
import { buildSnapshot, type Snapshot } from '../../../src/control/publish/build-snapshot.js'
import { createPublisher } from '../../../src/control/publish/publisher.js'
import type { DecodedResource } from '../../../src/control/schema/decode/decode.js'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import { kindsOf } from '../../../src/control/schema/kinds/kinds.js'
import { decodeFile } from '../../../src/control/sources/files/file-record.js'
import { createTranslator } from '../../../src/control/translate/translator.js'
import type { Ir } from '../../../src/model/ir.js'
import { createRandom } from '../../support/random.js'
import {
  API_GROUP,
  backendRef,
  type Document,
  gateway,
  httpRoute,
  prefix,
  proxyBackend,
} from '../../support/resources.js'
import { seeds } from '../../support/runs.js'
import { OPTIONS } from '../../support/translate-case.js'

const XDS = {
  listenAddress: '127.0.0.1',
  trustedHops: 0,
  systemCaFile: '/ca.pem',
  accessLog: false,
}

const COUNT = 200
const KINDS = kindsOf(API_GROUP)

function decode(document: Document): DecodedResource {
  const { resources, problems } = decodeFile(
    Buffer.from(JSON.stringify(document)),
    'many.json',
    KINDS,
  )
  const [resource] = resources
  if (resource === undefined) throw new Error(problems[0]?.message)
  return resource
}

const HOSTS = [[], ['a.example'], ['b.example', 'a.example']]

/** Paths are of few lengths, and times of creation few: routes are often told apart by their names alone. */
function route(index: number, random: (below: number) => number): DecodedResource {
  const { metadata, ...rest } = httpRoute(`route-${String(index)}`, {
    hostnames: HOSTS[random(HOSTS.length)],
    rules: [
      {
        matches: [prefix(`/${'x'.repeat(random(3))}${String(100 + random(900))}`)],
        ...(random(5) === 0
          ? {
              filters: [
                { type: 'RequestRedirect', requestRedirect: { hostname: 'other.example' } },
              ],
            }
          : { backendRefs: [backendRef(`backend-${String(random(COUNT))}`)] }),
      },
    ],
  })
  const creationTimestamp = `2026-01-0${String(1 + random(2))}T00:00:00Z`
  return decode({ metadata: { ...metadata, creationTimestamp }, ...rest })
}

const policy = (index: number, random: (below: number) => number): DecodedResource =>
  decode({
    apiVersion: `${API_GROUP}/v1alpha1`,
    kind: 'ProxyPolicy',
    metadata: { name: `policy-${String(index)}` },
    spec: {
      targetRefs: [
        {
          group: 'gateway.networking.k8s.io',
          kind: 'HTTPRoute',
          name: `route-${String(random(COUNT))}`,
        },
      ],
      traffic: {
        authorization: {
          policy: { matchExpressions: [`request.headers["x-${String(random(2))}"] == "a"`] },
        },
      },
    },
  })

const fixed = [
  decode(gateway([8080, 8081])),
  ...[...Array(COUNT).keys()].map((index) =>
    decode(proxyBackend(`backend-${String(index)}`, { host: '127.0.0.1', port: 1 + index })),
  ),
]

/** Listeners apart: what rules have read once, Envoy goes on sending (build-snapshot.ts). */
const bytes = ({ xds }: Snapshot): object =>
  [...xds].map(([node, { split, whole }]) => [
    node,
    [...split, ...whole()]
      .filter(([type]) => !type.endsWith('.Listener'))
      .map(([, resources]) =>
        [...resources.values()].map(({ name, version, parts }) => [
          name,
          version,
          Buffer.concat(parts).toString('base64'),
        ]),
      ),
  ])

/** Builds from copies of all objects, none of them shared, so that no memo applies. */
const fromScratch = (ir: Ir): Snapshot => buildSnapshot(JSON.parse(JSON.stringify(ir)) as Ir, XDS)

const createIdle = () =>
  createPublisher({
    cache: { set: () => undefined },
    settled: () => true,
    now: () => 0,
    startTimer: () => () => undefined,
  })

describe('hundreds of routes after changes', () => {
  test.each(seeds(5))('are what they are from scratch, sequence %i', (seed) => {
    const random = createRandom(seed)
    const translator = createTranslator(OPTIONS)
    const publisher = createIdle()
    const [routes, policies] = [
      new Map<number, DecodedResource>(),
      new Map<number, DecodedResource>(),
    ]
    for (let index = 0; index < COUNT; index += 1) {
      if (random(4) > 0) routes.set(index, route(index, random))
      if (random(4) > 0) policies.set(index, policy(index, random))
    }
    let snapshot: Snapshot | undefined
    const keys = new Set<string>()
    for (let step = 0; step < 10; step += 1) {
      for (let change = random(6); change > 0; change -= 1) {
        const index = random(COUNT)
        if (random(3) > 0) routes.set(index, route(index, random))
        else if (random(2) > 0) policies.set(index, policy(index, random))
        else [routes, policies][random(2)]?.delete(index)
      }
      const { resources } = collectResources([...fixed, ...routes.values(), ...policies.values()])
      const translation = translator.translate(resources, new Map())
      expect(translation).toEqual(createTranslator(OPTIONS).translate(resources, new Map()))
      const { ir } = translation
      snapshot = buildSnapshot(ir, XDS, snapshot)
      const scratch = fromScratch(ir)
      expect(snapshot.revision).toBe(scratch.revision)
      expect(bytes(snapshot)).toEqual(bytes(scratch))
      publisher.publish(snapshot)
      for (const { key } of ir.authz) keys.add(key)
      const present = new Set(ir.authz.map(({ key }) => key))
      for (const key of keys) {
        expect(snapshot.authzTable.get(key)?.entry).toEqual(scratch.authzTable.get(key)?.entry)
        expect(snapshot.authzTable.get(key) !== undefined).toBe(present.has(key))
        // Until Envoys have taken the new configuration.
        expect(publisher.authz.get(key)).toBeDefined()
      }
    }
    expect(keys.size).toBeGreaterThan(50)
  })
})
