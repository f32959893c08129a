// What /status reports about resources that are in force, broken, or defined twice.

import { expect, test } from 'vitest'
import { atOnce } from '../../../src/kit/turns.js'
import type { Condition } from '../../../src/model/status.js'
import {
  countPolicies,
  countResources,
  createResourceReport,
} from '../../../src/ops/admin/status-report.js'

const reportWork = createResourceReport()

const reportResources = (...read: Parameters<typeof reportWork>) => atOnce(reportWork(...read))

const policy = {
  apiVersion: 'policy.gatehouse.dev/v1alpha1',
  kind: 'ProxyPolicy',
  namespace: 'default',
  name: 'mcp',
}
const accepted = {
  type: 'Accepted',
  status: 'True',
  reason: 'Accepted',
  message: '',
  ancestor: { namespace: 'default', name: 'gw' },
} as const
const attached = { ...accepted, type: 'Attached', reason: 'Attached' }
const shownAccepted = { ...accepted, ancestor: 'default/gw' }
const shownAttached = { ...attached, ancestor: 'default/gw' }

test('every resource is listed, with its conditions or none', () => {
  const service = { apiVersion: 'v1', kind: 'Service', namespace: 'default', name: 'mcp' }
  const reported = reportResources(
    [
      { ...service, source: 'a.yaml:9' },
      { ...policy, source: 'a.yaml:1' },
    ],
    [{ ...policy, conditions: [accepted, attached] }],
    [],
  )
  expect(reported).toEqual([
    { ...policy, source: 'a.yaml:1', conditions: [shownAccepted, shownAttached] },
    { ...service, source: 'a.yaml:9', conditions: [] },
  ])
})

test('what is reported of a resource is the same object until its conditions or problems are others', () => {
  const resource = { ...policy, source: 'a.yaml:1' }
  const own = [accepted]
  const problem = { ...policy, source: 'a.yaml:1:1', message: 'odd', stays: true } as const
  const report = (conditions: readonly Condition[], ...problems: (typeof problem)[]) =>
    reportResources([resource], [{ ...policy, conditions }], problems)[0]
  const first = report(own)
  expect(report(own)).toBe(first)
  expect(report([accepted, attached])?.conditions).toEqual([shownAccepted, shownAttached])
  expect(report(own, problem)?.conditions).toEqual([
    {
      type: 'Accepted',
      status: 'False',
      reason: 'Invalid',
      message: 'odd',
      ancestor: 'default/gw',
    },
  ])
})

test('a document that does not decode is listed with its file and line, its problems in one condition', () => {
  const reported = reportResources(
    [],
    [],
    [
      { ...policy, source: 'a.yaml:4:3', message: 'spec.x: unknown field' },
      { ...policy, source: 'a.yaml:7:3', message: 'spec.y: expected a string' },
      { source: 'b.yaml:2:1', message: 'not YAML' },
    ],
  )
  expect(reported).toEqual([
    {
      apiVersion: '',
      kind: '',
      namespace: '',
      name: '',
      source: 'b.yaml:2',
      conditions: [{ type: 'Accepted', status: 'False', reason: 'Invalid', message: 'not YAML' }],
    },
    {
      ...policy,
      source: 'a.yaml:4',
      conditions: [
        {
          type: 'Accepted',
          status: 'False',
          reason: 'Invalid',
          message: 'spec.x: unknown field; spec.y: expected a string',
        },
      ],
    },
  ])
})

test('a document whose last good version stays in force is one entry that says so', () => {
  const reported = reportResources(
    [{ ...policy, source: 'a.yaml:1' }],
    [{ ...policy, conditions: [accepted, attached] }],
    [
      {
        ...policy,
        source: 'a.yaml:4:3',
        message: 'spec.x: unknown field (the last good version stays in force)',
        stays: true,
      },
    ],
  )
  expect(reported).toHaveLength(1)
  expect(reported[0]?.conditions).toEqual([
    expect.objectContaining({
      type: 'Accepted',
      status: 'False',
      reason: 'Invalid',
      message: 'spec.x: unknown field (the last good version stays in force)',
    }),
    shownAttached,
  ])
})

test.each(['a.yaml:9:1', 'b.yaml:1:1'])(
  'the second definition, at %s, is an entry of its own',
  (source) => {
    const reported = reportResources(
      [{ ...policy, source: 'a.yaml:1' }],
      [{ ...policy, conditions: [accepted] }],
      [{ ...policy, source, message: 'is defined twice; a.yaml:1 counts' }],
    )
    expect(reported.map(({ source, conditions }) => [source, conditions[0]?.status])).toEqual([
      ['a.yaml:1', 'True'],
      [source.replace(/:1$/, ''), 'False'],
    ])
  },
)

test('resources are counted by kind and whether they are accepted', () => {
  const reported = reportResources(
    [
      { ...policy, source: 'a.yaml:1' },
      { ...policy, name: 'other', source: 'a.yaml:9' },
    ],
    [{ ...policy, conditions: [{ ...accepted, status: 'False' }] }],
    [],
  )
  expect(countResources(reported)).toEqual([
    { kind: 'ProxyPolicy', accepted: false, count: 1 },
    { kind: 'ProxyPolicy', accepted: true, count: 1 },
  ])
})

test('every policy is counted in one state', () => {
  const reported = (name: string, ...conditions: readonly Condition[]) => ({
    status: { ...policy, name, conditions },
    resource: { ...policy, name, source: 'a.yaml:1' },
  })
  const refused = { ...accepted, status: 'False', reason: 'Invalid' } as const
  const not = (reason: string) => ({ ...attached, status: 'False', reason }) as const
  const all = [
    reported('good', accepted, attached),
    reported('good-twice', accepted, attached, accepted, attached),
    reported('audited', accepted, { ...attached, reason: 'Audit' }),
    reported('refused', refused, not('Pending')),
    reported('refused-on-one', accepted, attached, refused, not('Pending')),
    reported('no-target', accepted, not('TargetNotFound')),
    reported('no-gateway', accepted, not('Pending')),
    reported('no-keys', accepted, not('KeySetUnavailable')),
    reported('unread'),
  ]
  const route = { ...policy, kind: 'HTTPRoute' }
  const counts = countPolicies(
    reportResources(
      [...all.map(({ resource }) => resource), { ...route, source: 'a.yaml:9' }],
      [...all.map(({ status }) => status), { ...route, conditions: [refused] }],
      [{ ...policy, name: 'undecodable', source: 'b.yaml:1:1', message: 'odd' }],
    ),
  )
  expect(counts).toEqual({
    attached: 2,
    audited: 1,
    refused: 3,
    without_target: 1,
    pending: 3,
  })
})

test('with thousands of resources, other tasks may run after each', () => {
  const COUNT = 5_000
  const resources = Array.from({ length: COUNT }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'HTTPRoute',
    namespace: 'default',
    name: `r-${String(index)}`,
    source: 'routes.yaml:1',
  }))
  const work = reportWork(resources, [], [])
  let steps = 0
  while (work.next().done !== true) steps += 1
  expect(steps).toBeGreaterThanOrEqual(COUNT)
})
