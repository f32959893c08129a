// Incremental translation: after random sequences of changes the result equals a translation from scratch.

import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { DecodedResource } from '../../../src/control/schema/decode/decode.js'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import type { Resources } from '../../../src/control/schema/kinds/resources.js'
import { createTranslator, type Translation } from '../../../src/control/translate/translator.js'
import type { RemoteDocument } from '../../../src/model/remote-target.js'
import { goldenCases } from '../../support/golden.js'
import { createRandom } from '../../support/random.js'
import { seeds } from '../../support/runs.js'
import { caseDocuments, OPTIONS } from '../../support/translate-case.js'

const GOLDENS = join(import.meta.dirname, '../../golden/translate')

const toResources = (documents: Iterable<DecodedResource>): Resources =>
  collectResources([...documents]).resources

const pool: readonly DecodedResource[] = [
  ...new Set(goldenCases(GOLDENS).flatMap(({ input }) => caseDocuments(input))),
]

describe('a translation after changes', () => {
  test.each(seeds(10))('is what it is from scratch, sequence %i', (seed) => {
    const random = createRandom(seed)
    const translator = createTranslator(OPTIONS)
    const present = new Set(pool.filter(() => random(4) === 0))
    const remote = new Map<string, RemoteDocument>()
    for (let step = 0; step < 60; step += 1) {
      for (let change = random(4); change >= 0; change -= 1) {
        const document = pool[random(pool.length)]
        if (document !== undefined && !present.delete(document)) present.add(document)
      }
      const resources = toResources(present)
      const state = new Map(remote)
      const translation = translator.translate(resources, state)
      expect(translation).toEqual(createTranslator(OPTIONS).translate(resources, state))
      const fetched = translation.wanted[random(translation.wanted.length + 1)]
      if (fetched !== undefined)
        remote.set(fetched.id, { document: { keys: [{ kid: `${step}` }] }, fetchedAt: step })
    }
  })
})

const programmedSets = ({ statuses }: Translation): number =>
  statuses
    .filter(({ kind }) => kind === 'ListenerSet')
    .flatMap(({ conditions }) => conditions)
    .filter(({ type, status }) => type === 'Programmed' && status === 'True').length

const portsOf = ({ provisioned }: Translation): number =>
  new Set((provisioned ?? []).map(({ ports }) => ports.join())).size

describe('ListenerSets and Envoys to create, after changes', () => {
  const documents = goldenCases(GOLDENS)
    .filter(({ name }) => /listener-?sets?|envoys-are-created/.test(name))
    .flatMap(({ input }) => caseDocuments(input))
  const ofSets = [...new Set(documents)]
  const ownService = { namespace: 'gatehouse', name: 'gatehouse' }
  const options = {
    ...OPTIONS,
    isCluster: true,
    provisions: true,
    tenancy: { ownAddresses: [], ownService, allowed: [] },
  }

  test.each(seeds(10))('are what they are from scratch, sequence %i', (seed) => {
    const random = createRandom(seed)
    const translator = createTranslator(options)
    const present = new Set(ofSets)
    for (let step = 0; step < 60; step += 1) {
      const resources = toResources(present)
      const translation = translator.translate(resources, new Map())
      expect(translation).toEqual(createTranslator(options).translate(resources, new Map()))
      if (step === 0) expect(programmedSets(translation)).toBeGreaterThan(5)
      if (step === 0) expect(portsOf(translation)).toBeGreaterThan(2)
      for (let change = random(4); change >= 0; change -= 1) {
        const document = ofSets[random(ofSets.length)]
        if (document !== undefined && !present.delete(document)) present.add(document)
      }
    }
  })
})
