// An incremental snapshot after changes equals one built from scratch.

import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { buildSnapshot, type Snapshot } from '../../../src/control/publish/build-snapshot.js'
import type { DecodedResource } from '../../../src/control/schema/decode/decode.js'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import { createTranslator } from '../../../src/control/translate/translator.js'
import type { Ir } from '../../../src/model/ir.js'
import type { RemoteDocument } from '../../../src/model/remote-target.js'
import { goldenCases } from '../../support/golden.js'
import { createRandom } from '../../support/random.js'
import { seeds } from '../../support/runs.js'
import { caseDocuments, DEFAULT_DOCUMENTS, OPTIONS } from '../../support/translate-case.js'

const XDS = {
  listenAddress: '127.0.0.1',
  trustedHops: 0,
  systemCaFile: '/ca.pem',
  accessLog: false,
}

const GOLDENS = join(import.meta.dirname, '../../golden/translate')

/** The defaults are always there, so that routes have a Gateway whatever else comes and goes. */
const pool: readonly DecodedResource[] = [
  ...new Set(goldenCases(GOLDENS).flatMap(({ input }) => caseDocuments(input))),
].filter((document) => !DEFAULT_DOCUMENTS.includes(document))

/** Listeners apart: what rules have read once, Envoy goes on sending (build-snapshot.ts). */
const comparable = ({ revision, xds }: Snapshot): object => ({
  revision,
  encoded: [...xds].map(([node, { split, whole }]) => [
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
  ]),
})

const routesOf = ({ resources }: Snapshot): number =>
  (resources.get('*')?.routes ?? []).flatMap(({ hosts }) =>
    hosts.flat().flatMap((host) => host.routes.flat()),
  ).length

/** Builds from copies of all objects, so that no memo applies. */
const fromScratch = (ir: Ir): Snapshot => buildSnapshot(structuredClone(ir), XDS)

describe('a snapshot after changes', () => {
  test.each(seeds(10))('is what it is from scratch, sequence %i', (seed) => {
    const random = createRandom(seed)
    const translator = createTranslator(OPTIONS)
    const present = new Set(pool.filter(() => random(4) === 0))
    const remote = new Map<string, RemoteDocument>()
    let snapshot: Snapshot | undefined
    let routes = 0
    for (let step = 0; step < 25; step += 1) {
      for (let change = random(4); change >= 0; change -= 1) {
        const document = pool[random(pool.length)]
        if (document !== undefined && !present.delete(document)) present.add(document)
      }
      const { resources } = collectResources([...DEFAULT_DOCUMENTS, ...present])
      const { ir, wanted } = translator.translate(resources, new Map(remote))
      snapshot = buildSnapshot(ir, XDS, snapshot)
      routes += routesOf(snapshot)
      expect(comparable(snapshot)).toEqual(comparable(fromScratch(ir)))
      const fetched = wanted[random(wanted.length + 1)]
      if (fetched !== undefined)
        remote.set(fetched.id, { document: { keys: [{ kid: `${step}` }] }, fetchedAt: step })
    }
    expect(routes).toBeGreaterThan(50)
  })

  test('mutates no resource and no object of the model', () => {
    const random = createRandom(1)
    const translator = createTranslator(OPTIONS)
    const documents = freeze([...DEFAULT_DOCUMENTS, ...pool].map((one) => structuredClone(one)))
    let snapshot: Snapshot | undefined
    for (let step = 0; step < 10; step += 1) {
      const present = documents.filter(() => random(2) === 0)
      const { resources } = collectResources(present)
      const { ir } = translator.translate(freeze(resources), new Map())
      snapshot = buildSnapshot(freeze(ir), XDS, snapshot)
    }
    expect(routesOf(snapshot as Snapshot)).toBeGreaterThan(0)
  })
})

/** Freezes everything in a value, so that a change of it throws. */
function freeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const inner of Object.values(value)) freeze(inner)
  return value
}
