// Which resource problems are logged, and how often.

import { expect, test } from 'vitest'
import type { PipelineState } from '../../../src/control/publish/pipeline.js'
import { createProblemLog } from '../../../src/control/publish/problem-log.js'
import { atOnce } from '../../../src/kit/turns.js'
import type { Condition } from '../../../src/model/status.js'
import { recordingLogger } from '../../wire/grpc/recording-logger.js'

/** Logs the problems of a state at once. */
function problemLog(...options: Parameters<typeof createProblemLog>) {
  const work = createProblemLog(...options)
  return (state: PipelineState): void => atOnce(work(state))
}

function policy(condition: Condition): PipelineState {
  const statuses = [
    {
      apiVersion: 'policy.gatehouse.dev/v1alpha1',
      kind: 'ProxyPolicy',
      namespace: 'default',
      name: 'mcp',
      conditions: [condition],
    },
  ]
  return {
    translation: {
      ir: { gateways: [], destinations: [], certificates: [], authz: [], proc: [] },
      statuses,
      statusParts: [statuses],
      wanted: [],
      attachedRoutes: new Map(),
      names: [],
      ownAddresses: [],
    },
  }
}

const REFUSED = policy({
  type: 'Accepted',
  status: 'False',
  reason: 'Invalid',
  message: 'audiences are missing\nThe issuer is empty',
  ancestor: { namespace: 'default', name: 'gateway' },
})
const GOOD = policy({ type: 'Accepted', status: 'True', reason: 'Valid', message: 'Valid' })

test('a refused resource is named with the reason, once', () => {
  const { logger, lines } = recordingLogger()
  const log = problemLog(logger)
  log(REFUSED)
  log(REFUSED)
  expect(lines).toMatchObject([
    {
      level: 'warn',
      message:
        'ProxyPolicy default/mcp: Accepted=False (Invalid) on default/gateway: audiences are missing. The issuer is empty',
    },
  ])
})

test('a document that cannot be read is named with its place', () => {
  const { logger, lines } = recordingLogger()
  const problems = [{ source: 'a.yaml:3:5', message: 'is no YAML' }]
  problemLog(logger)({ provider: { problems, complete: true } as never })
  expect(lines).toMatchObject([{ level: 'warn', message: 'a.yaml:3:5: is no YAML' }])
})

test('of a cluster that has not been listed whole, only that is named', () => {
  const { logger, lines } = recordingLogger()
  const log = problemLog(logger, true)
  const problems = [{ source: 'kubernetes', message: 'HTTPRoute cannot be read: HTTP 403' }]
  log({ ...REFUSED, provider: { problems, complete: false } as never })
  expect(lines).toHaveLength(1)
  log({ ...REFUSED, provider: { problems: [], complete: true } as never })
  expect(lines.map(({ message }) => message)).toEqual([
    'kubernetes: HTTPRoute cannot be read: HTTP 403',
    expect.stringContaining('ProxyPolicy default/mcp: Accepted=False'),
  ])
})

test('at the start it says once that nothing is published yet', () => {
  const { logger, lines } = recordingLogger()
  const log = problemLog(logger)
  const problem = { source: 'a.yaml:3:5', message: 'is no YAML' }
  const run = (complete: boolean, ...problems: object[]): void =>
    log({ provider: { problems, complete } as never })
  run(false, problem)
  run(false, problem)
  run(true)
  run(true, problem)
  expect(lines.map(({ message }) => message)).toEqual([
    'a.yaml:3:5: is no YAML',
    'nothing is published until every document has been read once',
    'all resource problems resolved',
    'a.yaml:3:5: is no YAML',
  ])
})

test('an object of a cluster that cannot be read is named', () => {
  const { logger, lines } = recordingLogger()
  const problem = { source: 'kubernetes', message: 'cannot be read: HTTP 403' }
  const problems = [
    { ...problem, kind: 'Secret', namespace: 'shop', name: 'certificate' },
    { ...problem, kind: 'Namespace', namespace: '', name: 'shop' },
    { ...problem, message: 'Service cannot be read: HTTP 403' },
  ]
  problemLog(logger)({ provider: { problems, complete: true } as never })
  expect(lines.map(({ message }) => message)).toEqual([
    'kubernetes: Secret shop/certificate: cannot be read: HTTP 403',
    'kubernetes: Namespace shop: cannot be read: HTTP 403',
    'kubernetes: Service cannot be read: HTTP 403',
  ])
})

test('a resolved problem is logged, and logged again when it comes back', () => {
  const { logger, lines } = recordingLogger()
  const log = problemLog(logger)
  for (const state of [REFUSED, GOOD, REFUSED]) log(state)
  expect(lines.map(({ level }) => level)).toEqual(['warn', 'info', 'warn'])
})

test('a key set that is still on its way is no problem of the resources', () => {
  const { logger, lines } = recordingLogger()
  createProblemLog(logger)(
    policy({ type: 'Attached', status: 'False', reason: 'KeySetUnavailable', message: 'late' }),
  )
  expect(lines).toEqual([])
})

test('a part that cannot work is named', () => {
  const { logger, lines } = recordingLogger()
  problemLog(logger)(
    policy({ type: 'Accepted', status: 'True', reason: 'PartiallyValid', message: 'no logins' }),
  )
  expect(lines).toMatchObject([
    {
      level: 'warn',
      message: 'ProxyPolicy default/mcp: Accepted=True (PartiallyValid): no logins',
    },
  ])
})

test('open routes are named in one line, again when there are others, and are no problem', () => {
  const { logger, lines } = recordingLogger()
  const log = problemLog(logger)
  const open = (...names: readonly string[]): PipelineState => {
    const statuses = names.map((name) => ({
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      namespace: 'shop',
      name,
      conditions: [],
      open: true as const,
    }))
    const { translation } = GOOD
    return { translation: translation && { ...translation, statuses, statusParts: [statuses] } }
  }
  log(open('b', 'a'))
  log(open('a', 'b'))
  log(open(...'abcdefghijkl'))
  log(open())
  expect(lines.map(({ message }) => message)).toEqual([
    'open routes (2), as no policy decides who may use them: shop/a, shop/b',
    `open routes (12), as no policy decides who may use them: ${[...'abcdefghij'].map((name) => `shop/${name}`).join(', ')} and 2 more`,
  ])
  expect(lines.every(({ level }) => level === 'warn')).toBe(true)
})
