// Thousands of files that are written in place at once, as by rsync --inplace: the work grows with their number, and other
// tasks run in between.

import { expect, test } from 'vitest'
import { holdBackNewRoutes } from '../../../../src/control/schema/decode/quarantine.js'
import { collectResources } from '../../../../src/control/schema/decode/resource-set.js'
import { kindsOf } from '../../../../src/control/schema/kinds/kinds.js'
import type { Resource } from '../../../../src/control/schema/kinds/resources.js'
import { decodeFile, EMPTY_RECORD } from '../../../../src/control/sources/files/file-record.js'
import { KnownFiles } from '../../../../src/control/sources/files/known-files.js'
import { atOnce, type Work } from '../../../../src/kit/turns.js'
import { API_GROUP, toYaml } from '../../../support/resources.js'

const FILES = 400
/** Looks at each policy or route of a file that are enough: for its key, its targets, what it replaces. */
const LOOKS = 10

const names = Array.from({ length: FILES }, (_, index) => `r-${String(index)}`)

const policy = (name: string): object => ({
  apiVersion: `${API_GROUP}/v1alpha1`,
  kind: 'ProxyPolicy',
  metadata: { name },
  spec: {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name }],
    traffic: { authorization: { action: 'Deny', policy: { matchExpressions: ['true'] } } },
  },
})
const route = (name: string): object => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name },
  spec: { rules: [{}] },
})

const KINDS = kindsOf(API_GROUP)

const decoded = (document: object) =>
  decodeFile(Buffer.from(toYaml(document)), 'r.yaml', KINDS).resources

/** Counts how often the targets of policies are read. */
function countTargets(policies: readonly Resource<unknown>[]): () => number {
  let reads = 0
  for (const { spec } of policies) {
    const { targetRefs } = spec as { targetRefs: unknown }
    Object.defineProperty(spec, 'targetRefs', { get: () => (++reads, targetRefs) })
  }
  return () => reads
}

/** Counts the steps after which other tasks may run. */
function stepsOf(work: Work<unknown>): number {
  for (let steps = 1; ; steps += 1) if (work.next().done === true) return steps
}

test('policies in new content: those in force are looked at once, not for each file', () => {
  const policies = names.flatMap((name) => decoded(policy(name)))
  const { resources } = collectResources(policies)
  const looked = countTargets(resources.proxyPolicies)
  const files = new KnownFiles()
  for (const [index, name] of names.entries()) {
    const record = { ...EMPTY_RECORD, resources: decoded(policy(`${name}-new`)) }
    const writing = { before: EMPTY_RECORD, since: 0 }
    files.set(`${String(index)}.yaml`, { stamp: '', inode: '', record, writing })
  }
  const steps = stepsOf(files.stateWork([], resources))
  expect(looked()).toBeGreaterThanOrEqual(FILES)
  expect(looked()).toBeLessThan(LOOKS * FILES)
  expect(steps).toBeGreaterThan(FILES)
})

test('new routes: the file that each waits for is looked up', () => {
  let looks = 0
  class Counted extends Set<string> {
    override has(key: string): boolean {
      looks += 1
      return super.has(key)
    }
  }
  const { resources } = collectResources(names.flatMap((name) => decoded(route(name))))
  const unsettled = resources.httpRoutes.map(({ metadata: { name } }) => ({
    until: `until ${name}.yaml is quiet`,
    hasPolicies: false,
    routes: new Counted([`HTTPRoute/default/${name}`]),
  }))
  const state = { resources, problems: [], complete: false, undecoded: [], unsettled }
  const before = { ...collectResources([]), complete: true }
  const { resources: held, problems } = atOnce(holdBackNewRoutes(state, before))
  expect(looks).toBeLessThan(LOOKS * FILES)
  expect(held.httpRoutes).toEqual([])
  expect(problems.map(({ message }) => message)).toEqual(
    resources.httpRoutes.map(
      ({ metadata: { name } }) =>
        `waits until ${name}.yaml is quiet: it may hold the policy of this route`,
    ),
  )
  expect(stepsOf(holdBackNewRoutes(state, before))).toBeGreaterThan(FILES)
})
