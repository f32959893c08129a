// The sentences about MCP routes whose requests go to an HTTPRoute of another namespace, as routes come and go.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { DecodedResource } from '../../../src/control/schema/decode/decode.js'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import { createTranslator, type Translation } from '../../../src/control/translate/translator.js'
import { goldenCases } from '../../support/golden.js'
import { caseDocuments, OPTIONS } from '../../support/translate-case.js'

const NAME = 'a-route-of-another-namespace-that-takes-paths-of-an-mcp-route-is-reported'
const golden = goldenCases(join(import.meta.dirname, '../../golden/translate')).find(
  ({ name }) => name === NAME,
)
const documents = caseDocuments(golden?.input ?? '')
const isNamed =
  (...names: readonly string[]) =>
  ({ resource: { metadata } }: DecodedResource): boolean =>
    names.includes(metadata.name)
const thief = documents.filter(isNamed('thief'))
const rest = documents.filter((one) => !isNamed('thief', 'neighbour')(one))

/** Returns what a policy of that namespace says about its acceptance. */
function acceptedIn({ statuses }: Translation, namespace: string): string {
  const policy = statuses.find((one) => one.kind === 'ProxyPolicy' && one.namespace === namespace)
  const accepted = policy?.conditions.find(({ type }) => type === 'Accepted')
  return `${accepted?.reason ?? ''}: ${accepted?.message ?? ''}`
}

function translating(): (documents: readonly DecodedResource[]) => Translation {
  const translator = createTranslator(OPTIONS)
  return (all) => translator.translate(collectResources([...all]).resources, new Map())
}

test('they come with the other route, and go with it', () => {
  const translate = translating()
  expect(acceptedIn(translate(rest), 'victim')).toMatch(/^Valid: Policy accepted\n/)
  expect(acceptedIn(translate([...rest, ...thief]), 'victim')).toMatch(
    /^PartiallyValid: HTTPRoute victim\/mcp: requests of \/\.well-known\/oauth-protected-resource\/mcp and \/mcp go to an HTTPRoute of another namespace/,
  )
  expect(acceptedIn(translate(rest), 'victim')).toMatch(/^Valid: Policy accepted\n/)
})

test('a change elsewhere makes no status anew', () => {
  const translate = translating()
  const all = [...rest, ...thief]
  const before = translate(all).statusParts
  const more = caseDocuments(
    'apiVersion: v1\nkind: Service\nmetadata: { name: more }\nspec: { ports: [{ port: 80 }] }\n',
  ).filter(isNamed('more'))
  const after = new Set(translate([...all, ...more]).statusParts)
  const changed = before.filter((part) => !after.has(part)).flat()
  expect(changed.filter(({ kind }) => kind === 'ProxyPolicy')).toEqual([])
})

test('one of the same namespace takes what it likes', () => {
  const own = thief.map((one) => ({
    ...one,
    resource: { ...one.resource, metadata: { ...one.resource.metadata, namespace: 'victim' } },
  }))
  const all = [...rest, ...(own as readonly DecodedResource[])]
  expect(acceptedIn(translating()(all), 'victim')).toMatch(/^Valid/)
})
