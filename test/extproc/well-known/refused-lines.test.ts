// Each refusal on the paths of the OAuth documents leaves exactly one line in the decision log.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { createProcessService } from '../../../src/extproc/process-service.js'
import { createDecisionLog } from '../../../src/kit/decision-log.js'
import type { WellKnownEntry } from '../../../src/model/proc-entry.js'
import { AS, entry, KEY, PRM, proxied, REGISTRATION } from '../support/entries.js'
import { guardrails } from '../support/guards.js'
import { body, replyIn, request } from '../support/messages.js'
import { buildProcTable } from '../support/proc-table.js'
import { type ProcServer, silent, startProcServer } from '../support/stream.js'

const closing: ProcServer[] = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((server) => server.close()))
})

const TRACE = 'a'.repeat(32)
const policy = { policy: 'default/mcp', source: 'policies.yaml:7' }
const metadata = { metadataIssuer: 'Gateway', clientIdConfigured: true } as const

interface More {
  readonly entry?: Partial<WellKnownEntry>
  readonly headers?: Readonly<Record<string, string>>
}

const RELATIVE: More = { entry: { paths: { mcpPath: '/mcp' } }, headers: { ':authority': 'a b' } }

const CASES: readonly [reason: string, status: number, method: string, path: string, more: More][] =
  [
    ['metadata_method', 405, 'PUT', PRM, {}],
    ['metadata_method', 405, 'DELETE', AS, {}],
    ['metadata_host', 400, 'GET', PRM, RELATIVE],
    ['metadata_unavailable', 503, 'GET', AS, { entry: { serverMetadata: metadata } }],
    ['metadata_path', 404, 'GET', `${PRM}/x`, {}],
    ['registration_method', 405, 'GET', REGISTRATION, {}],
  ]

test.each(CASES)('%s: %i for %s %s', async (reason, status, method, path, more) => {
  const lines: object[] = []
  const decisions = createDecisionLog({
    claims: [],
    now: () => 0,
    choice: { refusals: true, oneAllowedOf: 0 },
    write: (message, fields) => void lines.push({ ...fields, message }),
  })
  const table = buildProcTable([entry({ policy, ...more.entry })])
  const server = await startProcServer(
    createProcessService({
      guardrails: { ...guardrails(), decisions },
      table: () => table,
      callRemote: () => Promise.reject(new Error('no call expected')),
      now: () => 0,
      logger: silent,
    }),
  )
  closing.push(server)
  const stream = server.openTraced(KEY, `00-${TRACE}-${'b'.repeat(16)}-01`)
  const headers = { 'x-request-id': 'id-1', ...more.headers }
  stream.send(request(method, `${path}?secret=1`, { headers, endOfStream: true }))
  expect(replyIn(await stream.next()).status).toBe(status)
  expect(lines).toEqual([
    expect.objectContaining({
      message: 'login answer',
      decision: 'deny',
      reason,
      status,
      route: 'default/mcp',
      ...policy,
      requestId: 'id-1',
      traceId: TRACE,
      method,
      path,
      host: more.headers?.[':authority'] ?? 'gw.example',
    }),
  ])
})

test.each([
  ['a client that leaves has no line', 'leaves', []],
  ['the end of Gatehouse has one', 'drain', [['stream refusal', 'unavailable', 503]]],
] as const)('while the provider is asked to register, %s', async (_what, how, expected) => {
  const lines: { message: string; reason?: unknown; status?: unknown }[] = []
  const decisions = createDecisionLog({
    claims: [],
    now: () => 0,
    choice: { refusals: true, oneAllowedOf: 0 },
    write: (message, fields) => void lines.push({ ...fields, message }),
  })
  const table = buildProcTable([proxied()])
  let called = (): void => undefined
  let aborted = (): void => undefined
  const isCalled = new Promise<void>((resolve) => (called = resolve))
  const isAborted = new Promise<void>((resolve) => (aborted = resolve))
  const service = createProcessService({
    guardrails: { ...guardrails(), decisions },
    table: () => table,
    callRemote: (_target, { signal }) =>
      new Promise((resolve) => {
        signal?.addEventListener('abort', () => {
          resolve({ ok: false, error: { type: 'aborted' } })
          aborted()
        })
        called()
      }),
    now: () => 0,
    logger: silent,
  })
  const server = await startProcServer(service)
  closing.push(server)
  const stream = server.open(KEY)
  stream.send(request('POST', REGISTRATION), body('{"redirect_uris":["http://127.0.0.1/cb"]}'))
  await isCalled
  if (how === 'leaves') stream.cancel()
  else await service.drain?.(1)
  await isAborted
  await nextTurn()
  expect(lines.map(({ message, reason, status }) => [message, reason, status])).toEqual(expected)
})
