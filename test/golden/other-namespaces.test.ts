// No condition names what stands in another namespace, in any golden case: tenants read the statuses of their own
// resources. What a resource of their namespace names itself (a parentRef, a backendRef, a ReferenceGrant) is known there.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Json } from '../../src/model/json.js'
import type { ResourceStatus } from '../../src/model/status.js'
import { goldenCases } from '../support/golden.js'
import { caseDocuments, translateCase } from '../support/translate-case.js'

interface Named {
  readonly namespace: string
  readonly name: string
}

/** Returns every text in a value. */
function textsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value]
  if (value === null || typeof value !== 'object') return []
  return Object.values(value).flatMap(textsIn)
}

/** Returns the lines of a status that name what its namespace does not name itself. */
function leaksIn(
  { kind, namespace, name, conditions }: ResourceStatus,
  others: readonly Named[],
  known: ReadonlySet<string>,
): readonly string[] {
  const foreign = others.filter((other) => other.namespace !== '' && other.namespace !== namespace)
  return conditions.flatMap(({ type, message }) =>
    message
      .split('\n')
      .filter((line) =>
        foreign.some(
          (other) =>
            (line.includes(`${other.namespace}/`) || `${line} `.includes(`namespace ${other.namespace} `)) &&
            !(known.has(other.namespace) && (known.has(other.name) || !line.includes(other.name))),
        ),
      )
      .map((line) => `${kind} ${namespace}/${name} ${type}: ${line}`),
  )
}

function leaksOf(input: string): readonly string[] {
  const documents = caseDocuments(input).map(({ resource }) => resource)
  const knownIn = (namespace: string): ReadonlySet<string> =>
    new Set(
      documents
        .filter(({ metadata }) => metadata.namespace === namespace)
        .flatMap(({ spec }) => textsIn(spec as Json)),
    )
  return translateCase(input).statuses.flatMap((status) =>
    leaksIn(
      status,
      documents.map(({ metadata }) => metadata),
      knownIn(status.namespace),
    ),
  )
}

test('no condition names what stands in another namespace', () => {
  const leaks = goldenCases(join(import.meta.dirname, 'translate')).flatMap(({ name, input }) =>
    leaksOf(input).map((leak) => `${name}: ${leak}`),
  )
  expect(leaks).toEqual([])
})
