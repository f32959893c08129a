// An Envoy that serves one Gateway: each kind of entry is for it if the entry is for its Gateway, and unknown otherwise.

import { status } from '@grpc/grpc-js'
import { afterEach, describe, expect, test } from 'vitest'
import { RetainedTable } from '../../src/control/publish/retained-table.js'
import type { CompiledProcEntry } from '../../src/extproc/proc-table.js'
import { createProcessService } from '../../src/extproc/process-service.js'
import { createDecisionLog } from '../../src/kit/decision-log.js'
import type { ProcEntry } from '../../src/model/proc-entry.js'
import { recordingLogger } from '../wire/grpc/recording-logger.js'
import { entry, KEY, PRM } from './support/entries.js'
import { guardrails } from './support/guards.js'
import { request } from './support/messages.js'
import { buildProcTable } from './support/proc-table.js'
import { type ProcServer, startProcServer } from './support/stream.js'

const OWN = 'shop/gw'
const authorization = { deny: [], require: [], allow: ['true'] }
const of = { route: 'shop/app', gateways: [OWN] }
const none = { request: [], response: [] }

const ENTRIES: readonly ProcEntry[] = [
  { ...entry(), ...of, key: KEY },
  { type: 'guard', key: 'guard', ...of, ...none },
  { type: 'guard-audit', key: 'guard-audit', ...of, ...none },
  { type: 'mcp-guard', key: 'mcp-guard', ...of, ...none },
  { type: 'mcp-guard-audit', key: 'mcp-guard-audit', ...of, ...none },
  { type: 'lists', key: 'lists', ...of, authorization },
]

let server: ProcServer | undefined
afterEach(() => server?.close())

async function serve(gateway: string | undefined) {
  const table = new RetainedTable<CompiledProcEntry>()
  table.replace(buildProcTable(ENTRIES), [], 0)
  const opened: string[] = []
  const lines: object[] = []
  const { logger, lines: logged } = recordingLogger()
  const decisions = createDecisionLog({
    claims: [],
    now: () => 0,
    choice: { refusals: true, oneAllowedOf: 0 },
    write: (message, fields) => void lines.push({ message, ...fields }),
  })
  const service = createProcessService({
    table: () => table,
    gatewayOf: () => gateway,
    now: () => 0,
    logger,
    openStreams: { opened: (type) => void opened.push(type), closed: () => undefined },
    guardrails: { ...guardrails(), decisions },
    callRemote: () => Promise.reject(new Error('nothing is called')),
  })
  server = await startProcServer(service)
  return { server, opened, lines, logged }
}

describe.each(ENTRIES.map(({ type, key }) => [type, key] as const))('an entry %s', (type, key) => {
  test.each([OWN, undefined])('is for %s', async (gateway) => {
    const { server: own, opened } = await serve(gateway)
    const stream = own.open(key)
    stream.send(request('GET', PRM))
    let ended: unknown
    void stream.end.then((end) => (ended = end))
    await expect.poll(() => (opened.length > 0 ? opened : ended)).toEqual([type])
    stream.cancel()
  })

  test('is unknown to the Envoys of others', async () => {
    const { server: own, opened, lines, logged } = await serve('bank/gw')
    const ends = ['none', key].map((asked) => own.open(asked).end)
    const [none, foreign] = await Promise.all(ends)
    expect(none?.code).toBe(status.UNAVAILABLE)
    expect([foreign?.code, foreign?.details]).toEqual([none?.code, none?.details])
    expect(opened).toEqual([])
    expect(logged[0]?.fields).toEqual({ gateway: 'bank/gw', leftOut: 0 })
    expect(lines[0]).toMatchObject({
      decision: 'deny',
      reason: 'unknown-route',
      route: 'unknown',
      gateway: 'bank/gw',
    })
  })
})
