// What the status of an object of Envoy Gateway says about whether it is in force, and who else claims its target.

import { describe, expect, test } from 'vitest'
import { acceptanceProblem, rivalsOf } from '../../src/controller/acceptance.js'
import type { JsonObject } from '../../src/ir/json.js'

const GATEWAY = { namespace: 'default', name: 'eg' }
const ACCEPTED = { type: 'Accepted', status: 'True', reason: 'Accepted', observedGeneration: 2 }

const policy = (name: string, conditions: readonly JsonObject[], gateway = 'eg'): JsonObject => ({
  metadata: { namespace: 'default', name, uid: name, generation: 2 },
  spec: { targetRefs: [{ kind: 'HTTPRoute', name: 'app' }] },
  status: { ancestors: [{ ancestorRef: { name: gateway, namespace: 'default' }, conditions }] },
})

const problemOf = (object: JsonObject) => acceptanceProblem('SecurityPolicy', object, [GATEWAY])

describe('a policy', () => {
  test('is in force if its latest version is accepted for each Gateway', () => {
    expect(problemOf(policy('own', [ACCEPTED]))).toBeUndefined()
    const other = { namespace: 'infra', name: 'other' }
    expect(acceptanceProblem('SecurityPolicy', policy('own', [ACCEPTED]), [GATEWAY, other])).toBe(
      'not accepted yet for Gateway infra/other',
    )
  })

  test.each([
    ['without a condition', [], 'not accepted yet'],
    ['of an earlier version', [{ ...ACCEPTED, observedGeneration: 1 }], 'its latest version'],
    ['that is not accepted', [{ ...ACCEPTED, status: 'False', reason: 'Invalid' }], 'Invalid'],
    ['that is overridden', [ACCEPTED, { type: 'Overridden', status: 'True' }], 'Overridden'],
    ['that is in conflict', [ACCEPTED, { type: 'Conflicted', status: 'True' }], 'Conflicted'],
  ])('%s is not', (_, conditions, problem) => {
    expect(problemOf(policy('own', conditions))).toContain(problem)
  })

  test.each([
    ['no status', {}],
    ['a status of another form', { status: { ancestors: 'x' } }],
    ['entries of another form', { status: { ancestors: [1, { ancestorRef: [] }] } }],
  ])('with %s is not', (_, object) => {
    expect(problemOf(object)).toContain('not accepted yet')
  })
})

test('rivals are the other objects of its namespace that name its target', () => {
  const own = policy('own', [])
  const elsewhere = { ...policy('far', []), metadata: { namespace: 'other', name: 'far' } }
  const all = [own, policy('rival', []), elsewhere].map((each) => ['', each] as const)
  expect(rivalsOf('SecurityPolicy', own, all)).toEqual(['SecurityPolicy default/rival'])
})
