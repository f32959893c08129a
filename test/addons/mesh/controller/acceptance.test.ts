// What the status of an object of Envoy Gateway says about whether it is in force, and who else claims its target.

import { describe, expect, test } from 'vitest'
import { acceptanceProblem, rivalsOf } from '../../../../src/addons/mesh/controller/enforcement.js'
import type { JsonObject } from '../../../../src/model/json.js'

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

test.each([
  ['has accepted', [ACCEPTED], undefined],
  [
    'has not accepted',
    [{ ...ACCEPTED, status: 'False', reason: 'NoValidCACertificate' }],
    'NoValid',
  ],
  [
    'has accepted in an earlier version',
    [{ ...ACCEPTED, observedGeneration: 1 }],
    'latest version',
  ],
])('a BackendTLSPolicy that the mesh %s, whatever ancestor it names', (_, conditions, problem) => {
  const found = acceptanceProblem('BackendTLSPolicy', policy('gatehouse', conditions, 'x'), [
    GATEWAY,
  ])
  if (problem === undefined) expect(found).toBeUndefined()
  else expect(found).toContain(problem)
})

test('a BackendTLSPolicy of which the mesh says nothing is left to the probes', () => {
  expect(acceptanceProblem('BackendTLSPolicy', {}, [GATEWAY])).toBeUndefined()
})

describe('an EnvoyFilter', () => {
  const message = (level: string): JsonObject => ({
    type: { code: 'IST0106' },
    level,
    documentationUrl: 'https://istio.example/ist0106/',
  })
  const filter = (status: JsonObject): JsonObject => ({ metadata: { generation: 2 }, status })

  test('in which the analysis of istiod has found an error is not in force', () => {
    const validationMessages = [message('WARNING'), message('ERROR')]
    expect(acceptanceProblem('EnvoyFilter', filter({ validationMessages }), [GATEWAY])).toBe(
      'istiod reports IST0106 (https://istio.example/ist0106/)',
    )
  })

  test.each<[string, JsonObject]>([
    ['no status, as without the analysis', {}],
    ['a warning', { validationMessages: [message('WARNING')] }],
    [
      'an error of an earlier version',
      { observedGeneration: '1', validationMessages: [message('ERROR')] },
    ],
    ['messages of another form', { validationMessages: [1, { level: ['ERROR'] }] }],
  ])('with %s is left to the probes', (_, status) => {
    expect(acceptanceProblem('EnvoyFilter', filter(status), [GATEWAY])).toBeUndefined()
  })
})

test('rivals are the other objects of its namespace that name its target', () => {
  const own = policy('own', [])
  const elsewhere = { ...policy('far', []), metadata: { namespace: 'other', name: 'far' } }
  const all = [own, policy('rival', []), elsewhere].map((each) => ['', each] as const)
  expect(rivalsOf('SecurityPolicy', own, all)).toEqual(['SecurityPolicy default/rival'])
})
