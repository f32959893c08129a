// The input of the status writer: the statuses of the translation, and the documents that could not be decoded.

import { expect, test } from 'vitest'
import { createClusterStatuses } from '../../../src/cli/cluster/cluster-statuses.js'
import type { PipelineState } from '../../../src/control/publish/pipeline.js'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import { KUBERNETES, type Problem } from '../../../src/control/schema/kinds/resources.js'
import { atOnce } from '../../../src/kit/turns.js'
import type { Condition, ResourceStatus } from '../../../src/model/status.js'

const derive = createClusterStatuses()
const clusterStatuses = (state: PipelineState) => atOnce(derive(state)).flat()

const named = { namespace: 'default', name: 'mcp' }
const accepted: Condition = {
  type: 'Accepted',
  status: 'True',
  reason: 'Valid',
  message: 'Policy accepted',
  ancestor: { namespace: 'infra', name: 'gw' },
}
const attached: Condition = { ...accepted, type: 'Attached', reason: 'Attached' }
const policy: ResourceStatus = {
  apiVersion: 'policy.gatehouse.dev/v1alpha1',
  kind: 'ProxyPolicy',
  ...named,
  conditions: [accepted, attached],
}
const problem = (message: string, more: Partial<Problem> = {}): Problem => ({
  source: KUBERNETES,
  apiVersion: policy.apiVersion,
  kind: policy.kind,
  ...named,
  message,
  ...more,
})

const stateOf = (
  statuses: readonly ResourceStatus[],
  problems: readonly Problem[] = [],
  attachedRoutes = new Map<string, ReadonlyMap<string, number>>(),
  complete = true,
): PipelineState => ({
  provider: { resources: collectResources([]).resources, problems, complete },
  translation: {
    ir: { gateways: [], destinations: [], certificates: [], authz: [], proc: [] },
    statuses,
    statusParts: [statuses],
    attachedRoutes,
    wanted: [],
    names: [],
    ownAddresses: [],
  },
})

test('a status is what the translation says, as the same conditions', () => {
  expect(clusterStatuses(stateOf([policy]))[0]?.conditions).toBe(policy.conditions)
})

test('no status is reported before everything was read', () => {
  expect(clusterStatuses({})).toEqual([])
  expect(clusterStatuses(stateOf([policy], [], new Map(), false))).toEqual([])
})

test('a version that does not decode is refused at each Gateway, in one condition', () => {
  const problems = [problem('spec.x: unknown', { stays: true }), problem('spec.y: unknown')]
  expect(clusterStatuses(stateOf([policy], problems))).toMatchObject([
    {
      ...named,
      conditions: [
        {
          type: 'Accepted',
          status: 'False',
          reason: 'Invalid',
          message: 'spec.x: unknown; spec.y: unknown',
          ancestor: { namespace: 'infra', name: 'gw' },
        },
        attached,
      ],
    },
  ])
})

test('an object that has never decoded is reported as invalid; an unreadable list is empty', () => {
  const unread = { source: KUBERNETES, message: 'HTTPRoute cannot be read' }
  expect(clusterStatuses(stateOf([], [problem('spec: missing'), unread]))).toEqual([
    {
      kind: 'ProxyPolicy',
      ...named,
      conditions: [
        { type: 'Accepted', status: 'False', reason: 'Invalid', message: 'spec: missing' },
      ],
    },
  ])
})

test('a Gateway or ListenerSet has the routes of its own listeners', () => {
  const gateway: ResourceStatus = { ...policy, kind: 'Gateway', conditions: [] }
  const own = new Map([['http', 2]])
  const attachedRoutes = new Map([
    ['Gateway/default/mcp', own],
    ['ListenerSet/default/mcp', new Map([['http', 5]])],
    ['Gateway/default/mcp-2', new Map([['http', 7]])],
  ])
  expect(clusterStatuses(stateOf([gateway], [], attachedRoutes))).toMatchObject([
    { kind: 'Gateway', attachedRoutes: own },
  ])
  expect(
    clusterStatuses(stateOf([{ ...gateway, kind: 'ListenerSet' }], [], attachedRoutes)),
  ).toMatchObject([{ kind: 'ListenerSet', attachedRoutes: new Map([['http', 5]]) }])
})

test('the statuses of thousands are derived in as many steps', () => {
  const many = Array.from({ length: 3_000 }, (_, index) => ({ ...policy, name: String(index) }))
  const work = derive(stateOf(many, [problem('spec.x: unknown', { name: '7' })]))
  for (let step = 0; step < 3_000; step += 1) expect(work.next().done).toBe(false)
  expect(atOnce(work).flat()).toHaveLength(3_000)
})

test('a list that needs nothing more is passed on as it is, whatever the others need', () => {
  const gateway: ResourceStatus = { ...policy, kind: 'Gateway', namespace: 'infra', name: 'gw' }
  const [final, rest] = [[policy], [gateway, policy]]
  const { provider, translation } = stateOf(final)
  const state = {
    provider,
    ...(translation && { translation: { ...translation, statusParts: [final, rest] } }),
  }
  const [first, second] = atOnce(derive(state))
  expect(first).toBe(final)
  expect(second).toMatchObject([{ kind: 'Gateway', attachedRoutes: new Map() }, policy])
  const enforcement = { policy: named, isEnforced: true, reason: 'Enforced', message: '' } as const
  const enforced = new Map([['default/mcp', enforcement]])
  const [inMesh] = atOnce(derive(state, { enforced }))
  expect(inMesh?.[0]?.conditions.map(({ type }) => type)).toContain('Enforced')
})
